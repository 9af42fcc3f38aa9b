"""Asks several judges the same question, and takes the answer of their majority.

A judge that refuses, answers what cannot be read, or does not know, has no vote. Without a majority
of all judges the answer is unknown, and never yes.

They say whether rules follow from the prompt, whether tests are valid, and whether a strong model's
answer is correct. Such an answer stands in `metadata.proposed`, where no check reads it, until a
person accepts it as `expected`, by `accept_answers` or by hand.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gatekeeper.author.generation.ask import Asker, UnusableAnswer, ask_together
from gatekeeper.author.generation.files import (
    FixtureRow,
    differing,
    require_unchanged,
    write_fixture_rows,
)
from gatekeeper.author.generation.items import one_line
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt, render_each
from gatekeeper.author.generation.questions import SEED
from gatekeeper.author.generation.replace_files import replace_files
from gatekeeper.author.generation.run import Generated, GenerationPlan
from gatekeeper.author.specification.spec_file import InputConstraint, Lines, Rule
from gatekeeper.contract.models.names import family_of
from gatekeeper.contract.reading.data_blocks import clean
from gatekeeper.contract.reading.json_answer import stands_in
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import MeasurementError, UsageError

_VOTES: Mapping[str, bool | None] = {"yes": True, "no": False, "unknown": None}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the majority of the judges says; None if there is none. `reason` is that of the first
    judge of the majority. `votes` are the judges' answers, None for one that has no vote."""

    answer: bool | None
    reason: str
    votes: Mapping[str, bool | None]

    @property
    def score(self) -> float:
        """Return the share of all judges that say yes."""
        return sum(vote is True for vote in self.votes.values()) / len(self.votes)


class Panel:
    """The judges of a run. `unusable` counts the answers without a vote, by judge."""

    def __init__(self, asker: Asker, judges: Sequence[str]) -> None:
        self.judges = tuple(judges)
        self.unusable: Counter[str] = Counter()
        self._asker = asker
        self._asked: Counter[str] = Counter()

    async def ask(self, stage: str, data: Mapping[str, str]) -> Verdict:
        """Return the answer to a question. Raises MeasurementError if the run cannot go on, and
        UsageError for a judge that cannot be called."""
        answers = await ask_together(*(self._one(j, stage, data) for j in self.judges))
        return _majority(dict(zip(self.judges, map(_vote, answers), strict=True)))

    async def ask_of_each(
        self, stage: str, data: Mapping[str, str], count: int
    ) -> tuple[Verdict, ...]:
        """Return the answers to a question about `count` numbered items. Raises as `ask` does."""
        answers = await ask_together(*(self._one(j, stage, data) for j in self.judges))
        rows = [_by_number(answer) for answer in answers]
        return tuple(
            _majority({j: _vote(found.get(n)) for j, found in zip(self.judges, rows, strict=True)})
            for n in range(1, count + 1)
        )

    def require_answers(self) -> None:
        """Raise MeasurementError if a judge gave no usable answer at all."""
        for judge, asked in self._asked.items():
            if self.unusable[judge] == asked:
                raise MeasurementError(
                    f"{judge} gave no usable answer to any of {asked} questions; choose another "
                    "judge with --judges"
                )

    async def _one(
        self, judge: str, stage: str, data: Mapping[str, str]
    ) -> Mapping[str, Any] | None:
        self._asked[judge] += 1
        try:
            found = await self._asker.ask(stage, data, model=judge)
        except UnusableAnswer:
            found = None
        # A verdict that stands in what the judge was shown is a quotation.
        if found is None or stands_in(found, [*map(clean, data.values())]):
            self.unusable[judge] += 1
            return None
        return found


_Vote = tuple[bool | None, str]


def _vote(row: Mapping[str, Any] | None) -> _Vote:
    return (None, "") if row is None else (_VOTES[row["verdict"]], one_line(row["reason"]))


