"""Reads a prompt from a key of a YAML, JSON or TOML file: text, or a list of messages."""

from __future__ import annotations

from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.prompts.message_list import (
    holds_messages,
    read_messages,
    read_text_value,
)
from gatekeeper.contract.prompts.reference import PromptReference, write_key
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, parse_once
from gatekeeper.contract.values.definition import (
    EVERY_SECTION,
    MessageTemplate,
    Prompt,
    Sections,
)
from gatekeeper.errors import ContractError

_MOST_NAMED = 10


def prompt_at_key(
    text: str, reference: PromptReference, allowed: Sections = EVERY_SECTION
) -> Prompt:
    """Return the prompt at the reference's key of a file's text. A text that is a JSON list of
    messages is such a list if roles are `allowed`.

    Raises ContractError, at the nearest key that the file has, if there is no prompt at the key.
    """
    document = parse_data(text, reference.path)
    key = reference.key or ()
    value = find_value(document, key)
    roles = allowed.roles and isinstance(value, str) and holds_messages(value)
    if isinstance(value, str):
        messages = read_text_value(document, key, value, text, roles=roles)
    elif isinstance(value, list):
        messages = read_messages(document, key, text)
    else:
        what = f"`{write_key(key)}` is {_kind(value)}, not a prompt"
        fix = "use a key whose value is text, or a list of `{role: user, content: …}`"
        if isinstance(value, dict) and value:
            names = (f"`{write_key((*key, name))}`" for name in list(value)[:_MOST_NAMED])
            fix = f"{fix}, such as {', '.join(names)}"
        raise ContractError([document.problem(key, what, fix, at_key=True)])
    return Prompt(
        reference.path,
        messages,
        _shown(messages, value),
        part=reference.part,
        sections=Sections(front_matter=False, roles=roles),
        allowed=allowed,
    )


def parse_data(text: str, path: str) -> Document:
    """Parse a YAML, JSON or TOML file by its suffix. Raises ContractError."""
    if path.lower().endswith(".toml"):
        from gatekeeper.contract.syntax.toml_positions import parse_toml

        return parse_toml(text, path)
    return parse_once(text, path)


def has_key(text: str, reference: PromptReference) -> bool:
    """Return whether the file has a value at the key; also True if the file cannot be read, because
    a program may then read it in another way."""
    try:
        find_value(parse_data(text, reference.path), reference.key or ())
    except ContractError as error:
        return not isinstance(error, MissingKeyError)
    return True


class MissingKeyError(ContractError):
    """A file that can be read, and has no such key."""


def find_value(document: Document, key: KeyPath) -> Any:
    """Return the value at the key. Raises MissingKeyError at the nearest key that exists."""
    value = document.data
    for depth, step in enumerate(key):
        if isinstance(value, dict) and step in value:
            value = value[step]
            continue
        if isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
            continue
        around = key[:depth]
        name = f"`{write_key(around)}`" if around else "the file"
        what = f"`{write_key(key[: depth + 1])}` does not exist in {name}, which is {_kind(value)}"
        fix = "correct the part after `#` in the contract's `prompt`"
        if isinstance(value, dict) and value:
            fix = nearest(str(step), map(str, list(value)[:_MOST_NAMED]))
        elif isinstance(value, list) and value:
            first, last = (write_key((*around, n)) for n in (0, len(value) - 1))
            fix = (
                f"write an item from `{first}` to `{last}`" if first != last else f"write `{first}`"
            )
        raise MissingKeyError([document.problem(around, what, fix, at_key=True)])
    return value


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return f"a list of {numbers.count(len(value), 'item')}"
    return "text" if isinstance(value, str) else "empty" if value is None else "a single value"


def _shown(messages: tuple[MessageTemplate, ...], value: Any) -> str:
    """Return the prompt's text for people: of messages, each under its role."""
    if isinstance(value, str) and len(messages) == 1:
        return value
    return "\n\n".join(f"{message.role}:\n{message.content}" for message in messages)
