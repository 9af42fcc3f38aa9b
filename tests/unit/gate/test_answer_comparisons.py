"""`consistency` by embedding: what is asked about answers as they arrive, and what it counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.outcomes import contract, outcome

from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.values.definition import Fixture, RepairPolicy, ToolCall
from gatekeeper.contract.values.objectives import SimilarTexts, read_objectives
from gatekeeper.contract.values.trial import Completion, JudgeAnswer, Outcome, Request, Sample
from gatekeeper.gate.objectives.objectives import slo_results
from gatekeeper.gate.samples.consistency import (
    AnswerComparisons,
    ComparisonForecast,
    Pairs,
    agreeing_pairs,
)

SIMILAR = {"model": "openai/embed", "min": 0.9}
WRITTEN = {"consistency": {"target": 0.9, "similar": SIMILAR}}


def compared(*fixtures: str, slo=WRITTEN, **fields):
    return contract(*fixtures, samples=3, slo=read_objectives(slo), **fields)


def answered(question: Request, says: str | None) -> JudgeAnswer:
    return JudgeAnswer(question_id(question), None if says is None else Completion(says))


def arriving(texts: list[str], cosine, order: list[int] | None = None) -> list[Outcome]:
    """The answers to one fixture, asked about as they arrive. `cosine` answers for two texts."""
    comparisons = AnswerComparisons(compared("f"))
    outcomes = [outcome("f", "head", n, True, text) for n, text in enumerate(texts)]
    for n in order or range(len(texts)):
        asked = comparisons.questions(outcomes[n].sample)
        answers = tuple(answered(q, cosine(*(m.content for m in q.messages))) for q in asked)
        outcomes[n] = replace(
            outcomes[n], sample=replace(outcomes[n].sample, judge_answers=answers)
        )
        assert comparisons.questions(outcomes[n].sample) == ()
    return outcomes


def by_first_letter(one: str, other: str) -> str:
    return "0.950000" if one[0] == other[0] else "0.100000"


@given(
    st.lists(st.sampled_from(["a", "a b", " a  b", "b", '{"a": 1}', "1", ""]), max_size=6),
    st.randoms(use_true_random=False),
)
def test_each_pair_counts_whatever_the_order_of_arrival(texts, rng):
    order = rng.sample(range(len(texts)), len(texts))
    found = agreeing_pairs(arriving(texts, by_first_letter, order), SimilarTexts(**SIMILAR))

    def agree(one: str, other: str) -> bool:
        one, other = (" ".join(text.split()) for text in (one, other))
        return one == other or (one[:1] == other[:1] == "a")

    pairs = [(a, b) for i, a in enumerate(texts) for b in texts[:i]]
    counted = Pairs(sum(agree(*pair) for pair in pairs), len(pairs))
    assert found.get("f", Pairs(0, 0)) == counted


def test_only_answers_in_words_are_compared():
    asked: list[tuple[str, str]] = []
    arriving(
        ["yes", " yes", "no", "", "1", "2", '{"a": 1}', "x" * 100_001],
        lambda one, other: asked.append((one, other)) or "0.000000",
    )
    assert asked == [("no", "yes")]


def test_answers_that_call_other_tools_never_agree():
    outcomes = arriving(["yes", "sure"], lambda *_: "1.000000")
    similar = SimilarTexts(**SIMILAR)
    assert agreeing_pairs(outcomes, similar) == {"f": Pairs(1, 1)}
    sample = outcomes[1].sample
    calls = (ToolCall("t", "{}"),)
    called = replace(sample, completion=replace(sample.completion, tool_calls=calls))
    outcomes[1] = replace(outcomes[1], sample=called)
    assert agreeing_pairs(outcomes, similar) == {"f": Pairs(0, 1)}


@pytest.mark.parametrize("says", [None, "nan", "about the same"])
def test_missing_embeddings_are_unknown_and_never_agreement(says):
    many = [
        replace(o, sample=replace(o.sample, trial=replace(o.sample.trial, fixture=f"f{n}")))
        for n in range(80)
        for o in arriving(["yes", "sure", "yes"], lambda *_: says)
    ]
    assert agreeing_pairs(many, SimilarTexts(**SIMILAR))["f0"] == Pairs(1, 1)
    planned = Counter(o.sample.trial.fixture for o in many)
    (found,) = slo_results(compared(*planned), many, planned)
    assert (found.met, found.unmeasured) == (None, True)


def test_base_and_what_no_objective_is_about_are_not_compared():
    texts = {"category": "plain", "id": "f"}
    of_category = {"categories": {"billing": WRITTEN}}
    plain = compared(fixtures=(Fixture("f", {}, category=texts["category"]),), slo=of_category)
    for tested, arm in ((compared("f"), "base"), (plain, "head")):
        comparisons = AnswerComparisons(tested)
        samples = [outcome("f", arm, n, True, text).sample for n, text in enumerate("ab")]
        assert [comparisons.questions(sample) for sample in samples] == [(), ()]
        assert ComparisonForecast(tested).about(samples[1].trial, 9) == ()
    failed = Sample(outcome("f", "head", 0, None).sample.trial, None)
    assert AnswerComparisons(compared("f")).questions(failed) == ()


def test_answers_are_compared_after_the_repairs():
    comparisons = AnswerComparisons(compared("f", repair=RepairPolicy(("lowercase",))))
    samples = [outcome("f", "head", n, True, text).sample for n, text in enumerate(("Yes", "YES"))]
    assert [comparisons.questions(sample) for sample in samples] == [(), ()]


def test_the_forecast_has_each_pair_once():
    forecast = ComparisonForecast(compared("f"))
    trials = [outcome("f", "head", n, True).sample.trial for n in range(4)]
    asked = [question for trial in trials for question in forecast.about(trial, 200_000)]
    assert len(asked) == 6
    assert {len(m.content) for q in asked for m in q.messages} == {100_000}
    assert len({question_id(q) for q in forecast.about(trials[3], 9)}) == 3
