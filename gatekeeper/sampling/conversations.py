"""Makes the calls of a conversation or a chain, each with what the model has answered so far.

A simulated user, if there is one, is asked after each answer of the model, and tools that it calls
are answered.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from gatekeeper.contract.calls.calls import (
    MOST_TEXT,
    count_calls,
    count_rounds,
    ends_turn,
    is_too_long,
    join_turns,
    sent_as,
    user_begins,
)
from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.simulated_user.messages import TRIES, Said, question, read_answer
from gatekeeper.contract.simulated_user.tools import read_result, tool_question
from gatekeeper.contract.tools.answers import Toolbox
from gatekeeper.contract.values.definition import Message, SimulatedUser, ToolCall
from gatekeeper.contract.values.tools import MOST_CALLS, Tools
from gatekeeper.contract.values.trial import (
    REFUSED_REQUESTS,
    Completion,
    JudgeAnswer,
    Request,
    ToolResult,
    Trial,
    Turn,
)
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.retries import Once
from gatekeeper.sampling.stored_text import is_long

# Sends a call once if several chains or conversations of one fixture need it.
#
# If a change leaves the first step of a chain as it is, both arms ask it the same. Asked twice, it
# would cost twice, and chance alone could make the arms differ. Other fixtures ask for themselves,
# because fixtures count as independent.


_Key = tuple[object, ...]


class SharedAnswers:
    """The answers that several trials of a run may need. `known` are answers of earlier runs, by
    the trial's index."""

    def __init__(self, trials: Sequence[Trial], known: Mapping[int, Completion]) -> None:
        self._answers: Once[_Key, Completion] = Once()
        for index, completion in known.items():
            for number, turn in enumerate(completion.turns):
                # An answer that was cut, or kept without what its provider wants back with the
                # calls, cannot be gone on from.
                if turn.completion.cut or turn.completion.tool_calls:
                    continue
                key = _key(trials[index], trials[index].request, turn.request, number)
                self._answers.known.setdefault(key, turn.completion)

    async def ask(
        self, trial: Trial, call: Request, make: Callable[[Request], Awaitable[Completion]]
    ) -> Completion:
        """Return the answer to one call of the trial. The second to ask for a part of a chain waits
        for the first, and asks itself if that fails, is cancelled or has a long answer."""
        if call.whole is None:
            return await make(call)
        key = _key(trial, call, request_digest(call), call.whole[1])
        # Many long answers would fill the memory.
        return await self._answers.get(key, lambda: make(call), keeps=lambda a: not is_long(a))


def _key(trial: Trial, call: Request, digest: str, number: int) -> _Key:
    """Return what makes two calls the same one. Two steps of one chain are two calls, also if they
    ask the same."""
    contract = trial.part_of or trial.contract
    return contract, trial.fixture, number, call.model, digest, call.seed, call.repetition


Ask = Callable[[Request], Awaitable[Completion]]
AskUser = Callable[[Request], Awaitable[JudgeAnswer]]
AnswerTool = Callable[[ToolCall], Awaitable[ToolResult | None]]
"""Returns what answers a call; None if nothing does."""

_SHOWN = 80
"""Characters of an answer in a message."""


async def converse(
    request: Request, ask: Ask, ask_user: AskUser, answer_tool: AnswerTool | None = None
) -> Completion:
    """Return the answer to a request; for a conversation or a chain its last one, with the amounts
    of all requests to the model. It ends early if the provider refuses to go on.

    A simulated user is asked about the last answer too, so that it can say whether its goal is
    reached. `ask_user` gets each question to it, and raises CallFailed if it has no answer.
    `answer_tool` gets the calls that no row answers.
    """
    user = request.call if isinstance(request.call, SimulatedUser) else None
    if user is None and request.tools is None and count_calls(request) == 1:
        return await ask(request)
    whole, shown = request_digest(request), request.messages
    turns: list[Turn] = []
    users: list[JudgeAnswer] = []
    said: list[str] = []
    loop = None
    if request.tools:
        loop = _ToolLoop(request.tools)
        loop.answer_tool = answer_tool or loop.simulated(request, users, ask_user)
    ended = begun = 0  # the turns of the user, or steps, that ended, and where the next begins
    while user or ended < count_rounds(request):
        if user and not (loop and loop.goes_on) and (turns or user_begins(request)):
            next_one = await _say(
                user, shown, request.repetition, users, ask_user, begins=not turns
            )
            if next_one.done or len(said) == user.max_turns:
                break
            said.append(next_one.message)
        if is_too_long(request, turns):
            raise CallFailed(
                "the prompt of the next step would have more than "
                f"{MOST_TEXT:,} characters, because it contains outputs of earlier steps"
            )
        sent = replace(sent_as(request, turns, said), whole=(whole, len(turns)), inserted=0)
        answer = await ask(sent)
        turn = Turn(request_digest(sent), answer)
        if loop and answer.tool_calls:
            turn = await loop.answered(turn, _size(sent.messages))
        if turn.state is not None:
            # A later state of the same turn of the user takes its place: it can be long.
            turns[begun:] = [replace(earlier, state=None) for earlier in turns[begun:]]
        turns.append(turn)
        if answer.finish_reason in REFUSED_REQUESTS and not answer.text:
            break
        if loop and not ends_turn(request, turn):
            if not loop.goes_on:
                break
            continue
        if loop:
            loop.user_answered()
        ended, begun = ended + 1, len(turns)
        shown = (*sent.messages, Message("assistant", answer.text))
    return replace(join_turns(turns), users=tuple(users))


