"""Computes the result of each fixture and each arm from evaluated outcomes. Pure."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gatekeeper import numbers
from gatekeeper.checks.check import undetermined
from gatekeeper.contract.meaning.digests import (
    chain_meaning,
    digest,
    fixture_evaluation_digest,
    request_digest,
)
from gatekeeper.contract.values.definition import Aggregate, Contract, Fixture, Target
from gatekeeper.contract.values.tools import offered
from gatekeeper.contract.values.trial import Arm, KeptOutcome, Outcome, Request, Sample, Trial
from gatekeeper.gate.results.parts import (
    FixtureChange,
    FixtureFailure,
    FixtureResult,
    StepResult,
    Tally,
)
from gatekeeper.gate.results.result import ArmResult
from gatekeeper.sampling.stored_text import answer_text, shorten
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.bootstrap import (
    block_bootstrap_interval,
    clustered_bootstrap_interval,
    mean_interval,
)
from gatekeeper.stats.intervals.intervals import (
    clustered_rate_interval,
    jeffreys,
    quantile_bounds,
    rate_interval,
    wilson,
)
from gatekeeper.stats.multiple import benjamini_hochberg
from gatekeeper.stats.paired.mcnemar import fisher_exact

if TYPE_CHECKING:
    import numpy as np

    from gatekeeper.checks.evaluate import Evaluator


ByFixture = Mapping[tuple[str, Arm], Sequence[Outcome]]
Change = tuple[bool | None, bool | None]
ARMS: tuple[Arm, Arm] = ("base", "head")
MOST_IN_RESULT = 20_000
"""Characters of an output in `result.json` and `fixtures.csv`; `samples.jsonl` has more."""


def aggregate(rule: Aggregate, outcomes: Sequence[Outcome], planned: int) -> bool | None:
    """Return whether a fixture counts as passed on one arm; None while the samples leave it open.

    `planned` is the number of samples that complete data would have had.
    """
    if rule == "first":
        return next((o.passed for o in outcomes if o.sample.trial.repetition == 0), None)
    passed = sum(o.passed is True for o in outcomes)
    failed = sum(o.passed is False for o in outcomes)
    # A fixture passes when it has `needed` passes among the planned samples.
    needed = {"all": planned, "any": 1, "majority": planned // 2 + 1}[rule]
    if passed >= needed:
        return True
    return False if failed > planned - needed else None


def by_fixture(outcomes: Sequence[Outcome]) -> ByFixture:
    """Group outcomes by fixture and arm, in the order given."""
    groups: dict[tuple[str, Arm], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        trial = outcome.sample.trial
        groups[trial.fixture, trial.arm].append(outcome)
    return groups


def requests_by_arm(trials: Iterable[Trial]) -> dict[Arm, dict[str, Request]]:
    """Return the first request of each arm for each fixture."""
    found: dict[Arm, dict[str, Request]] = {arm: {} for arm in ARMS}
    for trial in trials:
        if trial.repetition == 0:
            found[trial.arm][trial.fixture] = trial.request
    return found


def duplicates(trials: Iterable[Trial]) -> dict[str, str]:
    """Map each fixture whose input is, on every arm, that of an earlier one, to that one.

    On every arm: a head prompt that forgets its variable makes all its inputs the same, and
    must not turn a hundred broken fixtures into one.
    """
    inputs: dict[str, list[str]] = defaultdict(list)
    for trial in trials:
        if trial.repetition == 0:
            digest = request_digest(trial.request)
            inputs[trial.fixture].append(f"{trial.arm}:{digest}")
    first: dict[tuple[str, ...], str] = {}
    found: dict[str, str] = {}
    for fixture, digests in inputs.items():
        original = first.setdefault(tuple(sorted(digests)), fixture)
        if original != fixture:
            found[fixture] = original
    return found


def fixture_results(
    contract: Contract,
    groups: ByFixture,
    same_input: Mapping[str, str],
    planned: int,
    *,
    paired: bool,
    copies: bool = False,
) -> list[FixtureResult]:
    """Return one result per fixture of the contract, in its order, measured or not.

    With several samples a fixture and arm, each has its own p-value: Fisher's exact test that it
    got worse, adjusted over the fixtures by Benjamini-Hochberg. It identifies the broken fixtures
    and does not affect the verdict. If the samples are `copies`, taken at temperature 0, there is
    none. `planned` is how many samples complete data would have had.
    """
    results = [
        fixture_result(
            contract, fixture, groups, same_input.get(fixture.id), planned, paired=paired
        )
        for fixture in contract.fixtures
    ]
    if copies:
        return results
    tested = [r for r in results if r.base and r.head and r.base.samples + r.head.samples > 2]
    exact = [
        fisher_exact(r.base.passed, r.base.samples, r.head.passed, r.head.samples)
        for r in tested
        if r.base and r.head
    ]
    if not exact:
        return results
    adjusted = benjamini_hochberg(exact).p_values
    p_values = dict(zip((r.id for r in tested), adjusted, strict=True))
    return [replace(r, p_value=p_values.get(r.id)) for r in results]


def fixture_result(
    contract: Contract,
    fixture: Fixture,
    groups: ByFixture,
    duplicate_of: str | None,
    planned: int,
    *,
    paired: bool,
) -> FixtureResult:
    """Return the result of one fixture from the samples so far."""
    base = groups.get((fixture.id, "base"), ())
    head = groups.get((fixture.id, "head"), ())
    rule = contract.sampling.aggregate
    before = aggregate(rule, base, planned) if paired else None
    after = aggregate(rule, head, planned)
    return FixtureResult(
        id=fixture.id,
        category=fixture.category,
        base=_tally(base),
        head=_tally(head),
        base_passed=before,
        head_passed=after,
        change=None if fixture.quarantine else _change(before, after),
        failures=_failures([*head, *base], "error"),
        warnings=_failures([*head, *base], "warn"),
        errors=_errors([*head, *base]),
        base_output=_first_output(base),
        head_output=_first_output(head),
        duplicate_of=duplicate_of,
        input=variables_text(fixture) if after is False else None,
        wanted=value_text(fixture.expected) if after is False else None,
        cluster=fixture.cluster,
        quarantine=fixture.quarantine,
        position=fixture.position,
    )


def arm_result(
    target: Target,
    arm: Arm,
    outcomes: Sequence[Outcome],
    fixtures: Sequence[FixtureResult],
    clusters: Mapping[str, str] | None = None,
) -> ArmResult:
    """Return one arm's counts, rate with interval, latency and cost. Unmeasured samples do not
    count.

    `clusters` maps a fixture to the one that stands for its cluster; the rate's interval is then
    over clusters. None means that there is none.
    """
    mine = [o for o in outcomes if o.sample.trial.arm == arm]
    verdicts = [o.passed for o in mine if o.passed is not None]
    passed = sum(verdicts)
    settled = _fates_of_inputs(fixtures, arm)
    costs = _known(o.sample.completion.cost_usd for o in mine if o.sample.completion)
    times = latencies(mine)
    fast, slow = quantile_bounds(times, 0.95)
    intervals = rate_intervals(mine, clusters or {})
    by_unit = intervals.get("clustered")
    return ArmResult(
        model=target.model,
        prompt_path=target.prompt.path,
        prompt_text=target.prompt.text,
        passed=passed,
        samples=len(verdicts),
        failed_calls=sum(o.sample.completion is None for o in mine),
        fixtures_passed=sum(s is True for s in settled),
        fixtures=sum(s is not None for s in settled),
        success_rate=passed / len(verdicts) if verdicts else None,
        interval=rate_interval(passed, len(verdicts)) if clusters is None else by_unit,
        latency_p95_ms=quantile(times, 0.95),
        cost_per_call_usd=math.fsum(costs) / len(costs) if costs else None,
        intervals=intervals,
        latency_interval=None if fast is None or slow is None else ConfidenceInterval(fast, slow),
        cost_interval=mean_interval(costs, CONFIDENCE, rng()),
        prompt_digest=digest(chain_meaning(target)),
        steps=step_results(target, mine),
        prompt_lines=target.prompt.text_lines,
        tools_text=_tools_text(target.params),
    )


def _tools_text(params: Mapping[str, Any]) -> str:
    """Return the tools that the model is offered as Markdown, a section for each."""
    return "\n".join(
        f"# {f['name']}\n{f.get('description', '')}\n"
        f"{json.dumps(f.get('parameters', {}), indent=2, ensure_ascii=False)}"
        for f in offered(params)
    )


def _fates_of_inputs(fixtures: Sequence[FixtureResult], arm: Arm) -> list[bool | None]:
    """Return whether each distinct input passes: fixtures that share it share their answers, and
    all of them must."""
    inputs: dict[str, list[bool | None]] = defaultdict(list)
    for fixture in fixtures:
        passed = fixture.base_passed if arm == "base" else fixture.head_passed
        inputs[fixture.duplicate_of or fixture.id].append(passed)
    return list(map(_all_pass, inputs.values()))


def _all_pass(known: Sequence[bool | None]) -> bool | None:
    return False if False in known else None if None in known else True


def latencies(outcomes: Sequence[Outcome]) -> list[float]:
    """Return the known latencies in milliseconds.

    A shared sample is one call, counted on its own arm.
    """
    return _known(o.sample.completion.latency_ms for o in outcomes if o.sample.completion)


def quantile(values: Sequence[float], q: float) -> float | None:
    """Return the smallest value with at least a share q of the values at or below it.

    Inverse of the empirical distribution function (Hyndman and Fan 1996, definition 1).
    """
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(q * len(values)) - 1)]


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _tally(outcomes: Sequence[Outcome]) -> Tally | None:
    measured = [o.passed for o in outcomes if o.passed is not None]
    return Tally(sum(measured), len(measured)) if measured else None


def _change(before: bool | None, after: bool | None) -> FixtureChange | None:
    if before is None or after is None:
        return None
    if before == after:
        return "same"
    return "broke" if before else "fixed"


def _failures(outcomes: Sequence[Outcome], severity: str) -> tuple[FixtureFailure, ...]:
    """Return the failed checks that gate (`error`), or those that are only reported (`warn`): with
    a pass score, these are also the ones that a sample failed and passed nevertheless."""
    found: list[FixtureFailure] = []
    for outcome in outcomes:
        tolerated = outcome.pass_score is not None and outcome.passed is True
        failed = [
            (j.check, j.message, tolerated and j.severity == "error")
            for j in outcome.check_results
            if j.passed is False
            and ("warn" if tolerated or j.severity == "warn" else "error") == severity
        ]
        if severity == "error" and outcome.passed is False and outcome.pass_score is not None:
            failed.append((*_low_grade(outcome, outcome.pass_score), False))
        # Cut once for all checks that speak of it.
        output = shorten(answer_text(outcome.sample), MOST_IN_RESULT) if failed else ""
        arm = outcome.sample.trial.arm
        found += [FixtureFailure(arm, check, text, output, kept) for check, text, kept in failed]
    return tuple(found)


def _low_grade(outcome: Outcome, pass_score: float) -> tuple[str, str]:
    """Return what a report says of the grade of a sample that failed."""
    grade = outcome.grade
    if grade is None:
        return "pass_score", (
            f"the score cannot reach {numbers.score(pass_score)}, even if all checks with an "
            "unknown result pass"
        )
    # Rounded down, so that a grade that is too low never looks high enough.
    shown, needed = f"{math.floor(grade * 1000) / 1000:g}", numbers.score(pass_score)
    if grade < pass_score:
        return "pass_score", f"scores {shown}, but needs {needed}"
    text = f"scores {shown} and needs only {needed}, but a check with `must_pass: true` failed"
    return "pass_score", text


def _first_output(outcomes: Sequence[Outcome]) -> str | None:
    outputs = (answer_text(o.sample) for o in outcomes if o.sample.completion is not None)
    first = next(outputs, None)
    return None if first is None else shorten(first, MOST_IN_RESULT)


def variables_text(fixture: Fixture) -> str | None:
    """Return the fixture's variables and turns as text. A single variable is shown without its
    name."""
    texts = {name: value_text(value) for name, value in fixture.vars.items()}
    known = {name: text for name, text in texts.items() if text is not None}
    known |= {f"turn {number}": text for number, text in enumerate(fixture.turns, start=2)}
    known |= {"goal of the user": fixture.user.goal} if fixture.user else {}
    known |= {file.path: f"sha256:{file.sha256}" for file in fixture.files}
    if len(known) == 1:
        return next(iter(known.values()))
    lines = "\n".join(f"{name}: {text}" for name, text in known.items())
    return shorten(lines, MOST_IN_RESULT) if lines else None


def value_text(value: object) -> str | None:
    """Return a value of a fixture as people read it; None if there is none."""
    if value is None:
        return None
    if isinstance(value, str):
        return shorten(value, MOST_IN_RESULT)
    return shorten(json.dumps(value, ensure_ascii=False, default=str), MOST_IN_RESULT)


def _errors(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Say why samples could not be measured: calls that failed, checks that could not be
    applied."""
    calls = [o.sample.error for o in outcomes if o.sample.error is not None]
    checks = [
        f"{j.check}: {j.message}" for o in outcomes for j in o.check_results if j.passed is None
    ]
    return tuple(dict.fromkeys([*calls, *checks]))


