"""Describes the drift of models and judges: for a terminal, as JSON, and in an issue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gatekeeper import numbers
from gatekeeper.gate.objectives.judge_correction import changed_text
from gatekeeper.history.drift import (
    FALSE_ALARMS,
    NIGHTS_NEEDED,
    CertainChange,
    ContractDrift,
    WatchReason,
)
from gatekeeper.history.judge_drift import NIGHTS, JudgeDrift, JudgeStatus
from gatekeeper.reports.described.nights import NightlyIssue, named_once
from gatekeeper.reports.document import (
    Block,
    Cell,
    Paragraph,
    Quote,
    Strong,
    Table,
    Tone,
    Words,
    code,
    columns,
    sentence,
)
from gatekeeper.reports.formats.result_json import picked
from gatekeeper.reports.markdown.render import Markdown
from gatekeeper.reports.news import News

SCHEMA = 1
_WATCHED: Mapping[WatchReason, str] = {
    "tonight": "the latest pass rate is outside of its usual range",
    "evidence": "a change is likely, but not certain yet",
    "first_nights": (
        f"the first {NIGHTS_NEEDED} nights differ from each other by more than chance explains"
    ),
}
_JUDGES: Mapping[JudgeStatus, str] = {
    "steady": "steady",
    "watch": (
        f"watch: the judge's verdicts differ from its verdicts at calibration; after {NIGHTS} such "
        "nights, the judge counts as drifted"
    ),
    "drifted": "drifted",
}
_TONES: Mapping[str, Tone] = {
    "drifted": "fail",
    "watch": "inconclusive",
    "steady": "pass",
    "learning": "quiet",
}
_NAME = 80


def drift_document(
    found: Sequence[ContractDrift], notices: Sequence[str], judges: Sequence[JudgeDrift] = ()
) -> dict[str, Any]:
    """Return the drifts as JSON data; times in UTC, rates as shares."""
    return {
        "schema": SCHEMA,
        "contracts": [_contract_document(contract) for contract in found],
        "judges": [_judge_document(judge) for judge in judges],
        "notices": list(notices),
    }


def describe_drifts(
    found: Sequence[ContractDrift],
    notices: Sequence[str] = (),
    judges: Sequence[JudgeDrift] = (),
) -> Iterator[Block]:
    """Describe each contract in a row, then the certain changes; then the same of judges."""
    if found:
        right: Sequence[str] = ("runs", "since", "pass rate", "lowest, highest", "evidence")
        titles = columns("contract", "model", right=right, last=["status"])
        yield Table(titles, [_contract_row(contract) for contract in found])
    elif not judges:
        yield Paragraph("There is no run to check for drift.")
    yield from _news_lines(drift_news(found))
    if judges:
        right = ("nights", "agrees", "at calibration", "p")
        titles = columns("contract", "check", "judge", right=right, last=["status"])
        yield Table(titles, [_judge_row(judge) for judge in judges])
    yield from _news_lines(judge_news(judges))
    for notice in notices:
        yield Paragraph(Quote(notice), "quiet")


def drift_news(found: Sequence[ContractDrift]) -> tuple[News, ...]:
    """Return the news of each contract that drifted."""
    return tuple(
        News("drift", contract.contract, drifted(contract, contract.change))
        for contract in found
        if contract.change is not None
    )


def judge_news(found: Sequence[JudgeDrift]) -> tuple[News, ...]:
    """Return the news of each judge that drifted."""
    return tuple(
        News("drift", judge.contract, _judge_sentence(judge, judge.since))
        for judge in found
        if judge.status == "drifted" and judge.since is not None
    )


def drifted(contract: ContractDrift, change: CertainChange) -> str:
    """Describe a certain change in a sentence or two."""
    text = (
        f"{contract.model} answers {change.direction} since {_day(change.since)}: the pass rate "
        f"changed by {_size(change)}"
    )
    near = [time for time in contract.new_models if time <= change.detected]
    model = f" A new version of the model answered from {_day(near[-1])} on." if near else ""
    return f"{text}, although the prompt did not change.{model}"


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


def drift_issue(found: Sequence[ContractDrift], judges: Sequence[JudgeDrift] = ()) -> NightlyIssue:
    """Return the issue about what drifted."""
    changes = [contract.change.id for contract in found if contract.change]
    changes += [judge.id for judge in judges if judge.status == "drifted"]
    title, body = _issue_title(found, judges), _issue_body(found, judges)
    return NightlyIssue("drift", "drift", tuple(changes), title, body)


def _issue_title(found: Sequence[ContractDrift], judges: Sequence[JudgeDrift]) -> str:
    """Return the issue's title: how many contracts drifted, and the first by name."""
    names = [contract.contract for contract in found if contract.change is not None]
    graded = [judge.contract for judge in judges if judge.status == "drifted"]
    kind = "Model drift" if names or not graded else "Judge drift"
    return f"{kind}: {named_once(names or graded) or 'over'}"


