"""Finds a constant in the tree of a file and reads its text, or its messages.

`NAME` is a constant of the module, `NAME.key` a member of an object or a class. A function that
does nothing but return a text counts as well: its text has the variables. Whatever the program
computes is refused, and so is a name that the file assigns more than once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from gatekeeper.contract.prompts.code.flow import Flow
from gatekeeper.contract.prompts.code.langchain import messages_argument, template_argument
from gatekeeper.contract.prompts.code.names import Language, Names
from gatekeeper.contract.prompts.code.tree import Node
from gatekeeper.contract.prompts.code.written import (
    SEPARATE,
    CodeFault,
    Computed,
    Effort,
    Messages,
    Path,
    Written,
)
from gatekeeper.contract.role_lines import ROLES

_ROLES = {**{role: role for role in ROLES}, "human": "user", "ai": "assistant"}


@dataclass(frozen=True)
class Reading:
    """Reads constants in one scope. `own` are names that a function's caller gives a value, with
    the code of their defaults."""

    names: Names
    effort: Effort = field(default_factory=Effort)
    own: Mapping[str, str] | None = None
    scope: Node | None = None

    @property
    def language(self) -> Language:
        """Return what the file is written in."""
        return self.names.language

    @property
    def at(self) -> Node:
        """Return the module or class whose names are read."""
        return self.scope or self.names.module

    def constant(self, name: str) -> Messages:
        """Return what the name stands for. Raises CodeFault."""
        first, *steps = name.split(".")
        if not self.names.bindings(self.at, first):
            self._refuse_inner(name.rpartition(".")[2])
        holder = self.only(first, 1)
        self.language.refuse_file(self.names)
        value, reading, outer, depth = _value_of(holder), self, list[str](), 0
        for at, step in enumerate(steps):
            if value is not None and value.kind == "function":
                function = [first, *steps][at]
                fix = f"move the text out of `{function}`, into a constant of the file"
                what = f"the prompt is inside the function `{function}`"
                raise CodeFault(what, fix, holder.line)
            if holder.text:
                own = self.language.own_names(value) if value is not None else []
                flow = Flow(self.names, steps[at:], is_class=holder.kind == "class")
                outer, depth = _named_with(holder), len(steps) - at
                flow.refuse(outer, own)
            if holder.kind == "class":
                reading = replace(self, scope=holder)
                holder = reading.only(step, holder.line)
                value = _value_of(holder)
            else:
                holder = value = self.member(value, step, holder)
                if value.kind in ("list", "call"):  # whatever holds the list may hand it on
                    Flow(self.names).refuse(outer, new=depth)
        scope = None if self.language.has_members else reading.scope
        return replace(reading, scope=scope)._messages(name.rpartition(".")[2], holder, value)

    def _refuse_inner(self, inner: str) -> None:
        """Refuse a text inside a function or a call, which no contract can name."""
        for use in self.names.named.get(inner, []):
            if use.kind == "pair" and not use.parts[-1].is_target():
                fix = "write the text in a constant of the file, and use that constant here"
                raise CodeFault(f"`{inner}` is written inside a call", fix, use.line)
            if use.kind == "name" and use.is_target():
                fix = "move the text out of the function, into a constant of the file"
                raise CodeFault(f"`{inner}` is inside a function", fix, use.line)

    def _messages(self, name: str, bound: Node, value: Node | None) -> Messages:
        reading, is_function = self, value is not None and value.kind == "function"
        if value is not None and is_function:
            value, reading = self._returned(value, name)
        if value is None or value.kind in ("class", "literal"):
            fix = "use a constant whose value is text as the prompt"
            raise CodeFault(f"`{name}` is not a constant", fix, bound.line)
        chat = self._langchain(value, messages_argument)
        listed = (chat or value).inside()
        may_change = listed.kind == "list" or self._langchain(value, template_argument)
        if may_change and not is_function:
            Flow(self.names).refuse(_named_with(bound) if bound.kind == "name" else [name])
        if listed.kind != "list":
            return [("user", reading.value(value))]
        if not listed.parts:
            raise CodeFault("the list has no message", self._fix, listed.line)
        return [reading._message(item.inside()) for item in listed.parts]

    @property
    def _fix(self) -> str:
        key = "role" if self.names.language.has_members else '"role"'
        return f'write `{{{key}: "user", {key.replace("role", "content")}: "…"}}`'

    def _message(self, item: Node) -> tuple[str, Written]:
        if item.text == "tuple" and len(item.parts) == 2:
            return self._role(item.parts[0]), self.value(item.parts[1])
        if item.kind != "object":
            raise CodeFault(f"`{self._shown(item)}` is not a message", self._fix, item.line)
        parts: dict[str, Node] = {}
        for pair in item.parts:
            if pair.kind != "pair" or pair.text not in ("role", "content") or pair.text in parts:
                shown = self._shown(pair.get("key") or pair)
                what = f"gatekeeper does not read `{shown}` of a message"
                raise CodeFault(what, "keep only `role` and `content`", pair.line)
            parts[pair.text] = pair.parts[-1].inside()
        if len(parts) != 2:
            raise CodeFault("a message lacks `role` or `content`", self._fix, item.line)
        return self._role(parts["role"]), self.value(parts["content"])

    def _role(self, node: Node) -> str:
        role = node.text.lower() if node.kind == "text" else ""
        if role not in _ROLES:
            what = f"the role `{self._shown(node)}` is not one of {', '.join(ROLES)}"
            raise CodeFault(what, self._fix, node.line)
        return _ROLES[role]

    def _shown(self, node: Node) -> str:
        shown = " ".join(self.language.shown(node).split())
        return shown if len(shown) <= 60 else f"{shown[:60]}…"

    def _code(self, node: Node | None) -> str:
        return " ".join(self.language.shown(node).split()) if node is not None else ""

    def only(self, name: str, line: int, reader: Node | None = None) -> Node:
        """Return what alone gives the name of the scope its value. Raises CodeFault."""
        bound = self.names.bindings(self.at, name)
        if not bound:
            raise CodeFault(f"there is no `{name}`", self._nearest(name), line)
        lines = sorted({node.line for node in bound})
        direct = [node for node in bound if _is_direct(node, self.at)]
        if len(bound) > 1 and len(direct) != 1:
            self._refuse_more(name, lines)
        if bound[0].kind == "alias":
            fix = f"define `{name}` in this file, or use the file that defines `{name}`"
            raise CodeFault(f"`{name}` is imported", fix, lines[0])
        self.names.language.refuse_declaration(self.names, (direct or bound)[0], name)
        if len(bound) > 1:
            self._refuse_more(name, lines)
        if not direct:
            what = (
                f"`{name}` is assigned under a condition, in a loop, or together with other names"
            )
            raise CodeFault(what, SEPARATE, lines[0])
        has_order = not self.language.has_members
        if reader is not None and has_order and self.own is None and bound[0].place > reader.place:
            raise CodeFault(f"`{name}` has no value yet", SEPARATE, reader.line)
        for star in self.names.stars:
            if not self.scope and star.line > bound[0].line:
                what = f"a later `import *` may give `{name}` another value"
                fix = "list the imported names, or move the import before the constant"
                raise CodeFault(what, fix, star.line)
        self.names.refuse_changes(name, self.scope)
        return bound[0]

    def _refuse_more(self, name: str, lines: list[int]) -> None:
        what = f"`{name}` is assigned more than once (lines {', '.join(map(str, lines[:10]))})"
        raise CodeFault(what, SEPARATE, lines[1] if len(lines) > 1 else lines[0])

    def _nearest(self, name: str) -> str:
        import difflib

        close = difflib.get_close_matches(name, sorted(self.names.known(self.at)), n=1)
        return f"did you mean `{close[0]}`?" if close else "correct the name"

    def member(self, holder: Node | None, key: str, bound: Node) -> Node:
        """Return the value of a key of an object or list. Raises CodeFault."""
        found = _members(self.names, holder, key)
        if not found:
            self._refuse_inner(key)
            raise CodeFault(f"there is no `{key}`", "correct the name", bound.line)
        if len(found) > 1:
            self._refuse_more(key, [part.line for part in found])
        around = found[0].around
        for part in around.parts:
            if part.kind == "spread":
                what = f"the spread `...` in this object may give `{key}` another value"
                raise CodeFault(what, SEPARATE, around.line)
            if around.kind == "object" and not part.text:
                what = f"the program computes the key `{self._shown(part)}` while it runs"
                raise CodeFault(what, "write the key as plain text", part.line)
        return (found[0].parts[-1] if found[0].kind == "pair" else found[0]).inside()

    def _returned(self, function: Node, name: str) -> tuple[Node, Reading]:
        """Return what a function returns, if it does nothing else, and what reads it."""
        body = function.all("body")
        if body and body[0].kind == "end" and body[0].parts[0].kind == "text":
            body = body[1:]
        value = function.get("result")
        if len(body) == 1 and body[0].kind == "return" and not body[0].text:
            value = body[0].get("value")
        if value is None:
            what = f"the function `{name}` does more than return a text"
            raise CodeFault(what, SEPARATE, function.line)
        static = {part.text for part in function.all("decorator")}
        if static - {"classmethod", "staticmethod"} or (static and not self.scope):
            what = f"a decorator may change what `{name}` returns"
            raise CodeFault(what, SEPARATE, function.line)
        own: dict[str, str] = {}
        for given in [*function.all("parameter"), *function.all("rest")]:
            for node in given.walk():
                default = node.get("value") if node.kind in ("parameter", "default") else None
                targets = (
                    [n for n in node.parts[0].walk() if n.kind == "name"] if node.parts else []
                )
                for target in targets if node.kind in ("parameter", "default") else ():
                    code = self._code(default)
                    own[target.text] = f"{own.get(target.text, '')} {code}".strip()
        return value, replace(self, own=own, scope=None)

    def value(self, node: Node) -> Written:
        """Return the text of an expression. Raises CodeFault if the program computes it."""
        with self.effort.deeper(node.line):
            return self._value(node.inside())

    def _value(self, node: Node) -> Written:
        if node.kind == "text":
            return self.language.literal(node, self.add_hole)
        if node.kind == "sum":
            return self._sum(node)
        if node.kind == "name" and node.text not in (self.own or ()):
            return self._named(node)
        if node.kind == "call":
            template = self._langchain(node, template_argument)
            found = self.language.cleaned(self.names, node, self.value)
            found = self.value(template) if template is not None else found
            if found is not None:
                return found
        raise Computed(
            f"the program computes `{self._shown(node)}` while it runs", SEPARATE, node.line
        )

    def _sum(self, node: Node) -> Written:
        terms: list[Node] = []
        left = node
        while left.kind == "sum":
            terms.append(left.parts[1])
            left = left.parts[0]
        found = Written()
        for term in (left, *reversed(terms)):
            found.add(self.value(term))
        return found

    def _named(self, node: Node) -> Written:
        """Return the text of another constant of the module."""
        self.effort.add_name(node.line)
        reading = self._of(node)
        inner = _value_of(reading.only(node.text, node.line, node))
        if inner is None or inner.kind in ("function", "class"):
            raise Computed(f"the program computes `{node.text}` while it runs", SEPARATE, node.line)
        found = Written()
        found.add(replace(reading, own=None).value(inner), node.line)
        return found

    def _of(self, node: Node) -> Reading:
        """Return the reading of the scope that a name in the constant belongs to."""
        if self.scope is None:
            return self
        name, bound = node.text, self.names.bindings(self.at, node.text)
        store = bound[0].enclosing("store") if bound else None
        if store is not None and node in store.walk():
            return replace(self, scope=None)  # `NAME = NAME` takes the module's
        if any(found.place > node.place for found in bound) or name.startswith("__"):
            what = f"the class assigns `{name}` only after this line reads it"
            raise CodeFault(what, SEPARATE, node.line)
        return self if bound else replace(self, scope=None)

    def _langchain(self, value: Node, argument: Callable[[Node], Node | None]) -> Node | None:
        """Return the argument of a class of LangChain's packages; None if it is no such call."""
        given = argument(value.inside())
        is_known = given is not None and self.names.origin(value.inside().parts[0])
        return given if is_known and is_known.startswith("langchain") else None

    def add_hole(self, found: Written, hole: Node) -> None:
        """Add what fills a hole: the text of a constant, or a variable. Raises CodeFault."""
        inner = hole.parts[0].inside()
        shown = self._shown(inner)
        if len(hole.parts) > 1:
            what = f"the placeholder `{{{shown}}}` formats its value"
            fix = "write only the name in the braces, and put the formatted text into the fixture"
            raise CodeFault(what, fix, hole.line)
        path = _path(inner)
        if path is None:
            fix = "assign the value to a variable first; fixtures then set that variable"
            what = f"the placeholder `{{{shown}}}` computes its value"
            raise CodeFault(what, fix, hole.line)
        constant, computed = self._known(path, inner.root())
        if constant is not None:
            found.add(constant, hole.line)
        else:
            found.add_hole(path, hole.line)
            found.computed |= computed

    def _known(self, path: Path, root: Node) -> tuple[Written | None, dict[str, str]]:
        """Return the text of a constant in a hole; None for a variable, with the code of this file
        that gives it a value."""
        name = root.text
        if name in (self.own or ()):
            return None, {name: (self.own or {})[name]}
        reading = self._of(root)
        bound = self.names.bindings(reading.at, name)
        if all(node.kind == "alias" for node in bound):
            return None, {name: self.names.imported.get(name, "")}
        found = reading.only(name, root.line, root)
        value = _value_of(found)
        made = found.enclosing("store") if found.kind == "name" else found
        if value is not None and value.kind in ("literal", "list", "object", "end", "compare"):
            if value.kind in ("list", "object"):
                Flow(self.names, [*map(str, path[1:])]).refuse(_named_with(found))
            return replace(reading, own=None)._part(value, path, root), {}
        if value is not None and value.kind == "class" and len(path) > 1:
            members = self.names.bindings(value, str(path[1]))
            made = members[0].enclosing("store") if members else made
        try:
            if value is not None and len(path) == 1 and value.kind not in ("function", "class"):
                return replace(reading, own=None).value(value), {}
        except Computed:
            pass  # its value comes from elsewhere, so the fixture gives it
        return None, {".".join(map(str, path)): self._code(made or found)}

    def _part(self, value: Node, path: Path, root: Node) -> Written:
        """Return the text of a number, or of an item of a list or object of literals."""
        for step in path[1:]:
            items = value.parts if value.kind == "list" and isinstance(step, int) else []
            is_plain = all(part.role == "item" and part.kind != "spread" for part in items)
            if is_plain and 0 <= int(step if items else 0) < len(items):
                value = items[int(step)].inside()
            elif value.kind == "object":
                value = self.member(value, str(step), root)
            else:
                value = root
        text = self.language.number(value) if value.kind != "text" else None
        if value.kind == "text":
            return self.value(value)
        if text is None:
            what = f"gatekeeper does not read this part of `{path[0]}`"
            fix = "write the text into a constant of its own, and use only its name"
            raise CodeFault(what, fix, root.line)
        made = Written()
        made.add_text(text, root.line)
        return made


