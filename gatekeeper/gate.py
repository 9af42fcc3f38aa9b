"""The story of one run: change -> affected -> trials -> samples -> evidence -> verdict.

Read this file first. Nothing is printed or written on the way; the edges are passed in.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.affected import Affected, AffectedContract, every_contract, find_affected
from gatekeeper.contract.change import Change, Revision
from gatekeeper.contract.policy import Policy
from gatekeeper.errors import UsageError
from gatekeeper.evidence.collect import ContractWatch, Progress, Watches
from gatekeeper.evidence.job import Job, plan_job
from gatekeeper.result import Calls, ContractResult, GateResult
from gatekeeper.sampling.client import ModelClient
from gatekeeper.sampling.retry import RetryPolicy
from gatekeeper.sampling.run import Run, distinct_requests, run_trials
from gatekeeper.slo.budget import Event
from gatekeeper.verdict import conclude, exit_code, removed, uncovered_reasons, worst


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a run is given from outside: the model, the past, and how to follow or end it.

    `history` maps a contract's name to its events on the default branch; None where no
    history was given. Setting `stop` ends the run with what was gathered.
    """

    client: ModelClient
    history: Mapping[str, Sequence[Event]] | None = None
    notices: tuple[str, ...] = ()
    progress: Progress | None = None
    stop: asyncio.Event | None = None
    retry: RetryPolicy | None = None


async def check(
    change: Change, policy: Policy, around: Surroundings, names: Sequence[str] = ()
) -> GateResult:
    """The pull-request gate: base against head for every contract that the change touches.

    `names` narrows it to those contracts. Raises ContractError and UsageError.
    """
    affected = find_affected(change, policy, SHAPES)
    return await _measure(
        "check", change.base.sha, change.head.sha, affected, policy, around, names
    )


async def run(
    revision: Revision, policy: Policy, around: Surroundings, names: Sequence[str] = ()
) -> GateResult:
    """The full suite on one revision: every contract against its own objectives."""
    suite = every_contract(revision, policy, SHAPES)
    return await _measure("run", None, revision.sha, suite, policy, around, names)


def plan(affected: Affected, policy: Policy, names: Sequence[str] = ()) -> tuple[Job, ...]:
    """The work of the affected contracts that exist at head."""
    return tuple(plan_job(c, policy) for c in wanted(affected, names) if c.head)


async def _measure(
    kind: str,
    base_sha: str | None,
    head_sha: str,
    affected: Affected,
    policy: Policy,
    around: Surroundings,
    names: Sequence[str],
) -> GateResult:
    started = datetime.now(UTC)
    jobs = plan(affected, policy, names)
    watches = _watches(jobs)
    trials = [trial for job in jobs for trial in job.trials]
    if around.progress:
        around.progress.started(len(distinct_requests(trials)))
    sampled = await run_trials(
        trials,
        around.client,
        Watches(watches, around.progress),
        policy.limits,
        retry=around.retry,
        stop=around.stop,
    )
    if sampled.ended == "fatal" and sampled.author:
        raise UsageError(sampled.detail or "the model cannot be called")
    contracts = [
        *conclude(jobs, watches, sampled, around.history, policy, started),
        *(removed(c, policy) for c in wanted(affected, names) if c.head is None),
    ]
    return _result(
        kind, base_sha, head_sha, started, contracts, watches, sampled, affected, policy, around
    )


def _watches(jobs: Sequence[Job]) -> dict[str, ContractWatch]:
    """One watch a contract, each at the level that Holm's first step would test it at."""
    pairs = sum(job.paired for job in jobs)
    return {
        job.contract.name: ContractWatch(
            job.contract,
            job.judge,
            job.same_input,
            paired=job.paired,
            alpha=job.contract.gate.alpha / max(pairs, 1),
        )
        for job in jobs
    }


def wanted(affected: Affected, names: Sequence[str]) -> list[AffectedContract]:
    """The affected contracts, or those named. Raises UsageError for a name that is nobody's."""
    known = {contract.name for contract in affected.contracts} | set(affected.others)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = (
                f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(known))}"
            )
            raise UsageError(f"--contract {name}: no contract has that name; {hint}")
    return [c for c in affected.contracts if not names or c.name in names]


def _result(
    kind: str,
    base_sha: str | None,
    head_sha: str,
    started: datetime,
    contracts: Sequence[ContractResult],
    watches: Mapping[str, ContractWatch],
    sampled: Run,
    affected: Affected,
    policy: Policy,
    around: Surroundings,
) -> GateResult:
    uncovered = uncovered_reasons(affected.uncovered, policy)
    verdict = worst([*(c.verdict for c in contracts), *(r.verdict for r in uncovered)])
    return GateResult(
        kind="check" if kind == "check" else "run",
        verdict=verdict,
        exit_code=exit_code(verdict, policy),
        base_sha=base_sha,
        head_sha=head_sha,
        started=started,
        seconds=(datetime.now(UTC) - started).total_seconds(),
        contracts=tuple(contracts),
        calls=Calls(made=sampled.made, saved=sampled.saved, failed=sampled.failed),
        cost_usd=sampled.cost_usd,
        uncovered=affected.uncovered,
        unaffected=affected.unaffected,
        notices=(*affected.notices, *around.notices),
        outcomes=tuple(outcome for watch in watches.values() for outcome in watch.outcomes),
    )
