"""Finds a constant in the tree of a file and reads its text, or its messages.

`NAME` is a constant of the module, `NAME.key` a member of an object or a class. A function that
does nothing but return a text counts as well: its text has the variables. Whatever the program
computes is refused, and so is a name that the file assigns more than once.

`PromptTemplate.from_template("…")` and `PromptTemplate(template="…", input_variables=[…])` of
LangChain are the text that they are given, and `ChatPromptTemplate.from_messages([…])` is a list of
messages. `answer` is what the child with limits does.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from gatekeeper.contract.prompts.code.flow import Flow
from gatekeeper.contract.prompts.code.names import Names
from gatekeeper.contract.prompts.code.python_source import python_names
from gatekeeper.contract.prompts.code.tree import Node
from gatekeeper.contract.prompts.code.written import (
    SEPARATE,
    CodeFault,
    Computed,
    Messages,
    Path,
    Written,
)
from gatekeeper.contract.reading.role_lines import ROLES

_ROLES = {**{role: role for role in ROLES}, "human": "user", "ai": "assistant"}
_KEYS = ("role", "content")
_TEMPLATES = [["PromptTemplate"], ["ChatPromptTemplate"], ["HumanMessagePromptTemplate"]]
_REPLACING = ("replace", "replaceAll")
_NAMED = re.compile(r"\$?\{+\s*[\w.]+\s*\}+")
"""A mark that the gate reads as a variable too."""


@dataclass(frozen=True)
class Reading:
    """Reads constants in one scope. `own` are names that a function's caller gives a value, with
    the code of their defaults. `made` are the constants that others are made of."""

    names: Names
    own: Mapping[str, str] = field(default_factory=dict)
    scope: Node | None = None
    made: dict[Node, Written | None] = field(default_factory=dict)

    @property
    def at(self) -> Node:
        """Return the module or class whose names are read."""
        return self.scope or self.names.module

    def constant(self, name: str) -> Messages:
        """Return what the name stands for. Raises CodeFault."""
        first, *steps = name.split(".")
        last = steps[-1] if steps else first
        if not self.names.bindings(self.at, first):
            self._refuse_inner(last)
        reading, bound = self, self.only(first, 1)
        self.names.rules.refuse_file(self.names)
        while steps and bound.kind == "class":
            reading = replace(self, scope=bound)
            bound = reading.only(steps.pop(0), bound.line)
        value = _value_of(bound)
        if steps and value is not None and value.kind == "function":
            fix = f"move the text out of `{bound.text}`, into a constant of the file"
            raise CodeFault(f"the prompt is inside the function `{bound.text}`", fix, bound.line)
        for step in steps:
            value = reading.member(value, step, bound)
        return reading._messages(last, value, bound, steps)

    def _refuse_inner(self, inner: str) -> None:
        """Refuse a text inside a function or a call, which no contract can name."""
        for use in self.names.named.get(inner, []):
            if use.kind == "pair" and not use.parts[-1].is_target():
                fix = "write the text in a constant of the file, and use that constant here"
                raise CodeFault(f"`{inner}` is written inside a call", fix, use.line)
            if use.kind == "name" and use.is_target():
                fix = "move the text out of the function, into a constant of the file"
                raise CodeFault(f"`{inner}` is inside a function", fix, use.line)

    def _messages(
        self, name: str, value: Node | None, bound: Node, steps: Sequence[str]
    ) -> Messages:
        reading, is_function = self, value is not None and value.kind == "function"
        if value is not None and is_function:
            value, reading = self._returned(value, name)
        if value is None or value.kind in ("class", "literal"):
            fix = "use a constant whose value is text as the prompt"
            raise CodeFault(f"`{name}` is not a constant", fix, bound.line)
        template = self._template(value)
        listed = (template or value).inside()
        is_list = template is not None or listed.kind == "list"
        if steps or (is_list and not is_function):
            if not self.names.rules.is_python:
                fix = "write each text in a constant of its own, and use that constant here"
                raise CodeFault(f"other code may change a part of `{name}`", fix, bound.line)
            ends = {*_KEYS} - {*steps} if is_list else {steps[-1]} - {*steps[:-1]}
            if len(steps) == 1 and not is_list:  # whatever the keys are, one of it is a text
                ends |= {"", *(part.text for part in (_value_of(bound) or bound).parts)}
            Flow(self.names, ends, is_list=is_list and not steps).refuse(_named_with(bound))
        if listed.kind != "list":
            text = reading.value(value)
            if not is_function:
                self._refuse_filled(name, text)
            return [("user", text)]
        if not listed.parts:
            raise CodeFault("the list has no message", self._fix, listed.line)
        return [reading._message(item.inside()) for item in listed.parts]

    def _refuse_filled(self, name: str, written: Written) -> None:
        """Refuse a text in which the program fills in other marks than names in braces: the gate
        would send the marks."""
        text = "".join(part for part in written.parts if isinstance(part, str))
        fix = "return the text from a function, with each value as `${name}`"
        if self.names.rules.is_python:
            fix = "write each value as a name in braces, `{name}`, and fill it in with `.format`"
        for use in self.names.named.get(name, []):
            mark = self._filled_by(use.outside(), text)
            if mark is not None:
                raise CodeFault(f"the program fills in `{mark}` of `{name}`", fix, use.line)

    def _filled_by(self, use: Node, text: str) -> str | None:
        """Return the mark of the text that this use of it fills in, or what is done with the result
        of a method of it; None for any other use."""
        around = use.around
        if around.text == "%" and around.kind == "other" and use.role == "value":
            return "%" if "%" in text else None
        if around.kind == "call" and use.role == "argument":
            is_template = self.names.origin(around.parts[0]) == "string.Template"
            return "$" if is_template and "$" in text else None
        call = around.outside().around if use.role == "object" else around
        if use.role != "object" or call.kind != "call" or around.outside().role != "function":
            return None
        given = [argument.inside() for argument in call.all("argument")]
        if around.text in _REPLACING and given and given[0].kind == "text":
            mark = given[0].text.strip("\"'`")
            if mark and mark in text and not _NAMED.fullmatch(mark):
                return mark
        return self._filled_by(call.outside(), text)

    @property
    def _fix(self) -> str:
        key = '"role"' if self.names.rules.is_python else "role"
        return f'write `{{{key}: "user", {key.replace("role", "content")}: "…"}}`'

    def _message(self, item: Node) -> tuple[str, Written]:
        if item.text == "tuple" and len(item.parts) == 2:
            return self._role(item.parts[0]), self.value(item.parts[1])
        if item.kind != "object":
            raise CodeFault(f"`{self._shown(item)}` is not a message", self._fix, item.line)
        parts: dict[str, Node] = {}
        for pair in item.parts:
            if pair.kind != "pair" or pair.text not in _KEYS or pair.text in parts:
                what = f"gatekeeper does not read `{self._shown(pair.get('key') or pair)}` here"
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

    def _code(self, node: Node) -> str:
        return " ".join(self.names.rules.shown(node).split())

    def _shown(self, node: Node) -> str:
        shown = self._code(node)
        return shown if len(shown) <= 60 else f"{shown[:60]}…"

    def only(self, name: str, line: int, reader: Node | None = None) -> Node:
        """Return what alone gives the name of the scope its value. Raises CodeFault."""
        bound = self.names.bindings(self.at, name)
        if not bound:
            close = difflib.get_close_matches(name, sorted(self.names.bound), n=1)
            fix = f"did you mean `{close[0]}`?" if close else "correct the name"
            raise CodeFault(f"there is no `{name}`", fix, line)
        _refuse_more(name, bound)
        (found,) = bound
        if found.kind == "alias":
            fix = f"define `{name}` in this file, or use the file that defines `{name}`"
            raise CodeFault(f"`{name}` is imported", fix, found.line)
        self.names.rules.refuse_declaration(self.names, found, name)
        if not _is_direct(found, self.at):
            what = f"`{name}` is assigned in a condition or a loop, or together with other names"
            raise CodeFault(what, SEPARATE, found.line)
        if reader is not None and not self.own and found.place > reader.place:
            raise CodeFault(f"`{name}` has no value yet", SEPARATE, reader.line)
        for star in self.names.bindings(self.at, "*"):
            if star.line > found.line:
                what = f"a later `import *` may give `{name}` another value"
                fix = "list the imported names, or move the import before the constant"
                raise CodeFault(what, fix, star.line)
        self.names.refuse_changes(name, self.scope is not None)
        return found

    def member(self, holder: Node | None, key: str, bound: Node) -> Node:
        """Return the value of a key of an object. Raises CodeFault."""
        found = _members(holder, key)
        if holder is None or not found:
            self._refuse_inner(key)
            raise CodeFault(f"there is no `{key}`", "correct the name", bound.line)
        _refuse_more(key, found)
        for part in holder.parts:
            if part.kind == "spread":
                what = f"the spread `...` in this object may give `{key}` another value"
                raise CodeFault(what, SEPARATE, holder.line)
            if not part.text:
                what = f"the program computes the key `{self._shown(part)}` while it runs"
                raise CodeFault(what, "write the key as plain text", part.line)
        return _value_of(found[0]) or found[0]

    def _returned(self, function: Node, name: str) -> tuple[Node, Reading]:
        """Return what a function returns, if it does nothing else, and what reads it."""
        body, value = function.all("body"), function.get("result")
        if body and body[0].kind == "end" and body[0].parts[0].kind == "text":
            body = body[1:]
        if len(body) == 1 and body[0].kind == "return":
            value = body[0].get("value")
        if value is None or function.get("decorator"):
            what = f"the function `{name}` does more than return a text"
            raise CodeFault(what, SEPARATE, function.line)
        own: dict[str, str] = {}
        for given in (n for n in function.parts if n.role in ("parameter", "rest", "target")):
            inner = [node for node in given.walk() if node.kind in ("parameter", "default")]
            codes = [self._code(value) for node in inner for value in node.all("value")]
            names = [node.text for node in given.walk() if node.is_target()]
            own |= dict.fromkeys(names, " ".join(codes))
        return value, replace(self, own=own, scope=None)

    def value(self, node: Node) -> Written:
        """Return the text of an expression. Raises CodeFault if the program computes it."""
        node = node.inside()
        found: Written | None = None
        if node.kind == "text":
            found = self.names.rules.literal(node, self.add_hole)
        elif node.kind == "sum":
            found = Written()
            for term in node.parts:
                found.add(self.value(term))
        elif node.kind == "name" and node.text not in self.own:
            found = self._named(node)
        elif node.kind == "call":
            template = self._template(node)
            found = self.names.rules.cleaned(self.names, node, self.value)
            found = self.value(template) if template is not None else found
        if found is None:
            what = f"the program computes `{self._shown(node)}` while it runs"
            raise Computed(what, SEPARATE, node.line)
        return found

    def _named(self, node: Node) -> Written | None:
        """Return the text of another constant of the module; None for what is no text."""
        reading = self._of(node)
        bound = reading.only(node.text, node.line, node)
        inner = _value_of(bound)
        if inner is None or inner.kind in ("function", "class"):
            return None
        if bound not in self.made:
            self.made[bound] = None
            try:
                self.made[bound] = replace(reading, own={}).value(inner)
            except Computed:
                del self.made[bound]
                raise
        text, found = self.made[bound], Written()
        if text is None:
            raise CodeFault(f"`{node.text}` is made of itself", SEPARATE, node.line)
        found.add(text, node.line)
        return found

    def _of(self, node: Node) -> Reading:
        """Return the reading of the scope that a name in the constant belongs to."""
        if self.scope is not None and node.text.startswith("__"):
            raise CodeFault(f"the class has another name for `{node.text}`", SEPARATE, node.line)
        return self if self.names.bindings(self.at, node.text) else replace(self, scope=None)

    def _template(self, value: Node) -> Node | None:
        """Return the argument of a class of LangChain's packages; None if it is no such call."""
        given = _template_argument(value.inside())
        is_known = given is not None and self.names.origin(value.inside().parts[0])
        return given if is_known and is_known.startswith("langchain") else None

    def add_hole(self, found: Written, hole: Node) -> None:
        """Add what fills a hole: the text of a constant, or a variable. Raises CodeFault."""
        inner = hole.parts[0].inside()
        path = tuple(inner.dotted())
        if not path or len(hole.parts) > 1:
            what = f"the placeholder `{{{self._shown(inner)}}}` computes or formats its value"
            fix = "assign the value to a variable first; fixtures then set that variable"
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
        if name in self.own:
            return None, {name: self.own[name]}
        reading = self._of(root)
        if all(node.kind == "alias" for node in self.names.bindings(reading.at, name)):
            return None, {name: self.names.imported.get(name, "")}
        bound = reading.only(name, root.line, root)
        value = _value_of(bound)
        if value is not None and value.kind in ("literal", "list", "object", "end", "compare"):
            number, text = Written(), self.names.rules.number(value) if len(path) == 1 else None
            if text is None:
                what = f"gatekeeper does not read this part of `{name}`"
                fix = "write the text into a constant of its own, and use only its name"
                raise CodeFault(what, fix, root.line)
            number.add_text(text, root.line)
            return number, {}
        try:
            constant = self._named(root) if len(path) == 1 else None
        except Computed:
            constant = None  # its value comes from elsewhere, so the fixture gives it
        code = self._code(bound.around if bound.kind == "name" else bound)
        return constant, {".".join(map(str, path)): code}


