"""Counts how many pairs of a fixture's answers agree. Pure.

A single answer cannot be consistent, so no check of one sample can say it: the objective
`consistency` is about all answers to a fixture. The share of pairs that agree does not depend on
how many samples were taken, as the share of the commonest answer does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from gatekeeper.checks.reading.canonical_json import canonical_json
from gatekeeper.checks.reading.output import NotJson, parse_json
from gatekeeper.checks.repairs.steps import repair
from gatekeeper.contract.calls.trajectory import trajectory
from gatekeeper.contract.checks.embeddings import (
    LONGEST,
    comparison_request,
    meaning_question,
    means_the_same,
)
from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.objectives import SimilarTexts
from gatekeeper.contract.values.trial import (
    JudgeAnswer,
    Outcome,
    QuestionId,
    Request,
    Sample,
    Trial,
)
from gatekeeper.sampling.stored_text import is_long


class Pairs(NamedTuple):
    """The pairs of a fixture's answers: how many agree, of how many that could be compared."""

    agreeing: int
    total: int


class Answer(NamedTuple):
    """What an answer says: the same for answers that agree.

    `text` is its JSON in one layout, or its text with single spaces; `calls` are the tools that it
    calls. `in_words` is false for JSON, and for a text that is too long to be kept.
    """

    text: str
    calls: tuple[str, ...]
    in_words: bool


def count_pairs(answers: int) -> int:
    """Return how many pairs that many answers make."""
    return answers * (answers - 1) // 2


def pairs_of_units(
    outcomes: Sequence[Outcome],
    planned: Mapping[str, int],
    counts_with: Mapping[str, str],
    similar: SimilarTexts | None,
) -> list[tuple[float, int, int]]:
    """Return, for each unit, how many pairs of answers to the same fixture agree, how many could be
    compared, and how many there should be. `planned` is by fixture, and `counts_with` maps a
    fixture to the one that stands for its unit."""
    found = agreeing_pairs(outcomes, similar)
    agreeing: Counter[str] = Counter()
    known: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for fixture, samples in planned.items():
        key = counts_with.get(fixture, fixture)
        pairs = found.get(fixture, Pairs(0, 0))
        agreeing[key] += pairs.agreeing
        known[key] += pairs.total
        wanted[key] += max(pairs.total, count_pairs(samples))
    return [(float(agreeing[key]), known[key], wanted[key]) for key in wanted if wanted[key]]


def agreeing_pairs(
    outcomes: Iterable[Outcome], similar: SimilarTexts | None = None
) -> dict[str, Pairs]:
    """Return the pairs of each fixture of one arm. Calls that failed make no pair, and neither do
    two texts whose embeddings are missing."""
    answers: dict[str, Counter[Answer]] = defaultdict(Counter)
    said: dict[str, dict[QuestionId, JudgeAnswer]] = defaultdict(dict)
    for outcome in outcomes:
        if outcome.sample.completion is not None:
            fixture = outcome.sample.trial.fixture
            answers[fixture][answer_meaning(outcome.sample)] += 1
            said[fixture].update((a.asked, a) for a in outcome.sample.judge_answers)
    return {
        fixture: _count_pairs(counts, said[fixture], similar) for fixture, counts in answers.items()
    }


def _count_pairs(
    counts: Counter[Answer],
    said: Mapping[QuestionId, JudgeAnswer],
    similar: SimilarTexts | None,
) -> Pairs:
    agreeing, total = sum(map(count_pairs, counts.values())), count_pairs(counts.total())
    if similar is None:
        return Pairs(agreeing, total)
    for one, other in combinations(counts, 2):
        question = pair_question(similar, one, other)
        same = False if question is None else means_the_same(similar, question, said)
        pairs = counts[one] * counts[other]
        agreeing += pairs * (same is True)
        total -= pairs * (same is None)
    return Pairs(agreeing, total)


def pair_question(similar: SimilarTexts, one: Answer, other: Answer) -> Request | None:
    """Return the question whether two different answers agree; None if they do not, because only
    answers in words that call the same tools can mean the same."""
    if one.calls != other.calls or not (one.in_words and other.in_words):
        return None
    return meaning_question(similar, one.text, other.text)


def answer_meaning(sample: Sample) -> Answer:
    """Return what a sample with a completion says.

    JSON agrees if it is the same value, whatever its layout and the order of its keys; other text
    if it is the same apart from white space. The tools that are called must be the same, too.
    """
    completion = sample.completion
    if completion is None:
        raise ValueError("sample: must have a completion")
    made = (answered.call for answered in trajectory(sample).calls)
    calls = tuple(f"{call.name} {_meaning(call.arguments)[0]}" for call in made)
    if completion.cut is not None:
        return Answer(completion.cut.sha256, calls, in_words=False)
    text, in_words = _meaning(sample.output)
    return Answer(text, calls, in_words and not is_long(completion))


def _meaning(text: str) -> tuple[str, bool]:
    """Return a text that is the same for texts that agree, and whether it is in words."""
    value = parse_json(text)
    if isinstance(value, NotJson):
        return " ".join(text.split()), True
    return canonical_json(value), False


# Asks an embedding model whether two answers to a fixture mean the same, for the objective
# `consistency`: while the answers arrive, each pair of different answers once.


class AnswerComparisons:
    """The answers on head so far, and what is asked about them. An objective is only about head."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._similar = similar_of_fixtures(contract)
        self._answers: dict[str, dict[int, Answer]] = defaultdict(dict)

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        """Return what is still to be asked about the sample and those that came before it. Called
        in any order: of two samples, the later one asks about both."""
        trial = sample.trial
        similar = self._similar.get(trial.fixture, ())
        if not similar or trial.arm != "head" or sample.completion is None:
            return ()
        known, answered = self._answers[trial.fixture], {a.asked for a in sample.judge_answers}
        if trial.repetition not in known:
            policy, mode = self._contract.repair, self._contract.mode
            text = sample.completion.text
            output = text if sample.completion.is_part else repair(text, policy, mode).output
            known[trial.repetition] = answer_meaning(replace(sample, output=output))
        own = known[trial.repetition]
        others = dict.fromkeys(answer for answer in known.values() if answer != own)
        found = (pair_question(one, own, other) for one in similar for other in others)
        return tuple(q for q in found if q is not None and question_id(q) not in answered)


class ComparisonForecast:
    """What is asked about a contract's answers if all of them differ."""

    def __init__(self, contract: Contract) -> None:
        self._similar = similar_of_fixtures(contract)

    def about(self, trial: Trial, characters: int) -> tuple[Request, ...]:
        """Return the comparisons of an answer of so many characters with each earlier answer to the
        fixture."""
        if trial.arm != "head":
            return ()
        text = "x" * min(characters, LONGEST)
        asked = [
            comparison_request(similar.model, text, text)
            for similar in self._similar.get(trial.fixture, ())
        ]
        # The texts of a forecast are all the same; the number keeps the questions apart.
        pairs = range(trial.repetition)
        return tuple(replace(question, repetition=n) for question in asked for n in pairs)


def similar_of_fixtures(contract: Contract) -> dict[str, tuple[SimilarTexts, ...]]:
    """Return how the answers to each fixture are compared, if they are."""
    compared = [(o.category, o.similar) for o in contract.slo if o.similar]
    if not compared:
        return {}
    return {
        fixture.id: tuple(dict.fromkeys(s for c, s in compared if c in (None, fixture.category)))
        for fixture in contract.fixtures
    }
