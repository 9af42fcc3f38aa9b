"""Renders the drift of models on the default branch: for the terminal, JSON, an issue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gatekeeper import numbers
from gatekeeper.history.drift import (
    FALSE_ALARMS,
    NIGHTS_NEEDED,
    CertainChange,
    ContractDrift,
    WatchReason,
)
from gatekeeper.history.judge_drift import JudgeDrift
from gatekeeper.reports.alert import News
from gatekeeper.reports.escape import code_cell, plain
from gatekeeper.reports.judges.drift import judge_documents, judge_section, print_judges

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1
_WATCHED: Mapping[WatchReason, str] = {
    "tonight": "the latest pass rate is outside of its usual range",
    "evidence": "a change is likely, but not certain yet",
    "first_nights": (
        f"the first {NIGHTS_NEEDED} nights differ from each other by more than chance explains"
    ),
}
_STYLES = {"drifted": "bold red", "watch": "yellow", "steady": "green", "learning": "dim"}


def drift_document(
    found: Sequence[ContractDrift], notices: Sequence[str], judges: Sequence[JudgeDrift] = ()
) -> dict[str, Any]:
    """Return the drifts as JSON data; times in UTC, rates as shares."""
    return {
        "schema": SCHEMA,
        "contracts": [_document(contract) for contract in found],
        "judges": judge_documents(judges),
        "notices": list(notices),
    }


def print_drifts(
    found: Sequence[ContractDrift],
    notices: Sequence[str] = (),
    console: Console | None = None,
    judges: Sequence[JudgeDrift] = (),
) -> None:
    """Print one line per contract, then the certain changes; then the same of judges."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from gatekeeper.reports.terminal.console import log_console

    console = console or log_console()
    table = Table(box=SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for heading in ("contract", "model"):
        table.add_column(heading, overflow="fold")
    for heading in ("runs", "since", "pass rate", "lowest, highest", "evidence"):
        table.add_column(heading, justify="right")
    table.add_column("status")
    for contract in found:
        table.add_row(
            plain(contract.contract),
            plain(contract.model),
            f"{contract.nights:,}",
            _day(contract.first),
            numbers.percent(contract.rate),
            range_text(contract),
            evidence_text(contract.e_value),
            Text(status_text(contract), _STYLES[contract.status]),
        )
    if found:
        console.print(table)
    elif not judges:
        console.print(Text("There is no run to check for drift."))
    for news in drift_news(found):
        console.print(Text(f"{plain(news.contract)}: {plain(news.text)}", "bold red"))
    print_judges(judges, console)
    for notice in notices:
        console.print(Text(plain(notice), "dim"))


def status_text(contract: ContractDrift) -> str:
    """Return a contract's status, with the nights on which it was outside of its usual range."""
    if contract.status == "learning":
        return f"learning, {contract.measured} of {NIGHTS_NEEDED} nights measured"
    if contract.watch_reason:
        return f"watch: {_WATCHED[contract.watch_reason]}"
    if not contract.outside:
        return contract.status
    nights = numbers.count(len(contract.outside), "night")
    last = _day(contract.outside[-1])
    return f"{contract.status}; {nights} outside of the usual range, most recently {last}"


def drift_news(found: Sequence[ContractDrift]) -> tuple[News, ...]:
    """Return the news of each contract that drifted."""
    return tuple(
        News("drift", contract.contract, drifted(contract, contract.change))
        for contract in found
        if contract.change is not None
    )


def drifted(contract: ContractDrift, change: CertainChange) -> str:
    """Describe a certain change in a sentence or two."""
    text = (
        f"{contract.model} answers {change.direction} since {_day(change.since)}: the pass rate "
        f"changed by {numbers.points(change.size.value)} "
        f"{numbers.points_interval(change.size.interval)}".rstrip()
    )
    near = [time for time in contract.new_models if time <= change.detected]
    model = f" A new version of the model answered from {_day(near[-1])} on." if near else ""
    return f"{text}, although the prompt did not change.{model}"


def issue_title(found: Sequence[ContractDrift], judges: Sequence[JudgeDrift] = ()) -> str:
    """Return the issue's title: how many contracts drifted, and the first by name."""
    names = [contract.contract for contract in found if contract.change is not None]
    graded = [judge.contract for judge in judges if judge.status == "drifted"]
    if not names and graded:
        others = f" and {len(graded) - 1} more" if len(graded) > 1 else ""
        return f"Judge drift: {plain(graded[0])[:80]}{others}"
    if not names:
        return "Model drift: over"
    others = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"Model drift: {plain(names[0])[:80]}{others}"


def issue_body(
    found: Sequence[ContractDrift], run_url: str | None, judges: Sequence[JudgeDrift] = ()
) -> str:
    """Return the issue's text in Markdown: what drifted, the evidence, and what to do."""
    drifted = [contract for contract in found if contract.change is not None]
    link = f"\n\nLast checked by [this run]({run_url})." if run_url else ""
    of_judges = judge_section(judges)
    if not drifted and of_judges:
        return "\n".join(of_judges).rstrip() + link + "\n"
    if not drifted:
        why = "the prompt, the contract or the model of each drifted contract has changed"
        return f"No contract drifts now, because {why}.{link}\n"
    lines = [
        "A model changed its answers, although the prompt did not change.",
        "",
        "| contract | model | since | change in pass rate | detected on | new model version on |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_row(contract, contract.change) for contract in drifted if contract.change),
        "",
        "**What to do:** look at the failing samples of the last nightly run; then pin the model's "
        "version, or adapt the prompt to the changed model. A change of prompt, contract or "
        "model starts a new measurement and closes this issue. To get no more messages about the "
        "drift in this table, close the issue yourself.",
        "",
        *of_judges,
        f"<sub>{FALSE_ALARMS}</sub>",
    ]
    return "\n".join(lines) + link + "\n"


def _row(contract: ContractDrift, change: CertainChange) -> str:
    size = f"{numbers.points(change.size.value)} {numbers.points_interval(change.size.interval)}"
    new = ", ".join(_day(time) for time in contract.new_models[-3:]) or numbers.NONE
    cells = (
        code_cell(contract.contract, 80),
        code_cell(contract.model, 80),
        _day(change.since),
        size.rstrip(),
        _day(change.detected),
        new,
    )
    return f"| {' | '.join(cells)} |"


def _document(contract: ContractDrift) -> dict[str, Any]:
    change = contract.change
    return {
        "name": contract.contract,
        "model": contract.model,
        "status": contract.status,
        "watch_reason": contract.watch_reason,
        "runs": contract.nights,
        "measured": contract.measured,
        "nights_needed": NIGHTS_NEEDED,
        "outside": [_moment(time) for time in contract.outside],
        "first": _moment(contract.first),
        "last": _moment(contract.last),
        "success_rate": contract.rate,
        "e_value": contract.e_value,
        "new_models": [_moment(time) for time in contract.new_models],
        "change": change
        and {
            "id": change.id,
            "since": _moment(change.since),
            "detected": _moment(change.detected),
            "direction": change.direction,
            "difference": change.size.value,
            "interval": change.size.interval
            and [change.size.interval.low, change.size.interval.high],
        },
        "rates": list(contract.series.rates),
        "chart": [
            point and {"value": point.value, "limit": point.limit, "outside": point.signal}
            for point in contract.series.chart
        ],
    }


def range_text(contract: ContractDrift) -> str:
    """Return the lowest and the highest pass rate. A drop while the range is learned shows only
    here."""
    # A rate of 1 may be a hair less: it is a sum of fixtures' means.
    rates = [round(rate, 9) for rate in contract.series.rates if rate is not None]
    return (
        f"{numbers.percent(min(rates))}, {numbers.percent(max(rates))}" if rates else numbers.NONE
    )


def evidence_text(e_value: float) -> str:
    """Return the strength of the evidence, out of the 100 at which a change is reported."""
    return f"{e_value:.2g}" if e_value < 1e6 else "> 1000000"


def _day(time: datetime) -> str:
    return time.astimezone(UTC).date().isoformat()


def _moment(time: datetime) -> str:
    return time.astimezone(UTC).isoformat()
