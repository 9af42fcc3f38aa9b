"""Reads the messages of a prompt from parsed data, each with the lines of its text in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from gatekeeper.contract.reading.role_lines import ROLES
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, parse_json
from gatekeeper.contract.values.definition import MessageTemplate
from gatekeeper.errors import ContractError, Problem

_MOST_LINES = 5_000
_MOST_AHEAD = 100
_JSON_MESSAGES = re.compile(r'\s*\[\s*\{\s*"(?:role|content)"\s*:')


def read_messages(document: Document, key: KeyPath, source: str) -> tuple[MessageTemplate, ...]:
    """Read the list of messages at the key; `source` is the text of the file.

    Raises ContractError with the place of each item that is no message.
    """
    problems: list[Problem] = []
    data = document.data
    for step in key:
        data = data[step]
    lines = source.split("\n")
    messages = [
        _message(document, (*key, index), item, lines, problems) for index, item in enumerate(data)
    ]
    if problems:
        raise ContractError(problems)
    return tuple(messages)


def holds_messages(text: str) -> bool:
    """Return whether the text is a JSON list of messages."""
    return _JSON_MESSAGES.match(text) is not None


def read_text_value(
    document: Document, key: KeyPath, text: str, source: str, *, roles: bool = True
) -> tuple[MessageTemplate, ...]:
    """Read the text at the key: one user message, or what it holds if it is a JSON list of
    messages and may have `roles`. Raises ContractError."""
    line, lines = _lines_of(document, key, text, source.split("\n"))
    if not (roles and holds_messages(text)):
        return (MessageTemplate("user", text, line, lines),)
    whole = MessageTemplate("user", "", line, lines)
    try:
        inner = parse_json(text, document.path)
        found = read_messages(inner, (), text)
    except ContractError as error:
        moved = [_moved(problem, whole) for problem in error.problems]
        raise ContractError(moved) from None
    return tuple(
        replace(m, line=whole.line_at(m.line), lines=tuple(map(whole.line_at, m.lines)))
        for m in found
    )


def _moved(problem: Problem, whole: MessageTemplate) -> Problem:
    more = "" if problem.field else "; gatekeeper reads this text as a list of messages"
    fix = f"{problem.fix}{more}"
    return replace(problem, line=whole.line_at(problem.line or 1), column=None, fix=fix)


def _message(
    document: Document, key: KeyPath, item: Any, source: Sequence[str], problems: list[Problem]
) -> MessageTemplate:
    item = item if isinstance(item, dict) else {}
    role, content = item.get("role"), item.get("content")
    if not isinstance(role, str) or role.lower() not in ROLES:
        what = f"the role is not one of {', '.join(ROLES)}"
        problems.append(document.problem((*key, "role"), what, "write `role: user`"))
        role = "user"
    if not isinstance(content, str):
        what = "the content is not text"
        fix = "write `content: …` as text, and name pictures in `files` of the fixtures"
        problems.append(document.problem((*key, "content"), what, fix))
        content = ""
    line, lines = _lines_of(document, (*key, "content"), content, source)
    return MessageTemplate(role.lower(), content, line, lines)


def _lines_of(
    document: Document, key: KeyPath, text: str, source: Sequence[str]
) -> tuple[int, tuple[int, ...]]:
    """Return the first line of a text in the file, and the line of each of its lines unless they
    follow one another there."""
    place = document.position(key).line or 1
    first = document.text_lines.get(key, place)
    last = document.last_lines.get(key)
    if key in document.text_lines and last is None:
        return first, ()
    count = text.count("\n") + 1
    if last is None or count > _MOST_LINES:
        return first, (first,) * count if count > 1 else ()
    found = tuple(_find_lines(text.split("\n"), source, first, last))
    return found[0], found


def _find_lines(
    wanted: Sequence[str], source: Sequence[str], first: int, last: int
) -> Iterator[int]:
    """Yield the line of the file in which each line begins, for a scalar whose lines were joined.
    A line that is not found, because it has escapes, gets the line of the one before it."""
    at = first
    yield at
    for text in wanted[1:]:
        words = text.split()
        end = min(last, len(source), at + _MOST_AHEAD)
        for number in range(at + 1, end + 1 if words else at):
            found = source[number - 1].replace("\\", " ").strip(" \"'").split()
            shorter = min(len(found), len(words))
            if shorter and found[:shorter] == words[:shorter]:
                at = number
                break
        yield at