def has_name(names: Names, name: str) -> bool:
    """Return whether the file gives the name a value itself, and not only by an import."""
    first, *steps = name.split(".")
    bound = [node for node in names.bindings(names.module, first) if node.kind != "alias"]
    inner = {node.text for each in bound for node in (_value_of(each) or each).walk()}
    return bool(bound) and inner.issuperset(steps)


def _refuse_more(name: str, found: Sequence[Node]) -> None:
    if len(found) > 1:
        lines = sorted({node.line for node in found})
        shown = ", ".join(map(str, lines[:10]))
        what = f"`{name}` is assigned more than once (lines {shown})"
        raise CodeFault(what, SEPARATE, lines[min(1, len(lines) - 1)])


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


def _members(holder: Node | None, key: str) -> list[Node]:
    """Return what an object has under the key."""
    parts = holder.parts if holder is not None and holder.kind == "object" else []
    return [part for part in parts if part.text == key and part.kind in ("pair", "function")]


def _template_argument(call: Node) -> Node | None:
    """Return what the call makes a template of; None if it is no such call, or if another argument
    may change what is sent."""
    names, given = call.parts[0].dotted() if call.kind == "call" else [], call.all("argument")
    makes = names[-1:] in (["from_template"], ["from_messages"])
    if names[-2:-1] not in _TEMPLATES if makes else names[-1:] not in _TEMPLATES:
        return None
    if makes and len(given) == 1 and given[0].kind not in ("keyword", "spread"):
        return given[0]
    named = {part.text: part.parts[0] for part in given if part.kind == "keyword"}
    is_plain = len(named) == len(given) and named.keys() <= {"template", "input_variables"}
    return named.get("template") if is_plain else None


