"""Asks an embedding model whether two answers to a fixture mean the same, for the objective
`consistency`: while the answers arrive, each pair of different answers once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from gatekeeper.checks.repairs.steps import repair
from gatekeeper.contract.checks.embeddings import LONGEST, comparison_request
from gatekeeper.contract.checks.judge_questions import question_id
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.similar_texts import SimilarTexts
from gatekeeper.contract.values.trial import Request, Sample, Trial
from gatekeeper.gate.samples.consistency import Answer, answer_meaning, pair_question


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
