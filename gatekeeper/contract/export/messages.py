"""Writes the messages of a contract with nothing but `{{ variable }}` in them.

Other tools fill in names and know nothing else of a template. A prompt with conditions, loops,
filters or includes is therefore filled in ahead: each message becomes a variable of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.contract.prompts.render import render_all
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.values.definition import Contract, Fixture, Message, MessageTemplate
from gatekeeper.errors import ContractError, Problem

Messages = tuple[Message, ...]
_HOLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}", re.ASCII)
_MARKS = ("{{", "{%", "{#")
_NOT_A_VARIABLE = ("true", "false", "none", "True", "False", "None", "self", "loop")


@dataclass(frozen=True, slots=True)
class SimpleMessages:
    """Messages as another tool fills them in, and the variables of each fixture. `filled_in` says
    that they are not the contract's own variables."""

    messages: tuple[tuple[str, str], ...]
    variables: tuple[Mapping[str, Any], ...]
    filled_in: bool


def rendered(contract: Contract, fixtures: Sequence[Fixture]) -> tuple[Messages, ...]:
    """Return the messages that the contract's prompt sends for each fixture. Raises
    ContractError."""
    found = []
    values = [fixture.vars for fixture in fixtures]
    for messages in render_all(contract.target.prompt, values, Budget()):
        if isinstance(messages, ContractError):
            raise messages
        found.append(messages)
    return tuple(found)


def simple_messages(
    contract: Contract, fixtures: Sequence[Fixture], sent: Sequence[Messages]
) -> SimpleMessages:
    """Return the messages of the prompt with its own variables, or else filled in. `sent` are the
    messages of each fixture. Raises ContractError if their roles differ."""
    templates = contract.target.prompt.messages
    if all(_is_simple(t, fixtures) for t in templates):
        written = tuple((t.role, _normal(t.content)) for t in templates)
        variables = tuple(dict(fixture.vars) for fixture in fixtures)
        return SimpleMessages(written, variables, filled_in=False)
    return _filled_in(contract, sent)


def is_text(text: str) -> bool:
    """Return whether another tool takes the text as it is: it has no mark of a template."""
    return not any(mark in text for mark in _MARKS) and "\r" not in text


def _is_simple(template: MessageTemplate, fixtures: Sequence[Fixture]) -> bool:
    text = template.content
    if not is_text(_HOLE.sub("", text)) or not _normal(text).strip() or _normal(text)[-1] == "\n":
        return False
    names = set(_HOLE.findall(text))
    if names.intersection(_NOT_A_VARIABLE):
        return False
    # Programs differ in how they write anything else, such as a list.
    return all(
        type(fixture.vars.get(name)) in (str, int)
        and not (name == "expected" and fixture.expected not in (None, fixture.vars[name]))
        for fixture in fixtures
        for name in names
    )


def _normal(text: str) -> str:
    """Return the text with each variable in one spelling. Jinja drops one line end at the end."""
    return _HOLE.sub(r"{{\1}}", text).removesuffix("\n")


def _filled_in(contract: Contract, sent: Sequence[Messages]) -> SimpleMessages:
    roles = [message.role for message in sent[0]]
    if any([message.role for message in messages] != roles for messages in sent):
        what = "the roles of the messages differ between fixtures, which other tools do not support"
        fix = "split the contract into contracts whose fixtures all have the same roles"
        raise ContractError([Problem(contract.path, what, fix)])
    written: list[tuple[str, str]] = []
    variables: list[dict[str, Any]] = [{} for _ in sent]
    for place, role in enumerate(roles):
        texts = [messages[place].content for messages in sent]
        alike = len(set(texts)) == 1 and is_text(texts[0]) and not texts[0].endswith("\n")
        if alike and texts[0].strip():
            written.append((role, texts[0]))
            continue
        name = f"message_{place + 1}"
        written.append((role, f"{{{{{name}}}}}"))
        for values, text in zip(variables, texts, strict=True):
            values[name] = text
    return SimpleMessages(tuple(written), tuple(variables), filled_in=True)
