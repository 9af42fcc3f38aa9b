"""Follows an array of messages, an object or a class to wherever its file hands it on, and refuses
each use through which it may change."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from gatekeeper.contract.prompts.code.typescript_tree import (
    FUNCTIONS,
    WRAPPERS,
    names_in,
    parts_of,
    text_of,
    walk,
)
from gatekeeper.contract.prompts.code.typescript_uses import Uses, changed

_THROUGH = (*WRAPPERS, "non_null_expression", "type_assertion", "await_expression")
_ENDS = (
    "expression_statement",
    "template_substitution",
    "if_statement",
    "while_statement",
    "unary_expression",
    "export_statement",
    "export_specifier",
    "namespace_export",
    "extends_clause",
    "class_heritage",
    "type_query",
    "type_annotation",
    "type_arguments",
    "nested_type_identifier",
    "jsx_expression",
)
_MEMBERS = ("member_expression", "subscript_expression")
_KEYS = ("content", "role", "length")
_EACH = ("every", "filter", "find", "findIndex", "flatMap", "forEach", "map", "reduce", "some")
_SORTING = ("sort", "toSorted")
_ITEM = ("at", "find", "reduce")
_COPYING = ("concat", "entries", "filter", "flatMap", "map", "slice", "values")
_READING = ("every", "findIndex", "forEach", "includes", "indexOf", "join", "keys", "some")
_NEW = ("fill", "push", "reverse", "shift", "sort", "splice", "unshift")
_GLOBAL: dict[str, int | None] = {
    "Array.from": 1,
    "Object.entries": 1,
    "Object.freeze": 0,
    "Object.values": 1,
    **dict.fromkeys(("Array.isArray", "JSON.stringify", "Object.keys", "structuredClone")),
    **dict.fromkeys(f"console.{name}" for name in ("debug", "error", "info", "log", "warn")),
}
"""The functions of the language that may be given it, and in how many new arrays they return it."""
_GLOBALS = ("global", "globalThis", "self", "window")
_MOST_NEW = 3

Held = list[tuple[str, int]]
"""The names that get what is followed, and in how many new arrays around it, which may change."""


class Flow:
    """What the names of one file hold. A name of any scope counts that is given a value. `steps`
    are the members that lead to the text in an object or class; an array has none."""

    def __init__(self, uses: Uses, steps: Sequence[str]) -> None:
        self.uses = uses
        self.steps = steps

    def refuse(self, name: str, declared: Node) -> None:
        """Refuse a use of the value, or of a part of it, through which it may change."""
        own = [node for node in walk(declared) if node.type == "this"]
        todo = [
            held for node in own if self._is_own(node, declared) for held in self._held(node, 0)
        ]
        todo.append((name, 0))
        seen: set[tuple[str, int]] = set()
        while todo:
            found = todo.pop()
            if found in seen:
                continue
            seen.add(found)
            for node in self.uses.named[found[0]]:
                around = self.uses.parents[node.id]
                if around.type == "pair_pattern" and around.child_by_field_name("key") == node:
                    todo += self._taken(around.child_by_field_name("value"), found[1])
                use = self._use(node)
                if use is not None:
                    todo += self._held(use, found[1])

    def _use(self, node: Node) -> Node | None:
        """Return the expression that the name stands for; None where it declares something."""
        around = self.uses.parents[node.id]
        if node.type == "string_fragment":
            around = self.uses.parents[around.id]
            return around if around.type == "subscript_expression" else None
        if node.type == "property_identifier":
            is_member = around.type == "member_expression"
            return around if is_member and not self.uses.is_target(around) else None
        if node in (around.child_by_field_name("value"), around.child_by_field_name("right")):
            return node if around.type != "pair_pattern" else None
        declares = around.type.endswith(("_declaration", "_declarator", "_parameter", "parameters"))
        is_name = around.child_by_field_name("name") == node or around.type == "formal_parameters"
        is_parameter = around.child_by_field_name("parameter") == node
        inside = ("import_specifier", "import_clause", "required_parameter", "optional_parameter")
        if (declares and is_name) or is_parameter or around.type in inside:
            return None
        if node.type.endswith("_pattern") or around.type.endswith("_pattern"):
            return None
        # A variable that gets another value changes nothing.
        return None if node.type == "identifier" and self.uses.is_target(node) else node

    def _is_own(self, this: Node, declared: Node) -> bool:
        """Return whether `this` is the object or class itself, and no instance of the class."""
        if declared.type != "class_declaration":
            return True
        node, body = this, declared.child_by_field_name("body")
        while (around := self.uses.parents[node.id]) != body:
            node = around
        static = any(child.type == "static" for child in node.children)
        return static or node.type == "class_static_block"

    def _held(self, node: Node, new: int) -> Held:
        """Return the names that get the value of the expression. Raises CodeFault if it may be
        changed. `new` counts the new arrays around what must stay, which may change themselves."""
        around = self.uses.parents[node.id]
        kind = around.type
        if self.uses.is_target(node):
            if new:
                return []
            raise changed(text_of(node)[:60], node)
        if kind in _THROUGH:
            return self._held(around, new)
        if kind in _MEMBERS and around.child_by_field_name("object") == node:
            return self._member(around, new)
        if kind in ("call_expression", "new_expression"):
            made = kind == "new_expression"
            return [] if made else self._held(around, new)  # what a function returned
        if kind == "arguments":
            return self._argument(around, node, new)
        tagged = self.uses.parents.get(self.uses.parents[around.id].id)
        if kind == "template_substitution" and tagged and tagged.type == "call_expression":
            raise changed(text_of(node)[:60], node)
        if kind in _ENDS or kind.endswith("_type") or kind == "subscript_expression":
            return []
        if kind == "spread_element":
            holder = self.uses.parents[around.id]
            if holder.type == "object" and len(self.steps) == 1 and not new:
                return []  # the texts are copied
            return self._held(around, max(new - 1, 0))
        if kind in ("array", "object"):
            return self._held(around, min(new + 1, _MOST_NEW))
        if kind == "pair":
            return self._held(self.uses.parents[around.id], min(new + 1, _MOST_NEW))
        if kind == "binary_expression":
            operator = text_of(around.child_by_field_name("operator"))
            right = text_of(around.child_by_field_name("right"))
            if operator == "instanceof" and right in self.uses.defined:
                raise changed(text_of(node)[:60], node)  # perhaps `[Symbol.hasInstance]`
            return self._held(around, new) if operator in ("??", "||", "&&") else []
        if kind == "ternary_expression":
            is_test = around.child_by_field_name("condition") == node
            return [] if is_test else self._held(around, new)
        if kind == "variable_declarator":
            return self._taken(around.child_by_field_name("name"), new)
        if kind == "assignment_expression":
            left = around.child_by_field_name("left")
            return self._taken(left, new) + self._held(around, new)
        if kind == "for_in_statement" and around.child_by_field_name("right") == node:
            keys = text_of(around.child_by_field_name("operator")) == "in"
            left = around.child_by_field_name("left")
            return [] if keys else self._taken(left, max(new - 1, 0))
        if kind in ("return_statement", "arrow_function"):
            return self._returned(around, new)
        raise changed(text_of(node)[:60], node)

    def _member(self, member: Node, new: int) -> Held:
        key = member.child_by_field_name("property") or member.child_by_field_name("index")
        name = text_of(key).strip("\"'`")
        call = self.uses.parents[member.id]
        while call.type in _THROUGH:
            call = self.uses.parents[call.id]
        is_called = call.type == "call_expression" and call.child_by_field_name("arguments")
        is_plain = member.type == "member_expression" or (key is not None and key.type == "string")
        if self.uses.is_target(member) or name.startswith("__") or "\\" in name:
            if new and not name.startswith("__"):
                return []
            raise changed(text_of(member)[:60], member)
        if is_called and (not is_plain or name == "valueOf"):
            raise changed(text_of(member)[:60], member)
        if is_called and (new or not self.steps):
            return self._method(call, name, member, new)
        ends = self.steps[-1:] if self.steps else _KEYS
        if is_plain and name in ends:
            return []
        if self.steps and not new and (is_plain or len(self.steps) == 1):
            return self._held(member, 0) if name in self.steps else []
        if is_plain and not new and not self.steps:
            raise changed(text_of(member)[:60], member)
        return self._held(member, max(new - 1, 0))

    def _method(self, call: Node, name: str, member: Node, new: int) -> Held:
        """Return what gets the result of a method of an array, or its items."""
        arguments = call.child_by_field_name("arguments")
        held: Held = []
        given = parts_of(arguments) if arguments is not None else []
        if name in _EACH or (name in _SORTING and given):
            callback = given[0] if given else None
            if callback is None or callback.type != "arrow_function":
                raise changed(text_of(member)[:60], member)
            items = _parameters(callback)
            for at, part in enumerate(items):
                is_whole = at == 2 + (name == "reduce")
                held += self._taken(part, new if is_whole else max(new - 1, 0))
        if name in _COPYING:
            return held + self._held(call, max(new, 1))
        if name in _ITEM or (new and name == "pop"):
            return held + self._held(call, max(new - 1, 0))
        if name in _READING or (new and name in _NEW):
            return held
        raise changed(text_of(member)[:60], member)

    def _taken(self, target: Node | None, new: int) -> Held:
        """Return the names of an assignment's target, of a loop's or of a parameter's."""
        if target is None:
            return []
        while target.type in (*_THROUGH, "required_parameter", "optional_parameter"):
            target = target.child_by_field_name("pattern") or parts_of(target)[0]
        if target.type == "identifier":
            return [(text_of(target), new)]
        if target.type in _MEMBERS:
            if text_of(target) == "module.exports":
                return [("exports", new)]
            if text_of(target).startswith(("exports.", "module.exports")):
                return []
            key = target.child_by_field_name("property")
            if key is not None:
                return [(text_of(key), new)]
        if target.type == "array_pattern":
            return [h for part in parts_of(target) for h in self._taken(part, max(new - 1, 0))]
        if target.type == "object_pattern" and not any(
            part.type == "rest_pattern" for part in parts_of(target)
        ):
            ends = self.steps[-1:] if self.steps else _KEYS
            return [(n, max(new - 1, 0)) for n in names_in(target) if n not in ends]
        raise changed(text_of(target)[:60], target)

    def _returned(self, around: Node, new: int) -> Held:
        """Return the name of the function that returns the value."""
        function: Node | None = around
        while function is not None and function.type not in (*FUNCTIONS, "method_definition"):
            function = self.uses.parents.get(function.id)
        if function is None:
            raise changed(text_of(around)[:60], around)
        if self._is_callback(function):
            return []  # the result of the call is followed
        holder = self.uses.parents[function.id]
        name = function.child_by_field_name("name") or holder.child_by_field_name("name")
        name = name or holder.child_by_field_name("key")
        if name is None:
            raise changed(text_of(around)[:60], around)
        return [(text_of(name), new)]

    def _is_callback(self, function: Node) -> bool:
        """Return whether an array's method calls the function for each item."""
        holder = self.uses.parents[function.id]
        call = self.uses.parents.get(holder.id)
        method = call.child_by_field_name("function") if call is not None else None
        key = text_of(method.child_by_field_name("property")) if method is not None else ""
        return holder.type == "arguments" and key in _EACH and function.type == "arrow_function"

    def _argument(self, arguments: Node, node: Node, new: int) -> Held:
        """Return the names that get an argument. A function of another module may be given it."""
        call = self.uses.parents[arguments.id]
        function = call.child_by_field_name("function") or call.child_by_field_name("constructor")
        written = text_of(function)
        given = parts_of(arguments)
        own_root = written.partition(".")[0] in self.uses.bound | self.uses.imported
        if written in _GLOBAL and not own_root and given[0] == node and len(given) == 1:
            level = _GLOBAL[written]
            return [] if level is None else self._held(call, max(new, level))
        if written == "Object.assign" and given[0] != node:
            return self._held(call, max(new, 1))
        last = function.child_by_field_name("property") if function is not None else None
        name = text_of(last or function)
        if name in self.uses.defined:
            return self._parameters(name, given.index(node), node, new)
        if name in ("apply", "bind", "call"):
            raise changed(text_of(node)[:60], node)
        inside = [part for argument in given for part in walk(argument)]
        own = any(
            (part.type in FUNCTIONS and not self._is_callback(part))
            or (part.type == "identifier" and text_of(part) in self.uses.defined)
            for part in inside
        )
        known = (
            text_of(function) in self.uses.imported if last is None else self._is_other(function)
        )
        if own or not known:
            raise changed(text_of(node)[:60], node)
        if name in (*_NEW, "set", "add") and last is not None and function is not None:
            return self._taken(function.child_by_field_name("object"), max(new, 1))
        return []

    def _is_other(self, function: Node | None) -> bool:
        """Return whether a method belongs to something other than the language itself."""
        root = function
        while root is not None and root.child_by_field_name("object"):
            root = root.child_by_field_name("object")
        name = text_of(root)
        if root is not None and root.type == "call_expression":
            return name.startswith("require(")
        is_global = name in _GLOBALS or not name[:1].islower()
        return not is_global or name in self.uses.imported | self.uses.bound

    def _parameters(self, name: str, at: int, node: Node, new: int) -> Held:
        """Return the parameters that a function of the file takes the argument by."""
        held: Held = []
        for function in self.uses.defined[name]:
            given = _parameters(function)
            if function.type not in (*FUNCTIONS, "method_definition") or at >= len(given):
                raise changed(text_of(node)[:60], node)
            if any("arguments" in text_of(part) for part in self.uses.named["arguments"]):
                raise changed(text_of(node)[:60], node)
            held += self._taken(given[at], new)
        return held


def _parameters(function: Node) -> Sequence[Node]:
    one = function.child_by_field_name("parameter")
    many = function.child_by_field_name("parameters")
    return [one] if one is not None else parts_of(many) if many is not None else []
