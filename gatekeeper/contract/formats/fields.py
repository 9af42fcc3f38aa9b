"""Reads fields of foreign documents that must have a certain form, with a problem at their place if
they do not."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from gatekeeper.contract.prompts.styles.literal import literal
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.errors import ContractError


def value_at(document: Document, key: KeyPath) -> Any:
    """Return the value at the key; None if there is none."""
    value: Any = document.data
    for part in key:
        if isinstance(value, dict):
            value = value.get(str(part))
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value


def one_of(document: Document, key: KeyPath, names: Sequence[str]) -> str | None:
    """Return which of the names, of which only one is read, the object at the key has; None if it
    has none. Raises ContractError if it has several."""
    value = value_at(document, key)
    given = value if isinstance(value, dict) else {}
    found = [name for name in names if given.get(name) is not None]
    if len(found) > 1:
        what = f"only one of `{found[0]}` and `{found[1]}` can be read"
        raise ContractError([document.problem((*key, found[1]), what, "keep one of them")])
    return found[0] if found else None


def expect_list(document: Document, key: KeyPath) -> list[dict[str, Any]]:
    """Return the list of mappings at the key. Raises ContractError for anything else."""
    found = value_at(document, key)
    if not isinstance(found, list) or not found:
        what, fix = "the value must be a list with at least one item", "write each item as `- …`"
        raise ContractError([document.problem(key, what, fix)])
    for index, item in enumerate(found):
        if not isinstance(item, dict):
            what, fix = "not a mapping", "write `key: value`"
            raise ContractError([document.problem((*key, index), what, fix)])
    return found


def located_text(document: Document, key: KeyPath) -> str:
    """Return the text at the key. Raises ContractError for anything else, and if it is empty."""
    found = value_at(document, key)
    if not isinstance(found, str) or not found.strip():
        raise ContractError([document.problem(key, "not a text", "write the text here")])
    return found


def format_fields(text: object) -> frozenset[str]:
    """Return the names of the fields of a text for Python's `str.format`."""
    try:
        parts = list(string.Formatter().parse(text)) if isinstance(text, str) else []
    except ValueError:
        return frozenset()  # translating the text says so
    return frozenset(name for _, name, _, _ in parts if name)


def from_format_fields(document: Document, key: KeyPath, text: str) -> str:
    """Return a template for a text with the fields of Python's `str.format`, such as `{article}`.

    Raises ContractError for fields that are more than a name, which `str.format` looks up in the
    value, and for conversions.
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        fix = "if a brace is part of the text, write the brace twice: `{{` or `}}`"
        raise ContractError(
            [document.problem(key, f"the text is not a valid format string: {error}", fix)]
        ) from None
    template = ""
    for plain, name, spec, conversion in parts:
        template += literal(plain)
        if name is None:
            continue
        if not name.isidentifier() or spec or conversion:
            written = name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            what = f"the field `{{{written}}}` must contain only the name of a variable"
            fix = "write `{name}`; if a brace is part of the text, write the brace twice"
            raise ContractError([document.problem(key, what, fix)])
        template += f"{{{{ {name} }}}}"
    return template
