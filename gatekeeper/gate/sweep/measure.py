"""Samples every setting on every fixture, side by side, so that a drift of the provider during the
sweep affects all settings alike."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gatekeeper import numbers
from gatekeeper.checks.evaluate import Evaluator, prepare
from gatekeeper.checks.repairs.embedded_meaning import forecast_meanings
from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.reading.size_limits import require_few_trials
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Outcome, Request, Trial
from gatekeeper.errors import UsageError
from gatekeeper.gate.measuring.monitor import Progress, evaluate_sample, judge_questions
from gatekeeper.gate.plan.questions import USUAL_CHARACTERS
from gatekeeper.gate.results.parts import Calls
from gatekeeper.gate.sweep.grid import Setting
from gatekeeper.sampling.calls import distinct_requests
from gatekeeper.sampling.client import ModelClient
from gatekeeper.sampling.limits import Price
from gatekeeper.sampling.runner import EverySample, run_trials
from gatekeeper.sampling.trials import plan_trials


@dataclass(frozen=True, slots=True)
class Measured:
    """The evaluated samples of each setting, in its order, and their cost.

    `ended` says why sampling ended before all samples were taken; None if it did not.
    """

    outcomes: tuple[tuple[Outcome, ...], ...]
    calls: Calls
    cost_usd: float | None
    ended: str | None = None


def plan_sweep(contract: Contract, settings: Sequence[Setting]) -> tuple[Trial, ...]:
    """Return the trials: repetition by repetition, fixture by fixture, all settings of it together.

    The order of the fixtures is random, and so is that of the settings for each fixture: if one
    setting always went first, a bad replica of the provider could make it look worse. A trial's
    `contract` is the setting's number, so that no two settings share a call. Raises ContractError
    if a prompt cannot take the fixtures.
    """
    require_few_trials([(contract, len(settings))])
    generator = random.SystemRandom()
    groups: dict[tuple[int, str], list[Trial]] = defaultdict(list)
    for number, setting in enumerate(settings):
        for trial in plan_trials(contract, setting.target, None, {}).trials:
            alone = replace(trial, contract=str(number))
            groups[trial.repetition, trial.fixture].append(alone)
    places = {fixture.id: generator.random() for fixture in contract.fixtures}
    planned: list[Trial] = []
    for _, together in sorted(groups.items(), key=lambda g: (g[0][0], places[g[0][1]])):
        generator.shuffle(together)
        planned += together
    return tuple(planned)


def require_within(
    trials: Sequence[Trial],
    limits: Limits,
    price: Price | None = None,
    judging: Sequence[Request] = (),
) -> None:
    """Refuse, before the first call, a sweep that exceeds a limit, because it would compare
    settings on different fixtures. `price` gives the most that a request can cost; `judging` are
    the questions to judges. Raises UsageError."""
    calls = len(distinct_requests(trials)) + len(judging)
    if limits.calls is not None and calls > limits.calls:
        raise UsageError(
            f"this sweep takes {calls:,} calls, but the policy allows only {limits.calls:,} "
            "(`limits.calls`): vary fewer values or take fewer samples (--samples)"
        )
    if limits.cost_usd is None or price is None:
        return
    for request in (*(trial.request for trial in trials), *judging):
        most = price(request)
        if most is not None and most > limits.cost_usd:
            allowed = numbers.dollars(limits.cost_usd)
            raise UsageError(
                f"one call to {request.model} can cost {numbers.dollars(most)}, but the "
                f"policy allows only {allowed} (`limits.cost_usd`): set `max_tokens` in "
                "the contract's `params` or raise the limit"
            )


async def measure_sweep(
    contract: Contract,
    settings: Sequence[Setting],
    client: ModelClient,
    limits: Limits,
    *,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    price: Price | None = None,
) -> Measured:
    """Take and evaluate every sample. `price` gives the most that a request can cost. Raises
    UsageError for an unusable model."""
    trials = plan_sweep(contract, settings)
    watch = _Everything(contract, settings, progress)
    require_within(trials, limits, price, watch.forecast(trials))
    if progress:
        progress.started(len(distinct_requests(trials)))
    run = await run_trials(trials, client, watch, limits, stop=stop, price=price)
    if run.ended == "fatal" and run.author:
        raise UsageError(run.detail or "the model cannot be called")
    replayed = sum(bool(s.completion and s.completion.replayed) for s in run.samples)
    return Measured(
        outcomes=tuple(
            tuple(o for o in watch.outcomes if o.sample.trial.contract == str(number))
            for number in range(len(settings))
        ),
        calls=Calls(run.made, replayed, run.saved, run.failed, run.surplus),
        cost_usd=run.cost_usd,
        ended=None if run.ended == "done" else (run.detail or run.ended),
    )


class _Everything(EverySample):
    """Wants every sample: a setting is chosen by all of them, not by the first that look good."""

    def __init__(
        self, contract: Contract, settings: Sequence[Setting], progress: Progress | None
    ) -> None:
        super().__init__(
            lambda sample: judge_questions(sample, contract, self._of(sample.trial)),
            lambda sample: evaluate_sample(sample, contract, self._of(sample.trial)),
        )
        self._contract, self._progress = contract, progress
        # A judge may be shown the prompt: of each setting its own.
        by_prompt: dict[tuple[str, str], Evaluator] = {}
        written = [(s.target.prompt.reference, s.target.prompt.text) for s in settings]
        for prompt, setting in zip(written, settings, strict=True):
            if prompt not in by_prompt:
                by_prompt[prompt] = prepare(contract, targets={"head": setting.target})
        self._evaluators = [by_prompt[prompt] for prompt in written]

    def forecast(self, trials: Sequence[Trial]) -> list[Request]:
        """Return what judges would be asked about answers of a usual length."""
        of_repairs = forecast_meanings(self._contract, USUAL_CHARACTERS)
        found = (self._of(trial).forecast(trial, USUAL_CHARACTERS) for trial in trials)
        return [question for asked in found for question in (*asked, *of_repairs)]

    def _of(self, trial: Trial) -> Evaluator:
        """Return the evaluator of the trial's setting, whose number is its contract."""
        return self._evaluators[int(trial.contract)]

    def add(self, outcome: Outcome) -> None:
        super().add(outcome)
        sample = outcome.sample
        if self._progress and not sample.shared:
            cost = sample.completion.cost_usd if sample.completion else None
            self._progress.advanced(cost_usd=cost, failed=sample.completion is None)