def _by_number(answer: Mapping[str, Any] | None) -> dict[int, Mapping[str, Any]]:
    """Return the rows of an answer by their number, without numbers that are there twice."""
    rows = [] if answer is None else answer["verdicts"]
    numbers = Counter(row["number"] for row in rows)
    return {row["number"]: row for row in rows if numbers[row["number"]] == 1}


def _majority(votes: Mapping[str, _Vote]) -> Verdict:
    found = Counter(vote for vote, _ in votes.values() if vote is not None)
    answer = next((vote for vote, number in found.items() if 2 * number > len(votes)), None)
    reasons = (reason for vote, reason in votes.values() if vote is answer and reason)
    return Verdict(answer, next(reasons, ""), {judge: vote for judge, (vote, _) in votes.items()})


@dataclass(frozen=True, slots=True)
class RuleQuality:
    """A rule, and whether it follows from its lines; None if unknown. `left_out` if it is not in
    the specification any more."""

    id: str
    text: str
    lines: Lines
    grounded: bool | None
    reason: str = ""
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class TestQuality:
    """A test, and whether it is valid; None if unknown. `rule` is empty for a test of no rule."""

    __test__ = False

    id: str
    category: str
    rule: str
    valid: bool | None
    reason: str = ""
    by_person: bool = False
    left_out: bool = False


async def judge_groundedness(
    panel: Panel, prompt: NumberedPrompt, rules: Sequence[Rule]
) -> tuple[RuleQuality, ...]:
    """Return what the judges say of each rule. Raises as `Panel.ask` does."""
    found = await ask_together(
        *(panel.ask("rule_grounded", groundedness_question(prompt, rule)) for rule in rules)
    )
    return tuple(
        RuleQuality(rule.id, rule.text, rule.lines, verdict.answer, verdict.reason)
        for rule, verdict in zip(rules, found, strict=True)
    )


def groundedness_question(prompt: NumberedPrompt, rule: Rule) -> dict[str, str]:
    """Return what the judges see. A rule that a person wrote may name no lines."""
    lines = ", ".join(map(str, rule.lines)) or "any"
    return {**prompt.data, "rule": rule.text, "lines": lines}


VALID, VALIDITY = "valid", "validity"
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS: Mapping[bool | None, str] = {True: "valid", False: "not valid", None: "unknown"}


async def judge_validity(
    panel: Panel, constraints: Sequence[InputConstraint], rows: Sequence[FixtureRow]
) -> tuple[tuple[FixtureRow, ...], tuple[TestQuality, ...]]:
    """Return the rows with the judges' verdicts in them, and what is known of each test. Raises as
    `Panel.ask` does."""
    decided = {row.id: valid for row in rows if (valid := persons_decision(row)) is not None}
    open_rows = [row for row in rows if row.id not in decided]
    asked = [row for row in open_rows if constraints and isinstance(row.data.get("vars"), dict)]
    answers = await ask_together(
        *(panel.ask("test_valid", validity_question(constraints, row)) for row in asked)
    )
    verdicts = {row.id: verdict for row, verdict in zip(asked, answers, strict=True)}
    written = tuple(
        row if row.id in decided else _with_verdict(row, verdicts.get(row.id)) for row in rows
    )
    return written, tuple(_test(r, decided.get(r.id), verdicts.get(r.id)) for r in rows)


def _test(row: FixtureRow, decided: bool | None, verdict: Verdict | None) -> TestQuality:
    """Return what is known of a test: what a person decided, or else what the judges say."""
    category = row.data.get("category")
    found = verdict or Verdict(decided, "", {})
    return TestQuality(
        row.id,
        category if isinstance(category, str) else "other",
        row.rule,
        found.answer,
        found.reason,
        by_person=decided is not None,
    )


def persons_decision(row: FixtureRow) -> bool | None:
    """Return what a person says of the test's validity; None if nobody did."""
    metadata = row.metadata
    valid, validity = metadata.get(VALID), metadata.get(VALIDITY)
    if not isinstance(valid, bool):
        return None
    said = validity.get("verdict") if isinstance(validity, dict) else None
    return None if said == _WORDS[valid] else valid