def has_name(names: Names, name: str) -> bool:
    """Return whether the file gives the name a value itself, and not only by an import."""
    scope: Node | None = names.module
    for step in name.split("."):
        if scope is None:
            return False
        if scope.kind in ("module", "class"):
            found = [n for n in names.bindings(scope, step) if n.kind != "alias"]
        else:
            found = _members(names, scope, step)
        if not found:
            return False
        scope = _value_of(found[0])
    return True


def _is_direct(bound: Node, scope: Node) -> bool:
    """Return whether a statement of the scope itself gives the name its value."""
    if bound.kind != "name":
        return bound.parent is scope
    store = bound.parent
    if store is None or store.kind != "store" or store.parent is not scope:
        return False
    is_plain = store.text in ("=", "const", "let", "var", "static")
    return is_plain and bound.role == "target" and store.get("value") is not None


def _named_with(bound: Node) -> list[str]:
    """Return the names that a statement gives one value."""
    targets = bound.around.all("target") if bound.kind == "name" else [bound]
    return [target.text for target in targets if target.kind in ("class", "member", "name")]


def _value_of(bound: Node) -> Node | None:
    """Return the value that a statement gives the name; a function or class is its own."""
    if bound.kind in ("function", "class"):
        return bound
    if bound.kind == "pair":
        return bound.parts[-1].inside()
    store = bound.enclosing("store") if bound.kind == "name" else None
    value = store.get("value") if store is not None else None
    return value.inside() if value is not None else None


def _members(names: Names, holder: Node | None, key: str) -> list[Node]:
    """Return what an object has under the key."""
    if holder is None:
        return []
    frozen = holder.kind == "call" and holder.parts[0].dotted() == ["Object", "freeze"]
    if frozen and "Object" not in names.bound:
        given = holder.all("argument")
        holder = given[0].inside() if len(given) == 1 else holder
    if holder.kind != "object":
        return []
    return [part for part in holder.parts if part.text == key and part.kind in ("pair", "function")]


def _path(node: Node) -> Path | None:
    """Return the variable of a hole, with the keys of the part that it names."""
    steps: list[str | int] = []
    while node.kind in ("member", "item"):
        key = node.get("key")
        if node.kind == "item" and (
            key is None or not node.text or key.kind not in ("text", "literal")
        ):
            return None
        is_number = key is not None and key.kind == "literal"
        if is_number and not node.text.isdecimal():
            return None
        steps.append(int(node.text) if is_number else node.text)
        node = node.parts[0].inside()
    return (node.text, *reversed(steps)) if node.kind == "name" else None
