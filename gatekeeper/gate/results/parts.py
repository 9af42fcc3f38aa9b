"""The parts of a result: what was found of fixtures, preferences, repairs, resources, steps,
judges and calls. All of them are frozen values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from gatekeeper.contract.values.definition import Position, Quarantine, RepairAction
from gatekeeper.contract.values.objectives import LimitName
from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.interval import ConfidenceInterval

# The result of one fixture on both arms.


FixtureChange = Literal["broke", "fixed", "same"]
MustPassFinding = Literal["kept", "broke", "open", "unknown"]
"""`open`: it failed in some samples, which can be chance or cannot be compared; `unknown`: it
depends on samples that could not be measured."""


@dataclass(frozen=True, slots=True)
class Tally:
    """`passed` of `samples` measured outputs of one fixture and arm."""

    passed: int
    samples: int

    def __str__(self) -> str:
        return f"{self.passed}/{self.samples}"


class Unit(NamedTuple):
    """A fixture, or one check of a fixture."""

    fixture: str
    check: str | None = None

    def passed(self, outcome: Outcome) -> bool | None:
        """Return whether the fixture, or its check, passed in a sample."""
        if self.check is None:
            return outcome.passed
        return next((j.passed for j in outcome.check_results if j.check == self.check), None)


ConfirmedChange = Literal["broke", "fixed", "kept", "unknown"]
_CONFIRMED = {"broke": "broke", "fixed": "fixed", "kept": "by chance", "unknown": "not known"}


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The fresh samples of a fixture, or of one of its checks, that seemed to have changed.

    `found` is what they show: `kept` if the change was chance, `unknown` if samples are missing.
    An arm has none if those of the other settled it.
    """

    base: Tally
    head: Tally
    found: ConfirmedChange

    def __str__(self) -> str:
        arms = [(arm, t) for arm, t in (("base", self.base), ("head", self.head)) if t.samples]
        shown = "not sampled again"
        if arms:
            one = f"{arms[0][1]} on {arms[0][0]}"
            shown = f"again {one if len(arms) == 1 else f'{self.base} → {self.head}'}"
        return f"{shown}: {_CONFIRMED[self.found]}"


@dataclass(frozen=True, slots=True)
class BrokenFixtures:
    """What fresh samples show of the fixtures and checks that seemed to have changed.

    `level` is that of all of them together, `allowed` how many more may break than are fixed.
    `left_out` were not sampled again, because there were too many. `unrecorded` says that a
    recording has no fresh samples. `p_value` is given if repeated requests always get the same
    answer: each fixture then counts once, and its confirmation has its planned samples. `claimed`
    is False if only what must pass was sampled again. `maybe_fixed` may have been fixed, but that
    is not known. `ended` and `detail` say why samples are missing; None if nothing ended the run.
    """

    confirmations: Mapping[Unit, Confirmation]
    level: float
    allowed: int = 0
    claimed: bool = True
    left_out: int = 0
    maybe_fixed: int = 0
    unrecorded: bool = False
    p_value: float | None = None
    ended: str | None = None
    detail: str | None = None

    @property
    def fewest_found(self) -> int | None:
        """Return how many fixtures that always fail on head are found by their fresh samples; None
        if fresh samples are no evidence."""
        if not self.claimed or self.unrecorded or self.ended or self.p_value is not None:
            return None
        return self.allowed + 1

    def fixtures(self, found: ConfirmedChange) -> list[str]:
        """Return the fixtures of which the samples show this."""
        each = self.confirmations.items()
        return [unit.fixture for unit, c in each if unit.check is None and c.found == found]


@dataclass(frozen=True, slots=True)
class FixtureFailure:
    """A check that failed on a sample, maybe `tolerated`: the sample passed by its score."""

    arm: Arm
    check: str
    message: str
    output: str
    tolerated: bool = False


