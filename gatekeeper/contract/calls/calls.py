"""What each kind of call sends next, and what it can send at most. Pure.

`next_messages` decides from the answers so far, so sending, evaluating and forecasting agree. The
outputs of a chain's steps are inserted when the next step is sent: no template sees them, so one
that looks like a template is only text.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Any

from gatekeeper.contract.simulated_user.messages import LONGEST_SAID, sayings
from gatekeeper.contract.values.call import (
    SINGLE,
    Call,
    Chain,
    Conversation,
    Draft,
    Output,
)
from gatekeeper.contract.values.definition import Message, SimulatedUser, Target, ToolCall
from gatekeeper.contract.values.kept_results import kept_by_identity
from gatekeeper.contract.values.tools import ToolRow
from gatekeeper.contract.values.trial import Completion, Request, Sample, ToolResult, Turn

MOST_TEXT = 1_000_000
"""The most characters of a call that contains the outputs of earlier steps. A template may
insert an output in a loop."""

Messages = tuple[Message, ...]

# The value of a step's name while templates are rendered. Nobody can write it before the run, so
# no fixture's value can be taken for it.
_SECRET = secrets.token_hex(16)
_MARKER = re.compile(f"{_SECRET}([A-Za-z0-9_]+);")
_LONGEST = "x" * LONGEST_SAID


def markers(target: Target) -> dict[str, str]:
    """Return the value of each step's name for the templates of the target."""
    return {step.name: f"{_SECRET}{step.name};" for step in target.steps}


def chain_of(names: Sequence[str], later: Sequence[Messages]) -> Chain:
    """Return the chain of these steps. `later` are the rendered messages of the prompts after each
    of them, with a marker at each place of an output."""
    return Chain(tuple(names), tuple(tuple(map(_draft, messages)) for messages in later))


def _draft(message: Message) -> Draft:
    pieces = enumerate(_MARKER.split(message.content))
    parts = (Output(piece) if at % 2 else piece for at, piece in pieces if piece)
    return Draft(message.role, tuple(parts))


def next_messages(
    request: Request, turns: Sequence[Turn], said: Sequence[str] = ()
) -> Messages | None:
    """Return the messages that are sent after these answers of the model; None if it was the last
    one. `said` is what a simulated user has written."""
    call, number = request.call, len(turns)
    if isinstance(call, Chain) and number:
        texts = (turn.completion.text for turn in turns)
        outputs = dict(zip(call.names, texts, strict=False))
        drafts = call.later[number - 1 : number]
        return next((tuple(_filled(draft, outputs) for draft in step) for step in drafts), None)
    sent = list(_growing(request, turns, said))
    return tuple(sent[number]) if number < len(sent) else None


def _growing(
    request: Request, turns: Sequence[Turn], said: Sequence[str]
) -> Iterator[list[Message]]:
    """Yield what is sent at first and after each answer of a conversation, up to the last: one list
    that grows."""
    call, called = request.call, 0
    later = iter(call.turns if isinstance(call, Conversation) else said)
    messages = [*request.messages]
    if user_begins(request):
        messages += (Message("user", text) for text in islice(later, 1))
    yield messages
    for turn in turns:
        if ends_turn(request, turn):
            if (text := next(later, None)) is None:
                return
            messages += Message("assistant", turn.completion.text), Message("user", text)
        else:
            messages += _tool_messages(turn, called)
            called += len(turn.completion.tool_calls)
        yield messages


def ends_turn(request: Request, turn: Turn) -> bool:
    """Return whether an answer ends a turn of the user, and calls no tool that is answered."""
    return request.tools is None or not turn.completion.tool_calls


def count_added(request: Request, turns: Sequence[Turn]) -> int:
    """Return how many messages these answers add to the next request of a conversation."""
    return sum(2 if ends_turn(request, turn) else 1 + len(turn.results) for turn in turns)


def _tool_messages(turn: Turn, called: int) -> Iterator[Message]:
    """Yield an answer that calls tools, and what they answered. Each call gets an id of ours, so
    that what is sent depends on what was said alone; `called` calls came before."""
    ids = (f"call{number:05}" for number in count(called + 1))
    calls = tuple(replace(c, id=i) for c, i in zip(turn.completion.tool_calls, ids, strict=False))
    answer = turn.completion
    yield Message("assistant", answer.text, calls, opaque=answer.opaque)
    for call, result in zip(calls, turn.results, strict=False):
        yield Message("tool", result.text, answers=call.id)


