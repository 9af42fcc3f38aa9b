"""The result of one run, as one frozen value. Every report is made from it and from nothing else.

None always means "not known" or "does not apply", never zero. Rates are shares in [0, 1]; latencies
milliseconds; costs US dollars.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from gatekeeper.contract.meaning.modes import Negotiation
from gatekeeper.contract.values.change import AffectedBy
from gatekeeper.contract.values.clusters import ClusterCounts
from gatekeeper.contract.values.definition import NotRun
from gatekeeper.contract.values.objectives import SimilarTexts
from gatekeeper.contract.values.trial import ContractFrom, Outcome
from gatekeeper.contract.weakening.policy_weakening import Weakening
from gatekeeper.gate.results.author_results import ContractBlame, PromptPromises
from gatekeeper.gate.results.links import NO_LINKS, Links
from gatekeeper.gate.results.parts import (
    AnchorResult,
    BrokenFixtures,
    Calls,
    FixtureResult,
    Forecast,
    JudgeAgreement,
    LimitResult,
    MustPassResult,
    PreferenceResult,
    RepairResult,
    ResourceChange,
    StepResult,
)
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.objectives.error_budget import ErrorBudget, Event

# What the history has of earlier runs, as a part of a result.


@dataclass(frozen=True, slots=True)
class PastRun:
    """The record of one contract in an earlier run on the default branch.

    `failed` of `samples` evaluated samples failed; `events` are those of the error budgets, by
    objective.
    """

    contract: str
    time: datetime
    sha: str
    samples: int
    failed: int
    interval: ConfidenceInterval | None
    events: Mapping[str, Event] = field(default_factory=dict)
    fixtures: int = 0
    selftest: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """How often the gate blocked changes that were made up (gate/selftest.py)."""
    prompt_digest: str | None = None
    by_fixture: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The samples of each fixture, by its key in the history, and those that failed; only of the
    latest runs."""

    @property
    def success_rate(self) -> float | None:
        """Return the share of samples that passed; None if nothing was evaluated."""
        return 1 - self.failed / self.samples if self.samples else None


Verdict = Literal["pass", "fail", "inconclusive", "error"]
ReasonCode = Literal[
    "regression",
    "slice",
    "slo",
    "budget",
    "unread",
    "tolerance",
    "weakened",
    "removed",
    "replaced",
    "new_contract",
    "untested",
    "nothing_passes",
    "broke",
    "must_pass",
    "preference",
    "resource_limit",
    "repairs",
    "missing_answers",
    "policy_weakened",
    "uncovered",
    "error",
    "limit",
    "interrupted",
    "undecided",
    "unseen",
    "examples",
    "not_worse",
    "no_regression",
    "judge_drifted",
    "uncalibrated",
    "not_run",
    "waived",
]
Stopped = Literal["regressed", "not_worse", "futile", "exhausted"]
WaiverKind = Literal["waive", "accept"]
RunKind = Literal["check", "run", "diff"]
"""`check`: base against head. `run`: one revision. `diff`: two revisions or two earlier runs."""


@dataclass(frozen=True, slots=True)
class MissingTally:
    """The `answered` samples of one arm, and in `ways` how many are empty, cut off or refused."""

    answered: int
    ways: Mapping[str, int]

    @property
    def missing(self) -> int:
        """Return how many answers are missing in any way."""
        return sum(self.ways.values())

    @property
    def rate(self) -> float:
        """Return the share of answers that are missing; 0 if nothing was answered."""
        return self.missing / self.answered if self.answered else 0.0

    @property
    def lost_rate(self) -> float:
        """Return the share of answers of which nothing is left; 0 if nothing was answered."""
        lost = self.missing - self.ways.get("cut off", 0)
        return lost / self.answered if self.answered else 0.0

    @property
    def provably_missing(self) -> int:
        """Return how many answers are missing, without those that words alone make a refusal."""
        return self.missing - self.ways.get("refused in words", 0)