@dataclass(frozen=True, slots=True)
class FixtureResult:
    """One fixture on both arms. `change` is None if an arm's outcome is not known, or the fixture
    is quarantined.

    `errors` are messages of calls that failed; `failures` the failing error-severity checks,
    `warnings` the other failing ones. The two outputs are the first sample of each arm. `input` and
    `wanted` are the variables and `expected` as text, only of fixtures that fail on head.
    """

    id: str
    category: str | None
    base: Tally | None
    head: Tally | None
    base_passed: bool | None
    head_passed: bool | None
    change: FixtureChange | None
    p_value: float | None = None
    failures: tuple[FixtureFailure, ...] = ()
    warnings: tuple[FixtureFailure, ...] = ()
    errors: tuple[str, ...] = ()
    base_output: str | None = None
    head_output: str | None = None
    duplicate_of: str | None = None
    input: str | None = None
    wanted: str | None = None
    cluster: str | None = None
    confirmation: Confirmation | None = None
    quarantine: Quarantine | None = None
    position: Position | None = None
    """Where the contract of head has it; None for a fixture of base's."""

    def failures_on(self, arm: Arm) -> list[FixtureFailure]:
        """Return the failing error-severity checks of one arm."""
        return [failure for failure in self.failures if failure.arm == arm]


@dataclass(frozen=True, slots=True)
class MustPassResult:
    """A fixture with `must_pass`, or a check with it on one fixture. `confirmation` has the fresh
    samples, if it seemed to have broken."""

    fixture: str
    check: str | None
    base: Tally | None
    head: Tally
    found: MustPassFinding
    confirmation: Confirmation | None = None


# What judges prefer, base's outputs or head's: the result of one check over a suite.


def name_against_base(check: str) -> str:
    """Return the name of a comparison in pairs in the outcome of head's sample."""
    return f"{check} (against base)"


@dataclass(frozen=True, slots=True)
class PreferenceResult:
    """Pairs of outputs to the same input, compared by judges in both orders.

    `pairs` have a result: base preferred, head preferred or tied; `unmeasured` have none.
    `contradictory` is the share of verdicts in both orders that contradict each other, and count as
    a tie; `for_first` the share of those for one place that are for the first. `worse` says that
    base is preferred by more than chance explains, `open` that it may be by more than the margin,
    `could_be_worse` that the unmeasured pairs could show it. `difference` is the share of pairs for
    head minus that for base.
    """

    check: str
    judges: tuple[str, ...]
    pairs: int
    base_preferred: int
    head_preferred: int
    unmeasured: int
    contradictory: Estimate | None
    for_first: Estimate | None
    p_value: float
    level: float
    difference: float | None
    worse: bool
    open: bool
    could_be_worse: bool
    stopped: Literal["regressed", "not_worse", "exhausted"] | None

    @property
    def name_against_base(self) -> str:
        """The name under which head's outcomes carry what the judges say of each pair."""
        return name_against_base(self.check)

    @property
    def unreadable(self) -> bool:
        """Whether judges certainly contradict themselves in more than half of the verdicts, so that
        their ties say more about the judges than about the answers."""
        found = self.contradictory
        return found is not None and found.interval is not None and found.interval.low > 0.5

    @property
    def tied(self) -> int:
        return self.pairs - self.base_preferred - self.head_preferred


# The results for repairs: part of `result`.


RepairFinding = Literal["worse", "kept", "unknown", "untested"]
"""`worse`: head needs repairs significantly more often than base; `unknown`: that depends on calls
that failed; `untested`: nothing was compared, or sampling ended early where the test gates."""


@dataclass(frozen=True, slots=True)
class Passed:
    """`passed` of `measured` samples."""

    passed: int
    measured: int

    @property
    def rate(self) -> float | None:
        """Return the share that passed; None if nothing was measured."""
        return self.passed / self.measured if self.measured else None


@dataclass(frozen=True, slots=True)
class RepairTally:
    """The repairs of one arm, in samples.

    `repaired` of `answered` needed a repair. It changed the meaning of `changed`, and for `unknown`
    it is not known whether it did. `steps` counts the samples that each step changed. `by_depth`
    says how many samples pass if only their first 0, 1, 2 … repairs are applied.
    """

    answered: int
    repaired: int
    changed: int
    unknown: int
    steps: Mapping[str, int] = field(default_factory=dict)
    by_depth: tuple[Passed, ...] = ()

    @property
    def rate(self) -> float | None:
        """Return the share of answers that needed a repair."""
        return self.repaired / self.answered if self.answered else None

    @property
    def changed_rate(self) -> float | None:
        """Return the share of answers whose meaning a repair changed for certain."""
        return self.changed / self.answered if self.answered else None


