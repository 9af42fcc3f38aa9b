"""Follows a list of messages, an object or a template to wherever its file hands it on, and refuses
each use through which it may change.

A text cannot be changed, so a text may be read anywhere. Whatever is not known here to leave the
value as it is, is refused. What code of another file does is not seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.contract.prompts.code.names import Names, changed
from gatekeeper.contract.prompts.code.tree import Node

Held = list[tuple[str, int]]
"""The names that get what is followed, and in how many new lists around it, which may change."""
_MOST_NEW = 3
_HARMLESS = ("__doc__", "__members__", "__name__")


class Flow:
    """What the names of one file hold. A name of any scope counts that is given a value. `steps`
    are the members that lead to the text in an object or class; a list has none."""

    def __init__(self, names: Names, steps: Sequence[str] = (), *, is_class: bool = False) -> None:
        self.names, self.language = names, names.language
        self.steps, self.is_class = steps, is_class
        self.ends = {*steps[-1:]} - {*steps[:-1]} if steps else self.language.keys

    def refuse(self, names: Sequence[str], own: Sequence[Node] = (), new: int = 0) -> None:
        """Refuse a use of the value, or of a part of it, through which it may change. `own` are
        the names by which its own code means it."""
        todo = [held for node in own for held in self._held(node, 0)]
        todo += [(name, min(new, _MOST_NEW)) for name in names]
        seen: set[tuple[str, int]] = set()
        while todo:
            found = todo.pop()
            if found not in seen:
                seen.add(found)
                for node in self.names.named.get(found[0], []):
                    todo += self._used(node, found[1])

    def _used(self, node: Node, new: int) -> Held:
        if node.kind == "pair":
            value = node.parts[-1]
            return self._taken(value, new) if value.is_target() else []
        if not node.is_target():
            return self._held(node, new)
        if node.around.text == "+=" and not new:
            raise changed(node.text, node)
        return []  # a variable that gets another value changes nothing

    def _held(self, node: Node, new: int) -> Held:
        """Return the names that get the value of the expression. Raises CodeFault if it may be
        changed. `new` counts the new lists around what must stay, which may change themselves."""
        around, role, kind = node.around, node.role, node.around.kind
        if role in ("body", "test", "type", "base", "key") or kind in (
            "end",
            "hole",
            "export",
            "type",
        ):
            return []
        if role == "object":
            return self._member(around, new)
        if kind == "call" and role == "function":
            made = self.is_class or around.text == "new"
            return [] if made else self._held(around, new)  # what a function returned
        if (kind == "call" and role == "argument") or kind == "keyword":
            return self._argument(node, new)
        if kind == "spread":
            return self._spread(around, new)
        if kind in ("list", "object"):
            return self._held(around, min(new + 1, _MOST_NEW))
        if kind == "pair":
            return self._held(around.around, min(new + 1, _MOST_NEW))
        if kind in ("compare", "sum"):
            if self.language.has_operators(self.names) and not self.is_class:
                raise self._changed(node)
            return [] if kind == "compare" else self._held(around, max(new, 1))
        if kind in ("pipe", "either", "through"):
            return self._held(around, new)
        if kind == "return" or role == "result":
            return self._returned(around, new + (around.text == "yield"))
        if role == "value" and kind in ("store", "default", "parameter"):
            return self._stored(around, new)
        raise self._changed(node)

    def _changed(self, node: Node) -> Exception:
        return changed(".".join(node.dotted()) or node.root().text or node.text, node)

    def _spread(self, spread: Node, new: int) -> Held:
        holder = spread.around
        if holder.kind == "object" and len(self.steps) == 1 and not new:
            return []  # the texts are copied
        if holder.kind in ("list", "object"):
            return self._held(holder, max(new, 1))
        return self._argument(spread, max(new - 1, 0))

    def _stored(self, store: Node, new: int) -> Held:
        if store.text == "in" or (self.is_class and store.text in ("for", "each")):
            return []  # the keys of an object, or the members of an enumeration
        if store.text in ("for", "each"):
            level = max(new - 1, 0)
        else:
            level = max(new, 1) if store.text == "+=" else new
        found = [held for target in store.all("target") for held in self._taken(target, level)]
        is_value = store.kind == "store" and store.role not in ("body", "loop")
        return found + (self._held(store, new) if is_value else [])

    def _taken(self, target: Node, new: int) -> Held:
        """Return the names of an assignment's target, of a loop's or of a parameter's."""
        target, item = target.inside(), max(new - 1, 0)
        if target.kind in ("default", "parameter"):
            return self._taken(target.parts[0], new)
        exported = target.dotted()[:1] in (["exports"], ["module"])
        if self.language.has_members and exported and target.text != "exports":
            return []
        if self.is_class and not exported:
            raise self._changed(target)
        if target.kind == "name" or (target.kind == "member" and target.text):
            return [(target.text, new)]
        if target.kind == "list":
            return [held for part in target.parts for held in self._taken(part, item)]
        if target.kind == "object" and all(part.kind == "pair" for part in target.parts):
            ends = () if new else self.ends
            wanted = [part.parts[-1] for part in target.parts if part.text not in ends]
            return [held for part in wanted for held in self._taken(part, item)]
        raise self._changed(target)

    def _member(self, member: Node, new: int) -> Held:
        name, use = member.text, member.outside()
        is_called = use.around.kind == "call" and use.role == "function"
        if member.is_target():
            adds = member.parent is not None and member.around.text == "+="
            if new > adds and not name.startswith("__"):
                return []
            raise self._changed(member)
        is_method = is_called and (new or not self.steps or not self.language.has_members)
        if is_called and (member.kind == "item" or name == "valueOf"):
            raise self._changed(member)
        if is_method and not self.is_class:
            return self._method(use.around, name, new)
        is_key = self.language.has_members or self.is_class or member.kind == "item"
        if not is_key or (name.startswith("__") and name not in _HARMLESS):
            if name == "template":
                return []
            raise self._changed(member)
        if name in self.ends and (not new or name == "length"):
            return []
        if self.steps and not new and (name or len(self.steps) == 1):
            return self._held(member, 0) if name in self.steps else []
        if member.kind == "member" and not new and not self.steps:
            raise self._changed(member)
        is_slice = any(part.role == "key" and part.kind == "slice" for part in member.parts)
        return self._held(member, max(new, 1) if is_slice else max(new - 1, 0))

    def _method(self, call: Node, name: str, new: int) -> Held:
        """Return what gets the result of a method of the value, or its items."""
        rules, method, given = self.language, f".{name}", call.all("argument")
        held: Held = []
        if method in rules.each or (method in (".sort", ".toSorted") and given):
            callback = given[0] if given else None
            if callback is None or not self._is_callback(callback):
                raise self._changed(call.parts[0])
            for at, part in enumerate(callback.all("parameter")):
                is_whole = at == 2 + (name == "reduce")
                held += self._taken(part, new if is_whole else max(new - 1, 0))
        if name in ("index", "count", "remove") and rules.has_operators(self.names):
            raise self._changed(call.parts[0])
        if method in rules.copy:
            return held + self._held(call, max(new, 1))
        if method in rules.item or (new and name == "pop"):
            return held + self._held(call, max(new - 1, 0))
        if method in rules.end or (new and method in rules.fresh):
            return held
        raise self._changed(call.parts[0])

    def _is_callback(self, function: Node) -> bool:
        """Return whether a method calls the function for each item, and nothing else does."""
        call = function.around
        method = call.parts[0]
        is_each = method.kind == "member" and f".{method.text}" in self.language.each
        is_each = is_each or method.text in ("sort", "toSorted")
        is_arrow = function.kind == "function" and function.text == "=>"
        return call.kind == "call" and function.role == "argument" and is_each and is_arrow

    def _returned(self, result: Node, new: int) -> Held:
        """Return the name of the function that returns the value."""
        function = result if result.kind == "function" else result.enclosing("function")
        if function is None or function.text.startswith("__"):
            raise self._changed(result)  # who calls it cannot be seen
        if function.text not in ("=>", ""):
            return [(function.text, new)]
        if self._is_callback(function):
            return []  # the result of the call is followed
        named = function.around.all("target") or [function.around]
        texts = [part.text for part in named if part.kind in ("name", "member", "pair")]
        if not texts or not self.language.has_members:
            raise self._changed(result)
        return [(text, new) for text in texts]

    def _argument(self, node: Node, new: int) -> Held:
        """Return the names that get an argument. A function of another module may be given it."""
        call = node.around if node.around.kind == "call" else node.around.around
        rules, function = self.language, call.parts[0]
        given, names = call.all("argument"), function.dotted()
        name = function.text if function.kind in ("name", "member") else ""
        if call.kind != "call" or function.kind not in ("name", "member"):
            raise self._changed(node)
        if name in self.names.defined:
            return self._parameters(call, node, new)
        written = self.names.origin(function) or ".".join(names)
        is_own = bool(names) and names[0] in self.names.bound
        named = [part for part in given if part.kind == "keyword"]
        plain = len(given) == 1 or not (rules.has_members or self._calls_back(named))
        if not is_own and plain and node.kind != "spread":
            if written in rules.end:
                return []
            if written in rules.same:
                return self._held(call, new)
            if written in rules.copy:
                return [] if self.is_class else self._held(call, max(new, 1))
        if written == "Object.assign" and given[0] != node:
            return self._held(call, max(new, 1))
        is_known = (
            self.names.origin(function) if self.is_class else rules.is_elsewhere(self.names, call)
        )
        bound = self.names.bindings(self.names.module, name)
        is_imported = name in self.names.imported and all(node.kind == "alias" for node in bound)
        is_known = is_known and (function.kind != "name" or is_imported)
        if not is_known or self._calls_back(given) or name in ("apply", "bind", "call"):
            raise self._changed(node)
        if name in rules.taking and function.kind == "member" and not self.names.origin(function):
            return self._taken(function.parts[0], max(new, 1))
        return []

    def _calls_back(self, arguments: Sequence[Node]) -> bool:
        """Return whether one of a call's arguments is a function of this file."""
        for node in (node for argument in arguments for node in argument.walk()):
            is_function = node.kind == "function" and not self._is_callback(node)
            if is_function or (node.kind == "name" and node.text in self.names.defined):
                return True
        return False

    def _is_plain(self, made: Node, call: Node) -> bool:
        """Return whether the call gives the function its arguments one by one, as it is."""
        names, function = self.names, call.parts[0]
        parts = [part for each in made.all("decorator") for part in each.walk()]
        used = {part.text for part in parts if part.kind in ("function", "name")}
        kinds = {"classmethod", "staticmethod"}
        if used - kinds - names.imported.keys() or used & (names.bound | names.defined.keys()):
            return False
        if any(part.kind == "spread" for part in call.all("argument")):
            return False
        if names.language.has_members:
            return "arguments" not in names.named
        # `Class.method(other, …)` takes its own object as the first argument.
        owner = function.parts[0].inside() if function.kind == "member" else function
        owner = owner.parts[0] if owner.kind == "call" and owner.parts[0].text == "type" else owner
        is_class = owner.text in (*names.defined, "type", "__class__") and function.kind == "member"
        return not is_class or bool(used & kinds)

    def _parameters(self, call: Node, node: Node, new: int) -> Held:
        """Return the parameters by which functions of the file take the argument."""
        held: Held = []
        given, name = call.all("argument"), call.parts[0].text
        for made in self.names.defined.get(name, []):
            if made.kind == "class":
                inits = [part for part in made.parts if part.text in ("__init__", "constructor")]
                made = inits[0] if inits else made
            if made.kind != "function" or not self._is_plain(made, call):
                raise self._changed(node)
            takes = made.all("parameter")
            is_method = made.scope is not None and made.scope.kind == "class"
            is_static = "staticmethod" in [part.text for part in made.all("decorator")]
            if is_method and not is_static and not self.language.has_members:
                takes = takes[1:]
            if node.around.kind == "keyword":
                wanted = [part for part in takes if part.parts[0].text == node.around.text]
            else:
                wanted = takes[given.index(node) :][:1]
            if not wanted:
                raise self._changed(node)
            held += self._taken(wanted[0], new)
        return held
