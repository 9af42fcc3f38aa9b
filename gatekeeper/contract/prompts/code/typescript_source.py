"""Parses a TypeScript or JavaScript file with tree-sitter and lowers it to the tree that is read:
nothing is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tree_sitter import Language, Parser
from tree_sitter import Node as Source

from gatekeeper.contract.prompts.code.names import Names
from gatekeeper.contract.prompts.code.tree import (
    Described,
    Node,
    Parts,
    Place,
    Plain,
    Row,
    build,
    rows,
)
from gatekeeper.contract.prompts.code.typescript_rules import TypescriptRules
from gatekeeper.contract.prompts.code.written import (
    CodeFault,
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
_STRIPS = {"trim": (True, True), "trimStart": (True, False), "trimEnd": (False, True)}
_FUNCTIONS = ("arrow_function", "function_expression", "generator_function")
_SKIPPED = (
    "comment",
    "property_identifier",
    "string_fragment",
    "escape_sequence",
    "string_content",
)
_INLINE = (
    "arguments",
    "class_body",
    "class_heritage",
    "extends_clause",
    "formal_parameters",
    "lexical_declaration",
    "variable_declaration",
)
"""What stands around the parts of a node, and is none itself."""
_ROLES = {
    "condition": "test",
    "value": "value",
    "result": "result",
    **dict.fromkeys(("alternative", "body", "consequence", "finalizer", "handler"), "body"),
}
_ROWS = rows(
    """
    program                                       module
    statement_block                               block
    identifier,type_identifier,this,super         name @.
    false,null,number,regex,true,undefined        literal @.
    string,template_string                        text *=hole
    template_substitution                         hole *=value
    member_expression                             member @property object=object
    subscript_expression                          item @index object=object index=key
    call_expression                               call function=function arguments=argument
    new_expression                                call:new constructor=function arguments=argument
    array,array_pattern                           list *=item
    object,object_pattern                         object *=item
    pair,pair_pattern                             pair @key key=key
    spread_element,rest_pattern                   spread *=value
    function_declaration,method_definition        function @name parameters=parameter
    generator_function_declaration                function @name parameters=parameter
    arrow_function                    function:=> parameters=parameter parameter=parameter
    function_expression,generator_function        function parameters=parameter
    required_parameter,optional_parameter         parameter pattern=target
    class_declaration,abstract_class_declaration  class @name
    class                                         class
    assignment_pattern,object_assignment_pattern  default left=target right=value
    variable_declarator                           store name=target
    assignment_expression                         store:= left=target right=value
    augmented_assignment_expression               store:+= left=target right=value
    augmented_assignment_expression??=            store:= left=target right=value
    augmented_assignment_expression||=            store:= left=target right=value
    augmented_assignment_expression&&=            store:= left=target right=value
    update_expression                             store:del argument=target
    for_in_statementof                            store:for left=target right=value
    for_in_statementin                            store:in left=target right=value
    catch_clause                                  store:bind parameter=target
    enum_declaration                              store:enum name=target
    public_field_definition                       store name=other
    ternary_expression                            either consequence=value alternative=value
    binary_expression                             compare left=value right=value
    binary_expression+                            sum left=value right=value
    binary_expression??,binary_expression||       either left=value right=value
    binary_expression&&                           either left=value right=value
    parenthesized_expression,as_expression        through *=value
    satisfies_expression,non_null_expression      through *=value
    type_assertion,await_expression               through *=value
    return_statement                              return *=value
    yield_expression                              return:yield *=value
    expression_statement,jsx_expression           end *=value
    unary_expression                              end argument=value
    unary_expressiondelete                        store:del argument=target
    import_statement                              import @source
    export_statement                              export *=value
    export_clause                                 export *=value
    export_specifier                              export name=value
    namespace_export                              export
    implements_clause,interface_declaration       type
    nested_type_identifier,type_query             type
    type_alias_declaration,type_annotation        type
    type_arguments,type_parameters                type
    """
)
_BY_OPERATOR = (
    "augmented_assignment_expression",
    "binary_expression",
    "for_in_statement",
    "unary_expression",
)
_TYPE, _STATEMENT, _OTHER = rows("type type\nstatement statement\nother other").values()


@kept_if_small
def typescript_names(source: str, path: str, language: str) -> Names:
    """Parse a file once for all of its constants, at base and at head. `language` is `typescript`
    or `tsx`, which reads JavaScript too. Raises CodeFault."""
    return Names(build(_parse(source, language), _describe, _place_of), _Typescript(), path)


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


def _place_of(node: Source) -> Place:
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
    if kind in _BY_OPERATOR:
        kind += _text(node.child_by_field_name("operator"))
    known = _ROWS.get(kind) or _ROWS.get(node.type)
    if known is not None:
        return known
    if kind.endswith("_type"):
        return _TYPE
    return _STATEMENT if kind.endswith(("_statement", "_body", "_case", "_block")) else _OTHER


def _role(row: Row, name: str, child: Source) -> str:
    """Return the role of a part, by its field or by what it is."""
    if child.type == "decorator":
        return "decorator"
    kind = _row(child).kind
    if kind == "type":
        return "type"
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
        kind = "member" if text and index != "number" else "item"
    elif type_ == "type_assertion":
        parts.reverse()
    elif type_ == "variable_declarator":
        text = node.parent.children[0].type if node.parent is not None else ""
    elif type_ == "public_field_definition":
        text = "static" if any(part.type == "static" for part in node.children) else "field"
        parts.append(("target", Plain("name", _key(field("name")), [], node)))
    elif type_.startswith("shorthand_property_identifier"):
        kind, text, parts = "pair", _text(node), [("value", Plain("name", _text(node), [], node))]
    elif type_ == "import_statement":
        parts = [("alias", _alias(part, text)) for part in _imported(node)]
    elif kind == "export":
        text, parts = _export(node, parts)
    if kind == "function":
        parts = [
            (role, _parameter(part)) if role == "parameter" else (role, part)
            for role, part in parts
        ]
    return kind, text, parts


def _parameter(node: Source) -> Source | Plain:
    """Return a parameter without types as one with them."""
    is_one = _row(node).kind == "parameter"
    return node if is_one else Plain("parameter", "", [("target", node)], node)


def _alias(node: Source, path: str) -> Plain:
    return Plain("alias", _text(node), [("path", Plain("end", path, [], node))], node)


def _identifiers(node: Source) -> Iterator[Source]:
    if node.type in ("identifier", "shorthand_property_identifier_pattern"):
        yield node
    for part in node.named_children:
        yield from _identifiers(part)


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
    if node is None or node.type in (
        "computed_property_name",
        "unary_expression",
        "binary_expression",
    ):
        return ""
    if node.type == "number":
        return text if _is_plain_number(text) else ""  # `0x1` is `1`
    if node.type in ("string", "template_string"):
        return "" if "\\" in text or "${" in text else text[1:-1]
    return text


def _is_plain_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 16 and (text == "0" or text[0] != "0")


class _Typescript(TypescriptRules):
    """Reads what only TypeScript and JavaScript write as they do: literals, and `trim`."""

    def shown(self, node: Node) -> str:
        """Return the source of the node."""
        return _text(node.source)

    def number(self, node: Node) -> str | None:
        """Return what a literal other than a text is in a text; None if that is not known."""
        is_known = node.text in ("true", "false", "null") or _is_plain_number(node.text)
        return node.text if node.kind == "literal" and is_known else None

    def cleaned(self, names: Names, call: Node, value: Callable[[Node], Written]) -> Written | None:
        """Return the text of a call that only trims; None for any other call."""
        called = call.parts[0]
        if called.kind != "member" or called.text not in _STRIPS or call.all("argument"):
            return None
        names.refuse_changes(called.text)
        left, right = _STRIPS[called.text]
        inner = value(called.parts[0])
        return inner.stripped(left=left, right=right, line=call.line, blanks=_BLANKS)

    def literal(self, node: Node, add_hole: Callable[[Written, Node], None]) -> Written:
        """Return a string literal with the line of each of its lines in the file."""
        found, made, holes = Written(), node.source, iter(node.parts)
        source, start = made.text or b"", made.start_byte
        place, line = 1, node.line
        for child in made.named_children:
            begin, end = child.start_byte - start, child.end_byte - start
            line += _add_raw(found, source[place:begin], line)
            if child.type == "template_substitution":
                add_hole(found, next(holes))
                line = int(child.end_point.row) + 1
            elif child.type == "escape_sequence":
                written = source[begin:end].decode()
                found.add_text(_unescaped(written, _place_of(child)[0]), line)
                line += written.count("\n")
            else:
                line += _add_raw(found, source[begin:end], line)
            place = end
        _add_raw(found, source[place:-1], line)
        return _with_whole_characters(found, node.line)


def _add_raw(found: Written, source: bytes, line: int) -> int:
    text = source.decode(errors="replace")
    found.add_text(text, line, spans_lines=True)
    return text.count("\n")


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
