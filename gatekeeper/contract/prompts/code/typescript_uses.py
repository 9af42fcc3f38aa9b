"""Allows the uses of a constant of a TypeScript or JavaScript file that leave it as it is, and
refuses every other use.

No syntax can assign a text that `const` declares. Its module may still export another value under
the name, and an object, a class or an array may change wherever the file hands it on
(`typescript_flow.py`). What code of another file does is not seen.
"""

from __future__ import annotations

from collections import defaultdict

from tree_sitter import Node

from gatekeeper.contract.prompts.code.typescript_tree import (
    FUNCTIONS,
    NAMES,
    WRAPPERS,
    line_of,
    names_in,
    parts_of,
    text_of,
    walk,
)
from gatekeeper.contract.prompts.code.written import MOVE, CodeFault

_AROUND = (*WRAPPERS, "non_null_expression", "type_assertion")
_LEFT = ("assignment_expression", "augmented_assignment_expression", "for_in_statement")
_INTO = ("array_pattern", "object_pattern", "pair_pattern", "rest_pattern", "assignment_pattern")
_VARIABLES = ("lexical_declaration", "variable_declaration")
_DECLARING = ("variable_declarator", "class_declaration", "function_declaration")
_DECLARED = ("function_declaration", "class_declaration", "method_definition")
_VALUES = ("object", "identifier", "string", "template_string", *FUNCTIONS)
_HIDDEN = ("__proto__", "constructor", "prototype", "getPrototypeOf", "setPrototypeOf")
_CHANGING = ("assign", "defineProperties", "defineProperty", "set", "setPrototypeOf")
_NAMED = ("property_identifier", "string_fragment", "shorthand_property_identifier_pattern")
_MEMBERS = ("member_expression", "subscript_expression")
_EXPORTS = ("export_specifier", "export_statement", "namespace_export")
_SUSPECTS = (*_MEMBERS, *_EXPORTS, "call_expression", "this", "with_statement")
_SUSPECT_NAMES = (b"Function", b"eval", b"exports", b"module", b"require")