@dataclass(frozen=True, slots=True)
class MissingAnswers:
    """The missing answers of both arms, and whether head has more of them.

    `p_value` is the one-sided p-value of the sign-flip test over the distinct inputs, or clusters
    of them, to be compared with `level`; None if nothing was compared. `undecided` says that head
    has more by more than the margin, but that this can be chance.
    """

    base: MissingTally | None
    head: MissingTally
    p_value: float | None
    level: float | None
    found: Literal["worse", "undecided", "kept", "untested"]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a verdict is what it is: a stable code for programs, a sentence for people.

    `verdict` is what this reason alone calls for; the contract's verdict is the worst of them,
    those left out that a waiver covers.
    `contract_from` says whose contract found it.
    """

    code: ReasonCode
    text: str
    verdict: Verdict
    contract_from: ContractFrom = "head"


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One arm of one contract. `fixtures_passed` counts after aggregation, and like `fixtures`
    fixtures with the same input once."""

    model: str
    prompt_path: str
    prompt_text: str
    passed: int
    samples: int
    failed_calls: int
    fixtures_passed: int
    fixtures: int
    success_rate: float | None
    interval: ConfidenceInterval | None
    latency_p95_ms: float | None
    cost_per_call_usd: float | None
    intervals: Mapping[str, ConfidenceInterval] = field(default_factory=dict)
    """The success rate's interval by every method that gives one, by the method's name."""
    latency_interval: ConfidenceInterval | None = None
    cost_interval: ConfidenceInterval | None = None
    prompt_digest: str | None = None
    """The same for prompts that mean the same, see contract/meaning/digests.py."""
    steps: tuple[StepResult, ...] = ()
    """The steps of a chain, the last prompt at the end; nothing for a single prompt."""
    prompt_lines: tuple[int, ...] = ()
    """The file's line of each line of `prompt_text`; nothing for a prompt that is a whole file."""
    tools_text: str = ""
    """The tools that the model is offered, which it reads like a prompt; a section for each."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Head minus base, the mean over fixtures that have both, with its interval."""

    value: float
    interval: ConfidenceInterval | None


WEIGHTED = "weighted by category"
"""How the method of a comparison ends that counts categories by the mix of production."""


@dataclass(frozen=True, slots=True)
class PairedResult:
    """Base against head on the same fixtures; duplicates of one input count once.

    `clusters` is None unless related fixtures count as one: the test, its power and the intervals
    are then over clusters. `fixtures` is the number of distinct inputs, `broke` and `fixed` the
    ones that changed, `unknown` those whose outcome was not determined on both arms. `difference`
    is head minus base in the pass rate, the mean over fixtures; negative is worse. `stopped` is
    None if the run ended before the result was certain. `rounds` is how many samples of each
    fixture and arm were compared, 0 if the first round is incomplete; `unmeasured` is how many of
    the pairs taken have no outcome on an arm.

    `planned_rounds` is how many rounds were planned. If sampling ended earlier, the samples chose
    the moment: `difference` tends to be too large, and there is no interval.

    `margin` is the largest drop that the contract accepts. `family` is how many comparisons of the
    run share alpha with this one, itself included; `fixtures_needed` is how many fixtures would
    detect a drop of `margin`. `intervals` and `alternative_methods` hold the results of other
    methods on the same samples, by name. They do not affect the verdict, and neither does
    `adjusted_p_value` (Benjamini-Hochberg over the run). `sequential` says that the test looked at
    the samples more than once. Its looks then depend on the data, so `p_value` is not a strict
    bound if samples were not measured.
    """

    method: str
    alpha: float
    fixtures: int
    broke: int
    fixed: int
    unknown: int
    p_value: float | None
    difference: float | None
    interval: ConfidenceInterval | None
    minimum_detectable_effect: float | None
    """The smallest drop over all inputs that all planned samples find with probability 0.8."""
    stopped: Stopped | None
    rounds: int = 1
    planned_rounds: int = 1
    family: int = 1
    margin: float | None = None
    unmeasured: int = 0
    fixtures_needed: int | None = None
    adjusted_p_value: float | None = None
    intervals: Mapping[str, ConfidenceInterval] = field(default_factory=dict)
    alternative_methods: Mapping[str, float] = field(default_factory=dict)
    latency_difference_ms: Difference | None = None
    cost_difference_usd: Difference | None = None
    resources: tuple[ResourceChange, ...] = ()
    clusters: ClusterCounts | None = None
    sequential: bool = False
    corrected_difference: Difference | None = None
    """As people would find it, if one calibrated judge alone gates. It decides nothing."""
    detectable_breaks: int | None = None
    """How many units must always fail on head to be found with probability 0.8; None if not even
    all are enough."""
    weights: Mapping[str, int] = field(default_factory=dict)
    """How much each unit counts in the test, by the fixture that stands for it; none if all count
    alike."""
    scores: tuple[float, float] | None = None
    """The mean scores of base and head, if scores are compared and not passes. Differences, drops
    and the margin are then in units of the score."""
    category: str | None = None
    """The category of the fixtures that were compared; None for all inputs."""
    slices: tuple[PairedResult, ...] = ()
    """The comparison of each category that is decided by itself."""

    @property
    def weighted(self) -> bool:
        """Whether `difference` weights the categories, which the rates of the arms do not."""
        return self.method.endswith(WEIGHTED)

    @property
    def units(self) -> int:
        """How many pieces of evidence there are: clusters, or distinct inputs without any."""
        return self.clusters.total if self.clusters else self.fixtures

    @property
    def compared_rounds(self) -> int:
        """Return how many rounds were compared. Fixtures that were not sampled are unknown, not
        unmeasured."""
        return self.rounds or int(self.unknown <= self.unmeasured)

    @property
    def incomplete(self) -> bool:
        """Return whether sampling ended before every planned pair was taken. The drop that all
        planned samples could have detected then does not apply."""
        return self.stopped != "exhausted" and self.compared_rounds < self.planned_rounds