@dataclass(frozen=True, slots=True)
class RepairResult:
    """The repairs of both arms, and whether head needs more of them.

    `p_value` is the one-sided p-value of the sign-flip test over the distinct inputs, or clusters
    of them, to be compared with `level`; None if nothing was compared.
    """

    action: RepairAction
    base: RepairTally | None
    head: RepairTally
    p_value: float | None
    level: float | None
    found: RepairFinding


# The results for cost, tokens and latency: part of `result`.


LimitFinding = Literal["kept", "exceeded", "open", "unmeasured", "unknown"]
"""`open`: above the limit, which can be chance; `unmeasured`: the limited amount is not known for
every call; `unknown`: it depends on calls that failed."""
Resource = Literal["cost_per_call_usd", "tokens_per_call", "latency_p50_ms", "latency_p95_ms"]
_MATERIAL = 0.05
"""The share by which a resource must change before a report highlights it."""
_CENT_IN_A_THOUSAND = 0.00001
"""The smallest change of the cost of a call that is reported, in US dollars."""


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """The cost, tokens or latency of a call on both arms, over the fixtures that have both: a mean
    or a quantile.

    `interval` is that of `head / base - 1`, at 99 %; None if there are too few fixtures for one.
    """

    resource: Resource
    base: float
    head: float
    interval: ConfidenceInterval | None

    @property
    def relative(self) -> float | None:
        """Return by which share head takes more than base; None if base takes nothing."""
        return self.head / self.base - 1 if self.base > 0 else None

    @property
    def differs(self) -> bool:
        """Whether the change is beyond chance, at least a twentieth, and of cost at least a cent in
        a thousand calls."""
        if self.interval is None or self.relative is None:
            return False
        if self.resource == "cost_per_call_usd" and (
            abs(self.head - self.base) < _CENT_IN_A_THOUSAND
        ):
            return False
        beyond_chance = self.interval.low > 0 or self.interval.high < 0
        return beyond_chance and abs(self.relative) >= _MATERIAL


@dataclass(frozen=True, slots=True)
class LimitResult:
    """A limit of `gate` on what a call takes, such as `cost: +20%`, over the inputs that both arms
    answered.

    `low` is the lower end of the one-sided interval of `head / base - 1`, and `p_value` that of
    swapping the arms: `exceeded` takes both, at `level`. `inputs_needed` is how many it takes.
    """

    name: LimitName
    limit: float
    base: float | None
    head: float | None
    low: float | None
    p_value: float | None
    level: float
    inputs: int
    inputs_needed: int
    found: LimitFinding
    uneven: bool = False
    """Whether base was too irregular for so few inputs: see `relative_change.Rise`."""

    @property
    def relative(self) -> float | None:
        """Return by which share head takes more than base; None if base takes nothing or is
        unknown."""
        if self.base is None or self.head is None or self.base <= 0:
            return None
        return self.head / self.base - 1


