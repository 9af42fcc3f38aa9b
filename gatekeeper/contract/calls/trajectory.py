"""What a model did until its last answer: its answers, the tools it called, and what they did.

Checks and reports read a tool loop here. A sample without a loop has a trajectory too: its own
answers and tool calls, which nothing answered.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.tools import MOST_CALLS, offered, written_condition
from gatekeeper.contract.values.trial import (
    REFUSED_REQUESTS,
    Completion,
    Sample,
    ToolResult,
    Turn,
)

_SHOWN = 300
"""Characters of a name or of arguments in a message."""
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


def why_unfinished(sample: Sample) -> str | None:
    """Return why a tool loop ended before the model's last answer; None if there is one. For a call
    that nothing answered, this proposes the row."""
    if sample.trial.request.tools is None or sample.completion is None:
        return None
    found = trajectory(sample)
    if found.ended == "unanswered":
        call = next(c.call for c in reversed(found.calls) if c.result and _is_no_row(c.result))
        if not any(tool["name"] == call.name for tool in offered(sample.trial.request.params)):
            return f"The model called {shown_call(call)}, but `tools` has no such tool."
        return f"No row answers {shown_call(call)}. Add one to `tool_results`: {row_for(call)}"
    last = found.answers[-1]
    if found.ended != "max_steps":
        return None
    if len(last.tool_calls) > MOST_CALLS:
        return (
            f"One answer calls {len(last.tool_calls):,} tools; at most {MOST_CALLS} are answered."
        )
    return (
        f"The model still called {shown_call(last.tool_calls[0])} in its answer "
        f"{len(found.answers)}, and `max_steps` or the length of the conversation ended the loop."
    )


def shown_call(call: ToolCall) -> str:
    """Return a call as a person writes it, shortened."""
    return f"{call.name[:_SHOWN]}({call.arguments[:_SHOWN]})"


def row_for(call: ToolCall) -> str:
    """Return the row of `tool_results` to paste for a call: one line of YAML."""
    try:
        args = json.loads(call.arguments)
    except (ValueError, RecursionError):
        args = None
    exact = isinstance(args, dict) and args and len(call.arguments) <= _SHOWN
    row = {"tool": call.name[:_SHOWN]} | ({"when": written_condition(args)} if exact else {})
    return f"- {json.dumps(row | {'returns': '…'}, ensure_ascii=False)}"


def simulated_notices(samples: Iterable[Sample]) -> list[str]:
    """Say of each contract how many answers of tools a model has made up, if any."""
    sources: dict[str, Counter[str]] = defaultdict(Counter)
    for sample in samples:
        turns = sample.completion.turns if sample.completion else ()
        sources[sample.trial.contract].update(r.source for turn in turns for r in turn.results)
    return [
        f"A model made up {found['simulated']:,} of {found.total():,} answers of tools. To keep "
        "them as rows, take the samples.jsonl of this run, and run `gatekeeper tools record "
        f"--contract {contract} --log samples.jsonl`."
        for contract, found in sources.items()
        if found["simulated"]
    ]


def _calls(turns: Sequence[Turn]) -> list[AnsweredCall]:
    return [
        AnsweredCall(step, call, turn.results[at] if at < len(turn.results) else None)
        for step, turn in enumerate(turns)
        for at, call in enumerate(turn.completion.tool_calls)
    ]


def _is_no_row(result: ToolResult) -> bool:
    """Return whether nothing answered the call, and the model was told nothing."""
    return result.source == "none" and not result.is_error


def _ended(last: Turn, *, loops: bool) -> Ended:
    answer = last.completion
    if answer.finish_reason in REFUSED_REQUESTS and not answer.text:
        return "refused"
    if any(map(_is_no_row, last.results)):
        return "unanswered"
    return "max_steps" if loops and answer.tool_calls else "answered"
