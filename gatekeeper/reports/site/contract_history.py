"""What the site says of each contract: its runs, budgets, drift, and what is not healthy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from gatekeeper import numbers
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.gate.objectives.error_budgets import ContractBudgets, contract_budgets
from gatekeeper.history.drift import ContractDrift, drifts
from gatekeeper.history.flickering import MOST_RUNS, FlickeringFixture, flickering_fixtures
from gatekeeper.history.judge_drift import judge_drifts
from gatekeeper.history.record import Record, events_of
from gatekeeper.providers.models import retirement
from gatekeeper.reports.described.drift import drifted, status_text
from gatekeeper.reports.words.columns import share_left
from gatekeeper.stats.objectives.error_budget import CLOCK_SKEW, ErrorBudget
from gatekeeper.stats.objectives.objective import parse_window

MISSED_AFTER = timedelta(days=2)
"""If a contract has not run for this long before the latest nightly run, that run left it
out."""

Severity = Literal["fail", "inconclusive", "pass", "info"]
FindingCode = Literal[
    "budget",
    "verdict",
    "drift",
    "burning",
    "watch",
    "flickering",
    "missed",
    "no_history",
    "retires",
]
RANKS: Mapping[Severity, int] = {"fail": 0, "inconclusive": 1, "pass": 2, "info": 3}
"""The order of severities, the worst first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a contract that is not healthy: a sentence, and a few words for a table."""

    code: FindingCode
    severity: Severity
    text: str
    short: str


@dataclass(frozen=True, slots=True)
class ContractHistory:
    """One contract with its records, oldest first.

    `contract` is the contract as it is now; None if it was `removed`, or if nobody knows. Without a
    record, `drift` is None; without objectives, `budgets` is. `folder` is that of its policy; empty
    for the repository's.
    """

    name: str
    records: tuple[Record, ...]
    contract: Contract | None
    removed: bool
    budgets: ContractBudgets | None
    drift: ContractDrift | None
    flickering: tuple[FlickeringFixture, ...]
    findings: tuple[Finding, ...]
    folder: str = ""

    @property
    def severity(self) -> Severity:
        """Return the worst severity of the findings; `info` without a record to speak of.

        Findings that are for information only do not make a contract unhealthy.
        """
        bad = [finding.severity for finding in self.findings if finding.severity != "info"]
        if bad:
            return min(bad, key=RANKS.__getitem__)
        return "pass" if self.records and not self.removed else "info"

    @property
    def latest(self) -> Record | None:
        return self.records[-1] if self.records else None


def contract_histories(
    records: Iterable[Record], suite: Mapping[str, Contract], policy: Policy, now: datetime
) -> tuple[ContractHistory, ...]:
    """Return every contract of the suite and of the records, what is not healthy first.

    `records` are oldest first. A contract without a place in the suite was removed, unless the
    suite is empty.
    """
    by_name: dict[str, list[Record]] = defaultdict(list)
    nightly: datetime | None = None
    for record in records:
        by_name[record.contract].append(record)
        if record.trigger == "schedule":
            nightly = record.time
    found = []
    for name in sorted({*by_name, *suite}):
        mine, contract = by_name.get(name, []), suite.get(name)
        removed = bool(suite) and contract is None
        budgets = _budgets(contract, mine, policy, now) if contract else None
        drift = next(iter(drifts(mine)), None)
        fixtures = (fixture.id for fixture in contract.fixtures) if contract else ()
        flickering = flickering_fixtures(mine, fixtures)
        findings = [
            *_findings_of_budgets(budgets),
            *_findings_of_records(mine, nightly),
            *_findings_of_drift(drift),
            *_findings_of_model(contract),
            *_findings_of_judges(mine),
            *_findings_of_fixtures(flickering),
        ]
        ordered = sorted(findings, key=lambda finding: RANKS[finding.severity])
        history = ContractHistory(
            name,
            tuple(mine),
            contract,
            removed,
            budgets,
            drift,
            flickering,
            () if removed else tuple(ordered),
            policy.folder_of(contract.path) if contract else "",
        )
        found.append(history)
    return tuple(sorted(found, key=_rank))


def by_pressing_budget(history: ContractHistory) -> ErrorBudget | None:
    """Return the budget with the smallest share left, of those with an event; None for none."""
    from gatekeeper.gate.objectives.error_budgets import most_pressing

    budget = most_pressing(history.budgets.budgets) if history.budgets else None
    return budget if budget and budget.events else None


def _rank(history: ContractHistory) -> tuple[int, int, str]:
    failing = sum(finding.severity == "fail" for finding in history.findings)
    return RANKS[history.severity], -failing, history.name


def _findings_of_fixtures(flickering: Sequence[FlickeringFixture]) -> Iterator[Finding]:
    if flickering:
        fixtures = numbers.count(len(flickering), "fixture")
        verb = "flickers" if len(flickering) == 1 else "flicker"
        text = f"{fixtures} {verb} between pass and fail in the last {MOST_RUNS} runs"
        yield Finding("flickering", "info", text, f"{len(flickering):,} flickering")


def _budgets(
    contract: Contract, records: Sequence[Record], policy: Policy, now: datetime
) -> ContractBudgets | None:
    windows = [parse_window(o.window) for o in contract.slo if o.good_share is not None]
    if not windows:
        return None
    since = now - max(windows) - CLOCK_SKEW
    recent = [record for record in records if record.time > since]
    return contract_budgets(contract, events_of(recent), policy, now)


def _findings_of_budgets(budgets: ContractBudgets | None) -> Iterator[Finding]:
    for budget in budgets.budgets if budgets else ():
        label = label_of(budget.objective)
        spent = (
            f"{numbers.number(budget.spent)} of {budget.events:,} samples failed in "
            f"{budget.window}, and {numbers.number(budget.budget)} failures are allowed"
        )
        if budget.overspent:
            freeze = ""
            if budgets and budgets.frozen and budget.frozen_until:
                freeze = f"; frozen until {numbers.moment(budget.frozen_until)} at the latest"
            text = f"The error budget of {label} is spent: {spent}{freeze}"
            yield Finding("budget", "fail", text, "budget spent")
        elif budget.state == "spent":
            text = f"The error budget of {label} is spent, but this could be chance: {spent}"
            yield Finding("budget", "inconclusive", text, "budget spent")
        elif budget.burning:
            windows = ", ".join(budget.burning)
            text = (
                f"The error budget of {label} burns too fast ({windows}): {share_left(budget)} left"
            )
            yield Finding("burning", "inconclusive", text, "budget burning")


def _findings_of_records(records: Sequence[Record], nightly: datetime | None) -> Iterator[Finding]:
    if not records:
        yield Finding("no_history", "info", "No run is in the history yet", "no run yet")
        return
    last = records[-1]
    if last.verdict in ("fail", "inconclusive") and last.waiver is None:
        severity: Severity = "fail" if last.verdict == "fail" else "inconclusive"
        rate = numbers.percent(last.success_rate)
        text = f"The last run ended with `{last.verdict}`: {rate} of its samples passed"
        yield Finding("verdict", severity, text, f"last run: {last.verdict}")
    if nightly and nightly - last.time > MISSED_AFTER:
        since = numbers.moment(last.time)
        text = f"No run measured this contract since {since}, although nightly runs continued"
        yield Finding("missed", "inconclusive", text, "not measured")


def _findings_of_model(contract: Contract | None) -> Iterator[Finding]:
    ends = retirement.find_retirement(contract.target.model) if contract else None
    if ends:
        severity: Severity = "inconclusive" if ends.is_soon else "info"
        text = f"{ends.text}: {ends.advice}".replace("`", "")
        yield Finding("retires", severity, text, f"model ends {ends.day}")


def _findings_of_judges(records: Sequence[Record]) -> Iterator[Finding]:
    for judge in judge_drifts(records):
        if judge.status != "steady":
            now, whole = judge.found.agrees_now, judge.found.anchors
            text = (
                f"The judge of {judge.check} agrees with people on {now} of {whole} labelled "
                f"outputs, but agreed on {judge.found.agreed_before} when it was calibrated"
            )
            said = "judge drifted" if judge.status == "drifted" else "judge drift possible"
            yield Finding("drift", "inconclusive", text, said)


def _findings_of_drift(drift: ContractDrift | None) -> Iterator[Finding]:
    if drift is None:
        return
    if drift.change is not None:
        severity: Severity = "fail" if drift.change.direction == "worse" else "inconclusive"
        yield Finding("drift", severity, drifted(drift, drift.change), "model drifted")
    elif drift.status == "watch":
        text = f"The model may have changed: {status_text(drift).removeprefix('watch: ')}"
        yield Finding("watch", "inconclusive", text, "drift possible")
