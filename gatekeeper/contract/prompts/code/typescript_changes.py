"""Refuses code of a TypeScript or JavaScript file that may give a constant another value.

No syntax can assign a text that `const` declares. Whoever has an object or a class in hand can
change it, so each use of its name that is no plain read is refused. What code of another file does
is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from gatekeeper.contract.prompts.code.typescript_tree import (
    NAMES,
    WRAPPERS,
    line_of,
    names_it,
    parts_of,
    text_of,
    walk,
)
from gatekeeper.contract.prompts.code.written import CodeFault

_MOVE = "write the text in a separate constant, and use that constant here or as the prompt"
_ASSIGNING = ("assignment_expression", "augmented_assignment_expression", "for_in_statement")
_AROUND = (*WRAPPERS, "non_null_expression", "type_assertion")
_READING = ("Object.freeze", "Object.keys", "Object.values", "Object.entries", "JSON.stringify")
_TYPES = ("type_query", "type_annotation", "nested_type_identifier", "type_arguments")
_EXPORTS = ("exports.{0}", "module.exports.{0}", 'exports["{0}"]', "exports['{0}']")


def refuse_changes(root: Node, name: str, steps: Sequence[str], declared: Node) -> None:
    """Refuse what may give the name, or the member at `steps`, another value. `declared` is the
    value of its declaration. Raises CodeFault, with its line."""
    shown = ".".join([name, *steps])
    is_changeable = bool(steps) or declared.type == "function_declaration"
    for node in walk(root):
        if _is_changed_by(node, name, steps):
            what = f"the program changes `{shown}` while it runs"
            raise CodeFault(what, _MOVE, line_of(node))
        if _exports_another(node, name):
            what = f"the file exports something else as `{name}`"
            raise CodeFault(what, "export the other value under another name", line_of(node))
        if node.type.endswith("identifier") and b"\\" in (node.text or b""):
            raise CodeFault(
                "a name contains an escape sequence",
                "write the name without the escape sequence",
                line_of(node),
            )
        if is_changeable and _is_use(node, name, declared) and not _is_read(node, steps):
            what = f"this use of `{text_of(node)}` may change `{shown}`"
            fix = f"read only the member, as in `{shown}`, or move the text to a constant"
            raise CodeFault(what, fix, line_of(node))
    _refuse_declaration(declared, name)


def _refuse_declaration(declared: Node, name: str) -> None:
    """Refuse a declaration that leaves the name or its class open to change."""
    if declared.type == "class_declaration":
        around = [declared, *([declared.parent] if declared.parent is not None else [])]
        body = declared.child_by_field_name("body")
        members = list(body.children) if body is not None else []
        if any(part.child_by_field_name("decorator") for part in (*around, *members)) or any(
            part.type == "decorator" for part in members
        ):
            what = f"a decorator may change the class `{name}`"
            raise CodeFault(what, _MOVE, line_of(declared))
        return
    node: Node | None = declared
    while node is not None and not node.type.endswith("_declaration"):
        node = node.parent
    if node is None or node.type == "function_declaration":
        return
    if not any(child.type == "const" for child in node.children):
        what = f"`{name}` is not a constant, so the program can assign it again"
        raise CodeFault(what, "declare it with `const`", line_of(node))


def _is_use(node: Node, name: str, declared: Node) -> bool:
    """Return whether the node is the name, or `this` in what declares it, outside of its
    declaration."""
    if node.type == "this":
        inside = declared.start_byte <= node.start_byte < declared.end_byte
        return inside and not _is_of_instance(node, declared)
    if node.type not in (*NAMES, "shorthand_property_identifier") or text_of(node) != name:
        return False
    parent = node.parent
    is_name = parent is not None and parent.child_by_field_name("name") == node
    declares = ("variable_declarator", "class_declaration", "function_declaration")
    return not (is_name and parent is not None and parent.type in declares)


def _is_of_instance(this: Node, declared: Node) -> bool:
    """Return whether `this` is an instance of the class, and leads to no more than that."""
    if declared.type != "class_declaration":
        return False
    used = this.parent
    if used is not None and text_of(used.child_by_field_name("property")) == "constructor":
        return False
    node: Node | None = this
    while node is not None and (node.parent is None or node.parent.parent != declared):
        node = node.parent
    is_static = node is None or node.type == "class_static_block"
    return not is_static and not any(
        part.type == "static" for part in getattr(node, "children", ())
    )


def _is_read(node: Node, steps: Sequence[str]) -> bool:
    """Return whether the use cannot change the member: it reads a member, exports the whole, or
    names its type."""
    inside, count = node, 0
    around = node.parent
    while around is not None:
        key = around.child_by_field_name("property") or around.child_by_field_name("index")
        if around.type in ("member_expression", "subscript_expression"):
            if around.child_by_field_name("object") != inside or _is_hidden(around, key):
                return False
            count += 1
        elif around.type not in _AROUND:
            break
        inside, around = around, around.parent
    if around is None or _is_target(inside, around):
        return False
    is_called = around.type == "call_expression" and inside != around.child_by_field_name(
        "arguments"
    )
    if not steps:
        return True  # a function cannot be changed, only assigned
    if count >= len(steps) or (is_called and count):
        return True
    if len(steps) == 1 and _is_copied(around):
        return True
    return _is_harmless_whole(around)


def _is_copied(around: Node) -> bool:
    """Return whether the members of an object are copied: `const { system } = P`, `{ ...P }`."""
    name = around.child_by_field_name("name")
    is_pattern = name is not None and name.type == "object_pattern"
    return around.type == "spread_element" or (around.type == "variable_declarator" and is_pattern)


def _is_harmless_whole(around: Node) -> bool:
    """Return whether what stands around the whole object, or class, leaves it as it is."""
    if around.type == "arguments":
        call = around.parent
        called = text_of(call.child_by_field_name("function")) if call is not None else ""
        return called in _READING and len(parts_of(around)) == 1
    if around.type == "object" and around.parent is not None:
        left = text_of(around.parent.child_by_field_name("left"))
        return left == "module.exports" or around.parent.type == "export_statement"
    if around.type == "assignment_expression":
        return text_of(around.child_by_field_name("left")).startswith(("exports", "module.exports"))
    allowed = ("export_specifier", "export_statement", "new_expression", "extends_clause")
    return around.type in (*allowed, *_TYPES) or around.type.endswith("_type")


def _is_hidden(around: Node, key: Node | None) -> bool:
    """Return whether the member is one through which the object changes, such as
    `__defineGetter__`, or may be one."""
    written = text_of(key).strip("\"'`")
    if written.startswith("__") or written == "constructor" or "\\" in written:
        return True
    is_called = around.parent is not None and around.parent.type == "call_expression"
    return is_called and around.type == "subscript_expression"


def _is_target(inside: Node, around: Node) -> bool:
    """Return whether the expression is assigned, counted up or deleted."""
    if around.type in _ASSIGNING or around.type == "assignment_pattern":
        return around.child_by_field_name("left") == inside
    if around.type == "unary_expression":
        return text_of(around.child_by_field_name("operator")) == "delete"
    return around.type == "update_expression" or around.type.endswith("_pattern")


def _exports_another(node: Node, name: str) -> bool:
    """Return whether the node exports another binding under the name."""
    if node.type == "export_specifier":
        alias = node.child_by_field_name("alias")
        clause = node.parent.parent if node.parent is not None else None
        is_other = text_of(node.child_by_field_name("name")) != name
        is_foreign = clause is not None and clause.child_by_field_name("source") is not None
        exported = alias or node.child_by_field_name("name")
        return text_of(exported).strip("\"'") == name and (is_other or is_foreign)
    if node.type == "namespace_export":
        return any(text_of(part).strip("\"'") == name for part in parts_of(node))
    if node.type != "assignment_expression":
        return False
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    written = text_of(left)
    if written in [form.format(name) for form in _EXPORTS]:
        return text_of(right) != name
    if written != "module.exports" or right is None or right.type != "object":
        return False
    pairs = [part for part in parts_of(right) if part.type in ("pair", "method_definition")]
    keys = [
        (part.child_by_field_name("key") or part.child_by_field_name("name"), part)
        for part in pairs
    ]
    return any(
        text_of(key).strip("\"'") == name and text_of(part.child_by_field_name("value")) != name
        for key, part in keys
    )


def _is_changed_by(node: Node, name: str, steps: Sequence[str]) -> bool:
    """Return whether the node visibly gives the name, or the member of it, another value."""
    if node.type == "variable_declarator" and node.parent is not None:
        around = node.parent.parent  # `var` in a block declares the name of the whole module
        is_inner = around is not None and around.type not in ("program", "export_statement")
        is_var = node.parent.type == "variable_declaration"
        return is_var and is_inner and names_it(node.child_by_field_name("name"), name)
    if node.type not in _ASSIGNING:
        return False
    left = node.child_by_field_name("left")
    written = text_of(left)
    word = rf"\b{re.escape(name)}\b"
    if left is not None and left.type.endswith("_pattern"):
        return re.search(word, written) is not None
    if written == name:
        return True
    member = rf"(?:{word}|\bthis\b).*(?:\[|\b{re.escape(steps[-1])}\b)" if steps else None
    return member is not None and re.match(member, written, re.S) is not None
