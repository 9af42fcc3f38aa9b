"""What a model did until its last answer: its answers, the tools it called, and what they did.

Checks and reports read a tool loop here. A sample without a loop has a trajectory too: its own
answers and tool calls, which nothing answered.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import (
    REFUSED_REQUESTS,
    Completion,
    Sample,
    ToolResult,
    Turn,
)

Ended = Literal["answered", "max_steps", "unanswered", "refused"]


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call of a tool in the model's answer number `step`, from 0. The result is None if the run
    ended before."""

    step: int
    call: ToolCall
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The model's answers and calls in order, the state at the end, and why it ended: with an
    answer, at the limit of steps, at a call that nothing answers, or refused by the provider."""

    answers: tuple[Completion, ...]
    calls: tuple[AnsweredCall, ...]
    state: Any = None
    ended: Ended = "answered"


def trajectory(sample: Sample) -> Trajectory:
    """Return what the model of a sample did; nothing of one without an answer."""
    answer, tools = sample.completion, sample.trial.request.tools
    if answer is None:
        return Trajectory((), (), ended="refused")
    turns = answer.turns or (Turn("", answer),)
    changed = [turn.state for turn in turns if turn.state is not None]
    state = json.loads(changed[-1]) if changed else tools and tools.state
    ended = _ended(turns[-1], loops=tools is not None)
    answers = tuple(turn.completion for turn in turns)
    return Trajectory(answers, tuple(_calls(turns)), state, ended)


def _calls(turns: Sequence[Turn]) -> list[AnsweredCall]:
    return [
        AnsweredCall(step, call, turn.results[at] if at < len(turn.results) else None)
        for step, turn in enumerate(turns)
        for at, call in enumerate(turn.completion.tool_calls)
    ]


def _ended(last: Turn, *, loops: bool) -> Ended:
    answer = last.completion
    if answer.finish_reason in REFUSED_REQUESTS and not answer.text:
        return "refused"
    if any(result.source == "none" for result in last.results):
        return "unanswered"
    return "max_steps" if loops and answer.tool_calls else "answered"