class Uses:
    """Every use of a name in one file. Each method raises CodeFault at a use that may change it."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.nodes = list(walk(root))
        self.parents = {child.id: node for node in self.nodes for child in node.children}
        self.named: dict[str, list[Node]] = defaultdict(list)
        self.defined: dict[str, list[Node]] = defaultdict(list)
        self.imported: set[str] = set()
        self._done: set[str] = set()
        self.bound: set[str] = {"this", "super"}
        for node in self.nodes:
            self._note(node)
        self._suspects = [node for node in self.nodes if _may_change_names(node)]
        self.declared: dict[str, list[Node]] = defaultdict(list)
        for statement in root.named_children:
            inner = statement.child_by_field_name("declaration") or statement
            parts = parts_of(inner) if inner.type in _VARIABLES else [inner]
            for part in parts:
                name = part.child_by_field_name("name")
                if part.type in _DECLARING and name is not None:
                    for each in names_in(name):
                        self.declared[each].append(part)

    def _note(self, node: Node) -> None:
        if node.type.endswith("identifier") or node.type in (*NAMES, "string_fragment", "this"):
            self.named[text_of(node)].append(node)
        name = node.child_by_field_name("name") or node.child_by_field_name("key")
        value = node.child_by_field_name("value")
        if node.type == "import_clause":
            self.imported |= {text_of(part) for part in walk(node) if part.type == "identifier"}
        elif node.type == "variable_declarator" and name is not None:
            names = set(names_in(name))
            self.bound |= names
            if text_of(value).startswith("require("):
                self.imported |= names
        elif node.type in ("required_parameter", "optional_parameter", "catch_clause"):
            self.bound |= set(names_in(node))
        elif node.type == "arrow_function" and node.child_by_field_name("parameter"):
            self.bound.add(text_of(node.child_by_field_name("parameter")))
        function = value if value is not None and value.type in FUNCTIONS else None
        if name is not None and (node.type in _DECLARED or function is not None):
            self.defined[text_of(name).strip("\"'")].append(function or node)
        if node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is not None and right is not None and right.type in FUNCTIONS:
                self.defined[text_of(left).rpartition(".")[2]].append(right)

    def refuse(self, name: str, declared: Node) -> None:
        """Refuse what may give the name of the module another value. `declared` is its value."""
        if name in self._done:
            return
        self._refuse_declaration(declared, name)
        for node in self._suspects:
            if node.type.endswith("identifier") and b"\\" in (node.text or b""):
                fix = "write the name without the escape sequence"
                raise CodeFault("a name contains an escape sequence", fix, line_of(node))
            named = node.type in ("identifier", "property_identifier")
            if node.type == "with_statement" or (named and text_of(node) in ("eval", "Function")):
                shown = "with" if node.type == "with_statement" else text_of(node)
                what = f"`{shown}` may change any name of this file while the program runs"
                raise CodeFault(what, MOVE, line_of(node))
            if self._exports_another(node, name) or self._stores(node, name):
                what = f"the file exports something else as `{name}`, or may do so"
                fix = "export the other value under another name, or move the prompt to a file"
                raise CodeFault(what, fix, line_of(node))
        self._done.add(name)

    def _refuse_declaration(self, declared: Node, name: str) -> None:
        """Refuse a declaration that leaves the name or its class open to change."""
        node: Node | None = declared
        while node is not None and not node.type.endswith("_declaration"):
            node = self.parents.get(node.id)
        if node is None:
            return
        if node.type == "class_declaration":
            around = self.parents.get(node.id)
            if any(
                part.type == "decorator"
                for part in (*walk(node), *(around.children if around else ()))
            ):
                raise CodeFault(
                    f"a decorator may change the class `{name}`", MOVE, line_of(declared)
                )
        if node.type in ("class_declaration", "function_declaration"):
            for use in self.named[name]:
                other = self.parents[use.id]
                declares = other.type in ("variable_declarator", "function_declaration")
                again = declares and other.child_by_field_name("name") == use and other != node
                if again or (use.type != "property_identifier" and self.is_target(use)):
                    raise changed(name, use)
        elif not any(child.type == "const" for child in node.children):
            what = f"`{name}` is not a constant, so the program can assign it again"
            raise CodeFault(what, "declare it with `const`", line_of(node))

    def is_target(self, node: Node) -> bool:
        """Return whether the expression is assigned, counted up or deleted."""
        inside, around = node, self.parents.get(node.id)
        while around is not None and around.type in (*_AROUND, *_INTO):
            is_default = around.type == "assignment_pattern" and inside != (
                around.child_by_field_name("left")
            )
            is_key = around.child_by_field_name("key") == inside
            if is_default or is_key:
                return False
            inside, around = around, self.parents.get(around.id)
        if around is None:
            return False
        if around.type in _LEFT:
            return around.child_by_field_name("left") == inside
        if around.type == "unary_expression":
            return text_of(around.child_by_field_name("operator")) == "delete"
        return around.type == "update_expression"

    def _stores(self, node: Node, name: str) -> bool:
        """Return whether the node stores another value as a member of that name, which may be the
        module's export, or gives the exports to other code."""
        if node.type in _MEMBERS and self.is_target(node):
            key = node.child_by_field_name("property") or node.child_by_field_name("index")
            around = self.parents[node.id]
            right = _last_right(around.child_by_field_name("right"))
            owner = text_of(node.child_by_field_name("object"))
            is_own = owner == "this" and not self._is_outermost(node)
            root = owner.split(".")[0].split("[")[0]
            is_plain = node.type == "member_expression" or (
                key is not None and key.type == "string"
            )
            if not is_plain and (root in self.imported or root.startswith("require(")):
                return True
            is_same = text_of(right) == name and self._is_at_top(node)
            return _key(key) == name and not is_same and not is_own
        if node.type == "call_expression":
            called = text_of(node.child_by_field_name("function"))
            owner, _, method = called.partition(".")
            bound = called.rpartition(".")[2] in ("apply", "bind", "call")
            if bound or (owner in ("Object", "Reflect") and method in _CHANGING):
                return self._changes_exports(node)
        if node.type == "this":
            return self._is_outermost(node) and not self._is_plain_this(node)
        if node.type != "identifier" or text_of(node) not in ("exports", "module", "require"):
            return False
        return not self._is_plain_export(node, name)

    def _changes_exports(self, call: Node) -> bool:
        arguments = call.child_by_field_name("arguments")
        given = parts_of(arguments) if arguments is not None else []
        if not given:
            return False
        names = {text_of(part) for part in walk(given[0]) if part.type == "identifier"}
        is_mark = text_of(given[1]).strip("\"'") == "__esModule" if len(given) > 1 else False
        unknown = {"exports", "module", "require", *self.imported}
        return given[0].type != "object" and bool(names & unknown) and not is_mark

    def _is_outermost(self, node: Node) -> bool:
        """Return whether `this` of the node is that of the module."""
        around = self.parents.get(node.id)
        while around is not None:
            if around.type in ("method_definition", "class_body", *FUNCTIONS[1:]):
                return False
            around = self.parents.get(around.id)
        return True

    def _is_at_top(self, node: Node) -> bool:
        """Return whether the node is part of a statement of the module, in no block or function
        that may have a variable of the same name."""
        around = self.parents.get(node.id)
        while around is not None and around.type != "program":
            if around.type in ("statement_block", "class_body", "for_in_statement", *FUNCTIONS):
                return False
            around = self.parents.get(around.id)
        return True

    def _is_plain_this(self, node: Node) -> bool:
        around = self.parents[node.id]
        if around.type == "member_expression" and not self.is_target(around):
            return text_of(around.child_by_field_name("property")).startswith("__")
        return around.type == "binary_expression"

    def _is_plain_export(self, node: Node, name: str) -> bool:
        """Return whether a use of `exports`, `module` or `require` leaves the exported name."""
        around, base = self.parents[node.id], text_of(node)
        key: Node | None
        if base == "require":
            key = around.child_by_field_name("property")
            return around.type == "call_expression" or text_of(key) in ("main", "resolve")
        if base == "module":
            if around.type != "member_expression":
                return around.type in ("binary_expression", "unary_expression")
            if text_of(around.child_by_field_name("property")) != "exports":
                return True
            node, around = around, self.parents[around.id]
        if around.type in _MEMBERS:
            key = around.child_by_field_name("property") or around.child_by_field_name("index")
            is_plain = around.type == "member_expression" or (
                key is not None and key.type == "string"
            )
            return is_plain and "\\" not in text_of(key) and not _key(key).startswith("__")
        if around.type == "arguments":
            return "__esModule" in text_of(around)  # what a call may change is looked at there
        if around.type != "assignment_expression":
            return False
        right = _last_right(around.child_by_field_name("right"))
        if around.child_by_field_name("right") == node or text_of(right) == "module.exports":
            return True
        if right is None or right.type not in _VALUES or not self._is_at_top(node):
            return False
        if right.type == "object" and not _is_after_spreads(right, name):
            return False
        inside = walk(right if right.type == "object" else self.root)
        return not any(_is_other_pair(part, name) for part in inside)

    def _exports_another(self, node: Node, name: str) -> bool:
        """Return whether the node exports another binding under the name."""
        if node.type == "export_specifier":
            alias = node.child_by_field_name("alias")
            clause = self.parents[self.parents[node.id].id]
            is_other = text_of(node.child_by_field_name("name")) != name
            is_foreign = clause.child_by_field_name("source") is not None
            exported = alias or node.child_by_field_name("name")
            return _key(exported) == name and (is_other or is_foreign)
        is_whole = node.type == "export_statement" and any(
            child.type == "=" for child in node.children
        )
        return is_whole or (
            node.type == "namespace_export" and any(_key(part) == name for part in parts_of(node))
        )

    def _is_instance(self, member: Node) -> bool:
        """Return whether the member is one of `this` in a method of objects, not of the class."""
        around: Node | None = member
        while around is not None and around.type not in ("method_definition", *FUNCTIONS[1:]):
            around = self.parents.get(around.id)
        is_this = text_of(member.child_by_field_name("object")) == "this"
        is_static = around is not None and any(part.type == "static" for part in around.children)
        return (
            is_this and around is not None and around.type == "method_definition" and not is_static
        )

    def refuse_hidden(self, member: str = "") -> None:
        """Refuse a way to a class, or to the methods of all texts, other than by its name; and a
        store to a `member` of that name."""
        for node in self.nodes:
            if member and node.type in _MEMBERS and self.is_target(node):
                key = node.child_by_field_name("property") or node.child_by_field_name("index")
                if _key(key) == member and not self._is_instance(node):
                    raise changed(member, node)
            index = node.child_by_field_name("index")
            if index is not None and index.type == "binary_expression" and '"' in text_of(index):
                raise changed(text_of(node)[:60], node)  # perhaps `["const" + "ructor"]`
            if node.type not in _NAMED or text_of(node) not in _HIDDEN:
                continue
            around = self.parents[node.id]
            use = self.parents.get(around.id)
            shown = text_of(use.child_by_field_name("property")) if use is not None else ""
            is_read = around.type == "member_expression" and shown in ("name", "hasOwnProperty")
            if around.type != "method_definition" and not is_read:
                raise changed(text_of(node), node)


