"""Finds and reads a string constant of a TypeScript or JavaScript file, with tree-sitter: nothing
is run.

`NAME` is a constant of the module, `NAME.key` a member of an object or a static field of a class.
A function that does nothing but return a text counts as well: its template literal has the
variables. Whatever the program computes is refused, and so is a name that the file assigns again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Language, Node, Parser

from gatekeeper.contract.prompts.code.typescript_flow import Flow
from gatekeeper.contract.prompts.code.typescript_messages import array_items
from gatekeeper.contract.prompts.code.typescript_tree import (
    FUNCTIONS,
    WRAPPERS,
    line_of,
    names_in,
    parts_of,
    text_of,
    walk,
)
from gatekeeper.contract.prompts.code.typescript_uses import Uses
from gatekeeper.contract.prompts.code.written import (
    SEPARATE,
    CodeFault,
    Computed,
    Effort,
    Messages,
    Path,
    Written,
    kept_if_small,
)

_BLANKS = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What `trim` takes away, which is not what Python does."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_CODE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_LITERALS = ("array", "false", "null", "number", "object", "regex", "true")
_STRIPS = {"trim": (True, True), "trimStart": (True, False), "trimEnd": (False, True)}


def read_typescript(source: str, name: str, language: str) -> Messages:
    """Return the messages of the constant of that name; a text is one of the user. `language` is
    `typescript` or `tsx`, which reads JavaScript too. Raises CodeFault, with its line."""
    return _Reading(_uses(source, language)).constant(name)


def has_typescript_name(source: str, name: str, language: str) -> bool:
    """Return whether the file declares the name itself."""
    first, *steps = name.split(".")
    reading = _Reading(_uses(source, language))
    found = reading.declared(first)
    if not found:
        return False
    node: Node | None = found[0]
    for step in steps:
        members = reading.members(node, step) if node is not None else []
        if not members:
            return False
        node = members[0]
    return True


@kept_if_small
def _uses(source: str, language: str) -> Uses:
    """Parse a file once for all of its constants, at base and at head."""
    return Uses(_parse(source, language))


def _parse(source: str, language: str) -> Node:
    import tree_sitter_typescript as grammars

    made = grammars.language_tsx() if language == "tsx" else grammars.language_typescript()
    source = source.replace("\r\n", "\n").replace("\r", "\n")  # as the language reads it
    root = Parser(Language(made)).parse(source.encode()).root_node
    if root.has_error:
        wrong = next((n for n in walk(root) if n.is_error or n.is_missing), root)
        raise CodeFault("not TypeScript or JavaScript", "correct the file", line_of(wrong))
    return root


@dataclass
class _Reading:
    """Reads constants of one file. `own` are names that a function's caller gives a value,
    with the code of their defaults."""

    uses: Uses
    own: dict[str, str] = field(default_factory=dict)
    _effort: Effort = field(default_factory=Effort)

    def constant(self, name: str) -> Messages:
        """Return what the name stands for. Raises CodeFault."""
        first, *steps = name.split(".")
        inner = name.rpartition(".")[2]
        if not self.declared(first) and self.uses.bound | self.uses.defined.keys() >= {inner}:
            line = line_of(self.uses.named[inner][0]) if self.uses.named[inner] else 1
            fix = "move the text out of the function, into a constant of the file"
            raise CodeFault(f"`{inner}` is inside a function", fix, line)
        if not self.declared(first):
            self._refuse_given(inner)
        declared = node = self._only(self.declared(first), first, 1)
        self.uses.refuse(first, node)
        if node.type == "class_declaration":
            self.uses.refuse_hidden(steps[-1] if steps else "")
        for step in steps:
            if node.type in FUNCTIONS:
                fix = f"move the text out of `{first}`, into a constant of the file"
                raise CodeFault(f"the prompt is inside the function `{first}`", fix, line_of(node))
            found = self.members(node, step)
            if not found:
                self._refuse_given(step)
            node = self._only(found, step, line_of(node))
        value, reading = self._returned(node) if node.type in FUNCTIONS else (node, self)
        value = self._inside(value)
        is_array = value.type == "array"
        if steps or (is_array and node.type not in FUNCTIONS):
            Flow(self.uses, steps).refuse(first, declared)
        if is_array:
            self.uses.refuse_hidden()
        if is_array and steps:
            Flow(self.uses, ()).refuse(steps[-1], value)
        if not is_array:
            return [("user", reading.value(value))]
        items = array_items(value, self._inside, _member_key)
        return [(item.role, reading.value(item.content)) for item in items]

    def _refuse_given(self, name: str) -> None:
        """Refuse a text that a call gets under the name: no contract can name it."""
        given = (n for n in self.uses.named[name] if n.parent is not None)
        pair = next((n for n in given if n.parent is not None and n.parent.type == "pair"), None)
        if pair is not None:
            fix = "write the text in a constant of the file, and use that constant here"
            raise CodeFault(f"`{name}` is written inside a call", fix, line_of(pair))

    def declared(self, name: str) -> list[Node]:
        """Return the value of each declaration of the name in the module."""
        return [_declared_value(node) for node in self.uses.declared.get(name, ())]

    def members(self, node: Node, key: str) -> list[Node]:
        """Return the value of each member of that key in an object or class."""
        node = self._inside(node)
        frozen = text_of(node.child_by_field_name("function")) == "Object.freeze"
        if frozen and "Object" not in self.uses.bound:
            arguments = node.child_by_field_name("arguments")
            given = parts_of(arguments) if arguments is not None else []
            node = self._inside(given[0]) if len(given) == 1 else node
        if node.type == "object":
            found = [part for part in parts_of(node) if _member_key(part) == key]
            return [part.child_by_field_name("value") or part for part in found]
        body = node.child_by_field_name("body") if node.type == "class_declaration" else None
        found = [
            part
            for part in (parts_of(body) if body is not None else ())
            if any(child.type == "static" for child in part.children) and _member_key(part) == key
        ]
        return [part.child_by_field_name("value") or part for part in found]

    def _only(self, found: list[Node], name: str, line: int) -> Node:
        if not found:
            raise CodeFault(f"there is no `{name}`", "correct the name", line)
        if len(found) > 1:
            lines = ", ".join(str(line_of(node)) for node in found[:10])
            what = f"`{name}` is declared more than once (lines {lines})"
            raise CodeFault(what, SEPARATE, line_of(found[1]))
        parent = found[0].parent
        around = parent.parent if parent is not None and parent.type == "pair" else None
        if around is not None and any(part.type == "spread_element" for part in parts_of(around)):
            what = f"the spread `...` in this object may give `{name}` another value"
            raise CodeFault(what, SEPARATE, line_of(around))
        return found[0]

    def _inside(self, node: Node) -> Node:
        """Return the expression without parentheses and types around it."""
        while node.type in WRAPPERS and parts_of(node):
            node = parts_of(node)[0]
        return node

    def _returned(self, function: Node) -> tuple[Node, _Reading]:
        """Return what a function returns, if it does nothing else, and what reads it."""
        given = function.child_by_field_name("parameters") or function.child_by_field_name(
            "parameter"
        )
        own = _defaults(given) if given is not None else {}
        body = function.child_by_field_name("body")
        if body is not None and body.type == "statement_block":
            statements = parts_of(body)
            is_return = len(statements) == 1 and statements[0].type == "return_statement"
            values = parts_of(statements[0]) if is_return else []
            body = values[0] if values else None
        if body is None:
            raise CodeFault(
                "the function does more than return a text", SEPARATE, line_of(function)
            )
        return body, _Reading(self.uses, own)

    def value(self, node: Node) -> Written:
        """Return the text of an expression. Raises CodeFault if the program computes it."""
        with self._effort.deeper(line_of(node)):
            return self._value(self._inside(node))

    def _value(self, node: Node) -> Written:
        if node.type in ("string", "template_string"):
            return self._literal(node)
        if node.type == "binary_expression":
            return self._sum(node)
        if node.type == "identifier" and text_of(node) not in self.own:
            found = Written()
            found.add(self._module_constant(node), line_of(node))
            return found
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if node.type == "call_expression" and function is not None and arguments is not None:
            method = text_of(function.child_by_field_name("property"))
            inner = function.child_by_field_name("object")
            if method in _STRIPS and inner is not None and not parts_of(arguments):
                self.uses.refuse_hidden(method)
                left, right = _STRIPS[method]
                found = self.value(inner)
                return found.stripped(left=left, right=right, line=line_of(node), blanks=_BLANKS)
        raise self._computed(node)

    def _computed(self, node: Node) -> Computed:
        shown = " ".join(text_of(node)[:60].split())
        return Computed(f"the program computes `{shown}` while it runs", SEPARATE, line_of(node))

    def _module_constant(self, node: Node) -> Written:
        self._effort.add_name(line_of(node))
        name = text_of(node)
        value = self._only(self.declared(name), name, line_of(node))
        self.uses.refuse(name, value)
        return _Reading(self.uses, _effort=self._effort).value(value)

    def _sum(self, node: Node) -> Written:
        terms: list[Node] = []
        left: Node | None = node
        while left is not None and left.type == "binary_expression":
            right = left.child_by_field_name("right")
            if text_of(left.child_by_field_name("operator")) != "+" or right is None:
                raise self._computed(left)
            terms.append(right)
            left = left.child_by_field_name("left")
        found = Written()
        for term in ([left] if left is not None else []) + terms[::-1]:
            found.add(self.value(term))
        return found

    def _literal(self, node: Node) -> Written:
        found = Written()
        source, start = node.text or b"", node.start_byte
        place, line = 1, line_of(node)
        for child in node.named_children:
            begin, end = child.start_byte - start, child.end_byte - start
            line += self._add_raw(found, source[place:begin], line)
            if child.type == "template_substitution":
                self._add_hole(found, child)
                line = int(child.end_point.row) + 1
            elif child.type == "escape_sequence":
                written = source[begin:end].decode()
                found.add_text(_unescaped(written, line_of(child)), line)
                line += written.count("\n")
            else:
                line += self._add_raw(found, source[begin:end], line)
            place = end
        self._add_raw(found, source[place:-1], line)
        return _with_whole_characters(found, line_of(node))

    def _add_raw(self, found: Written, source: bytes, line: int) -> int:
        text = source.decode(errors="replace")
        found.add_text(text, line, spans_lines=True)
        return text.count("\n")

    def _add_literal(self, found: Written, value: Node, path: Path, hole: Node) -> None:
        """Add the text of a constant that is a number, `true`, `false` or `null`."""
        text = text_of(value)
        is_plain = value.type != "number" or _is_plain_number(text)
        if len(path) > 1 or value.type in ("array", "object", "regex") or not is_plain:
            what = f"gatekeeper does not read this part of `{path[0]}`"
            fix = "write the text into a constant of its own, and use only its name"
            raise CodeFault(what, fix, line_of(hole))
        self.uses.refuse(str(path[0]), value)
        found.add_text(text, line_of(hole))

    def _add_hole(self, found: Written, node: Node) -> None:
        inner = parts_of(node)
        path = _path(self._inside(inner[0])) if len(inner) == 1 else None
        if path is None:
            shown = " ".join(text_of(node)[:60].split())
            what = f"the placeholder `{shown}` computes its value"
            fix = "assign the value to a variable first; fixtures then set that variable"
            raise CodeFault(what, fix, line_of(node))
        name = str(path[0])
        known = self.declared(name) if name not in self.own else []
        kind = self._inside(known[0]).type if known else ""
        if kind in _LITERALS:
            self._add_literal(found, self._inside(known[0]), path, node)
            return
        known = known if len(path) == 1 else []
        texts = ("string", "template_string", "binary_expression", "call_expression")
        if known and kind in texts:
            try:
                found.add(self._module_constant(inner[0]), line_of(node))
                return
            except Computed:
                pass  # its value comes from elsewhere, so the fixture gives it
        found.add_hole(path, line_of(node))
        made = self.declared(name) if name not in self.own else []
        made = (self.members(made[0], str(path[1])) if len(path) > 1 and made else []) or made
        if name in self.own:
            found.computed[name] = self.own[name]
        elif made:
            shown = ".".join(map(str, path))
            found.computed[shown] = " ".join(" ".join(map(text_of, made)).split())


def _defaults(parameters: Node) -> dict[str, str]:
    """Return the names of the parameters, each with the code of its default; empty without one."""
    found = dict.fromkeys(names_in(parameters), "")
    for node in walk(parameters):
        named = node.child_by_field_name("pattern") or node.child_by_field_name("left")
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if named is not None and value is not None:
            for name in names_in(named):
                found[name] = f"{found.get(name, '')} {text_of(value)}"
    return found


def _is_plain_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 16 and (text == "0" or text[0] != "0")


def _declared_value(node: Node) -> Node:
    """Return the value of a declaration; itself if it has none, or several names."""
    name = node.child_by_field_name("name")
    is_pattern = name is not None and name.type.endswith("_pattern")
    return node if is_pattern else node.child_by_field_name("value") or node


def _member_key(part: Node) -> str | None:
    """Return the key of a member of an object or class; None for what is no member.

    Raises CodeFault for a key that is only known when the program runs.
    """
    key = part.child_by_field_name("key") or part.child_by_field_name("name")
    if part.type == "shorthand_property_identifier":
        key = part
    if key is None:
        return None
    is_odd = key.type == "number" and not _is_plain_number(text_of(key))  # `0x1` is `1`
    if is_odd or key.type == "computed_property_name" or b"\\" in (key.text or b""):
        what = f"the program computes the key `{text_of(key)[:60]}` while it runs"
        raise CodeFault(what, "write the key as plain text", line_of(key))
    return _key(key)


def _key(node: Node | None) -> str:
    """Return the text of a key, without quotes."""
    text = text_of(node)
    return text[1:-1] if node is not None and node.type == "string" else text


def _path(node: Node) -> Path | None:
    """Return the variable of a hole, with the keys of the part that it names."""
    steps: list[str | int] = []
    while node.type != "identifier":
        inner = node.child_by_field_name("object")
        if inner is None:
            return None
        if node.type == "member_expression" and "?." not in text_of(node):
            steps.append(text_of(node.child_by_field_name("property")))
        elif node.type == "subscript_expression":
            index = node.child_by_field_name("index")
            if index is None or index.type not in ("number", "string"):
                return None
            key = _key(index)
            if index.type == "number" and not key.isdecimal():
                return None
            steps.append(int(key) if index.type == "number" else key)
        else:
            return None
        node = inner
    return (text_of(node), *reversed(steps))


def _unescaped(written: str, line: int) -> str:
    code = _CODE.fullmatch(written)
    if code:
        number = int(next(filter(None, code.groups())), 16)
        if number > 0x10FFFF:
            raise CodeFault(f"`{written}` is no character", "correct it", line)
        return chr(number)
    rest = written[1:]
    if rest[0] in "123456789xu" or len(rest.strip("0123456789")) + 1 < len(rest):
        what = f"gatekeeper does not read the escape `{written}`"
        raise CodeFault(what, "write the character itself", line)
    return "" if rest in ("\r\n", "\n", "\r", "\u2028", "\u2029") else _ESCAPES.get(rest, rest)


def _with_whole_characters(found: Written, line: int) -> Written:
    """Join the two escapes of a character outside of the first plane."""
    joined: list[str | Path] = []
    for part in found.parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    try:
        found.parts = [
            part.encode("utf-16", "surrogatepass").decode("utf-16")
            if isinstance(part, str)
            else part
            for part in joined
        ]
    except UnicodeDecodeError:
        raise CodeFault("half of a surrogate pair", "write both halves", line) from None
    return found