def _issue_body(found: Sequence[ContractDrift], judges: Sequence[JudgeDrift]) -> str:
    """Return the issue's text in Markdown: what drifted, the evidence, and what to do."""
    changed = [contract for contract in found if contract.change is not None]
    blocks = [*_issue_of_models(changed), *_issue_of_judges(judges)]
    if not blocks:
        why = "the prompt, the contract or the model of each drifted contract has changed"
        return f"No contract drifts now, because {why}."
    alarms = f"\n\n<sub>{FALSE_ALARMS}</sub>" if changed else ""
    return f"{Markdown().blocks(blocks)}{alarms}"


def _issue_of_models(found: Sequence[ContractDrift]) -> Iterator[Block]:
    if not found:
        return
    yield Paragraph("A model changed its answers, although the prompt did not change.")
    yield Table(
        (
            "contract",
            "model",
            "since",
            "change in pass rate",
            "detected on",
            "new model version on",
        ),
        [
            (
                code(contract.contract, _NAME),
                code(contract.model, _NAME),
                _day(change.since),
                _size(change),
                _day(change.detected),
                ", ".join(map(_day, contract.new_models[-3:])) or numbers.NONE,
            )
            for contract in found
            if (change := contract.change)
        ],
    )
    advice = (
        " look at the failing samples of the last nightly run; then pin the model's version, or "
        "adapt the prompt to the changed model. A change of prompt, contract or model starts a new "
        "measurement and closes this issue. To get no more messages about the drift in this table, "
        "close the issue yourself."
    )
    yield Paragraph((Strong("What to do:"), advice))


def _issue_of_judges(judges: Sequence[JudgeDrift]) -> Iterator[Block]:
    found = [judge for judge in judges if judge.status == "drifted"]
    if not found:
        return
    yield Paragraph(
        "A judge grades outputs differently than when it was calibrated. Figures that depend on "
        "this judge say nothing about the prompt: objectives stay undecided, and error budgets "
        "leave out the runs with this judge."
    )
    yield Table(
        ("contract", "check", "judge", "since", "agrees with people", "at calibration", "p"),
        [
            (
                *(code(name, _NAME) for name in (judge.contract, judge.check, judge.found.judge)),
                _day(judge.since) if judge.since else numbers.NONE,
                *_agreement(judge),
            )
            for judge in found
        ],
    )
    advice = (
        " pin the judge's version, or run `gatekeeper judge calibrate` with the same labels and "
        "commit the new calibration. The new calibration closes this issue."
    )
    yield Paragraph((Strong("What to do:"), advice))


def _contract_row(contract: ContractDrift) -> Sequence[Words | Cell]:
    return (
        Quote(contract.contract),
        Quote(contract.model),
        f"{contract.nights:,}",
        _day(contract.first),
        numbers.percent(contract.rate),
        range_text(contract),
        evidence_text(contract.e_value),
        Cell(status_text(contract), tone=_TONES[contract.status]),
    )


def _judge_row(judge: JudgeDrift) -> Sequence[Words | Cell]:
    return (
        *(Quote(name) for name in (judge.contract, judge.check, judge.found.judge)),
        f"{judge.nights:,}",
        *_agreement(judge),
        Cell(_JUDGES[judge.status], tone=_TONES[judge.status]),
    )


def _agreement(judge: JudgeDrift) -> Sequence[str]:
    """Return on how many anchors the judge agrees now, and agreed when calibrated; the p-value."""
    found = judge.found
    return (
        f"{found.agrees_now} of {found.anchors}",
        f"{found.agreed_before} of {found.anchors}",
        numbers.p_value(found.p_value, equals=""),
    )


def _news_lines(found: Sequence[News]) -> Iterator[Paragraph]:
    for news in found:
        yield Paragraph((Quote(news.contract), ": ", sentence(news.text)), "fail")


def _judge_sentence(judge: JudgeDrift, since: datetime) -> str:
    found = judge.found
    changed = ""
    if found.to_pass is not None:
        changed = f"; {changed_text(found.lost + found.gained, found.to_pass)}"
    return (
        f"the judge {found.judge} of `{judge.check}` grades differently since {_day(since)}: "
        f"it agrees with people on {found.agrees_now} of {found.anchors} labelled outputs, but "
        f"agreed on {found.agreed_before} when it was calibrated{changed} "
        f"(p {numbers.p_value(found.p_value)}). The prompt is not the cause"
    )


def _size(change: CertainChange) -> str:
    size = change.size
    return f"{numbers.points(size.value)} {numbers.points_interval(size.interval)}".rstrip()


def _contract_document(contract: ContractDrift) -> dict[str, Any]:
    change = contract.change
    size = "difference=size.value interval=size.interval"
    return {
        **picked(contract, "name=contract model status watch_reason runs=nights measured"),
        "nights_needed": NIGHTS_NEEDED,
        **picked(contract, "outside first last success_rate=rate e_value new_models"),
        "change": change and picked(change, f"id since detected direction {size}"),
        "rates": list(contract.series.rates),
        "chart": [
            point and picked(point, "value limit outside=signal") for point in contract.series.chart
        ],
    }


def _judge_document(judge: JudgeDrift) -> dict[str, Any]:
    return {
        **picked(judge, "contract check judge=found.judge status runs=nights last"),
        **picked(judge.found, "anchors agreed_before agrees_now lost gained to_pass p_value"),
        "since": judge.since and judge.since.astimezone(UTC).isoformat(),
    }


def _day(time: datetime) -> str:
    return time.astimezone(UTC).date().isoformat()
