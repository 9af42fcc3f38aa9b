"""The records of the history: one for each contract measured on the default branch.

They are small: counts, digests and intervals, and no output of a model. Objectives over a window,
error budgets, drift and trends are computed from records only. None always means "not known", never
zero.
"""

from __future__ import annotations

import hashlib
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Literal, NamedTuple, TypeGuard

from annotated_types import Interval, MinLen

from gatekeeper import __version__
from gatekeeper.contract.meaning.digests import canonical, short_digest
from gatekeeper.contract.meaning.modes import Added, Negotiation
from gatekeeper.contract.values.definition import RepairMode
from gatekeeper.contract.values.events import each_answer_once, is_good
from gatekeeper.contract.values.objectives import CATEGORIES, CHECKS, Objective
from gatekeeper.contract.values.trial import Completion, Outcome
from gatekeeper.gate.decision.lowered_checks import GatingChecks, GatingHistory
from gatekeeper.gate.results.parts import JUDGE_DRIFT_LEVEL, AnchorResult
from gatekeeper.gate.results.result import (
    ArmResult,
    ContractResult,
    Measurement,
    PastRun,
    Verdict,
    Waiver,
)
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.judges.judge_accuracy import changed_verdicts_p
from gatekeeper.stats.objectives.error_budget import Event, Spending


@dataclass(frozen=True, slots=True)
class ModeRecord:
    """The mode that a contract asked for, the one that applied, and why. `added` says what each
    request got, and `digest` is the SHA-256 of the text, or of the parameters as canonical JSON;
    empty if nothing was added."""

    requested: RepairMode
    applied: RepairMode
    reason: str = ""
    added: Added = "nothing"
    digest: str = ""


def mode_record(found: Negotiation | None) -> ModeRecord | None:
    """Return what to keep of a mode. None for `repair`, the default, and if the mode is not
    known."""
    if found is None or found.requested == "repair":
        return None
    text = found.text or (canonical(found.params) if found.params else "")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text else ""
    return ModeRecord(found.requested, found.applied, found.reason, found.added, digest)


Trigger = Literal["push", "schedule", "manual"]

MOST_EVENTS = 1_000_000_000
"""The largest number in a record. A larger one cannot be a count, and computations with it would
overflow."""

Whole = Annotated[int, Interval(ge=0, le=MOST_EVENTS)]
_MOST_AMOUNT = 1e12
Amount = Annotated[float, Interval(ge=0, lt=_MOST_AMOUNT)]
Score = Annotated[float, Interval(ge=0, le=1)]
Name = Annotated[str, MinLen(1)]


class JudgeAnchors(NamedTuple):
    """What the judges of a check said of the anchors of a calibration: how many outputs they are,
    how many verdicts agreed with people at calibration, how many no longer do (`lost`), and how
    many do since (`gained`). `to_pass` of these verdicts changed from fail to pass; None in records
    of older versions. `calibration` and `judge` identify both."""

    calibration: Name
    judge: Name
    anchors: Whole
    agreed_before: Whole
    lost: Whole
    gained: Whole
    to_pass: Whole | None = None

    @property
    def agrees_now(self) -> int:
        return self.agreed_before - self.lost + self.gained

    @property
    def p_value(self) -> float:
        """Return the two-sided p-value of McNemar's exact tests."""
        return changed_verdicts_p(self.lost, self.gained, self.to_pass)

    @property
    def differs(self) -> bool:
        """Whether chance does not explain how much the verdicts differ."""
        return self.p_value <= JUDGE_DRIFT_LEVEL


class AskedModel(NamedTuple):
    """What the answers of one judge or simulated user took: `calls`, their tokens, and their cost
    in US dollars; None if that is not known."""

    calls: Whole
    prompt_tokens: Whole | None = None
    completion_tokens: Whole | None = None
    cost_usd: Amount | None = None


Count = tuple[Whole, Whole]
"""`(events, failed)`, such as samples and those that failed a check, or calls and those slower than
an objective allows. A plain tuple, because a year of records has a million of them."""


