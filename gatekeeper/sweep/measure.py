"""Settings -> samples. Every setting answers every fixture, side by side, so that a drift of the
provider during the sweep hits all of them alike."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from gatekeeper.checks.judge import prepare
from gatekeeper.contract.model import Contract
from gatekeeper.contract.policy import Limits
from gatekeeper.contract.trial import Outcome, Sample, Trial
from gatekeeper.errors import UsageError
from gatekeeper.evidence.collect import Progress, judged
from gatekeeper.result import Calls
from gatekeeper.sampling.client import ModelClient
from gatekeeper.sampling.plan import plan_trials
from gatekeeper.sampling.retry import RetryPolicy
from gatekeeper.sampling.run import distinct_requests, run_trials
from gatekeeper.sweep.grid import Setting


@dataclass(frozen=True, slots=True)
class Measured:
    """The judged samples of each setting, in its order, and what they took.

    `ended` says why sampling ended before all was drawn; None where it did not.
    """

    outcomes: tuple[tuple[Outcome, ...], ...]
    calls: Calls
    cost_usd: float | None
    ended: str | None = None


def plan_sweep(contract: Contract, settings: Sequence[Setting]) -> tuple[Trial, ...]:
    """The trials: repetition by repetition, fixture by fixture, all settings of it together.

    A trial's `contract` is the setting's number, so that no two settings share a call. Raises
    ContractError where a prompt cannot take the fixtures.
    """
    each = [
        [
            replace(trial, contract=str(number))
            for trial in plan_trials(contract, setting.target, None, {}).trials
        ]
        for number, setting in enumerate(settings)
    ]
    return tuple(chain.from_iterable(zip(*each, strict=True)))


def require_within(trials: Sequence[Trial], limits: Limits) -> None:
    """A sweep that a limit cuts short compares settings on different fixtures: it is refused
    before the first call. Raises UsageError."""
    calls = len(distinct_requests(trials))
    if limits.calls is not None and calls > limits.calls:
        raise UsageError(
            f"this sweep takes {calls:,} calls and the policy allows {limits.calls:,} "
            "(limits.calls): vary fewer values or draw fewer samples (--samples)"
        )


async def measure_sweep(
    contract: Contract,
    settings: Sequence[Setting],
    client: ModelClient,
    limits: Limits,
    *,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    retry: RetryPolicy | None = None,
) -> Measured:
    """Draw and judge every sample. Raises UsageError for an unusable model."""
    trials = plan_sweep(contract, settings)
    require_within(trials, limits)
    if progress:
        progress.started(len(distinct_requests(trials)))
    watch = _Everything(contract, progress)
    run = await run_trials(trials, client, watch, limits, retry=retry, stop=stop)
    if run.ended == "fatal" and run.author:
        raise UsageError(run.detail or "the model cannot be called")
    replayed = sum(bool(s.completion and s.completion.replayed) for s in run.samples)
    return Measured(
        outcomes=tuple(
            tuple(o for o in watch.outcomes if o.sample.trial.contract == str(number))
            for number in range(len(settings))
        ),
        calls=Calls(run.made - replayed, replayed, run.saved, run.failed, run.surplus),
        cost_usd=run.cost_usd,
        ended=None if run.ended == "done" else (run.detail or run.ended),
    )


@dataclass
class _Everything:
    """Wants every sample: a setting is chosen by all of them, not by the first that look good."""

    contract: Contract
    progress: Progress | None
    outcomes: list[Outcome] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._judge = prepare(self.contract)

    def wants(self, trial: Trial) -> bool:  # noqa: ARG002
        return True

    def add(self, sample: Sample) -> None:
        self.outcomes.append(judged(sample, self.contract, self._judge))
        if self.progress and not sample.shared:
            cost = sample.completion.cost_usd if sample.completion else None
            self.progress.advanced(cost_usd=cost, failed=sample.completion is None)
