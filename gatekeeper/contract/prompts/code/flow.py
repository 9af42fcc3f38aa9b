"""Refuses each use of a list, a dictionary or a template in its Python file that may change it.

A text cannot change, so the file may read a text anywhere. Anything else may only be read, and be
given to code of other files. Whatever gets it, a part of it or a copy of it, is one more name of
it, which nothing may change either.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from gatekeeper.contract.prompts.code.names import Names, changed
from gatekeeper.contract.prompts.code.tree import Node
from gatekeeper.contract.values.unique_name import words

_END = words(
    "bool id isinstance len print repr str type copy.deepcopy json.dumps"
    " .abatch .ainvoke .astream .batch .format .format_messages .format_prompt .invoke .keys"
    " .pretty_print .pretty_repr .stream"
)
"""The functions and methods that leave what they are given as it is, and return something else."""
_COPY = words(
    "dict enumerate iter list reversed sorted tuple zip copy.copy"
    " .copy .get .items .partial .values"
)
"""Those that return something with parts of it."""
_TAKING = words("apply put put_nowait setdefault submit update")
"""The methods of something else that may not be given it."""
_OPERATORS = words("__add__ __or__ __radd__ __ror__")
_PASSED_LISTS = words("asyncio json logging pprint")
"""The modules of Python's library whose functions may be given it."""


class Flow:
    """What the names of one file hold. `ends` are the keys whose value is a text. A dictionary may
    be in no other, whose keys may have the same names."""

    def __init__(self, names: Names, ends: Collection[str], *, is_list: bool) -> None:
        self.names, self.ends, self.is_list = names, ends, is_list

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
            return []
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
        if kind in ("sum", "pipe") and not _OPERATORS & self.names.defined.keys():
            return self._held(around)
        if kind in ("store", "default", "parameter") and role == "value":
            return self._stored(around)
        if kind == "keyword" or (kind == "call" and role == "argument"):
            return self._given(node)
        if kind == "spread" or (self.is_list and kind in ("list", "object")):
            return self._held(around)
        if kind == "pair" and role == "value" and self.is_list:
            return [f".{around.text}", *self._held(around.around)]
        raise _changed(node)

    def _stored(self, store: Node) -> list[str]:
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
        raise _changed(target)

    def _member(self, member: Node) -> list[str]:
        name, use = member.text, member.outside()
        if member.is_target() or name.startswith("__"):
            raise _changed(member)
        if use.around.kind == "call" and use.role == "function":
            return self._method(use.around, name)
        if member.kind == "item":
            return [] if name in self.ends else self._held(member)
        if name != "template":
            raise _changed(member)
        return []

    def _method(self, call: Node, name: str) -> list[str]:
        """Return what gets the result of a method of the value."""
        if f".{name}" in _COPY:
            return self._held(call)
        if f".{name}" in _END and not self._calls_back(call.all("argument")):
            return []
        raise _changed(call.parts[0])

    def _given(self, node: Node) -> list[str]:
        """Return the names that get an argument of a call. A function of another module may be
        given it."""
        keyword = node.around if node.around.kind == "keyword" else None
        call = keyword.around if keyword is not None else node.around
        function, names = call.parts[0], self.names
        root, given = function.root(), call.all("argument")
        is_own = root.text in names.bound or root.text in names.defined
        written = names.origin(function) or ("" if is_own else ".".join(function.dotted()))
        if function.text in names.defined or self._calls_back(given):
            raise _changed(node)
        if written in _END:
            return []
        if written in _COPY and keyword is None:
            return self._held(call)
        module = names.imported.get(root.text, "").partition(".")[0]
        is_imported = all(n.kind == "alias" for n in names.bindings(names.module, root.text))
        is_known = module not in sys.stdlib_module_names or module in _PASSED_LISTS
        is_known = is_imported and bool(module) and is_known
        if keyword is not None and function.kind == "member":
            is_known = is_known or root.text in names.bound
        if (
            root.kind != "name"
            or not is_known
            or function.text in _TAKING
            or function.text.startswith("__")
        ):
            raise _changed(node)
        return [f".{keyword.text}"] if keyword is not None else []

    def _calls_back(self, arguments: Sequence[Node]) -> bool:
        """Return whether one of a call's arguments is a function of this file."""
        nodes = [node for argument in arguments for node in argument.walk()]
        own = [n for n in nodes if n.kind in ("name", "member") and n.text in self.names.defined]
        return bool(own) or any(node.kind == "function" for node in nodes)


def _changed(node: Node) -> Exception:
    return changed(".".join(node.dotted()) or node.root().text or node.text, node)
