"""Answers the tools that a model calls, until it answers without a call or may not go on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from gatekeeper.contract.calls.calls import MOST_TEXT
from gatekeeper.contract.tools.answers import Toolbox
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.tools import MOST_CALLS, Tools
from gatekeeper.contract.values.trial import ToolResult, Turn

_NOT_ANSWERED = "Error: this tool is not available at the moment"


class ToolLoop:
    """The tools of one trajectory. `goes_on` says that the last answer called tools, all of them
    are answered, and the model may answer again."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._box = Toolbox(tools)
        self._steps = 0
        self.goes_on = False

    async def answered(self, turn: Turn, characters: int) -> Turn:
        """Return the turn with what its tools answer; without, if the model may not go on after a
        conversation of so many characters. An unanswered call is the last one, unless the contract
        says what it gets."""
        self._steps += 1
        calls = turn.completion.tool_calls
        written = sum(len(call.name) + len(call.arguments) for call in calls)
        fits = len(calls) <= MOST_CALLS and characters + written <= MOST_TEXT
        self.goes_on = fits and self._steps < self._tools.max_steps
        if not self.goes_on:
            return turn
        results: list[ToolResult] = []
        state = None
        for call in calls:
            # The child of rows that are not simple must not hold up other calls.
            result = await asyncio.to_thread(self._box.answer, call)
            state = self._box.changed or state
            if result is None:
                self.goes_on = self._tools.unanswered == "error"
                result = ToolResult(_NOT_ANSWERED, is_error=True, source="none")
            results.append(result)
            if not self.goes_on:
                break
        return replace(turn, results=tuple(results), state=state)

    def user_answered(self) -> None:
        """Begin the steps of the user's next turn."""
        self._steps, self.goes_on = 0, False


def size_of(messages: Sequence[Message]) -> int:
    """Return the characters of messages."""
    return sum(len(m.content) + sum(len(c.arguments) for c in m.calls) for m in messages)
