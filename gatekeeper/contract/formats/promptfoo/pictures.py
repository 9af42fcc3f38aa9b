"""Finds the pictures that a variable of a promptfoo test puts into a chat prompt.

promptfoo gives a template the content of `file://….png`, and the prompt sends it in a part of a
message. Here such a file is one of the fixture's `files`, which precede the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from gatekeeper.contract.formats.promptfoo.sources import FILE, Sources
from gatekeeper.contract.formats.reader import Node
from gatekeeper.contract.prompts.message_list import read_messages, read_text_value
from gatekeeper.contract.syntax.yaml_positions import Document, parse_json, parse_yaml
from gatekeeper.contract.values.definition import MessageTemplate
from gatekeeper.contract.values.nested_texts import nested_texts
from gatekeeper.errors import ContractError

_SUFFIX = re.compile(r"\.(?:png|jpe?g|webp|gif)$", re.I)
_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_DATA = re.compile(r"(?:data:image/[\w.+-]+;base64,)?\{\{-?\s*([A-Za-z_]\w*)\s*-?\}\}", re.A | re.I)
# From where a tag opens to the last end of one before the next.
_TAGS = re.compile(r"\{[{%](?:(?!\{[{%]).)*[}%]\}", re.S)


def read_pictured(
    content: str, path: str, source: str, line: int
) -> tuple[tuple[MessageTemplate, ...], tuple[str, ...]] | None:
    """Return the messages of a chat without its pictures, and the variables that hold these, in
    order. `source` is the text of the file, in which the content begins at the line.

    None unless it is certain that the prompt sends these pictures and no other part than one text,
    before or after all of them, in the last message of the user.
    """
    if "image" not in content:
        return None
    try:
        read = parse_json if content.lstrip().startswith("[") else parse_yaml
        return _without_pictures(read(content, path, line), source)
    except ContractError:
        return None  # whoever reads the prompt as it is says what is wrong


def _without_pictures(
    document: Document, source: str
) -> tuple[tuple[MessageTemplate, ...], tuple[str, ...]] | None:
    data: Any = document.data if isinstance(document.data, list) else []
    at = max((n for n, item in enumerate(data) if _is_user(item)), default=-1)
    parts = data[at].get("content") if at >= 0 else None
    if not isinstance(parts, list) or data[at].keys() != {"role", "content"}:
        return None
    texts = [n for n, part in enumerate(parts) if _is_text(part)]
    found = [_variable(part) for n, part in enumerate(parts) if n not in texts]
    names = tuple(dict.fromkeys(filter(None, found)))
    if not names or len(names) < len(found) or len(texts) != 1:
        return None
    if texts[0] not in (0, len(parts) - 1):
        return None  # a text between pictures speaks of their places
    key, text = (at, "content", texts[0], "text"), parts[texts[0]]["text"]
    plain = [*data[:at], {"role": "user", "content": text}, *data[at + 1 :]]
    messages = list(read_messages(replace(document, data=plain), (), source))
    messages[at : at + 1] = read_text_value(document, key, text, source, roles=False)
    others = [message.content for message in messages]
    return None if is_used(others, names) else (tuple(messages), names)


def _is_user(item: Any) -> bool:
    return isinstance(item, dict) and str(item.get("role")).lower() == "user"


def _is_text(part: Any) -> bool:
    known = isinstance(part, dict) and part.keys() == {"type", "text"}
    return known and part["type"] in ("text", "input_text") and isinstance(part["text"], str)


def _variable(part: Any) -> str | None:
    """Return the variable that holds the picture of a part; None for any other part."""
    for text in nested_texts(part):
        match = _DATA.fullmatch(text)
        if match and part in _forms(text):
            return match[1]
    return None


def _forms(data: str) -> Iterator[dict[str, Any]]:
    """Yield the parts that send this picture as Gatekeeper does."""
    for detail in ({}, {"detail": "auto"}):
        yield {"type": "image_url", "image_url": {"url": data, **detail}}
        yield {"type": "input_image", "image_url": data, **detail}
    for kind in _TYPES:
        source = {"type": "base64", "media_type": kind, "data": data}
        yield {"type": "image", "source": source}


def is_used(value: Any, names: Collection[str]) -> bool:
    """Return whether a template in the value, or code that reads variables, names one of them."""
    named = "|".join(map(re.escape, names))
    code = rf"\bvars(?:\.|\[\s*['\"]|\.get\(\s*['\"])(?:{named})\b"
    return any(
        re.search(code, text)
        or any(re.search(rf"\b(?:{named})\b", tag) for tag in _TAGS.findall(text))
        for text in nested_texts(value)
    )


def picture_choices(sources: Sources, node: Node, *, multiply: bool) -> list[str]:
    """Return the paths of the pictures that a variable has one after the other, from the root.

    Raises CannotRunError if it holds anything else, and ContractError if no file matches.
    """
    value = node.value
    written = value if multiply and isinstance(value, list) and value else [value]
    for item in written:
        known = isinstance(item, str) and item.startswith(FILE) and _SUFFIX.search(item)
        if not known or "{{" in item:
            why = "the prompt sends it as a picture; write `file://` and a PNG, JPEG, WebP or GIF"
            raise node.cannot_run("vars", why)
    return [path for item in written for path in sources.find(node, item)]
