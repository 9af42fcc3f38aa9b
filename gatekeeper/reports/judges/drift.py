"""What is said of judges that drifted: the terminal, news, the issue, JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gatekeeper import numbers
from gatekeeper.gate.objectives.drifted_judges import changed_text
from gatekeeper.history.judge_drift import NIGHTS, JudgeDrift, JudgeStatus
from gatekeeper.reports.alert import News
from gatekeeper.reports.escape import code_cell, plain

if TYPE_CHECKING:
    from rich.console import Console

_STATUS: Mapping[JudgeStatus, str] = {
    "steady": "steady",
    "watch": (
        f"watch: the judge's verdicts differ from its verdicts at calibration; after {NIGHTS} such "
        "nights, the judge counts as drifted"
    ),
    "drifted": "drifted",
}
_STYLES: Mapping[JudgeStatus, str] = {
    "drifted": "bold red",
    "watch": "yellow",
    "steady": "green",
}


def judge_documents(found: Sequence[JudgeDrift]) -> list[dict[str, Any]]:
    """Return the judges as JSON data; times in UTC."""
    return [
        {
            "contract": judge.contract,
            "check": judge.check,
            "judge": judge.found.judge,
            "status": judge.status,
            "runs": judge.nights,
            "last": judge.last.astimezone(UTC).isoformat(),
            "anchors": judge.found.anchors,
            "agreed_before": judge.found.agreed_before,
            "agrees_now": judge.found.agrees_now,
            "lost": judge.found.lost,
            "gained": judge.found.gained,
            "to_pass": judge.found.to_pass,
            "p_value": judge.found.p_value,
            "since": judge.since and judge.since.astimezone(UTC).isoformat(),
        }
        for judge in found
    ]


def print_judges(found: Sequence[JudgeDrift], console: Console) -> None:
    """Print one line per judge; nothing if there is none."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    if not found:
        return
    table = Table(box=SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for heading in ("contract", "check", "judge"):
        table.add_column(heading, overflow="fold")
    for heading in ("nights", "agrees", "at calibration", "p"):
        table.add_column(heading, justify="right")
    table.add_column("status")
    for judge in found:
        table.add_row(
            plain(judge.contract),
            plain(judge.check),
            plain(judge.found.judge),
            f"{judge.nights:,}",
            f"{judge.found.agrees_now} of {judge.found.anchors}",
            f"{judge.found.agreed_before} of {judge.found.anchors}",
            numbers.p_value(judge.found.p_value, equals=""),
            Text(_STATUS[judge.status], _STYLES[judge.status]),
        )
    console.print(table)
    for news in judge_news(found):
        console.print(Text(f"{plain(news.contract)}: {plain(news.text)}", "bold red"))


def judge_news(found: Sequence[JudgeDrift]) -> tuple[News, ...]:
    """Return the news of each judge that drifted."""
    return tuple(
        News("drift", judge.contract, _sentence(judge, judge.since))
        for judge in found
        if judge.status == "drifted" and judge.since is not None
    )


def _sentence(judge: JudgeDrift, since: datetime) -> str:
    found = judge.found
    now, before = found.agrees_now, found.agreed_before
    changed = ""
    if found.to_pass is not None:
        changed = f"; {changed_text(found.lost + found.gained, found.to_pass)}"
    return (
        f"the judge {found.judge} of `{judge.check}` grades differently since {_day(since)}: "
        f"it agrees with people on {now} of {found.anchors} labelled outputs, but agreed on "
        f"{before} when it was calibrated{changed} (p {numbers.p_value(found.p_value)}). "
        "The prompt is not the cause"
    )


def judge_section(found: Sequence[JudgeDrift]) -> list[str]:
    """Return the lines of the issue about judges that drifted; none if none did."""
    drifted = [judge for judge in found if judge.status == "drifted"]
    if not drifted:
        return []
    return [
        "A judge grades outputs differently than when it was calibrated. Figures that depend "
        "on this judge say nothing about the prompt: objectives stay undecided, and error budgets "
        "leave out the runs with this judge.",
        "",
        "| contract | check | judge | since | agrees with people | at calibration | p |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *map(_row, drifted),
        "",
        "**What to do:** pin the judge's version, or run `gatekeeper judge calibrate` with the "
        "same labels and commit the new calibration. The new calibration closes this issue.",
        "",
    ]


def _row(judge: JudgeDrift) -> str:
    found = judge.found
    cells = (
        code_cell(judge.contract, 80),
        code_cell(judge.check, 80),
        code_cell(found.judge, 80),
        _day(judge.since) if judge.since else numbers.NONE,
        f"{found.agrees_now} of {found.anchors}",
        f"{found.agreed_before} of {found.anchors}",
        numbers.p_value(found.p_value, equals=""),
    )
    return f"| {' | '.join(cells)} |"


def _day(time: datetime) -> str:
    return time.astimezone(UTC).date().isoformat()