def step_results(target: Target, outcomes: Sequence[Outcome]) -> tuple[StepResult, ...]:
    """Return the result of each step of the target, the last prompt at the end; nothing for a
    target without steps. The outcomes are those of its arm."""
    if not target.steps:
        return ()
    names = [*(step.name for step in target.steps), None]
    passed: Counter[str | None] = Counter()
    measured: Counter[str | None] = Counter()
    broke: Counter[str | None] = Counter()
    for outcome in outcomes:
        verdicts = {name: _passed(outcome, name) for name in names}
        for name, verdict in verdicts.items():
            measured[name] += verdict is not None
            passed[name] += verdict is True
        if outcome.passed is False:
            broke.update([name for name in names if verdicts[name] is False][:1])
    return tuple(
        StepResult(
            name,
            prompt.path,
            prompt.text,
            passed[name],
            measured[name],
            broke[name],
            prompt.text_lines,
        )
        for name, prompt in zip(names, target.prompts, strict=True)
    )


def _passed(outcome: Outcome, step: str | None) -> bool | None:
    """Return whether every check of the step that gates passed; None without such a check, and if
    one could not be applied."""
    found = [j.passed for j in outcome.check_results if (j.step, j.severity) == (step, "error")]
    return None if not found or outcome.sample.completion is None else _all_pass(found)


