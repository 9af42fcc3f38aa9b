"""Asks several judges the same question, and takes the answer of their majority.

A judge that refuses, answers what cannot be read, or does not know, has no vote. Without a majority
of all judges the answer is unknown, and never yes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.author.generation.ask import (
    TEXT,
    Asker,
    UnusableAnswer,
    array_schema,
    ask_together,
    object_schema,
)
from gatekeeper.author.generation.grounded_items import one_line
from gatekeeper.author.generation.rules import NUMBER
from gatekeeper.contract.reading.data_blocks import clean
from gatekeeper.contract.reading.json_answer import stands_in
from gatekeeper.errors import MeasurementError

_CHOICE = {"type": "string", "enum": ["yes", "no", "unknown"]}
VERDICT = object_schema(reason=TEXT, verdict=_CHOICE)
VERDICTS = object_schema(
    verdicts=array_schema(object_schema(number=NUMBER, reason=TEXT, verdict=_CHOICE))
)
VERDICT_TOKENS, VERDICTS_TOKENS = 512, 4_096
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
        answers = await ask_together(
            *(self._one(j, stage, data, VERDICT, VERDICT_TOKENS) for j in self.judges)
        )
        return _majority(dict(zip(self.judges, map(_vote, answers), strict=True)))

    async def ask_of_each(
        self, stage: str, data: Mapping[str, str], count: int
    ) -> tuple[Verdict, ...]:
        """Return the answers to a question about `count` numbered items. Raises as `ask` does."""
        answers = await ask_together(
            *(self._one(j, stage, data, VERDICTS, VERDICTS_TOKENS) for j in self.judges)
        )
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
        self,
        judge: str,
        stage: str,
        data: Mapping[str, str],
        schema: Mapping[str, Any],
        most_tokens: int,
    ) -> Mapping[str, Any] | None:
        self._asked[judge] += 1
        try:
            found = await self._asker.ask(stage, data, schema, model=judge, most_tokens=most_tokens)
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