@dataclass(frozen=True, slots=True)
class Record:
    """One contract in one run.

    `id` is the same for the same contract of the same run, however often it arrives. `time` is in
    UTC, whatever zone it was given in. `samples` were evaluated and `failed` of them failed;
    `calls` counts all calls, `failed_calls` those without an answer. `objectives` counts, by
    objective, the events of its error budget: such as `success_rate`, `latency_p95_ms` (slower than
    its target), `checks.NAME`, `repair_rate`, and `categories.NAME.OBJECTIVE`. `fixtures` maps each
    fixture's `fixture_key` to its samples. A count is `[events, failed]`. `fingerprints` identify
    the models that answered, sorted; empty if the provider sends none. Latencies are in
    milliseconds, by quantile (`p50`, `p95`); costs are in US dollars. `score` is the mean score of
    the samples to which checks gave one. `error_checks` are the names of the checks that gated, a
    long one as `#` and a digest. Records of older versions have neither `error_checks` nor
    `verdict`, the contract's verdict in that run. Tokens and `cost_usd` are those of `model` alone;
    `asked` has those of judges and simulated users, by their model. `judges` says by check what
    judges said of the anchors of their calibrations, if they were asked. `mode` says how the
    contract's mode applied; None for the default mode.

    Raises ValueError if the numbers contradict each other.
    """

    id: Name
    time: datetime
    trigger: Trigger
    sha: str
    contract: Name
    model: str
    version: str
    samples: Whole
    failed: Whole
    interval: ConfidenceInterval | None
    calls: Whole
    failed_calls: Whole
    prompt_digest: str | None = None
    contract_digest: str | None = None
    fingerprints: tuple[str, ...] = ()
    objectives: Mapping[str, Count] = field(default_factory=dict)
    checks: Mapping[str, Count] = field(default_factory=dict)
    categories: Mapping[str, Count] = field(default_factory=dict)
    fixtures: Mapping[str, Count] = field(default_factory=dict)
    repaired: Whole | None = None
    latency_ms: Mapping[str, Amount] = field(default_factory=dict)
    prompt_tokens: Whole | None = None
    completion_tokens: Whole | None = None
    cost_usd: Amount | None = None
    score: Score | None = None
    waiver: Waiver | None = None
    error_checks: tuple[str, ...] | None = None
    verdict: Verdict | None = None
    judges: Mapping[str, JudgeAnchors] = field(default_factory=dict)
    mode: ModeRecord | None = None
    was: Name | None = None
    """What the contract was called in the run before."""
    selftest: Mapping[str, Count] = field(default_factory=dict)
    """How often the gate blocked changes that were made up from the samples of these nights, by the
    name of the change: the runs, and those of them that it blocked (gate/selftest.py)."""
    asked: Mapping[Name, AskedModel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.time.utcoffset() is None:
            raise ValueError(f"time: must have a time zone, got {self.time.isoformat()}")
        # A reader makes a zone for each time, and two zones take ten times as long to compare.
        object.__setattr__(self, "time", _in_utc(self.time))
        if self.interval and not 0 <= self.interval.low <= self.interval.high <= 1:
            text = f"interval: must have 0 <= low <= high <= 1, got {self.interval}"
            raise ValueError(text)
        _require_part("failed", self.samples, self.failed)
        _require_part("failed_calls", self.calls, self.failed_calls)
        for name in ("objectives", "checks", "categories", "fixtures", "selftest"):
            counts: Mapping[str, Count] = getattr(self, name)
            for key, (events, failed) in counts.items():
                if failed > events:
                    _require_part(f"{name}.{key}", events, failed)

        for check, found in self.judges.items():
            _require_part(f"judges.{check}", found.anchors, found.agreed_before)
            _require_part(f"judges.{check}", found.agreed_before, found.lost)
            _require_part(f"judges.{check}", found.anchors - found.agreed_before, found.gained)
            _require_part(f"judges.{check}", found.lost + found.gained, found.to_pass or 0)

    @property
    def judge_drifted(self) -> bool:
        """Whether a judge graded differently than at its calibration, so that the run's figures say
        nothing of the prompt or its model."""
        return any(found.differs for found in self.judges.values())

    @property
    def success_rate(self) -> float | None:
        """The share of evaluated samples that passed; None if none was evaluated."""
        return 1 - self.failed / self.samples if self.samples else None


def _in_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"time: {time.isoformat()} is out of range") from None


def _require_part(name: str, whole: int, failed: int) -> None:
    if failed > whole:
        raise ValueError(f"{name}: {failed} is more than the total, {whole}")