def _may_change_names(node: Node) -> bool:
    """Return whether `Uses.refuse` has to look at the node for every name."""
    if node.type.endswith("identifier"):
        text = node.text or b""
        return b"\\" in text or text in _SUSPECT_NAMES
    return node.type in _SUSPECTS


def _is_other_pair(part: Node, name: str) -> bool:
    key = part.child_by_field_name("key") or part.child_by_field_name("name")
    value = part.child_by_field_name("value")
    if part.type not in ("pair", "method_definition"):
        return False
    if key is not None and (key.type == "computed_property_name" or "\\" in text_of(key)):
        return True
    return _key(key) == name and (value is None or text_of(value) != name)


def _is_after_spreads(made: Node, name: str) -> bool:
    """Return whether no `...other` may replace the name in the object."""
    names = [_key(part.child_by_field_name("key") or part) for part in parts_of(made)]
    spreads = [n for n, part in enumerate(parts_of(made)) if part.type == "spread_element"]
    return not spreads or (name in names and names.index(name) > spreads[-1])


def _last_right(node: Node | None) -> Node | None:
    """Return the value of `a = b = value`."""
    while node is not None and node.type == "assignment_expression":
        node = node.child_by_field_name("right")
    return node


def _key(node: Node | None) -> str:
    return text_of(node).strip("\"'`")


def changed(name: str, node: Node) -> CodeFault:
    """Return the refusal of a use of the name."""
    what = f"this use of `{name}` may change the prompt while the program runs"
    return CodeFault(what, MOVE, line_of(node))
