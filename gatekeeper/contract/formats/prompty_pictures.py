"""Finds the pictures that the messages of a Prompty file send.

Version 1 sends each Markdown image of a message as a picture, and reads its file. Version 2 sends
each input of the kind `image`, and a Markdown image is text. Here such a file is one of the
fixture's `files`, which precede the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from gatekeeper.contract.formats.foreign_suite import At, NothingToRunError
from gatekeeper.contract.formats.promptfoo.pictures import is_used
from gatekeeper.contract.formats.reader import Node
from gatekeeper.contract.values.definition import Position, Prompt
from gatekeeper.contract.values.nested_texts import nested_texts

MARKDOWN = re.compile(
    r"!\[(?:(?!!\[)[^\]])*\]"
    r"\(((?:\{\{(?:(?!\}\}|!\[).)*\}\}|(?!!\[|\{\{).)*?)\)"
)
"""A Markdown image, as Prompty 1 finds it in a rendered message; a tag may have parentheses."""
# Mustache's escapes, which change no path below.
_ESCAPES = r"(?:\|\s*replace\(\"[&<>\\\"]+\", \"&\w+;\"\)\s*)*"
INPUT = re.compile(rf"\{{\{{-?\s*([A-Za-z_]\w*)\s*{_ESCAPES}-?\}}\}}", re.A)
# Prompty 1 reads these files alone, and takes a path that begins so for an address.
_FILES = {
    1: re.compile(r"(?!/|http|data)[^\s()&<>\"\\:{}]+\.(?:png|jpe?g)"),
    2: re.compile(r"(?!/)[^\s&<>\"\\:{}]+\.(?:png|jpe?g|webp|gif)", re.I),
}
_FIX = (
    "put all pictures before or after the text of the last user message, or write a contract for "
    "the prompt, and name the files in `files` of its fixtures"
)


def without_pictures(
    prompt: Prompt, inputs: Collection[str] | None
) -> tuple[Prompt, tuple[str, ...]] | None:
    """Return the prompt without its pictures, and what holds each of these, in order: a variable,
    or a path, which has a dot. `inputs` are those of the kind `image`; None for version 1.

    None unless it is certain that the prompt sends these pictures, before or after one text, in the
    last message of the user.
    """
    messages = prompt.messages
    at = max((n for n, one in enumerate(messages) if one.role == "user"), default=-1)
    if at < 0 or any("{%" in one.content for one in messages):
        return None  # a statement may leave a picture out, or send it twice
    content = messages[at].content
    found = MARKDOWN if inputs is None else INPUT
    holes = [m for m in found.finditer(content) if inputs is None or m[1] in inputs]
    held = [_held(hole[1]) if inputs is None else hole[1] for hole in holes]
    names = tuple(name for name in held if name)
    if not len(holes) == len(names) == len({*names, *(inputs or ())}):
        return None
    starts, ends = [m.start() for m in holes], [m.end() for m in holes]
    pieces = [content[a:b] for a, b in zip([0, *ends], [*starts, len(content)], strict=True)]
    if sum(bool(piece.strip()) for piece in pieces) != 1 or not (pieces[0] + pieces[-1]).strip():
        return None  # a text between pictures speaks of their places
    start = 0 if pieces[0].strip() else ends[-1]
    text = pieces[-1 if start else 0]
    above = content[: content.index(text.strip(), start)].count("\n")
    message = replace(messages[at], content=text.strip(), lines=messages[at].lines[above:])
    message = replace(message, line=messages[at].line_at(above + 1))
    made = (*messages[:at], message, *messages[at + 1 :])
    contents = [one.content for one in made]
    variables = [name for name in names if "." not in name]
    if (variables and is_used(contents, variables)) or (inputs is None and has_markdown(contents)):
        return None
    return replace(prompt, messages=made), names


def _held(written: str) -> str | None:
    """Return the variable or the path of a Markdown image; None if it is neither."""
    variable = INPUT.fullmatch(written.strip())
    path = written.split(" ")[0].strip()
    return variable[1] if variable else path if _FILES[1].fullmatch(path) else None


def has_markdown(value: Any) -> bool:
    """Return whether a text in the value has a Markdown image."""
    return any(MARKDOWN.search(text) for text in nested_texts(value))


def fixture_of(row: Node, values: Mapping[str, At], pictures: Collection[str], version: int) -> At:
    """Return the fixture of a row of variables, with its pictures as files.

    Raises NothingToRunError if one of them is no picture in the repository.
    """
    files = [values.get(name, row.at(name if "." in name else None)) for name in pictures]
    for name, file in zip(pictures, files, strict=True):
        if not isinstance(file.value, str) or not _FILES[version].fullmatch(file.value):
            raise refusal(file.position, f"`{name[:100]}` is not the path of a picture")
    rest = {name: value for name, value in values.items() if name not in pictures}
    return row.at({"vars": row.at(rest), **({"files": row.at(files)} if files else {})})


def refusal(at: Position, what: str) -> NothingToRunError:
    """Return the error that names what is not sent."""
    why = "which gatekeeper cannot send where the prompt has it"
    return NothingToRunError([at.problem(f"{what}, {why}", _FIX)])
