"""Forecasts what the calls of contracts and runs take: expected if the change is harmless, and at
most. Calls no model.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from gatekeeper.contract.calls.calls import count_rounds
from gatekeeper.contract.checks.judge_settings import question_id, question_key
from gatekeeper.contract.models.names import is_recorded
from gatekeeper.contract.models.params import ANSWER_LIMITS, CHARACTERS_A_TOKEN, written_limits
from gatekeeper.contract.values.call import SINGLE
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, ContractFrom, Request, Sample, Trial
from gatekeeper.gate.comparison.confirmation import most_fresh_samples
from gatekeeper.gate.comparison.must_pass import must_pass_units
from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.comparison.preference import has_preferences
from gatekeeper.gate.measuring.monitor import judge_questions
from gatekeeper.gate.plan.alpha import ALL, alpha_shares, claim_levels, confirms_fixtures, levels
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.gate.plan.questions import Questions, joined
from gatekeeper.gate.results.parts import Forecast, ForecastAmounts, ModelUse
from gatekeeper.gate.work import Work
from gatekeeper.sampling.calls import distinct_calls, distinct_requests, group_calls
from gatekeeper.sampling.limits import Price
from gatekeeper.stats.paired.sequential import looks
from gatekeeper.stats.paired.stopping_time import stopping_time

# How many calls a contract takes: at least, expected if the change is harmless, and at most.
#
# Failed calls are tried again and are not counted; a run that a limit or an outage ends takes
# fewer.


class CallEstimate(NamedTuple):
    """Numbers of calls, the smallest first."""

    fewest: int
    expected: int
    most: int


class _Pairs(NamedTuple):
    """How many pairs of one evaluation, or samples of a single arm, are taken. A regression needs
    at least `regressed`; None if there can be none before the end."""

    regressed: int | None
    fewest: int
    expected: float
    most: int


def estimate_calls(
    job: Job, levels: Mapping[tuple[str, ContractFrom], float], most: int, concurrency: int
) -> CallEstimate:
    """Estimate the calls of a contract.

    Args:
        job: The contract.
        levels: The level of each comparison of the run, as `alpha.levels` returns them.
        most: How many distinct requests its trials have.
        concurrency: How many calls are under way when the result is certain. They are made too.
    """
    each = [
        (e, _pairs(e, levels.get((job.contract.name, e.contract_from)))) for e in job.evaluations
    ]
    if not each or not most:
        return CallEstimate(most, most, most)
    # One regression ends the whole contract; otherwise every evaluation must be certain.
    certain = [_calls_of(evaluation, pairs.fewest) for evaluation, pairs in each]
    settled = most if all(p.fewest == p.most for _, p in each) else max(certain)
    regressed = [_calls_of(e, p.regressed) for e, p in each if p.regressed is not None]
    fewest = min([settled, *regressed])
    share = max(pairs.expected / pairs.most if pairs.most else 1.0 for _, pairs in each)
    expected = most if share >= 1 else min(most, math.ceil(share * most) + concurrency)
    expected = math.ceil(expected * _usual_steps(job.trials))
    return CallEstimate(min(fewest, expected), expected, most)


_USUAL_STEPS = 3
"""The answers that an agent takes for one message of the user."""


def _usual_steps(trials: Sequence[Trial]) -> float:
    """Return the share of the calls that tool loops are expected to take of those that they may."""
    most = usual = 0
    for request in (trial.request for trial in trials):
        rounds, steps = count_rounds(request), request.tools.max_steps if request.tools else 1
        most += rounds * steps
        usual += rounds * min(steps, _USUAL_STEPS)
    return usual / most if most else 1.0


def _pairs(evaluation: Evaluation, level: float | None) -> _Pairs:
    contract, sampling = evaluation.contract, evaluation.contract.sampling
    early = sampling.mode == "adaptive"
    if level is None:
        units = len({trial.fixture for trial in evaluation.trials})
        most = units * sampling.samples
        ends = early and contract.slo and contract.gate.tolerance is None
        ends = ends and not must_pass_units(contract)
        first = looks(sampling.samples, early=early)[0].rounds if ends else sampling.samples
        # When its objectives are certain depends on the pass rate, which nobody knows before.
        return _Pairs(None, units * first, float(most), most)
    claims, parts = claim_levels(evaluation, level), evaluation.slices()
    test = Comparison(evaluation, claims.pop(ALL)).test
    most = test.fixtures * sampling.samples
    if not test.early:
        return _Pairs(None, most, float(most), most)
    looks_at_all = bool(contract.slo) or confirms_fixtures(contract)
    found = stopping_time(test, first_round=looks_at_all)
    if alpha_shares(contract).limits or contract.gate.tolerance is not None:
        return _Pairs(found.fewest_regressed, most, float(most), most)
    fewest, expected = found.fewest, found.expected
    for name, own in claims.items():
        # Sampling goes on until the last category is decided.
        of_slice = Comparison(parts[name], own).test
        if of_slice.fixtures:
            own_time = stopping_time(of_slice, first_round=looks_at_all)
            scale = test.fixtures / of_slice.fixtures
            fewest = min(most, max(fewest, math.ceil(own_time.fewest * scale)))
            expected = min(float(most), max(expected, own_time.expected * scale))
    return _Pairs(found.fewest_regressed, fewest, expected, most)


def _calls_of(evaluation: Evaluation, pairs: int) -> int:
    """Return the fewest calls that so many pairs of the evaluation can take."""
    if evaluation.base is None:
        units = {trial.fixture: trial.fixture for trial in evaluation.trials}
    else:
        units = {f: unit for unit, members in evaluation.units().items() for f in members}
    first = [trial for trial in evaluation.trials if trial.repetition == 0]
    takes: dict[str, int] = defaultdict(int)
    for trial, _ in distinct_calls(first):
        unit = units.get(trial.fixture)
        if unit is not None:
            takes[unit] += 1
    if not takes:
        return 0
    rounds, rest = divmod(pairs, len(takes))
    return rounds * sum(takes.values()) + sum(sorted(takes.values())[:rest])


# Finds the questions about known samples that judges still have to answer, for the forecast.


def unanswered_shares(
    jobs: Iterable[Job], known: Mapping[int, Completion], judged: Mapping[str, Completion]
) -> tuple[float, ...]:
    """Return for each job which share of the questions about its known samples has no answer yet; 0
    for a job without such questions. `known` are the answers by the trial's index, `judged` those
    of judges by `question_key`."""
    shares = []
    begin = 0
    for job in jobs:
        by = {e.contract_from: e for e in job.evaluations}
        asked: set[str] = set()
        for index, trial in enumerate(job.trials, begin):
            evaluation, answer = by[trial.contract_from], known.get(index)
            if answer is not None and evaluation.evaluator.has_judges:
                sample = Sample(trial, answer, output=answer.text)
                questions = judge_questions(sample, evaluation.contract, evaluation.evaluator)
                asked.update(map(question_key, map(question_id, questions)))
        begin += len(job.trials)
        shares.append(len(asked - judged.keys()) / len(asked) if asked else 0.0)
    return tuple(shares)


TokenPair = tuple[float, float]
"""The tokens of a request and those of its answer."""
CountTokens = Callable[[Request], tuple[TokenPair, TokenPair]]
"""The expected number of tokens of a request and its answer, and the highest possible numbers.
Infinite if there is no limit."""


class EarlierCalls(NamedTuple):
    """What calls to each model took in the last run of a contract: to its own (`own`), and to
    judges and simulated users (`others`)."""

    own: Mapping[str, ModelUse] = {}
    others: Mapping[str, ModelUse] = {}


_NOTHING_EARLIER = EarlierCalls()


@dataclass(frozen=True, slots=True)
class Amounts:
    """What a request costs in US dollars, `expected` and at `worst`, and the `tokens` it takes.
    `earlier` has what calls took in the last runs by contract, and `before` that of one."""

    expected: Price
    worst: Price
    tokens: CountTokens
    earlier: Mapping[str, EarlierCalls] = field(default_factory=dict)
    before: EarlierCalls = _NOTHING_EARLIER

    def of(self, contract: str) -> Amounts:
        """Return the amounts for a contract."""
        return replace(self, before=self.earlier.get(contract, _NOTHING_EARLIER))


# How long the answers will be. `max_tokens` is a limit, and most answers stay far below it.


_USUAL_ANSWER = 256
_USUAL_VERDICT = 80
"""The tokens of an answer, and of one of a judge, which gives its reason in at most three
sentences, or of a simulated user."""
_LONGEST_PROMPT = 1_000_000
"""In tokens. A provider, or who writes the history, may count more than any model reads."""


def _as_usual(
    requests: Sequence[Request], tokens: int, earlier: Mapping[str, ModelUse]
) -> list[Request]:
    """Return the requests with an answer of the expected length as their longest: that of earlier
    answers, or `tokens`. Their prompts get the length of earlier ones, if that is known."""
    found: list[Request] = []
    settings: dict[tuple[str, int], Mapping[str, Any]] = {}  # kept by identity, as prices are
    asked = {request.model for request in requests} & earlier.keys()  # a record may have any others
    prompts = {model: _prompt_like(earlier[model]) for model in asked}
    for request in requests:
        before = earlier.get(request.model)
        key = request.model, id(request.params)
        if key not in settings:
            settings[key] = _with_answer(request.params, tokens, before)
        messages = prompts.get(request.model) or request.messages
        found.append(replace(request, messages=messages, params=settings[key]))
    return found


def _prompt_like(before: ModelUse) -> tuple[Message, ...]:
    """Return messages as long as the earlier ones; none if their length is not known."""
    if before.prompt_tokens is None:
        return ()
    length = min(before.prompt_tokens // before.calls, _LONGEST_PROMPT)
    return (Message("user", "x" * (CHARACTERS_A_TOKEN * length)),)


def _with_answer(
    params: Mapping[str, Any], tokens: int, before: ModelUse | None
) -> Mapping[str, Any]:
    length = min([tokens, *written_limits(params)])
    if before and before.completion_tokens is not None:
        length = -(-before.completion_tokens // before.calls) or 1
    return {**params, **dict.fromkeys(ANSWER_LIMITS, length)}


class _Sums(NamedTuple):
    """Calls and what they take. The cost is NaN if a price is not known; what nothing bounds is
    infinite."""

    calls: int = 0
    prompt: float = 0.0
    completion: float = 0.0
    cost: float = 0.0

    def amounts(self, most_cost: float = math.inf) -> ForecastAmounts:
        cost = self.cost if math.isnan(self.cost) else min(self.cost, most_cost)
        prompt, completion = map(_known, (self.prompt, self.completion))
        return ForecastAmounts(
            self.calls,
            None if prompt is None else math.ceil(prompt),
            None if completion is None else math.ceil(completion),
            _known(cost),
        )


class _Range(NamedTuple):
    """What calls take: expected, and at most."""

    expected: _Sums = _Sums()
    most: _Sums = _Sums()


class JobForecast(NamedTuple):
    """What the calls of one contract take, its planned calls (`calls`), and how many `fresh`
    samples of fixtures that seem to have broken it takes at most."""

    amounts: _Range
    calls: CallEstimate
    fresh: int

    def most_asked(self, questions: int) -> int:
        """Return the questions to judges and users at most, of so many about planned calls."""
        again = share_made(questions, self.fresh, self.calls.most) if self.fresh else 0
        return questions + again


def forecast_run(
    work: Work,
    known: Mapping[int, Completion],
    amounts: Amounts,
    unanswered: Sequence[float] | None = None,
) -> Forecast | None:
    """Forecast the calls that a run still has to make; None if it has to make none.

    `known` are the answers that take no call, by the trial's index. Answers of recordings take none
    either. `unanswered` is what `unanswered_shares` returns for them; None if judges have graded
    them all. The cost limit of the policy bounds the cost.
    """
    jobs = [found.amounts for found in forecast_jobs(work, amounts, known, unanswered)]
    ranges = [*jobs, *_anchors(work, amounts)]
    expected, most = (_total(each) for each in zip(*ranges, strict=True))
    if not most.calls:
        return None
    limit = work.policy.limits.cost_usd
    highest = most.amounts(math.inf if limit is None else limit)
    bound = math.inf if highest.cost_usd is None else highest.cost_usd
    return Forecast(expected.amounts(bound), highest)


def share_made(questions: int, calls: int, planned: int) -> int:
    """Return the questions to judges and users if only so many of the planned calls are made."""
    return math.ceil(questions * calls / planned) if planned else questions


def forecast_jobs(
    work: Work,
    amounts: Amounts,
    known: Mapping[int, Completion] = {},
    unanswered: Sequence[float] | None = None,
) -> Iterator[JobForecast]:
    """Forecast the calls of each job of a run. The arguments are as in `forecast_run`."""
    unanswered = unanswered or [0.0] * len(work.jobs)
    strictest, concurrency = levels(work.jobs), work.policy.limits.concurrency
    made = {call.trials[0] for call in group_calls(work.trials, known)[0] if not call.known}
    begin = 0
    of_jobs = zip(work.jobs, work.judging_of_jobs, work.users_of_jobs, unanswered, strict=True)
    for job, judging, users, share in of_jobs:
        own = [t for index, t in enumerate(job.trials, begin) if index in made]
        begin += len(job.trials)
        planned, left = _live(job.trials), _live(own)
        whole, calls = CallEstimate(0, 0, 0), 0
        if left:
            whole = estimate_calls(job, strictest, len(planned), concurrency)
            calls = max(0, whole.expected - (len(planned) - len(left)))
        # Recordings give answers without a planned call, and judges are asked about them. How many
        # pairs they compare is certain only at the end.
        asks = left or not planned or has_preferences(job)
        asked = live_questions(joined((judging, users))) if asks else Questions()
        # Fresh samples are known from the cache only if all planned ones are.
        fresh = sum(map(most_fresh_samples, job.evaluations)) if left else 0
        its = amounts.of(job.contract.name)
        if any(trial.request.call is not SINGLE for trial in job.trials):
            # A record counts a conversation as one call.
            its = replace(its, before=its.before._replace(own={}))
        found = _range(left, asked, calls, len(planned), its, fresh)
        ungraded = math.ceil((len(planned) - len(left)) * share)
        if ungraded:
            asked = live_questions(judging)
            found = _with_questions(found, asked, ungraded, len(planned), its)
        yield JobForecast(found, whole, fresh)


def _with_questions(
    found: _Range, asked: Questions, ungraded: int, planned: int, amounts: Amounts
) -> _Range:
    """Return the range with the questions about so many known samples. If it has calls of its own,
    the most already includes them."""
    more = _range((), asked, ungraded, planned, amounts)
    most = found.most if found.most.calls else more.most
    calls = found.expected.calls + more.expected.calls - ungraded
    expected = _total((found.expected, more.expected))
    return _Range(expected._replace(calls=min(calls, most.calls)), most)


def _live(trials: Sequence[Trial]) -> tuple[Request, ...]:
    """Return the distinct requests of the trials that no recording answers."""
    return distinct_requests([t for t in trials if not is_recorded(t.request.model)])


def live_questions(asked: Questions) -> Questions:
    """Return the questions that no recording answers."""
    about, most = ([r for r in each if not is_recorded(r.model)] for each in asked)
    return Questions(tuple(about), tuple(most))


def _anchors(work: Work, amounts: Amounts) -> Iterator[_Range]:
    """Yield what the questions about the anchors of each calibration take."""
    for plan in work.anchors:
        questions = Questions(plan.questions, plan.questions)
        yield _range((), questions, 0, 0, amounts.of(plan.contract))


def _range(
    requests: Sequence[Request],
    asked: Questions,
    calls: int,
    planned: int,
    amounts: Amounts,
    fresh: int = 0,
) -> _Range:
    questions = share_made(len(asked.most), calls, planned)
    share = calls / len(requests) if requests else 0.0
    asked_share = calls / planned if planned else 1.0
    own = _as_usual(requests, _USUAL_ANSWER, amounts.before.own)
    others = _as_usual(asked.about, _USUAL_VERDICT, amounts.before.others)
    about = _total(
        _sums(usual, amounts.expected, amounts.tokens, 0, part)
        for usual, part in ((own, share), (others, asked_share))
    )
    again = fresh + share_made(len(asked.most), fresh, planned) if fresh else 0
    most = _sums((*requests, *asked.most), amounts.worst, amounts.tokens, 1, again=again)
    # What is expected is no more than the most, whatever a record says.
    return _Range(_Sums(calls + questions, *map(min, about[1:], most[1:])), most)


def _sums(
    requests: Sequence[Request],
    price: Price,
    tokens: CountTokens,
    bound: int,
    share: float = 1.0,
    again: int = 0,
) -> _Sums:
    """Add up a share of what the requests take. `bound` is 0 for the expected tokens, and 1 for the
    most. So many of them, the dearest, are sent `again`."""
    if not share:
        return _Sums()
    prompts, answers, costs = array("d"), array("d"), array("d")
    for request in requests:
        prompt, answer = tokens(request)[bound]
        cost = price(request)
        prompts.append(prompt * share)
        answers.append(answer * share)
        costs.append(math.nan if cost is None else cost * share)
    if not requests:
        return _Sums()
    sums = (
        math.fsum(each) + again * max(each) if again else math.fsum(each)
        for each in (prompts, answers, costs)
    )
    return _Sums(len(requests) + again, *sums)


def _total(each: Iterable[_Sums]) -> _Sums:
    calls, prompts, answers, costs = zip(*each, strict=True)
    return _Sums(sum(calls), math.fsum(prompts), math.fsum(answers), math.fsum(costs))


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None