def validity_question(constraints: Sequence[InputConstraint], row: FixtureRow) -> dict[str, str]:
    """Return what the judges see: the input specification and the test's values alone."""
    return {
        "input": "\n".join(f"- {constraint.text}" for constraint in constraints),
        "test": clean(json.dumps(row.data["vars"], ensure_ascii=False, indent=1)),
    }


def with_metadata(row: FixtureRow, metadata: Mapping[str, Any], **more: Any) -> FixtureRow:
    """Return the fixture with other metadata, and with other keys of its own."""
    data = {**row.data, **more, "metadata": dict(metadata)}
    line = json.dumps(data, ensure_ascii=False)
    # JSON can escape halves of a character, which no file can hold as they are.
    return FixtureRow(row.id, json.dumps(data) if _SURROGATE.search(line) else line)


def _with_verdict(row: FixtureRow, verdict: Verdict | None) -> FixtureRow:
    before = row.metadata
    metadata = {name: value for name, value in before.items() if name not in (VALID, VALIDITY)}
    if verdict is not None:
        if verdict.answer is not None:
            metadata[VALID] = verdict.answer
        metadata[VALIDITY] = {
            "verdict": _WORDS[verdict.answer],
            "reason": verdict.reason,
            "judges": dict(verdict.votes),
        }
    return row if metadata == before else with_metadata(row, metadata)


PROPOSED, ACCEPTED = "proposed", "ground_truth"
FEWEST_JUDGES = 2
_FIRST_WORD = re.compile(r"(?:[a-z]+\.)?([a-z]+)")


@dataclass(frozen=True, slots=True)
class Proposals:
    """What became of the answers: ids of tests. `failed` have no answer of the model, `rejected`
    one that the majority of the judges does not accept."""

    model: str
    proposed: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def model_family(model: str) -> str:
    """Return the family of a model, or the first word of its name if the name says none."""
    name = model.rpartition("/")[2].casefold()
    word = _FIRST_WORD.match(name)
    return family_of(model) or (word[1] if word else name)


def require_other_families(model: str, judges: Sequence[str]) -> None:
    """Raise UsageError unless there are several judges, all of other families than the model's."""
    if len(set(judges)) < FEWEST_JUDGES:
        raise UsageError(
            "--ground-truth needs at least two judges from other families than the answering "
            "model; name the judges with --judges A,B"
        )
    same = [judge for judge in judges if model_family(judge) == model_family(model)]
    if same:
        raise UsageError(
            f"--judges {same[0]}: this model is of the same family as {model}, and "
            "may overlook mistakes that both models make; name a model of another family"
        )


async def with_proposed_answers(
    plan: GenerationPlan, asker: Asker, panel: Panel, model: str, items: Generated
) -> tuple[Generated, Proposals]:
    """Return the items with an answer proposed for each test that has none, and is not known to be
    invalid. An earlier proposal is replaced or removed. Raises as `Panel.ask` does."""
    rows = [row for row in items.rows if lacks_answer(row)]
    sound, _ = render_each(plan.prompt.prompt, rows)
    params = plan.prompt.prompt.params
    found = await ask_together(
        *(_answer(asker, panel, Request(model, m, params, SEED, 0)) for _, m in sound)
    )
    answers = {row.id: answer for (row, _), answer in zip(sound, found, strict=True)}
    asked = {row.id for row in rows}
    written = tuple(
        _with_proposal(row, model, answers.get(row.id)) if row.id in asked else row
        for row in items.rows
    )
    proposals = Proposals(
        model,
        tuple(name for name, answer in answers.items() if answer and answer[1].answer),
        tuple(name for name, answer in answers.items() if answer and not answer[1].answer),
        tuple(row.id for row in rows if not answers.get(row.id)),
    )
    return replace(items, rows=written), proposals


