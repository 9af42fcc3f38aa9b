"""Measures groups of edits on the fixtures that a change broke, and searches the harmful ones."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gatekeeper.author.blame.edits import Edit, apply_edits, find_edits, have_same_steps
from gatekeeper.author.blame.result import (
    NOT_CONFIRMED,
    STEPS_CHANGED,
    BlameResult,
    Cause,
    Revert,
)
from gatekeeper.author.blame.result import Outcome as BlameOutcome
from gatekeeper.author.blame.revert import Arms, write_revert
from gatekeeper.author.blame.search import (
    Found,
    Group,
    Rates,
    expected_rates,
    find_causes,
    smallest_revert,
)
from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.prompts.render import template_problems
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract, Target
from gatekeeper.contract.values.trial import Outcome, Request, Sample, Trial
from gatekeeper.errors import ContractError, UsageError
from gatekeeper.gate.measuring.monitor import evaluate_sample, judge_questions
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.gate.results.parts import Calls
from gatekeeper.sampling.client import ModelClient
from gatekeeper.sampling.limits import Clock, Price
from gatekeeper.sampling.retries import RetryPolicy
from gatekeeper.sampling.runner import run_trials
from gatekeeper.sampling.trials import plan_trials
from gatekeeper.stats.paired.mcnemar import mcnemar_exact

_REPETITIONS = 5
"""How often a fixture may be sampled in one test, if answers vary."""
_AT_ONCE = 4
"""The most calls at a time. More would often be wasted, because a test can be decided after a
few calls."""
_WEAK_EVIDENCE = math.log(4)
"""What decides a test that has used all its samples, if answers vary."""
_MOST_EDITS = 200
MOST_CONFIRMED = 12
"""Fixtures on which the revert is measured, after the search has found it harmless."""
ENOUGH_BROKEN = 12
"""Broken fixtures to search on. A check ends after about seven, and of two causes one can have
broken a single one of them."""
_CONFIRMED = 0.01
"""The p-value at which fresh pairs of samples show that head is worse."""
_FRESH_PAIRS = 24
"""The most fresh pairs; seven that all break are enough."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The fixtures that a change broke, and what a test of some of its edits can expect. `outcomes`
    are those of the check, on all fixtures that it measured. `confirmed` says that fresh samples
    have shown that each fixture broke."""

    fixtures: tuple[str, ...]
    rates: Rates
    outcomes: tuple[Outcome, ...] = ()
    confirmed: bool = False


def find_broken(outcomes: Iterable[Outcome], confirmed: Collection[str] = ()) -> Broken | None:
    """Return the fixtures that pass more often on base than on head; None if chance alone explains
    them. `outcomes` are those of one evaluation, on both arms. Of `confirmed` fixtures, only these
    and their fresh samples count."""
    outcomes = tuple(outcomes)
    if confirmed:
        outcomes = tuple(one for one in outcomes if one.sample.trial.fixture in confirmed)
        outcomes = tuple(one for one in outcomes if one.sample.trial.confirms) or outcomes
    passed: dict[str, dict[str, list[bool]]] = defaultdict(lambda: {"base": [], "head": []})
    for outcome in outcomes:
        if outcome.passed is not None:
            passed[outcome.sample.trial.fixture][outcome.sample.trial.arm].append(outcome.passed)
    both = {name: arms for name, arms in passed.items() if arms["base"] and arms["head"]}
    drops = {name: _share(arms["base"]) - _share(arms["head"]) for name, arms in both.items()}
    broke = tuple(name for name, drop in drops.items() if drop > 0)
    fixed = sum(drop < 0 for drop in drops.values())
    if not broke:
        return None
    # Answers that vary let some fixtures break by chance: those that broke were lucky on base.
    usual = broke if _is_repeatable(outcomes) else tuple(both)
    base = _share([one for name in usual for one in both[name]["base"]])
    head = _share([one for name in broke for one in both[name]["head"]])
    rates = expected_rates(base, head, len(broke), fixed)
    return Broken(broke, rates, outcomes, bool(confirmed)) if rates else None


def _is_repeatable(outcomes: Iterable[Outcome]) -> bool:
    """Return whether every request has temperature 0, so that chance hardly changes an answer."""
    return all(one.sample.trial.request.params.get("temperature") == 0 for one in outcomes)


@dataclass
class Search:
    """The search for the edits that break the fixtures of an evaluation, with the sequential tests
    that it makes and what they have used of its `limits`."""

    evaluation: Evaluation
    broken: Broken
    client: ModelClient
    limits: Limits
    price: Price | None = None
    stop: asyncio.Event | None = None
    retry: RetryPolicy | None = None
    order_seed: str = ""
    clock: Clock = time.monotonic
    base: Target = field(init=False)
    head: Target = field(init=False)
    edits: Sequence[Edit] = field(init=False)
    made: int = field(default=0, init=False)
    cached: int = field(default=0, init=False)
    cost_usd: float | None = field(default=0.0, init=False)
    ended: str | None = field(default=None, init=False)
    _number: int = field(default=0, init=False)
    _charged_usd: float = field(default=0.0, init=False)
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        if self.evaluation.base is None:
            raise ValueError("evaluation.base: there is no base version to compare with")
        self.base, self.head = self.evaluation.base, self.evaluation.head
        same_steps = have_same_steps(self.base, self.head)
        self.edits = find_edits(self.base, self.head) if same_steps else ()
        self._started = self.clock()

    async def blame(self, revisions: tuple[Revision, Revision] | None = None) -> BlameResult:
        """Search the edits. `revisions` are those of base and head, in which the revert is written.
        Raises UsageError if the model cannot be called."""
        edits = tuple(self.edits)
        searchable = 0 < len(edits) <= _MOST_EDITS
        found = await self.search() if searchable else Found()
        causes = [await self.cause(group) for group in found.causes]
        revert = await self.revert(found.causes) if found.explained else None
        outcome: BlameOutcome = (
            "explained" if found.explained else "partly" if causes else "unclear"
        )
        if not searchable:
            self.ended = f"{len(edits):,} edits are too many to search" if edits else "no edit"
        if not have_same_steps(self.base, self.head):
            self.ended = STEPS_CHANGED
        return BlameResult(
            contract=self.evaluation.contract.name,
            prompt_path=self.head.prompt.path,
            edits=edits,
            causes=tuple(causes),
            outcome=outcome,
            fixtures=self.broken.fixtures,
            calls=Calls(made=self.made, cached=self.cached),
            cost_usd=self.cost_usd,
            ended=self.ended,
            revert=self._written(revert, revisions) if revert and revisions else revert,
        )

    def _written(self, revert: Revert, revisions: tuple[Revision, Revision]) -> Revert:
        """Return the revert with the change of head's lines that makes it."""
        kept = [edit for edit in self.edits if edit not in revert.edits]
        wanted = apply_edits(self.base, self.head, kept)
        arms = Arms(self.evaluation.contract, self.base, self.head, *revisions)
        return replace(revert, written=write_revert(arms, self.edits, revert.edits, wanted))

    async def search(self) -> Found:
        """Find the causes, on enough broken fixtures."""
        if not self.broken.confirmed:
            if not await self._is_confirmed():
                return Found()
            await self._find_more_broken()
        return await find_causes(len(self.edits), self.breaks)

    async def _is_confirmed(self) -> bool:
        """Return whether fresh pairs of samples show that the fixtures broke. The samples of the
        check do not: chance chose the fixtures that failed in them."""
        if not self._varies(frozenset(range(len(self.edits)))):
            return True
        fixtures, taken = self.broken.fixtures, self.evaluation.contract.sampling.samples
        contract = _narrowed(
            self.evaluation.contract, fixtures, taken + math.ceil(_FRESH_PAIRS / len(fixtures))
        )
        plan = plan_trials(contract, self.head, self.base, {}, order_seed=self.order_seed)
        fresh = [trial for trial in plan.trials if trial.repetition >= taken]
        outcomes = await self._run(fresh[: 2 * _FRESH_PAIRS], _is_worse)
        again = {one.sample.trial.fixture for one in outcomes}
        before = [o for o in self.broken.outcomes if o.sample.trial.fixture not in again]
        broken = find_broken((*before, *outcomes)) if _is_worse(outcomes) else None
        self.ended = self.ended or (None if broken else NOT_CONFIRMED)
        self.broken = broken or self.broken
        return broken is not None

    async def _find_more_broken(self) -> None:
        """Sample fixtures that the check did not need, on both arms, until enough broken ones are
        known; at most as many as the check measured."""
        known = {one.sample.trial.fixture for one in self.broken.outcomes}
        known.update(self.broken.fixtures)
        others = [one.id for one in self.evaluation.contract.fixtures if one.id not in known]
        missing = ENOUGH_BROKEN - len(self.broken.fixtures)
        if missing <= 0 or not others:
            return
        contract = _narrowed(self.evaluation.contract, others, 1)
        try:
            plan = plan_trials(contract, self.head, self.base, {}, order_seed=self.order_seed)
        except ContractError:
            return  # head's prompt does not fit the others: the search goes on with those known
        outcomes = await self._run(
            plan.trials[: 2 * len(known)], lambda found: _drops(found).count(1) >= missing
        )
        self.broken = find_broken((*self.broken.outcomes, *outcomes)) or self.broken

    async def breaks(self, group: Group) -> bool | None:
        """Return whether base with only these edits breaks; None if it could not be decided."""
        repeated = _REPETITIONS if self._varies(group) else 1
        passed = await self._sample(group, repeated, self.broken.rates)
        decided = self.broken.rates.decide(passed)
        if decided is not None or self.ended:
            return decided
        evidence = self.broken.rates.evidence(passed)
        # More samples of the same answers would say nothing more.
        weakest = _WEAK_EVIDENCE if repeated > 1 else 0
        return evidence > 0 if passed and abs(evidence) >= weakest else None

    async def cause(self, group: Group) -> Cause:
        """Measure a cause on every fixture that the change broke."""
        passed = await self._sample(group, 1)
        edits = tuple(self.edits[number] for number in sorted(group))
        return Cause(edits, passed.count(False), len(passed))

    async def revert(self, causes: Sequence[Group]) -> Revert | None:
        """Measure the smallest revert on fixtures that the change broke, chosen at random; None if
        this does not show that it is as good as base."""
        group = await smallest_revert(causes, len(self.edits), self.breaks)
        edits = tuple(self.edits[number] for number in sorted(group))
        left = frozenset(range(len(self.edits))) - group
        if not left:
            return Revert(edits, None, None)
        passed = await self._sample(left, 1, most=MOST_CONFIRMED)
        if not passed or self.ended or self.broken.rates.evidence(passed) >= 0:
            return None
        return Revert(edits, sum(passed), len(passed))

    async def _sample(
        self, group: Group, repeated: int, until: Rates | None = None, most: int | None = None
    ) -> list[bool]:
        """Return which samples of base with these edits pass on the broken fixtures, until the
        rates are decided; at most `most` samples."""
        trials = self._plan(group, repeated)[:most]
        if not trials or self.ended:
            return []
        return _passed(
            await self._run(
                trials, lambda found: until is not None and until.decide(_passed(found)) is not None
            )
        )

    async def _run(self, trials: Sequence[Trial], is_enough: IsEnough) -> Sequence[Outcome]:
        """Run the trials until they are enough, and count what they use of the limits."""
        watch = _Watch(self.evaluation, is_enough)
        run = await run_trials(
            trials,
            self.client,
            watch,
            self._left(),
            retry=self.retry,
            stop=self.stop,
            clock=self.clock,
            price=self.price,
        )
        if run.ended == "fatal" and run.author:
            raise UsageError(run.detail or "the model cannot be called")
        self.made += run.made
        self.cached += sum(bool(s.completion and s.completion.replayed) for s in run.samples)
        self._charged_usd += run.charged_usd
        if run.made:
            known = self.cost_usd is not None and run.cost_usd is not None
            self.cost_usd = (self.cost_usd or 0) + (run.cost_usd or 0) if known else None
        if run.ended != "done":
            self.ended = run.detail or run.ended
        return watch.outcomes

    def _plan(self, group: Group, repeated: int) -> Sequence[Trial]:
        """Return the trials; none if base with these edits is no prompt."""
        target = apply_edits(self.base, self.head, [self.edits[number] for number in group])
        if any(not prompt.messages or template_problems(prompt) for prompt in target.prompts):
            return ()
        self._number += 1
        contract = _narrowed(self.evaluation.contract, self.broken.fixtures, repeated)
        try:
            plan = plan_trials(contract, target, None, {}, order_seed="")
        except ContractError:
            return ()
        rounds: dict[int, list[Trial]] = defaultdict(list)
        for trial in plan.trials:
            rounds[trial.repetition].append(trial)
        drawn = random.Random(f"{self.order_seed}|{self._number}")  # noqa: S311  # an order
        for together in rounds.values():
            drawn.shuffle(together)
        return [trial for number in sorted(rounds) for trial in rounds[number]]

    def _varies(self, group: Group) -> bool:
        """Return whether an answer to the same request can differ."""
        names = {self.edits[number].setting for number in group}
        target = self.head if "temperature" in names else self.base
        return target.params.get("temperature") != 0

    def _left(self) -> Limits:
        """Return what the tests so far have left of the limits."""
        passed = (self.clock() - self._started) / 60
        left = self.limits.less(self.made, self._charged_usd, passed)
        return replace(left, concurrency=min(_AT_ONCE, left.concurrency))


