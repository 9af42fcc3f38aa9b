"""Parses a TypeScript or JavaScript file with tree-sitter and lowers it to the tree that is read:
nothing is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from tree_sitter import Language, Parser
from tree_sitter import Node as Source

from gatekeeper.contract.prompts.code.names import Names, changed, may_change_any
from gatekeeper.contract.prompts.code.tree import Described, Node, Parts, Plain, Row, build, rows
from gatekeeper.contract.prompts.code.written import CodeFault, Written
from gatekeeper.contract.values.unique_name import words

_BLANKS = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What `trim` takes away, which is not what Python does."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_CODE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_STRIPS = {"trim": str.strip, "trimStart": str.lstrip, "trimEnd": str.rstrip}
_SKIPPED = words("comment property_identifier string_fragment escape_sequence string_content")
_INLINE = words(
    "arguments class_body class_heritage extends_clause formal_parameters lexical_declaration"
    " variable_declaration"
)
"""What stands around the parts of a node, and is none itself."""
_COMPUTED = ("computed_property_name", "unary_expression", "binary_expression")
_RUNNING = words("inspector module repl vm worker_threads")
"""The modules of Node that run a text as code, or find what a file exports."""
_ANY = words("Function eval exports getBuiltinModule mainModule module")
_HIDDEN = words("__proto__ constructor getPrototypeOf prototype setPrototypeOf")
_ROLES = {"value": "value", "result": "result", "body": "body"}
_ROWS = rows(
    """
    program                                       module
    statement_block                               block
    identifier,this                               name @.
    false,null,number,regex,true,undefined        literal @.
    string,template_string                        text *=hole
    template_substitution                         hole *=value
    member_expression                             member @property object=object
    subscript_expression                          item @index object=object index=key
    call_expression                               call function=function arguments=argument
    array,array_pattern                           list *=item
    object,object_pattern                         object *=item
    pair,pair_pattern                             pair @key key=key
    spread_element,rest_pattern                   spread *=value
    function_declaration,method_definition        function @name parameters=parameter
    arrow_function                    function:=> parameters=parameter parameter=parameter
    function_expression                           function parameters=parameter
    required_parameter,optional_parameter         parameter pattern=target
    class_declaration,abstract_class_declaration  class @name
    assignment_pattern,object_assignment_pattern  default left=target right=value
    variable_declarator                           store name=target
    assignment_expression                         store:= left=target right=value
    augmented_assignment_expression               store:+= left=target right=value
    update_expression                             store:del argument=target
    for_in_statement                              store:for left=target right=value
    binary_expression                             compare left=value right=value
    binary_expression+                            sum left=value right=value
    parenthesized_expression,as_expression        through *=value
    satisfies_expression,non_null_expression      through *=value
    type_assertion                                through *=value
    return_statement                              return *=value
    expression_statement                          end *=value
    unary_expression                              end argument=value
    import_statement                              import @source
    export_statement                              export *=value
    export_clause                                 export *=value
    export_specifier                              export name=value
    namespace_export                              export
    """
)
_STATEMENT, _OTHER = rows("statement statement\nother other").values()


@lru_cache(maxsize=2)
def typescript_names(source: str, path: str, language: str) -> Names:
    """Parse a file once for all of its constants, at base and at head. `language` is `typescript`
    or `tsx`, which reads JavaScript too. Raises CodeFault."""
    return Names(build(_parse(source, language), _describe, _place_of), Typescript(), path)


def _parse(source: str, language: str) -> Source:
    import tree_sitter_typescript as grammars

    made = grammars.language_tsx() if language == "tsx" else grammars.language_typescript()
    source = source.replace("\r\n", "\n").replace("\r", "\n")  # as the language reads it
    root = Parser(Language(made)).parse(source.encode()).root_node
    if root.has_error:
        waiting = [root]
        while not (waiting[-1].is_error or waiting[-1].is_missing):
            waiting += reversed(waiting.pop().children)
        wrong = waiting[-1]
        raise CodeFault("not TypeScript or JavaScript", "correct the file", _place_of(wrong)[0])
    return root


def _place_of(node: Source) -> tuple[int, int]:
    return int(node.start_point.row) + 1, int(node.start_point.column)


def _text(node: Source | None) -> str:
    """Return the source of the node; empty for none."""
    return (node.text or b"").decode(errors="replace") if node is not None else ""


def _parts(node: Source) -> Iterator[tuple[str, Source]]:
    """Yield the nodes right inside the node, each with its field."""
    for at, child in enumerate(node.children):
        if child.is_named and child.type not in _SKIPPED:
            yield from _inlined(node, node.field_name_for_child(at) or "", child)


def _inlined(holder: Source, name: str, child: Source) -> Iterator[tuple[str, Source]]:
    is_body = child.type == "statement_block" and _row(holder).kind == "function"
    exports = child.type == "export_statement" and child.child_by_field_name("declaration")
    if child.type == "template_string" and holder.type == "call_expression":
        for _, hole in _parts(child):
            yield from (("tag", part) for _, part in _parts(hole))
    elif is_body or exports or child.type in _INLINE:
        yield from ((name, part) for _, part in _parts(child))
    else:
        is_result = name == "body" and holder.type == "arrow_function"
        yield "result" if is_result else name, child


def _row(node: Source) -> Row:
    kind = node.type
    known = _ROWS.get(kind + _text(node.child_by_field_name("operator"))) or _ROWS.get(kind)
    if known is not None:
        return known
    return _STATEMENT if kind.endswith(("_statement", "_body", "_case", "_block")) else _OTHER


def _role(row: Row, name: str, child: Source) -> str:
    """Return the role of a part, by its field or by what it is."""
    if child.type == "decorator":
        return "decorator"
    kind = _row(child).kind
    if row.kind == "function" and row.roles.get(name) == "parameter" != kind:
        return "target"  # a parameter without types
    if name in row.roles or "*" in row.roles:
        return row.roles.get(name, row.roles.get("*", ""))
    if row.kind == "class" and name != "body":
        return "base"
    is_body = kind in ("statement", "store", "function", "class") or row.kind in ("module", "block")
    return _ROLES.get(name, "body" if is_body else "other")


def _describe(node: Source) -> Described:
    """Return the kind, the text and the parts of a node."""
    row, type_ = _row(node), node.type
    kind, text, field = row.kind, row.text, node.child_by_field_name
    named = "" if row.named_by in row.roles else row.named_by
    parts: Parts = [
        (_role(row, name, part), part)
        for name, part in _parts(node)
        if name != named or not name or not _key(part)
    ]
    if row.named_by:
        text = _key(node if row.named_by == "." else field(row.named_by))
    if type_ in ("string", "template_string"):
        text = _key(node)
    elif type_ == "subscript_expression":
        index = str(getattr(field("index"), "type", ""))
        text = text if index.endswith("string") or index == "number" else ""
    elif type_ == "type_assertion":
        parts.reverse()
    elif type_ == "variable_declarator":
        text = node.parent.children[0].type if node.parent is not None else ""
    elif type_.startswith("shorthand_property_identifier"):
        kind, text, parts = "pair", _text(node), [("value", Plain("name", _text(node), [], node))]
    elif type_ == "import_statement":
        text = text or "?"  # `import a = require("b")`
        path = [("path", Plain("end", text, [], node))]
        parts = [("alias", Plain("alias", _text(part), path, part)) for part in _imported(node)]
    elif kind == "export":
        text, parts = _export(node, parts)
    return kind, text, parts


def _imported(node: Source) -> Iterator[Source]:
    """Yield the names that an import binds."""
    for part in node.named_children:
        name = part.child_by_field_name("alias") or part.child_by_field_name("name")
        if name is not None or part.type == "identifier":
            yield name or part
        else:
            yield from _imported(part)


def _export(node: Source, parts: Parts) -> tuple[str, Parts]:
    """Return the name that is exported, and the name of the file that it stands for."""
    name = node.child_by_field_name("name")
    if node.type == "export_specifier":
        shown = _text(node.child_by_field_name("alias") or name).strip("\"'")
        return f"as {shown}", [("value", Plain("name", _text(name), [], node))]
    if node.type == "namespace_export":
        return f"as {_text(node.named_children[0])}", []
    is_whole = any(child.type == "=" for child in node.children)
    return "=" if is_whole else "from" if node.child_by_field_name("source") else "", parts


def _key(node: Source | None) -> str:
    """Return a name, or the text of a key; empty if only the running program knows it."""
    text = _text(node)
    if node is None or node.type in _COMPUTED:
        return ""
    if node.type == "number":
        return text if _is_plain_number(text) else ""  # `0x1` is `1`
    if node.type in ("string", "template_string"):
        return "" if "\\" in text or "${" in text else text[1:-1]
    return text


def _is_plain_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 16 and (text == "0" or text[0] != "0")


class Typescript:
    """The short lists of harmless uses, what else may change a constant or its export, and how the
    languages write texts. For the lists, see `Names`.

    No syntax can assign a text that `const` declares. Its module may still export another value
    under the name.
    """

    is_python = False

    def refuse_file(self, names: Names) -> None:
        """Refuse code that can reach the names of its own module other than by writing them."""
        for node in names.nodes:
            shown = self._reflects(names, node)
            if shown:
                raise may_change_any(shown, node)

    def _reflects(self, names: Names, node: Node) -> str:
        kind, text = node.kind, node.text
        if kind == "name" and "\\" in text:
            fix = "write the name without the escape sequence"
            raise CodeFault("a name contains an escape sequence", fix, node.line)
        if kind == "statement" and node.source.type == "with_statement":
            return "with"
        is_changed = kind == "member" and text in _STRIPS and node.is_target()
        if is_changed or (kind in ("name", "member", "item") and text in _ANY):
            return text
        if kind in ("member", "text", "pair") and text in _HIDDEN:
            is_read = kind == "member" and node.around.text in ("name", "hasOwnProperty")
            return "" if is_read else text
        if kind == "name" and text in ("arguments", "this"):
            is_inside = node.enclosing("class" if text == "this" else "function") is not None
            return "" if is_inside else text
        if kind == "name" and text == "require":
            return "" if node.role == "function" else text
        path = text if kind == "import" else _required(node) if kind == "call" else ""
        is_running = path == "?" or path.removeprefix("node:") in _RUNNING
        return path if is_running or (path and names.is_itself(path)) else ""

    def refuse_declaration(self, names: Names, bound: Node, name: str) -> None:
        """Refuse a declaration that leaves the name open to change."""
        if bound.kind == "class":
            fix = "move the text out of the class, into a constant of the file"
            raise CodeFault(f"the prompt is inside the class `{name}`", fix, bound.line)
        if bound.kind == "name":
            store = bound.enclosing("store", "parameter", "default")
            if store is not None and store.text != "const":
                what = f"`{name}` is not a constant, so the program can assign it again"
                raise CodeFault(what, "declare it with `const`", store.line)
        for node in names.named.get(name, []) if bound.kind == "function" else ():
            if node.kind == "name" and node.is_target():
                raise changed(name, node)

    def changes(self, node: Node, name: str, _in_class: bool) -> bool:
        """Return whether the node exports another value under the name."""
        if node.kind != "export":
            return False
        around = (node.around, node.around.parent)
        foreign = any(above is not None and above.text == "from" for above in around)
        given = node.get("value")
        is_same = given is not None and given.text == name and not foreign
        return node.text == "=" or (node.text == f"as {name}" and not is_same)

    def shown(self, node: Node) -> str:
        """Return the source of the node."""
        return _text(node.source)

    def number(self, node: Node) -> str | None:
        """Return what a literal other than a text is in a text; None if that is not known."""
        is_known = node.text in ("true", "false", "null") or _is_plain_number(node.text)
        return node.text if node.kind == "literal" and is_known else None

    def cleaned(self, _: Names, call: Node, value: Callable[[Node], Written]) -> Written | None:
        """Return the text of a call that only trims; None for any other call."""
        called = call.parts[0]
        if called.kind != "member" or called.text not in _STRIPS or call.all("argument"):
            return None
        strip = _STRIPS[called.text]
        return value(called.parts[0]).cleaned(lambda text: strip(text, _BLANKS), call.line)

    def literal(self, node: Node, add_hole: Callable[[Written, Node], None]) -> Written:
        """Return a string literal with the line of each of its lines in the file."""
        found, made, holes = Written(), node.source, iter(node.parts)
        source, start = made.text or b"", made.start_byte
        place, line = 1, node.line
        for child in made.named_children:
            if child.type not in ("template_substitution", "escape_sequence"):
                continue
            begin, end = child.start_byte - start, child.end_byte - start
            found.add_text(source[place:begin].decode(), line, spans_lines=True)
            line, place = _place_of(child)[0], end
            if child.type == "escape_sequence":
                found.add_text(_unescaped(source[begin:end].decode(), line), line)
            else:
                add_hole(found, next(holes))
            line = int(child.end_point.row) + 1
        found.add_text(source[place:-1].decode(), line, spans_lines=True)
        return found


def _required(call: Node) -> str:
    """Return the path that `require` or `import` is given; `?` if only the program knows it."""
    function = call.parts[0] if call.parts else call
    if function.source.type != "import" and function.dotted() != ["require"]:
        return ""
    given = call.all("argument")
    return (given[0].text if given[0].kind == "text" else "") or "?" if given else ""


def _unescaped(written: str, line: int) -> str:
    code = _CODE.fullmatch(written)
    if code:
        number = int(next(filter(None, code.groups())), 16)
        if number <= 0x10FFFF and not 0xD800 <= number < 0xE000:
            return chr(number)
    rest = written[1:]
    if rest[0] in "123456789xu" or len(rest.strip("0123456789")) + 1 < len(rest):
        what = f"gatekeeper does not read the escape `{written}`"
        raise CodeFault(what, "write the character itself", line)
    return "" if rest in ("\r\n", "\n", "\r", "\u2028", "\u2029") else _ESCAPES.get(rest, rest)
