"""Describes what nightly runs open an issue about besides drift: models that retire, and contracts
that could not be measured for several nights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gatekeeper import numbers
from gatekeeper.contract.meaning.digests import short_digest
from gatekeeper.history.record import Record
from gatekeeper.providers.models.retirement import STAGES, Retirement, find_retirement
from gatekeeper.reports.document import Block, Paragraph, Quote, Strong, Table, code
from gatekeeper.reports.escape import plain
from gatekeeper.reports.markdown.render import Markdown
from gatekeeper.reports.news import News

NIGHTS = 3
"""After so many nights without a measurement, people are told."""
_UNMEASURED, _ABOUT = "unmeasured", "missing measurements"
_NO_LONGER = (
    "No contract uses the model any more, or its end is nearer and has an issue of its own."
)
_DAY = timedelta(days=1)
_NAME = 80
_WHY = 300


@dataclass(frozen=True, slots=True)
class NightlyIssue:
    """One issue: `kind` is a part of its marker, `changes` identify what it is about; without any,
    an open issue is closed. `news` are for a chat, when the issue is opened."""

    kind: str
    about: str
    changes: tuple[str, ...]
    title: str
    body: str
    news: tuple[News, ...] = ()


def retirement_issues(models: Iterable[tuple[str, str]]) -> list[NightlyIssue]:
    """Return one issue for each stage before the end of models, so that each stage opens its own.

    `models` are those in use, each with the name of a contract that uses it.
    """
    users: dict[Retirement, list[str]] = defaultdict(list)
    for model, contract in models:
        ends = find_retirement(model)
        if ends and contract not in users[ends]:
            users[ends].append(contract)
    found = []
    for stage in STAGES:
        title = "Model retires: over"
        blocks: list[Block] = [Paragraph(_NO_LONGER)]
        due = {e: names for e, names in users.items() if _stage(e) == stage}
        if due:
            ranked = sorted(due, key=lambda ends: (ends.day, ends.model))
            title = f"Model retires on {ranked[0].day}: {named_once([e.model for e in ranked])}"
            blocks = _retirement_blocks(due)
        changes = tuple(short_digest(f"{ends.model} {ends.day}") for ends in due)
        text = Markdown().blocks(blocks)
        found.append(NightlyIssue(f"retires-{stage}", "retirement", changes, title, text))
    return found


def _stage(ends: Retirement) -> int | None:
    return next((stage for stage in STAGES if ends.days_left <= stage), None)


def _retirement_blocks(due: Mapping[Retirement, Sequence[str]]) -> list[Block]:
    rows = [
        (
            code(ends.model, _NAME),
            ends.day.isoformat(),
            Quote(numbers.some([name[:_NAME] for name in names], 3)),
            code(ends.successor, _NAME) if ends.successor else numbers.NONE,
        )
        for ends, names in sorted(due.items(), key=lambda each: each[0].day)
    ]
    advice = (
        " run `gatekeeper migrate --to MODEL …`. It measures each new model against the present "
        "one on your fixtures, and proposes the change as a pull request. When no contract uses "
        "the model any more, this issue is closed. If you close it, it stays closed."
    )
    return [
        Paragraph("The provider retires a model that contracts use, by litellm's price list."),
        Table(("model", "retires on", "contracts", "next model of its family"), rows),
        Paragraph((Strong("What to do:"), advice)),
    ]


def unmeasured_issue(
    reasons: Mapping[str, str], records: Sequence[Record], now: datetime
) -> NightlyIssue:
    """Return the issue about contracts that this run could not measure, nor the nights before.

    Args:
        reasons: Why a contract could not be measured, by its name.
        records: The history. A contract that was never measured is not counted.
        now: When the run began.
    """
    last = {record.contract: record for record in sorted(records, key=lambda one: one.time)}
    lost = [
        last[name]
        for name in reasons
        if name in last and round((now - last[name].time) / _DAY) >= NIGHTS
    ]
    if not lost:
        over = "The contracts were measured again."
        return NightlyIssue(_UNMEASURED, _ABOUT, (), "Nightly runs cannot measure: over", over)
    names = [record.contract for record in lost]
    rows = [
        (
            code(record.contract, _NAME),
            code(record.model, _NAME),
            record.time.astimezone(UTC).date().isoformat(),
            Quote(reasons[record.contract][:_WHY]),
        )
        for record in lost
    ]
    blocks: list[Block] = [
        Paragraph(
            f"Nightly runs could not measure for {NIGHTS} nights or more. Objectives, error "
            "budgets and drift of these contracts have no data since."
        ),
        Table(("contract", "model", "last measured on", "why not tonight"), rows),
    ]
    nights = f"nightly runs could not measure it since {rows[0][2]}: {reasons[names[0]][:_WHY]}"
    return NightlyIssue(
        _UNMEASURED,
        _ABOUT,
        tuple(map(short_digest, names)),
        f"Nightly runs cannot measure: {named_once(names)}",
        Markdown().blocks(blocks),
        (News("unmeasured", names[0], nights),),
    )


def named_once(names: Sequence[str]) -> str:
    """Return the first name for a title, and how many more there are."""
    return numbers.some([plain(name)[:_NAME] for name in names], 1)