def accept_answers(
    rows: Sequence[FixtureRow], ids: Sequence[str] | None
) -> tuple[tuple[FixtureRow, ...], tuple[str, ...]]:
    """Return the rows with proposed answers as `expected`, and the ids of those that changed.

    Args:
        rows: All fixtures.
        ids: The tests whose answers a person accepts; None for all that have one.

    Raises UsageError for an id that has no proposed answer.
    """
    known = {row.id for row in rows if _proposal(row) is not None}
    unknown = [name for name in ids or () if name not in known]
    if unknown or not known:
        named = f"the test {unknown[0]} has" if unknown else "the tests have"
        raise UsageError(
            f"--accept-ground-truth: {named} no proposed answer; ask for answers with "
            "--ground-truth MODEL"
        )
    chosen = known if ids is None else set(ids)
    return tuple(_accept(row) if row.id in chosen else row for row in rows), tuple(
        row.id for row in rows if row.id in chosen
    )


def _accept(row: FixtureRow) -> FixtureRow:
    proposal = dict(_proposal(row) or {})
    answer = proposal.pop("answer")
    rest = {name: value for name, value in row.metadata.items() if name != PROPOSED}
    return with_metadata(row, {**rest, ACCEPTED: proposal}, expected=answer)


def _proposal(row: FixtureRow) -> dict[str, object] | None:
    found = row.metadata.get(PROPOSED)
    return found if isinstance(found, dict) and isinstance(found.get("answer"), str) else None


def lacks_answer(row: FixtureRow) -> bool:
    """Return whether an answer is proposed for the test."""
    data = row.data
    if data.get("turns") or data.get("user"):
        return False  # its answer depends on a whole conversation
    is_open = data.get("expected") is None and isinstance(data.get("vars"), dict)
    return is_open and row.metadata.get(VALID) is not False


async def _answer(asker: Asker, panel: Panel, request: Request) -> tuple[str, Verdict] | None:
    """Return the model's answer with the judges' verdict; None if there is no answer."""
    answer = await asker.text(request, "ground_truth")
    if answer is None or not answer.strip():
        return None
    asked = "\n\n".join(f"{message.role}:\n{message.content}" for message in request.messages)
    return answer, await panel.ask("answer_correct", {"request": asked, "answer": answer})


def _with_proposal(row: FixtureRow, model: str, answer: tuple[str, Verdict] | None) -> FixtureRow:
    before = row.metadata
    metadata = {name: value for name, value in before.items() if name != PROPOSED}
    if answer is not None and answer[1].answer:
        text, verdict = answer
        metadata[PROPOSED] = {
            "answer": text,
            "model": model,
            "score": round(verdict.score, 3),
            "judges": dict(verdict.votes),
        }
    return row if metadata == before else with_metadata(row, metadata)


ALL = "all"
EXAMPLE = '{type: equals, value: "{{ expected }}", when: expected is not none}'


def accept_proposals(plan: GenerationPlan, ids: Sequence[str], root: Path) -> tuple[str, ...]:
    """Write the fixture file, and return the tests that have an expected output now. Calls no
    model.

    Raises UsageError for a test without a proposed answer, MeasurementError and WriteError; then
    the file is not changed.
    """
    rows, changed = accept_answers(plan.present.fixtures, None if ALL in ids else ids)
    require_unchanged(plan.present.contents, root)
    texts = {plan.places.fixtures: write_fixture_rows(rows)}
    replace_files(dict(differing(texts, plan.present)), root)
    return changed


def unused_notice(plan: GenerationPlan) -> str | None:
    """Return what to add if the contract says nothing of `expected`, so that no check compares an
    output with an accepted answer. None if it does, or if there is no contract."""
    contract = plan.present.contract
    if contract is None or "expected" in contract:
        return None
    return (
        f"No check of {plan.places.contract} uses `expected`, so the answers have no effect yet. "
        f"Add a check that compares outputs with them, such as {EXAMPLE}"
    )