def answer(request: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the one response to a request: the constant's `messages`, each with its `role`, `parts`
    and `lines`, whether the file `has` it, or the `fault` that keeps it from being read."""
    try:
        yield _answer(request)
    except CodeFault as fault:
        yield {"fault": [fault.what, fault.fix, fault.line]}
    except (RecursionError, MemoryError):
        yield {"fault": ["the file is nested too deeply", "simplify the file", 1]}


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    language, source, path = request["language"], request["source"], request["path"]
    if language == "python":
        names = python_names(source, path)
    else:
        from gatekeeper.contract.prompts.code.typescript_source import typescript_names

        names = typescript_names(source, path, language)
    if request["kind"] == "has":
        return {"has": has_name(names, request["name"])}
    messages = Reading(names).constant(request["name"])
    return {"messages": [_message_as_json(role, text) for role, text in messages]}


def _message_as_json(role: str, found: Written) -> dict[str, Any]:
    parts = [part if isinstance(part, str) else list(part) for part in found.parts]
    first = next((line for line in found.lines if line is not None), 1)
    lines = found.numbered(first)
    computed = {
        name: sha256(code.encode(errors="replace")).hexdigest()
        for name, code in found.computed.items()
    }
    return {"role": role, "parts": parts, "lines": lines, "computed": computed}