@dataclass(frozen=True, slots=True)
class SloResult:
    """One objective against the head arm, by its name (values/objectives.py). `met` is None
    while the interval leaves it open.

    `unmeasured` says that samples without an answer could have decided it either way. `inputs` is
    how many distinct inputs were measured, or clusters of them if `clustered`; `inputs_needed` how
    many it takes to prove the objective met if all are good; None for a mean, which depends
    on the amounts. `default` says that the contract sets no `success_rate` and is held
    to the default one, `outdated` that it rests on a judge that drifted.
    """

    objective: str
    target: float
    observed: float | None
    interval: ConfidenceInterval | None
    met: bool | None
    unmeasured: bool = False
    inputs: int = 0
    inputs_needed: int | None = None
    default: bool = False
    clustered: bool = False
    judged: float | None = None
    """The rate as the judge found it, if the others are corrected for its errors."""
    as_judged: bool = False
    """Whether it rests on what judges say, and is not corrected for their errors."""
    outdated: bool = False
    similar: SimilarTexts | None = None
    """How texts that differ were compared, for `consistency`; None: they do not agree."""


@dataclass(frozen=True, slots=True)
class UnderBase:
    """The result of the base contract for the same change, with its own fixtures and rules.

    `contract_from` is `base_settings` if head's prompt file was called with the base contract's own
    model, parameters and mode, `base_reading` if it was read like base's, and `base` if both arms
    were called as they would run.
    """

    base: ArmResult | None
    head: ArmResult
    paired: PairedResult | None
    slo: tuple[SloResult, ...]
    fixtures: tuple[FixtureResult, ...]
    contract_from: ContractFrom = "base"
    must_pass: tuple[MustPassResult, ...] = ()
    limits: tuple[LimitResult, ...] = ()
    repairs: RepairResult | None = None
    preferences: tuple[PreferenceResult, ...] = ()
    broken: BrokenFixtures | None = None


@dataclass(frozen=True, slots=True)
class Waiver:
    """A person's decision that a contract does not block one commit.

    `waive` covers all reasons against the change; `accept` says that the different answers of head
    are intended: it covers a regression and no objective. `contract` is None if every affected
    contract is covered. It applies to `sha` alone.
    """

    contract: str | None
    kind: WaiverKind
    author: str
    sha: str
    reason: str
    time: str