IsEnough = Callable[[Sequence[Outcome]], bool]
"""Whether the outcomes so far decide a test."""


@dataclass
class _Watch:
    """Evaluates samples until they are enough."""

    evaluation: Evaluation
    is_enough: IsEnough
    outcomes: list[Outcome] = field(default_factory=list)
    _decided: bool = field(default=False, init=False)

    def wants(self, trial: Trial) -> bool:  # noqa: ARG002
        return not self._decided

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return judge_questions(sample, self.evaluation.contract, self.evaluation.evaluator)

    def evaluate(self, sample: Sample) -> Outcome:
        return evaluate_sample(sample, self.evaluation.contract, self.evaluation.evaluator)

    def add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self._decided = self.is_enough(self.outcomes)


def _passed(outcomes: Iterable[Outcome]) -> list[bool]:
    return [outcome.passed for outcome in outcomes if outcome.passed is not None]


def _drops(outcomes: Iterable[Outcome]) -> list[int]:
    """Return the drop of each pair of samples: 1 if only base passes, -1 if only head does."""
    pairs: dict[tuple[str, int], dict[str, bool]] = defaultdict(dict)
    for outcome in outcomes:
        trial = outcome.sample.trial
        if outcome.passed is not None:
            pairs[trial.fixture, trial.repetition][trial.arm] = outcome.passed
    return [arms["base"] - arms["head"] for arms in pairs.values() if len(arms) == 2]


def _is_worse(outcomes: Iterable[Outcome]) -> bool:
    """Return whether pairs of samples show that head is worse."""
    drops = _drops(outcomes)
    return mcnemar_exact(drops.count(1), drops.count(-1)) <= _CONFIRMED


def _narrowed(contract: Contract, fixtures: Sequence[str], repeated: int) -> Contract:
    """Return the contract with these fixtures alone, each sampled so many times."""
    kept = tuple(fixture for fixture in contract.fixtures if fixture.id in set(fixtures))
    sampling = replace(contract.sampling, samples=repeated, mode="fixed")
    return replace(contract, fixtures=kept, sampling=sampling)


def _share(passed: Sequence[bool]) -> float:
    return sum(passed) / len(passed)


def by_evaluation(outcomes: Iterable[Outcome]) -> Mapping[tuple[str, str], Sequence[Outcome]]:
    """Group outcomes by contract, and by whose contract evaluates them."""
    found: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        trial = outcome.sample.trial
        found[trial.contract, trial.contract_from].append(outcome)
    return found