# The intervals of one arm by several methods: its success rate, latency and cost. Pure.


CONFIDENCE = 0.95
_SEED = 42
"""Bootstraps use the same seed in every run, so that a report can be reproduced."""


def rate_intervals(
    outcomes: Sequence[Outcome], clusters: Mapping[str, str]
) -> dict[str, ConfidenceInterval]:
    """Return one arm's success rate by each method that gives an interval for these samples.

    `clusters` maps a fixture to the one that stands for its cluster.
    """
    measured = [o for o in outcomes if o.passed is not None]
    if not measured:
        return {}
    verdicts = [float(o.passed is True) for o in measured]
    fixtures: dict[str, list[bool]] = defaultdict(list)
    for outcome in measured:
        fixture = outcome.sample.trial.fixture
        fixtures[clusters.get(fixture, fixture)].append(outcome.passed is True)
    passed, samples = [sum(v) for v in fixtures.values()], [len(v) for v in fixtures.values()]
    good, n = sum(passed), len(measured)
    return given(
        wilson=wilson(good, n),
        jeffreys=jeffreys(good, n),
        clustered=clustered_rate_interval(passed, samples, CONFIDENCE),
        bootstrap=mean_interval(verdicts, CONFIDENCE, rng()),
        bootstrap_fixtures=clustered_bootstrap_interval(passed, samples, CONFIDENCE, rng()),
        bootstrap_blocks=block_bootstrap_interval(verdicts, CONFIDENCE, rng()),
    )