def _filled(draft: Draft, outputs: Mapping[str, str]) -> Message:
    texts = (outputs.get(p.step, "") if isinstance(p, Output) else p for p in draft.parts)
    return Message(draft.role, "".join(texts))


def is_too_long(request: Request, turns: Sequence[Turn]) -> bool:
    """Return whether the next step of a chain would be too long with the outputs in it."""
    call = request.call
    if not isinstance(call, Chain) or not turns:
        return False
    lengths_of = (len(turn.completion.text) for turn in turns)
    sizes = dict(zip(call.names, lengths_of, strict=False))
    parts = (part for draft in call.later[len(turns) - 1] for part in draft.parts)
    lengths = (sizes.get(p.step, 0) if isinstance(p, Output) else len(p) for p in parts)
    return sum(lengths) > MOST_TEXT


def calls_of(request: Request) -> tuple[Request, ...]:
    """Return the requests that a call takes at most: itself, or one for each answer. Earlier
    answers are left out of them and counted, and a simulated user writes as much as it may. A tool
    loop calls one tool with each answer, and gets the longest result."""
    most = count_calls(request)
    if most == 1 and not user_begins(request):
        return (replace(request, tools=None) if request.tools else request,)
    said, turns = (_LONGEST,) * most, (Turn("", Completion("")),) * most
    if request.tools:
        result = ToolResult("x" * _longest_result(request.tools.rows))
        calling = Turn("", Completion("", tool_calls=(ToolCall("", "{}"),)), (result,))
        steps = request.tools.max_steps
        turns = tuple(turns[0] if n % steps == 0 else calling for n in range(1, most))
    if isinstance(request.call, Chain):
        return tuple(sent_as(request, turns[:number], said) for number in range(most))
    sent = islice(_growing(request, turns, said), most)
    return tuple(_sent(request, number, tuple(messages)) for number, messages in enumerate(sent))


@kept_by_identity
def _longest_result(rows: tuple[ToolRow, ...]) -> int:
    return max((len(str(a.value)) for row in rows for a in row.answers), default=0)


def sent_as(request: Request, turns: Sequence[Turn], said: Sequence[str] = ()) -> Request:
    """Return the request that is sent after these answers."""
    return _sent(request, len(turns), next_messages(request, turns, said))


def _sent(request: Request, number: int, messages: Messages | None) -> Request:
    # Only the first request of a chain begins like others of the run.
    call = request.call
    prefix = None if number and isinstance(call, Chain) else request.shared_prefix
    return replace(
        request,
        messages=request.messages if messages is None else tuple(map(_sendable, messages)),
        call=SINGLE,
        tools=None,
        shared_prefix=prefix,
        inserted=_count_inserted(call, number),
    )


def _sendable(message: Message) -> Message:
    """Return a message that UTF-8 can hold. What a model or a tool said may contain half a
    surrogate pair, which JSON escapes can name."""
    calls = tuple(
        replace(call, name=_whole(call.name), arguments=_whole(call.arguments))
        for call in message.calls
    )
    sendable = replace(message, content=_whole(message.content), calls=calls)
    # Many requests of one loop share their messages.
    return message if sendable == message else sendable


def _whole(text: str) -> str:
    return text if text.isascii() else text.encode(errors="replace").decode()


def _count_inserted(call: Call, number: int) -> int:
    if not isinstance(call, Chain):
        return number
    drafts = call.later[number - 1] if number else ()
    return sum(isinstance(part, Output) for draft in drafts for part in draft.parts)


def up_to(request: Request, number: int) -> Request:
    """Return the request as if it ended with its call of that number, from 0."""
    call = request.call
    if isinstance(call, Chain):
        call = Chain(call.names[:number], call.later[:number])
    elif isinstance(call, Conversation):
        call = Conversation(call.turns[:number])
    return replace(request, call=call)


def count_calls(request: Request) -> int:
    """Return how many requests a call takes; with a simulated user or tools the most."""
    return count_rounds(request) * (request.tools.max_steps if request.tools else 1)