async def _say(
    user: SimulatedUser,
    messages: Sequence[Message],
    repetition: int,
    users: list[JudgeAnswer],
    ask_user: AskUser,
    *,
    begins: bool,
) -> Said:
    """Return what the user says next, and add its answers to `users`. Raises CallFailed if no
    answer can be read."""
    for attempt in range(TRIES):
        asked = question(user, messages, repetition, attempt)
        answer = await ask_user(asked)
        users.append(answer)
        shown = asked.messages[-1].content
        said = read_answer(answer.completion, shown) if answer.completion else None
        # The model has not answered yet, so nothing can be done.
        if said is not None and not (said.done and begins):
            return said
    last = users[-1].completion
    written = json.dumps(last.text[:_SHOWN] if last else "", ensure_ascii=False)
    who = f"the simulated user {user.model}"
    raise CallFailed(f"{who} gave no readable answer in {TRIES} tries; the last was {written}")


_NOT_ANSWERED = "this tool is not available at the moment"


class _ToolLoop:
    """The tools of one trajectory, answered until the model answers without a call. `goes_on` says
    that all calls of the last answer are answered, and the model may answer again."""

    answer_tool: AnswerTool | None = None

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
        characters += sum(len(call.name) + len(call.arguments) for call in calls)
        fits = len(calls) <= MOST_CALLS and characters <= MOST_TEXT
        self.goes_on = fits and self._steps < self._tools.max_steps
        if not self.goes_on:
            return turn
        results: list[ToolResult] = []
        state = None
        for call in calls:
            if self._box.is_quick(call):
                result = self._box.answer(call)
            else:  # the child must not hold up other calls
                result = await asyncio.to_thread(self._box.answer, call)
            state = self._box.changed or state
            if result is None and self.answer_tool:
                result = await self.answer_tool(call)
            if result is None:
                self.goes_on = self._tools.unanswered == "error"
                said = _NOT_ANSWERED if self.goes_on else ""
                result = ToolResult(said, is_error=self.goes_on, source="none").marked()
            results.append(result)
            characters += len(result.text)
            self.goes_on &= characters <= MOST_TEXT
            if not self.goes_on:
                break
        return replace(turn, results=tuple(results), state=state)

    def simulated(
        self, request: Request, answers: list[JudgeAnswer], ask: AskUser
    ) -> AnswerTool | None:
        """Return what lets a model answer a call, and adds its answer to `answers`; None if the
        contract has no simulator."""
        model = self._tools.simulator
        if model is None:
            return None

        async def answer(call: ToolCall) -> ToolResult:
            asked = tool_question(
                *(model, self._tools, request.params, call),
                state=self._box.state,
                repetition=request.repetition * TRIES,
            )
            said = await ask(asked)
            answers.append(said)
            result = read_result(said.completion, asked.messages[-1].content)
            if result is None:
                raise CallFailed(f"the simulator {asked.model} gave no readable answer as a tool")
            return result

        return answer

    def user_answered(self) -> None:
        """Begin the steps of the user's next turn."""
        self._steps, self.goes_on = 0, False


def _size(messages: Sequence[Message]) -> int:
    """Return the characters of messages."""
    return sum(len(m.content) + sum(len(c.arguments) for c in m.calls) for m in messages)
