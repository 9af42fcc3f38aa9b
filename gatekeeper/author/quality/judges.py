"""Asks several judges the same question, and takes the answer of their majority.

A judge that refuses, answers what cannot be read, or does not know, has no vote. Without a majority
of all judges the answer is unknown, and never yes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.author.generation.ask import Asker, UnusableAnswer, ask_together
from gatekeeper.author.generation.files import FixtureRow
from gatekeeper.author.generation.items import one_line
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.specification.spec_file import InputConstraint, Lines, Rule
from gatekeeper.contract.reading.data_blocks import clean
from gatekeeper.contract.reading.json_answer import stands_in
from gatekeeper.errors import MeasurementError

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