def count_rounds(request: Request) -> int:
    """Return how many answers end a step or a turn of the user; with a simulated user the most."""
    call = request.call
    if isinstance(call, SimulatedUser):
        return call.max_turns + (not user_begins(request))
    if isinstance(call, Chain):
        return 1 + len(call.later)
    return 1 + len(call.turns) if isinstance(call, Conversation) else 1


def user_begins(request: Request) -> bool:
    """Return whether a simulated user writes the first message after the prompt."""
    messages = request.messages
    simulated = isinstance(request.call, SimulatedUser)
    return simulated and (not messages or messages[-1].role != "user")


def step_names(request: Request) -> tuple[str, ...]:
    """Return the names of the steps before the last one; nothing for a single prompt."""
    return request.call.names if isinstance(request.call, Chain) else ()


def reached_steps(request: Request) -> frozenset[str]:
    """Return the steps whose output reaches the last prompt, maybe through other steps."""
    call = request.call
    if not isinstance(call, Chain):
        return frozenset()
    uses = [
        {part.step for draft in drafts for part in draft.parts if isinstance(part, Output)}
        for drafts in call.later
    ]
    inner = dict(zip(call.names[1:], uses, strict=False))
    found: set[str] = set()
    current = uses[-1]
    while current:
        found |= current
        current = {name for step in current for name in inner.get(step, ())} - found
    return frozenset(found)


def written_by_prompts(request: Request) -> Iterator[str]:
    """Yield the texts that the prompts write: not those of the user's later turns, who plays the
    user, and whose output is inserted."""
    yield from (message.content for message in request.messages)
    if isinstance(request.call, Chain):
        for drafts in request.call.later:
            for draft in drafts:
                yield from (part for part in draft.parts if isinstance(part, str))


def known_messages(request: Request) -> Messages:
    """Return every message that is known before the first answer, as people read it."""
    call, later = request.call, []
    if isinstance(call, Chain):
        named = {name: f"{{{{ {name} }}}}" for name in call.names}
        later = [_filled(draft, named) for drafts in call.later for draft in drafts]
    elif isinstance(call, Conversation):
        later = [Message("user", text) for text in call.turns]
    elif isinstance(call, SimulatedUser):
        later = [Message("user", text) for text in (call.goal, call.persona)]
    return (*request.messages, *later)


def spoken(sample: Sample) -> Sample:
    """Return a sample whose request is its last call, as the model saw it: with the conversation
    so far, or the last step of a chain. A sample of a single call stays as it is."""
    turns = sample.completion.turns if sample.completion else ()
    return as_called(sample, len(turns) - 1) if turns else sample


def join_turns(turns: Sequence[Turn]) -> Completion:
    """Return one completion for all turns: the last answer, and what all of them took. An amount is
    unknown if that of one turn is; the time to the first token is that of the first turn. Tools
    that are called together answer together."""
    answers = [turn.completion for turn in turns]
    totals = {name: _total(name, answers) for name in _AMOUNTS}
    if totals["latency_ms"] is not None:
        waited = (max((r.delay_ms for r in turn.results), default=0.0) for turn in turns)
        totals["latency_ms"] += math.fsum(waited)
    return replace(
        answers[-1],
        **totals,
        ttft_ms=answers[0].ttft_ms,
        replayed=all(answer.replayed for answer in answers),
        turns=tuple(turns),
    )


_AMOUNTS = (
    *("latency_ms", "cost_usd", "prompt_tokens", "completion_tokens"),
    *("cached_tokens", "cache_write_tokens", "reasoning_tokens"),
)


def _total(name: str, answers: Sequence[Completion]) -> Any:
    amounts = [getattr(answer, name) for answer in answers]
    if None in amounts:
        return None
    return sum(amounts) if name.endswith("_tokens") else math.fsum(amounts)


def as_called(sample: Sample, number: int) -> Sample:
    """Return a sample whose request is its call of that number, as the model saw it. It keeps the
    `tools`, by which the trajectory is read."""
    answered = sample.completion
    turns = answered.turns[:number] if answered else ()
    users = sayings(answered.users) if answered else []
    # What can no longer be read is left out.
    said = [*(said.message for said in users), *("",) * (number + 1)]
    request = sample.trial.request
    called = replace(sent_as(request, turns, said), tools=request.tools)
    return replace(sample, trial=replace(sample.trial, request=called))