def records_of(result: Measurement, trigger: Trigger) -> tuple[Record, ...]:
    """Return one record for each contract of a `run` that was measured completely.

    A contract without an evaluated sample adds nothing, because missing data does not mean zero
    failures. Neither does one with the verdict `error`: the part of a run before an interruption or
    a limit does not represent the whole. Raises ValueError for any other result.
    """
    if result.kind != "run":
        raise ValueError(f"result: must be of kind `run`, got `{result.kind}`")
    evaluated: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in result.outcomes:
        trial = outcome.sample.trial
        if trial.arm == "head" and trial.contract_from == "head":
            evaluated[trial.contract].append(outcome)
    return tuple(
        _record(result, contract, contract.head, evaluated[contract.name], trigger)
        for contract in result.contracts
        if contract.verdict != "error" and contract.head is not None and contract.head.samples > 0
    )


def events_of(records: Iterable[Record]) -> Spending:
    """Return the events of each error budget, by contract and objective, in the order of the
    records."""
    found: dict[str, dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        for name, event in _spending(record).items():
            found[record.contract][name].append(event)
    return {contract: dict(events) for contract, events in found.items()}


def gating_history(records: Iterable[Record]) -> GatingHistory:
    """Return the checks that gated in each run.

    Records from before severities were kept have none.
    """
    found: dict[str, tuple[GatingChecks, ...]] = {}
    for record in records:
        if record.error_checks is not None:
            run = GatingChecks(record.time, record.sha, record.error_checks)
            found[record.contract] = (*found.get(record.contract, ()), run)
    return found


_MOST_BY_FIXTURE = 30
"""The latest runs of a contract of which reports show each fixture."""


def past_runs(records: Sequence[Record]) -> tuple[PastRun, ...]:
    """Return what reports show of earlier runs, in the order of the records."""
    later = Counter(record.contract for record in records)
    latest = set()
    for record in records:
        later[record.contract] -= 1
        if later[record.contract] < _MOST_BY_FIXTURE:
            latest.add(id(record))
    return tuple(
        PastRun(
            contract=record.contract,
            time=record.time,
            sha=record.sha,
            samples=record.samples,
            failed=record.failed,
            interval=record.interval,
            events=_spending(record),
            fixtures=len(record.fixtures),
            selftest=record.selftest,
            prompt_digest=record.prompt_digest,
            by_fixture=record.fixtures if id(record) in latest else {},
        )
        for record in records
    )


def _record(
    result: Measurement,
    contract: ContractResult,
    head: ArmResult,
    outcomes: Sequence[Outcome],
    trigger: Trigger,
) -> Record:
    started = result.started.astimezone(UTC)
    category = {fixture.id: fixture.category for fixture in contract.fixtures}
    same_input = {f.id: f.duplicate_of for f in contract.fixtures if f.duplicate_of}
    in_each = _in_categories(outcomes, category, same_input)
    outcomes = in_each[None]
    answered = [o.sample.completion for o in outcomes if o.sample.completion]
    latencies = [c.latency_ms for c in answered if c.latency_ms is not None]
    quantiles = {
        "p50": statistics.median_low(latencies) if latencies else None,
        "p95": head.latency_p95_ms,
    }
    return Record(
        id=_id(started.isoformat(), result.head_sha, contract.name, head.model, trigger),
        time=started,
        trigger=trigger,
        sha=result.head_sha,
        contract=contract.name,
        model=head.model,
        version=__version__,
        samples=head.samples,
        failed=head.samples - head.passed,
        interval=head.interval,
        calls=len(outcomes) or head.samples + head.failed_calls,
        failed_calls=head.failed_calls,
        prompt_digest=head.prompt_digest,
        contract_digest=contract.contract_digest,
        fingerprints=tuple(sorted({c.fingerprint for c in answered if c.fingerprint})),
        objectives=_objective_events(contract, in_each),
        checks=_check_counts(outcomes),
        categories=_category_counts(in_each),
        fixtures=_fixture_counts(outcomes),
        repaired=sum(bool(o.sample.repairs) for o in outcomes) if outcomes else None,
        latency_ms={name: value for name, value in quantiles.items() if _is_amount(value)},
        prompt_tokens=_total([c.prompt_tokens for c in answered]),
        completion_tokens=_total([c.completion_tokens for c in answered]),
        cost_usd=_cost(answered),
        score=_mean([o.score for o in outcomes if o.score is not None]),
        waiver=contract.waiver,
        error_checks=contract.error_checks,
        verdict=contract.verdict,
        judges={found.check: _anchors(found) for found in contract.anchors},
        mode=mode_record(contract.mode),
        asked={
            model: AskedModel(*used[:3], used.cost_usd if _is_amount(used.cost_usd) else None)
            for model, used in sorted(result.calls.of_others.get(contract.name, {}).items())
        },
    )


def _anchors(found: AnchorResult) -> JudgeAnchors:
    return JudgeAnchors(
        found.calibration,
        ", ".join(found.judges),
        found.anchors,
        found.agreed_before,
        found.lost,
        found.gained,
        found.to_pass,
    )


def _id(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _spending(record: Record) -> dict[str, Event]:
    """Return the events of the run's budgets; none if a judge drifted, because its verdicts are no
    fault of the prompt."""
    if record.judge_drifted:
        return {}
    return {name: Event(record.time, *count) for name, count in objective_counts(record).items()}


def objective_counts(record: Record) -> dict[str, Count]:
    """Return the events of each objective, also of those that the contract did not have yet, as far
    as the record counts them."""
    answered = record.calls - record.failed_calls
    repaired = {}
    if record.repaired is not None and record.repaired <= answered:
        repaired["repair_rate"] = (answered, record.repaired)
    return {
        "success_rate": (record.samples, record.failed),
        **{f"{CHECKS}.{name}": count for name, count in record.checks.items()},
        **{f"{CATEGORIES}.{name}.success_rate": count for name, count in record.categories.items()},
        **repaired,
        **record.objectives,
    }


def _total(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    total = sum(known) if known and len(known) == len(values) else None
    return None if total is None or total > MOST_EVENTS else total


def _mean(scores: Sequence[float]) -> float | None:
    return math.fsum(scores) / len(scores) if scores else None


def _cost(answered: Sequence[Completion]) -> float | None:
    known = [c.cost_usd for c in answered if c.cost_usd is not None]
    total = math.fsum(known) if known and len(known) == len(answered) else None
    return total if _is_amount(total) else None


def _is_amount(value: float | None) -> TypeGuard[float]:
    """Say whether the value can be read back from a record."""
    return value is not None and 0 <= value < _MOST_AMOUNT


# Counts the outcomes of a run. An answer that several fixtures share counts once, for the first of
# them.


def _in_categories(
    outcomes: Sequence[Outcome],
    category: Mapping[str, str | None],
    same_input: Mapping[str, str],
) -> Mapping[str | None, Sequence[Outcome]]:
    """Return the outcomes of each category, and those of all as None, with each answer once that
    several fixtures share."""
    found: dict[str | None, list[Outcome]] = {None: [*outcomes]}
    for outcome in outcomes:
        name = category.get(outcome.sample.trial.fixture)
        if name is not None:
            found.setdefault(name, []).append(outcome)
    return {name: each_answer_once(each, same_input) for name, each in found.items()}


def _category_counts(in_each: Mapping[str | None, Sequence[Outcome]]) -> dict[str, Count]:
    """Return the evaluated samples of each category."""
    found: dict[str, Count] = {}
    for name, outcomes in in_each.items():
        if name is not None and any(o.passed is not None for o in outcomes):
            found[name] = _count(outcomes)
    return dict(sorted(found.items()))


def _objective_events(
    contract: ContractResult, in_each: Mapping[str | None, Sequence[Outcome]]
) -> dict[str, Count]:
    """Return the events of each objective that the contract has, as far as they can be counted."""
    found: dict[str, Count] = {}
    for result in contract.slo:
        objective = Objective(result.objective, result.target)
        events = [
            good
            for o in in_each.get(objective.category, ())
            if (good := is_good(objective, o)) is not None
        ]
        if events:
            found[objective.name] = (len(events), events.count(False))
    return found


def _check_counts(outcomes: Sequence[Outcome]) -> dict[str, Count]:
    """Return the evaluations of each check."""
    evaluated = [j for o in outcomes for j in o.check_results if j.passed is not None]
    events = Counter(j.check for j in evaluated)
    failed = Counter(j.check for j in evaluated if not j.passed)
    return {check: (events[check], failed[check]) for check in sorted(events)}


def _fixture_counts(outcomes: Sequence[Outcome]) -> dict[str, Count]:
    """Return the evaluated samples of each fixture."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.passed is not None:
            found[fixture_key(outcome.sample.trial.fixture)].append(outcome)
    return {key: _count(each) for key, each in sorted(found.items())}


def fixture_key(id: str) -> str:  # noqa: A002
    """Return the key of a fixture in a record: 12 hexadecimal digits of its id's SHA-256."""
    return short_digest(id)


def _count(outcomes: Sequence[Outcome]) -> Count:
    evaluated = [o.passed for o in outcomes if o.passed is not None]
    return len(evaluated), evaluated.count(False)
