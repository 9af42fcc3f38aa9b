"""Finds role lines that a template makes while it is rendered, such as `{{ turn.role }}:` in a
loop.

Where such a line begins no message, because it is in an included file, in a macro, or in a file
without other role lines, all turns would be sent as the text of one message. A role line that a
fixture's value contains is data.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gatekeeper.contract.prompts.kinds import prompt_kind
from gatekeeper.contract.prompts.load import has_roles
from gatekeeper.contract.prompts.render import render_all
from gatekeeper.contract.reading.role_lines import BY_ROLE_LINES, ROLES, role_of_line
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.client import find_role_lines
from gatekeeper.contract.values.definition import MessageTemplate, Prompt
from gatekeeper.errors import ContractError, Problem

_LONGEST = 1_000
"""The most characters of a line that are compared."""
_MARK = "\x02role line {}\x03"
_ENDS = (("{%", "%}"), ("{#", "#}"))
_FIX = (
    "write the role line in the prompt file itself, as `user:` or `{{{{ turn.role }}}}:`, and not "
    "in a `{{% macro %}}` or `{{% block %}}`; if the line is text and not a role, change the line, "
    "for example to `- {}`"
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    path: str
    line: int
    text: str
    mark: str


def rendered_role_problems(prompt: Prompt, values: Sequence[Mapping[str, Any]]) -> list[Problem]:
    """Return a problem for each template line that renders to a role line with any of the values.

    Only for a prompt file with role lines, or one that would have some after rendering.
    """
    has_no_roles = prompt.part or prompt.style == "instructions" or not prompt.allowed.roles
    if has_no_roles or prompt_kind(prompt.path) != "sectioned":
        return []
    dialogue = has_roles(prompt.text, prompt.path, prompt.allowed)
    candidates: list[_Candidate] = []
    messages = tuple(
        replace(m, content=_marked(m.content, prompt.path, m.line, candidates, _own_lines(m)))
        for m in prompt.messages
    )
    includes = {path: _marked(text, path, 1, candidates) for path, text in prompt.includes.items()}
    if not candidates:
        return []
    marked = replace(prompt, messages=messages, includes=includes)
    found: dict[str, str] = {}
    for rendered in render_all(marked, values, Budget()):
        if not isinstance(rendered, ContractError):
            for message in rendered:
                if dialogue or _begins_with_mark(message.content):
                    found.update(_made(message.content, candidates))
        if len(found) == len(candidates):
            break
    return [
        Problem(c.path, _what(c.text, found[c.mark]), _FIX.format(c.text), c.line)
        for c in candidates
        if c.mark in found
    ]


def _what(template: str, made: str) -> str:
    return f"`{template}` renders to the role line `{made}`, which does not start a message"


def _own_lines(template: MessageTemplate) -> frozenset[int]:
    """Return the lines of a template, counted from 1, that begin messages after rendering."""
    if template.role != BY_ROLE_LINES:
        return frozenset()
    return frozenset(line.line for line in find_role_lines(template.content))


def _marked(
    source: str,
    path: str,
    first_line: int,
    candidates: list[_Candidate],
    without: Collection[int] = (),
) -> str:
    """Return the source with a mark after the colon of each line that may become a role line,
    `without` some of them."""
    lines = source.split("\n")
    for index, line in enumerate(lines):
        if index + 1 in without:
            continue
        colon = _colon_of(line) if len(line) <= _LONGEST and ":" in line else None
        if colon is not None:
            mark = _MARK.format(len(candidates))
            candidates.append(_Candidate(path, first_line + index, line.strip(), mark))
            lines[index] = f"{line[: colon + 1]}{mark}{line[colon + 1 :]}"
    return "\n".join(lines)


def _colon_of(line: str) -> int | None:
    """Return the index of the colon in a line that is a role or one expression, a colon, and any
    number of statements and comments around them. Text between `raw` tags is meant as text."""
    if re.search(r"\braw\b", line):
        return None
    before = line.rstrip()
    while before.endswith(("%}", "#}")):
        before = before[: before.rfind("{" + before[-2])].rstrip() if "{" in before else ""
    if not before.endswith(":"):
        return None
    colon = len(before) - 1
    name = before[:colon].strip()
    for opening, closing in _ENDS * line.count("{"):
        if name.startswith(opening) and closing in name:
            name = name.partition(closing)[2].strip()
    name = name.lstrip("#").strip()
    is_expression = name.startswith("{{") and name.endswith("}}") and name.count("{{") == 1
    return colon if is_expression or name.lower() in ROLES else None


def _begins_with_mark(text: str) -> bool:
    """Return whether the first line that is not blank may be a role line.

    Without one, a file that quotes a dialogue is not a dialogue.
    """
    return _MARK.partition("{")[0] in text.lstrip().partition("\n")[0]


def _made(text: str, candidates: Sequence[_Candidate]) -> Iterator[tuple[str, str]]:
    """Map each mark after a role that is alone on its line to that line."""
    for candidate in candidates:
        place = text.find(candidate.mark)
        while place >= 0:
            start = text.rfind("\n", 0, place) + 1
            end = place + len(candidate.mark)
            rest = text[end : end + _LONGEST].partition("\n")[0]
            line = text[max(start, place - _LONGEST) : place]
            if role_of_line(line) and not rest.strip():
                yield candidate.mark, line.strip()
                break
            place = text.find(candidate.mark, end)
