"""Asks one or several judges, each once or several times, and decides by their votes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gatekeeper.checks.check import Finding, undetermined
from gatekeeper.checks.judges.verdict import AnswerForm
from gatekeeper.checks.reading.output import quote
from gatekeeper.contract.calls.calls import count_added
from gatekeeper.contract.checks.judge_settings import answer_to
from gatekeeper.contract.reading.json_answer import Unreadable, read_answer
from gatekeeper.contract.values.definition import Message, ToolCall
from gatekeeper.contract.values.trial import Completion, JudgeAnswer, Request, Sample, Vote

Decide = Literal["majority", "unanimous"]

_ATTEMPTS = 2
"""How often a judge is asked again after a malformed answer."""
_ROUNDING = 1e-9
_REASON_SHOWN = 240


@dataclass(frozen=True, slots=True)
class Panel:
    """The judges of a check. `params` are those of each model; `least` is the score that passes,
    and `passing` says it in words."""

    models: tuple[str, ...]
    params: Mapping[str, Mapping[str, Any]]
    form: AnswerForm
    decide: Decide
    repeat: int
    least: float
    passing: str

    def questions(self, messages: tuple[Message, ...], sample: Sample) -> tuple[Request, ...]:
        """Return what is still to be asked, given the answers that the sample carries."""
        places = ((model, turn) for model in self.models for turn in range(self.repeat))
        open_ones = (self._next(messages, sample, *place) for place in places)
        return tuple(question for question in open_ones if question is not None)

    def decide_by(self, messages: tuple[Message, ...], sample: Sample) -> Finding:
        """Return the finding of the votes; undetermined if they leave it open."""
        votes = {
            model: [self._vote(messages, sample, model, turn) for turn in range(self.repeat)]
            for model in self.models
        }
        each = tuple(vote for own in votes.values() for vote in own)
        by_model = [_most([vote.passed for vote in own], "majority") for own in votes.values()]
        passed = _most(by_model, self.decide)
        if passed is None:
            missing = next((vote for vote in each if vote.passed is None), each[0])
            return Finding(None, f"could not be measured: {missing.reason}", votes=each)
        scores = [vote.score for vote in each if vote.score is not None]
        score = math.fsum(scores) / len(scores) if scores else None
        return Finding(passed, "" if passed else self._message(by_model, each), score, each)

    def _message(self, by_model: Sequence[bool | None], votes: Sequence[Vote]) -> str:
        against = next(vote for vote in votes if vote.passed is False)
        said = f"{against.verdict}: {quote(against.reason, _REASON_SHOWN)}"
        if len(by_model) == 1:
            return f"expected {self.passing}; the judge says {said}"
        passing = sum(verdict is True for verdict in by_model)
        return (
            f"{passing} of {len(by_model)} judges pass the output; "
            f"the judge {against.model} says {said}"
        )

    def _next(
        self, messages: tuple[Message, ...], sample: Sample, model: str, turn: int
    ) -> Request | None:
        """Return the question that a judge is to be asked next; None if its vote is known, or no
        further attempt is worth a call."""
        for question in self._attempts(messages, model, turn):
            answer = answer_to(question, sample)
            if answer is None:
                return question
            if answer.completion is None or self._read(question, answer).passed is not None:
                return None
        return None

    def _vote(self, messages: tuple[Message, ...], sample: Sample, model: str, turn: int) -> Vote:
        vote = Vote(model, None, reason=f"the run did not call the judge {model}")
        for question in self._attempts(messages, model, turn):
            answer = answer_to(question, sample)
            if answer is None:
                break
            vote = self._read(question, answer)
            if vote.passed is not None:
                break
        return vote

    def _attempts(self, messages: tuple[Message, ...], model: str, turn: int) -> Iterator[Request]:
        for attempt in range(_ATTEMPTS):
            number = turn + self.repeat * attempt
            yield Request(model, messages, self.params[model], None, number)

    def _read(self, question: Request, answer: JudgeAnswer) -> Vote:
        model = question.model
        if answer.completion is None:
            return Vote(model, None, reason=f"the judge {model} did not answer: {answer.error}")
        given = read_answer(answer.completion, question.messages[-1].content, self.form.keys)
        if isinstance(given, Unreadable):
            return _unreadable(question, answer.completion, given)
        verdict = self.form.read(given)
        if verdict is None:
            return _unreadable(question, answer.completion, Unreadable("has other values"))
        passed = verdict.score >= self.least - _ROUNDING
        return Vote(model, passed, verdict.score, verdict.reason, verdict.label)


def _unreadable(question: Request, answer: Completion, found: Unreadable) -> Vote:
    model = question.model
    if answer.finish_reason == "length":
        reason = (
            f"the answer of the judge {model} was cut off at `max_tokens`; "
            "raise `max_tokens` in the judge's `params`"
        )
    else:
        shown = quote(answer.text)
        advice = f"; {_advice(question)}" if found.form else ""
        reason = f"the answer of the judge {model} {found.why}{advice}: {shown}"
    return Vote(model, None, reason=reason)


def _advice(question: Request) -> str:
    """Return what makes a judge answer in the required form."""
    if "response_format" in question.params:
        return "its server ignores the schema of the request, so use another server or judge"
    return "set `structured: true` for the judge, so that the request contains a schema"


def written_calls(sample: Sample) -> str:
    """Return the tool calls of the answer as JSON for judges; nothing if there is no call."""
    calls = sample.completion.tool_calls if sample.completion else ()
    return json.dumps(_shown_calls(calls), ensure_ascii=False) if calls else ""


def _shown_calls(calls: Sequence[ToolCall]) -> list[dict[str, str]]:
    return [{"name": call.name, "arguments": call.arguments} for call in calls]


def written_transcript(sample: Sample) -> str:
    """Return what was said before the output, one message a line, as JSON: no text can end its
    message and begin another one. The instructions of the prompt are left out, because they show
    which arm it is. Answers that it holds, such as examples, are marked as given."""
    request, lines = sample.trial.request, []
    turns = sample.completion.turns[:-1] if sample.completion else ()
    given = len(request.messages) - count_added(request, turns)
    for at, message in enumerate(request.messages):
        if message.role not in ("system", "developer"):
            shown: dict[str, Any] = {"role": message.role, "content": message.content}
            if at < given and message.role == "assistant":
                shown["given"] = True
            if message.calls:
                shown["calls"] = _shown_calls(message.calls)
            lines.append(json.dumps(shown, ensure_ascii=False))
    return "\n".join(lines)


def too_long(characters: int, most: int) -> Finding:
    """Return the finding for a text that no judge is asked about."""
    return undetermined(
        f"the text has {characters:,} characters; a judge grades at most {most:,} characters"
    )


def _most(verdicts: Sequence[bool | None], decide: Decide) -> bool | None:
    """Return what the verdicts decide, whatever those that are not known would be; None if they
    could decide it."""
    passing, failing = verdicts.count(True), verdicts.count(False)
    if decide == "unanimous":
        return False if failing else True if passing == len(verdicts) else None
    if 2 * passing > len(verdicts):
        return True
    return False if 2 * failing >= len(verdicts) else None
