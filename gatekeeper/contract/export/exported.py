"""What an export writes, and what it cannot write.

A format is a module with one function, `export`, which takes a contract and returns `Exported`.
Whatever another tool has no place for is a `NotRun` with its line: it stands in the first lines of
the file and on the terminal.

Other tools fill in names and know nothing else of a template. A prompt with conditions, loops,
filters or includes is therefore filled in ahead: each message becomes a variable of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.prompts.render import render_all
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.values.definition import (
    CheckSpec,
    Contract,
    Fixture,
    Message,
    MessageTemplate,
    NotRun,
    Position,
)
from gatekeeper.errors import ContractError, Problem

Messages = tuple[Message, ...]
_WRITTEN_KEYS = (
    *("contract", "name", "description", "prompt", "instructions", "task", "template", "model"),
    "params",
    *("fixtures", "checks", "judge"),
)
"""Keys of a contract that an export writes, or names check by check."""
_FIXTURE_PARTS = ("id", "category", "cluster", "metadata", "must_pass")

_HOLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}", re.ASCII)
_MARKS = ("{{", "{%", "{#")
_NOT_A_VARIABLE = ("true", "false", "none", "True", "False", "None", "self", "loop")


@dataclass(frozen=True, slots=True)
class Exported:
    """The files of an exported contract, each text by its path below the folder of the export.

    `not_exported` lists what the files lack, and `differs` what the other tool does in another
    way. `read_back` maps each contract that gatekeeper reads in the files to the messages of its
    fixtures, in order.
    """

    texts: Mapping[str, str]
    not_exported: tuple[NotRun, ...]
    differs: tuple[NotRun, ...]
    read_back: Mapping[str, tuple[Messages, ...]]


@dataclass(slots=True)
class Losses:
    """Parts of the contract at `path` that cannot be exported. The same part with the same reason
    is named once, at its first place, with its number."""

    path: str
    found: dict[tuple[str, str], list[Position]] = field(default_factory=dict)

    def add(self, kind: str, position: Position | None, why: str) -> None:
        """Add a part."""
        self.found.setdefault((kind, why), []).append(position or Position(self.path))

    def listed(self) -> tuple[NotRun, ...]:
        """Return them in the order in which they were found."""
        return tuple(
            NotRun(kind, places[0], _counted(why, len(places)))
            for (kind, why), places in self.found.items()
        )


def _counted(why: str, number: int) -> str:
    return why if number == 1 else f"{why} ({numbers.count(number, 'time')})"


def name_settings(contract: Contract, document: Document, losses: Losses) -> None:
    """Add the settings of the contract's file that no export can write, such as objectives."""
    for key in document.data:
        if key not in _WRITTEN_KEYS:
            at = document.position((key,))
            losses.add(str(key), at, f"the export format has no setting `{key}`")
    for check in contract.checks:
        if check.weight != 1:
            why = "the export format gives every check the same weight"
            losses.add("weight", check.position, why)
    for name in _FIXTURE_PARTS:
        for fixture in contract.fixtures:
            if getattr(fixture, name):
                why = "a test in the export format has only inputs and the expected value"
                losses.add(f"{name} of fixtures", fixture.position, why)


def single_questions(contract: Contract, losses: Losses) -> tuple[Fixture, ...]:
    """Return the fixtures that are no conversation, and add the others."""
    found = []
    for fixture in contract.fixtures:
        if contract.tools:
            why = "the export format does not say what tools answer"
            losses.add("tool_results", fixture.position, why)
        elif fixture.turns or fixture.user:
            why = "the export format has no conversations"
            losses.add("conversation", fixture.position, why)
        elif fixture.files:
            losses.add("files", fixture.position, "the export holds no files")
        else:
            found.append(fixture)
    return tuple(found)


def cannot_be_written(check: CheckSpec) -> str | None:
    """Return why no export can write a check, whatever its type; None if one may be able to."""
    if check.severity == "warn":
        return "the check only warns, and the export format has no checks that only warn"
    if check.negated:
        return "the check has `not`, and the export format cannot reverse a check"
    if check.step is not None or check.turn is not None:
        return "the check evaluates a step or a turn, and the export format has neither"
    if "field" in check.params:
        return (
            "the check evaluates one field of the output, and the export format evaluates only "
            "whole outputs"
        )
    return None


def parameter(check: CheckSpec, name: str) -> Any:
    """Return a parameter of a check, or its default."""
    return check.params[name] if name in check.params else check.shape.default(name)


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
    for messages in render_all(contract.target.sent[-1], values, Budget()):
        if isinstance(messages, ContractError):
            raise messages
        found.append(messages)
    return tuple(found)


def simple_messages(
    contract: Contract, fixtures: Sequence[Fixture], sent: Sequence[Messages]
) -> SimpleMessages:
    """Return the messages of the prompt with its own variables, or else filled in. `sent` are the
    messages of each fixture. Raises ContractError if their roles differ."""
    templates = contract.target.sent[-1].messages
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