# The results for the steps of a chain: part of `result`.


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step on one arm: `passed` of `samples` whose output its checks could evaluate.

    `name` is None for the last prompt. `broke` counts the failed samples of which this step is the
    first that failed. A step without checks that gate has no samples. `prompt_lines` is as in
    `ArmResult`.
    """

    name: str | None
    prompt_path: str
    prompt_text: str
    passed: int
    samples: int
    broke: int
    prompt_lines: tuple[int, ...] = ()

    @property
    def rate(self) -> float | None:
        """Return the share that passed; None if nothing was measured."""
        return self.passed / self.samples if self.samples else None


# How far judges agree, with each other and with themselves at calibration, as a part of the result
# of a run.


JUDGE_DRIFT_LEVEL = 0.01
"""Of the test whether a judge grades differently than at its calibration, which runs every
night."""


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """The agreement of one check's judges on whether outputs pass.

    `outputs` is the number of different outputs of fixtures that all of them graded, and `agreed`
    the share on which all judges have the same verdict. `kappa` is Cohen's for two judges, and
    Fleiss' for more; None for one judge, or if it is not defined. `repeats` is Fleiss' kappa of
    each judge with itself, if it is asked several times.
    """

    contract: str
    check: str
    judges: tuple[str, ...]
    outputs: int
    agreed: float | None
    kappa: Estimate | None
    repeats: Mapping[str, Estimate | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnchorResult:
    """What the judges of one check say of the anchors of their calibration now.

    `calibration` identifies it. Of `anchors` outputs, `agreed_before` were graded as people do at
    calibration, and `agrees_now` are. `lost` no longer are, `gained` are now and were not. Of
    these verdicts, `to_pass` changed from fail to pass, and the others from pass to fail. The
    `p_value` is two-sided, of McNemar's exact tests: a judge that agrees more with people, or that
    became milder or stricter, makes other errors than the calibration says.
    """

    check: str
    judges: tuple[str, ...]
    calibration: str
    anchors: int
    agreed_before: int
    agrees_now: int
    lost: int
    gained: int
    p_value: float
    to_pass: int | None = None

    @property
    def differs(self) -> bool:
        """Whether chance does not explain how much the verdicts differ."""
        return self.p_value <= JUDGE_DRIFT_LEVEL


AnchorResults = Mapping[str, tuple[AnchorResult, ...]]
"""By the name of the contract."""


# How many calls a run made to models and judges, and what it was forecast to take.


def sum_if_all_known(counts: Iterable[int | None]) -> int | None:
    """Return the sum; None if one of the numbers is unknown."""
    known = list(counts)
    return None if None in known else sum(count or 0 for count in known)


def price_if_all_known(prices: Iterable[float | None]) -> float | None:
    """Return the sum of prices; None if one of them is unknown."""
    known = list(prices)
    return None if None in known else math.fsum(price or 0.0 for price in known)


@dataclass(frozen=True, slots=True)
class JudgeCalls:
    """The questions to judges, or to simulated users. `made` reached a model, retries included;
    `cached` were answered from a recording or were known before; `failed` have no answer. `samples`
    have the answer of a judge or user, and all of them together cost `cost_usd` US dollars; None if
    that is not known."""

    made: int = 0
    cached: int = 0
    failed: int = 0
    samples: int = 0
    cost_usd: float | None = None

    @property
    def cost_per_100_samples(self) -> float | None:
        """Return what these calls cost for 100 samples, in US dollars; None if it is not known."""
        if self.cost_usd is None or not self.samples:
            return None
        return self.cost_usd * 100 / self.samples


class ModelUse(NamedTuple):
    """What answers of one model took: `calls`, their tokens, and their cost in US dollars; None if
    that is not known of one of them."""

    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Calls:
    """`made` reached a model, retries included; `cached` were answered from a recording or from the
    cache; `saved` were planned and not needed, because the result was certain before; `failed` had
    no answer; `surplus` were under way when the result was certain: paid for, but no evidence.
    `unrecorded` are requests that a recording should have answered and has no answer for.
    `throttled` were refused by a provider because of load; they are in `made`. `prompt_tokens` and
    `completion_tokens` are those of the answers that the result uses, also of judges and simulated
    users, but not of retries and surplus calls; None if one is unknown. `cached_tokens` were
    read from the providers' caches, `cache_write_tokens` written to them, and `reasoning_tokens` of
    the answers used for reasoning; None if unknown. `judge` are the calls to judges, `user` those
    to simulated users, None without any; those that reached a model are in `made`. `of_others` is
    what the answers of judges and simulated users took, by contract and model. An answer that
    several contracts share belongs to the first."""

    made: int = 0
    cached: int = 0
    saved: int = 0
    failed: int = 0
    surplus: int = 0
    unrecorded: int = 0
    throttled: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    judge: JudgeCalls | None = None
    user: JudgeCalls | None = None
    of_others: Mapping[str, Mapping[str, ModelUse]] = field(default_factory=dict)

    @property
    def tokens(self) -> int | None:
        """Return the tokens of prompts and answers; None if they are unknown."""
        return sum_if_all_known((self.prompt_tokens, self.completion_tokens))


@dataclass(frozen=True, slots=True)
class ForecastAmounts:
    """Calls, their tokens and what they cost in US dollars. None is not known, or nothing bounds
    it."""

    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None

    @property
    def tokens(self) -> int | None:
        """Return the tokens of prompts and answers; None if they are unknown."""
        return sum_if_all_known((self.prompt_tokens, self.completion_tokens))


@dataclass(frozen=True, slots=True)
class Forecast:
    """What was known of calls before the first one was made. `expected` is what a harmless change
    takes, with answers of an expected length; `most` is what all planned calls take, with the
    longest answers that are possible. Retries are not included."""

    expected: ForecastAmounts
    most: ForecastAmounts