def given(**intervals: ConfidenceInterval | None) -> dict[str, ConfidenceInterval]:
    return {name: interval for name, interval in intervals.items() if interval is not None}


def rng() -> np.random.Generator:
    import numpy as np

    return np.random.default_rng(_SEED)


# Keeps the outcome of an answer that is too long to be kept, and finds it again.
#
# Whoever repeats a job gets the first answers from the cache. Of a long answer there is only the
# beginning, which cannot be evaluated again, so its outcome is kept with it.


_MOST_KEPT = 2_000
"""Characters of a long answer in the cache, so that many of them fit into it."""
_CHANGED = undetermined(
    "the answer has more than 100,000 characters and comes from an earlier run, which kept only "
    "its beginning and its result by other checks; change the prompt to get new answers"
)


def sample_to_keep(outcome: Outcome, contract: Contract) -> Sample:
    """Return the sample of an outcome for the cache, with the outcome itself if its answer is
    long."""
    sample, completion = outcome.sample, outcome.sample.completion
    if completion is None or completion.replayed or not completion.is_part:
        return sample
    is_cut = completion.cut is not None
    kept = KeptOutcome(
        _evaluation(sample, contract),
        outcome.check_results,
        outcome.passed_before_repairs,
        shorten(sample.output, _MOST_KEPT) if is_cut else sample.output,
        sample.repairs,
        sample.ledger,
        outcome.missing,
    )
    text = shorten(completion.text, _MOST_KEPT) if is_cut else completion.text
    return replace(sample, completion=replace(completion, text=text, kept=(kept,)))


def recalled_outcome(sample: Sample, contract: Contract, evaluator: Evaluator) -> Outcome:
    """Return the outcome that was kept with a long answer; unknown if the contract evaluates
    otherwise by now."""
    completion = sample.completion
    own = _evaluation(sample, contract)
    for kept in completion.kept if completion else ():
        if kept.evaluation == own:
            found = replace(sample, output=kept.output, repairs=kept.repairs, ledger=kept.ledger)
            before = kept.passed_before_repairs
            known = (kept.check_results, contract.pass_score, before, kept.missing)
            return Outcome(found, *known)
    checks = evaluator.checks[sample.trial.fixture]
    found = replace(sample, output=completion.text if completion else "")
    return Outcome(found, tuple(c.result(_CHANGED) for c in checks), contract.pass_score)


def _evaluation(sample: Sample, contract: Contract) -> str:
    name = sample.trial.fixture
    fixture = next(fixture for fixture in contract.fixtures if fixture.id == name)
    return fixture_evaluation_digest(contract, fixture)
