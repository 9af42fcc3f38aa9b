"""Finds the consequences of a run on the default branch: spent error budgets, drifted models,
models that retire, nights without a measurement.

They are computed from the history, after the run was added to it. They do not change the run's
verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.action.activities import CheckActivity, Job, Run, history_of
from gatekeeper.action.checkout import Checkout
from gatekeeper.action.events import RunFull, RunPush
from gatekeeper.action.github.repository import RepositoryApi
from gatekeeper.action.inputs import ActionInputs
from gatekeeper.contract.policies.policy import Policy, load_policy
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError, GatekeeperError
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.news import News
from gatekeeper.reports.words.catalogue import REASONS

if TYPE_CHECKING:
    from gatekeeper.history.record import Record
    from gatekeeper.reports.described.nights import NightlyIssue


@dataclass(frozen=True, slots=True)
class Aftermath:
    """The alerts of a run. `known` are alerts of an earlier night that still hold: they are shown
    but not sent again. `issues` are those of a nightly run."""

    news: tuple[News, ...] = ()
    known: tuple[News, ...] = ()
    issues: tuple[NightlyIssue, ...] = ()


def look_back(job: Job, activity: CheckActivity | Run, result: GateResult) -> Aftermath:
    """Return alerts and drift from the history, which already holds this run.

    Raises GatekeeperError.
    """
    kept = "push" if isinstance(activity, RunPush) else None
    if isinstance(activity, RunFull):
        kept = activity.keep
    if kept is None or not result.contracts:
        return Aftermath()
    revision = job.checkout.revision(result.head_sha)
    policy = load_policy(revision)
    history = history_of(job, policy)
    if history is None:
        return Aftermath(missed_objectives((), result) if kept == "schedule" else ())
    if kept == "manual" and policy.limits.month_usd is None:
        return Aftermath()
    from gatekeeper.checks.registry import SHAPES
    from gatekeeper.contract.loading.load import load_contract, part_named

    records = history.read().records
    spending = month_news(records, result, policy)
    if kept == "manual":
        return Aftermath(spending)
    # No others: what this run did not touch may be broken.
    contracts = [
        part_named(load_contract(revision, found.path, SHAPES), found.name)
        for found in result.contracts
    ]
    news = (*newly_frozen(contracts, records, result, policy), *spending)
    if kept == "push":
        return Aftermath(news)
    from gatekeeper.history.drift import drifts
    from gatekeeper.history.judge_drift import judge_drifts
    from gatekeeper.reports.described.drift import drift_issue, drift_news, judge_news

    # Of those that are still there: the past of a removed one stays as it ended.
    drifting = drifts(records, [contract.name for contract in contracts])
    new = [d for d in drifting if d.change and d.change.detected >= result.started]
    old = [d for d in drifting if d not in new]
    judges = judge_drifts(records, [contract.name for contract in contracts])
    fresh = [j for j in judges if j.detected and j.detected >= result.started]
    stale = [j for j in judges if j not in fresh]
    return Aftermath(
        (*news, *missed_objectives(records, result), *drift_news(new), *judge_news(fresh)),
        (*drift_news(old), *judge_news(stale)),
        (
            drift_issue(drifting, judges),
            *_nightly_issues(contracts, records, result),
        ),
    )


def _nightly_issues(
    contracts: Sequence[Contract], records: Sequence[Record], result: GateResult
) -> list[NightlyIssue]:
    """Return the issues about models that retire, and about contracts that were not measured."""
    from gatekeeper.contract.loading.load import models_of
    from gatekeeper.reports.described.nights import retirement_issues, unmeasured_issue

    used = [(model, found.name) for found in contracts for model in models_of(found)]
    lost = {
        contract.name: next(r.text for r in contract.reasons if r.verdict == "error")
        for contract in result.contracts
        if contract.verdict == "error"
    }
    return [
        *retirement_issues(used),
        unmeasured_issue(lost, records, result.started),
    ]


def unmeasured_night(
    settings: ActionInputs, api: RepositoryApi, activity: RunFull, error: GatekeeperError
) -> tuple[NightlyIssue, ...]:
    """Return the issue about the contracts of the last night that was measured, for a night that
    ended with an error. Nothing if the history cannot be read."""
    from gatekeeper.reports.described.nights import unmeasured_issue

    with suppress(GatekeeperError), Checkout(settings) as checkout:
        try:
            policy = load_policy(checkout.revision(activity.sha))
        except ContractError:
            policy = Policy()
        history = history_of(Job(settings, api, checkout), policy)
        records = history.read().records if history else ()
        latest = max((record.time for record in records), default=None)
        lost = {r.contract: str(error) for r in records if r.time == latest}
        return (unmeasured_issue(lost, records, datetime.now(UTC)),)
    return ()


def missed_objectives(records: Sequence[Record], result: GateResult) -> tuple[News, ...]:
    """Return the contracts that fail tonight and did not the night before. A spent error budget is
    news of its own."""
    nights = [r for r in records if r.trigger == "schedule" and r.time < result.started]
    # Of two nights of a contract, the later one stays.
    last = {night.contract: night.verdict for night in sorted(nights, key=lambda r: r.time)}
    found = []
    for contract in result.contracts:
        if contract.verdict == "fail" and last.get(contract.name) != "fail":
            reasons = [reason for reason in contract.reasons if reason.verdict == "fail"]
            texts = [reason.text for reason in reasons if REASONS[reason.code].news is None]
            found += [News("objective", contract.name, " ".join(texts))] if texts else []
    return tuple(found)


def month_news(records: Sequence[Record], result: GateResult, policy: Policy) -> tuple[News, ...]:
    """Return the news that this run crossed the limit of the month, or the level of its warning."""
    limit = policy.limits.month_usd
    if limit is None:
        return ()
    from gatekeeper.history.costs import month_spending
    from gatekeeper.runs.history import describe_reached

    earlier = [record for record in records if record.time < result.started]
    before = month_spending(earlier, result.started)
    now = month_spending(records, result.started)
    text = describe_reached(now, limit)
    if text is None or now.reached(limit) == before.reached(limit):
        return ()
    return (News("spending", "limits.month_usd", text),)


def newly_frozen(
    contracts: Sequence[Contract], records: Sequence[Record], result: GateResult, policy: Policy
) -> tuple[News, ...]:
    """Return the contracts that became frozen in this run or since the last run that checked: a
    freeze can also begin because good samples left the window. A freeze that continues is not an
    alert."""
    from gatekeeper.gate.objectives.error_budgets import contract_budgets
    from gatekeeper.history.record import events_of

    earlier = [record for record in records if record.time < result.started]
    before, after = events_of(earlier), events_of(records)
    found = []
    for contract in contracts:
        now = contract_budgets(contract, after, policy, result.started)
        looks = [r.time for r in earlier if r.contract == contract.name and r.trigger != "manual"]
        last = max(looks, default=result.started)
        then = events_of(record for record in earlier if record.time <= last)
        known = all(
            contract_budgets(contract, spending, policy, at).frozen
            for spending, at in ((then, last), (before, result.started))
        )
        if now.frozen and not known:
            thaw = max(b.frozen_until for b in now.budgets if b.frozen_until)
            text = (
                "the contract has overspent its error budget by more than chance explains. "
                f"Until {numbers.moment(thaw)} at the latest, only a significant improvement "
                "may merge."
            )
            found.append(News("freeze", contract.name, text))
    return tuple(found)