@dataclass(frozen=True, slots=True)
class ContractResult:
    """Everything known about one contract after the run, and what its judges say of `anchors`."""

    name: str
    path: str
    verdict: Verdict
    reasons: tuple[Reason, ...]
    affected_by: tuple[AffectedBy, ...] = ()
    base: ArmResult | None = None
    head: ArmResult | None = None
    paired: PairedResult | None = None
    slo: tuple[SloResult, ...] = ()
    error_budget: ErrorBudget | None = None
    fixtures: tuple[FixtureResult, ...] = ()
    weakened: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    under_base: UnderBase | None = None
    waiver: Waiver | None = None
    """What a person waived of it. In a check: what changed the verdict. In a run on the default
    branch: what was waived when the change was merged."""
    error_budgets: tuple[ErrorBudget, ...] = ()
    """The budget of every objective; `error_budget` is the most pressing of them."""
    order_seed: str | None = None
    """The seed of the run, or of the earlier run whose samples it continues; None if nothing was
    planned."""
    contract_digest: str | None = None
    """The same for contracts that run and evaluate in the same way, whatever is in quarantine, see
    contract/meaning/digests.py."""
    must_pass: tuple[MustPassResult, ...] = ()
    limits: tuple[LimitResult, ...] = ()
    preferences: tuple[PreferenceResult, ...] = ()
    repairs: RepairResult | None = None
    """None for a contract that repairs nothing."""
    missing_answers: MissingAnswers | None = None
    """None if no answer is missing."""
    mode: Negotiation | None = None
    """How the contract's mode applies; None for a contract that did not run."""
    error_checks: tuple[str, ...] | None = None
    """The names of the checks that gate; None for a contract that did not run."""
    not_run: tuple[NotRun, ...] = ()
    """What a foreign file asks for and nothing here does."""
    folder: str = ""
    """The folder whose policy is nearest to the contract; empty for the repository's policy."""
    on_inconclusive: Literal["pass", "fail"] = "pass"
    """What its policies say about an inconclusive result."""
    anchors: tuple[AnchorResult, ...] = ()
    broken: BrokenFixtures | None = None
    """What fresh samples show; None if none were needed to decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The measurements of a run for every contract, before it becomes a result.

    Values that are known only after the run, such as the state of the history, are added here.
    """

    kind: RunKind
    head_sha: str
    started: datetime
    seconds: float
    contracts: tuple[ContractResult, ...]
    calls: Calls = field(default_factory=Calls)
    cost_usd: float | None = None
    forecast: Forecast | None = None
    """What the run was forecast to take; None if it had no call to make, or no price list."""
    notices: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = field(default=(), repr=False)
    fresh: tuple[Outcome, ...] = field(default=(), repr=False)
    """The samples that were taken because fixtures seemed to have broken."""
    judge_agreement: tuple[JudgeAgreement, ...] = ()
    blame: tuple[ContractBlame, ...] = ()
    promises: tuple[PromptPromises, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult(Measurement):
    """The run, whole. It does not change afterwards; later findings are kept separately."""

    verdict: Verdict
    exit_code: int
    base_sha: str | None
    uncovered: tuple[str, ...] = ()
    policy_weakened: tuple[Weakening, ...] = ()
    """The ways in which the change weakens the policy, which applies to later changes."""
    unaffected: int = 0
    order_seed: str | None = None
    """The seed of the order of fixtures and arms; contracts may have another."""
    past: tuple[PastRun, ...] = field(default=(), repr=False)
    """What the history had when this run began, for trends; empty without a history."""
    links: Links = field(default=NO_LINKS, repr=False, compare=False)
    """Where a reader finds what the reports name."""
    spent_answers: Path | None = field(default=None, repr=False, compare=False)
    """The file of the run's answers, to delete once the reports are written; None if there is none,
    or if it is still needed."""

    @property
    def past_by_contract(self) -> defaultdict[str, list[PastRun]]:
        """Return the past runs of each contract; an empty list for one without any."""
        found = defaultdict(list)
        for run in self.past:
            found[run.contract].append(run)
        return found
