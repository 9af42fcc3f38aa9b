"""Refuses each use of a list, an object or a template in its own file through which it may change.

A text cannot change, so the file may read a text anywhere. Anything else may only be read, and be
given to code of other files. Whatever gets it, a part of it or a copy of it, is one more name of
it, which nothing may change either.
"""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.contract.prompts.code.names import Names, changed
from gatekeeper.contract.prompts.code.tree import Node


class Flow:
    """What the names of one file hold. `steps` are the members that lead to a text in an object.
    A list has none; `ends` are the members whose value is a text."""

    def __init__(self, names: Names, steps: Sequence[str] = (), ends: Sequence[str] = ()) -> None:
        self.names, self.rules = names, names.rules
        self.steps, self.ends = steps, {*(steps[-1:] or ends)} - {*steps[:-1]}

    def refuse(self, first: Sequence[str]) -> None:
        """Refuse a use of these names, or of a name that gets their value, that may change it.
        `.name` is a member of that name."""
        waiting, seen = [*first], set[str]()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                for node in self.names.named.get(name.lstrip("."), []):
                    if name[0] != "." or node.kind != "name":
                        waiting += self._used(node)

    def _used(self, node: Node) -> list[str]:
        if node.kind == "pair":
            value = node.parts[-1]
            return self._taken(value) if value.is_target() else []
        if not node.is_target():
            return self._held(node)
        if node.kind == "name" and node.around.text == "+=":
            raise _changed(node)
        return []  # a variable that gets another value changes nothing

    def _held(self, node: Node) -> list[str]:
        """Return the names that get the value of the expression. Raises CodeFault if it may be
        changed."""
        around, role, kind = node.around, node.role, node.around.kind
        if role in ("body", "test", "type") or kind in ("end", "hole", "export", "type"):
            return []
        if role == "object":
            return self._member(around)
        if kind in ("either", "through"):
            return self._held(around)
        if kind in ("sum", "pipe") and not self.rules.operators & self.names.defined.keys():
            return self._held(around)
        if kind in ("store", "default", "parameter") and role == "value":
            return self._stored(around)
        if kind == "keyword" or (kind == "call" and role == "argument"):
            return self._given(node)
        if kind == "spread" and around.around.kind == "object" and len(self.steps) == 1:
            return []  # the texts are copied
        holder = around.around.around if self.steps and kind == "pair" else None
        if holder is not None and [part.text for part in holder.all("target")] == ["exports"]:
            return []
        if self.steps or role == "key" or kind not in ("list", "object", "pair", "spread"):
            raise _changed(node)
        return [around.text, *self._held(around.around)] if kind == "pair" else self._held(around)

    def _stored(self, store: Node) -> list[str]:
        if self.steps and store.text in ("for", "in", "each"):
            return []  # the keys of an object
        found = [name for target in store.all("target") for name in self._taken(target)]
        is_value = store.kind == "store" and store.role not in ("body", "loop")
        return found + (self._held(store) if is_value else [])

    def _taken(self, target: Node) -> list[str]:
        """Return the names of an assignment's target, of a loop's or of a parameter's."""
        target = target.inside()
        if target.kind in ("default", "parameter"):
            return self._taken(target.parts[0])
        if target.kind in ("name", "member") and target.text:
            return [target.text]
        if target.kind == "list":
            return [name for part in target.parts for name in self._taken(part)]
        if target.kind == "object" and all(part.kind == "pair" for part in target.parts):
            wanted = [part.parts[-1] for part in target.parts if part.text not in self.ends]
            return [name for part in wanted for name in self._taken(part)]
        raise _changed(target)

    def _member(self, member: Node) -> list[str]:
        name, use, rules = member.text, member.outside(), self.rules
        if member.is_target() or name.startswith("__"):
            raise _changed(member)
        if use.around.kind == "call" and use.role == "function":
            return self._method(use.around, name)
        if member.kind == "member" and not rules.has_members:
            if name == "template":
                return []
            raise _changed(member)
        is_text = name in self.ends or len(self.steps) == 1
        is_other = self.steps and name and name not in self.steps
        return [] if is_text or is_other else self._held(member)

    def _method(self, call: Node, name: str) -> list[str]:
        """Return what gets the result of a method of the value."""
        is_copy = f".{name}" in self.rules.copy and not (self.steps and self.rules.has_members)
        is_end = f".{name}" in self.rules.end and not self._calls_back(call.all("argument"))
        if is_end or (is_copy and len(self.steps) == 1):
            return []
        if not is_copy or self.steps:
            raise _changed(call.parts[0])
        return self._held(call)

    def _given(self, node: Node) -> list[str]:
        """Return the names that get an argument of a call. A function of another module may be
        given it."""
        keyword = node.around if node.around.kind == "keyword" else None
        call = keyword.around if keyword is not None else node.around
        function, rules, names = call.parts[0], self.rules, self.names
        root, given = function.root(), call.all("argument")
        is_own = root.text in names.bound or root.text in names.defined
        written = names.origin(function) or ("" if is_own else ".".join(function.dotted()))
        if function.text in names.defined or self._calls_back(given):
            raise _changed(node)
        if written in rules.end:
            return []
        if written in rules.copy and len(self.steps) < 2:
            return [] if self.steps else self._held(call)
        is_named = keyword is not None or node.kind == "object"
        is_known = root.kind == "name" and (
            rules.is_elsewhere(names, root.text)
            or (is_named and function.kind == "member" and root.text in names.bound)
        )
        if not is_known or function.text in rules.taking or function.text.startswith("__"):
            raise _changed(node)
        return [f".{keyword.text}"] if keyword is not None else []

    def _calls_back(self, arguments: Sequence[Node]) -> bool:
        """Return whether one of a call's arguments is a function of this file."""
        nodes = [node for argument in arguments for node in argument.walk()]
        return any(n.kind in ("function", "name") and self._is_own(n) for n in nodes)

    def _is_own(self, node: Node) -> bool:
        return node.kind == "function" or node.text in self.names.defined


def _changed(node: Node) -> Exception:
    return changed(".".join(node.dotted()) or node.root().text or node.text, node)
