"""Makes the calls of a conversation or a chain, each with what the model has answered so far."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from gatekeeper.contract.chain import step_names
from gatekeeper.contract.conversation import calls_of, filled
from gatekeeper.contract.digests import request_digest
from gatekeeper.contract.trial import REFUSED_REQUESTS, Completion, Request, Turn

Ask = Callable[[Request], Awaitable[Completion]]


async def converse(request: Request, ask: Ask) -> Completion:
    """Return the answer to a request; for a conversation or a chain its last one, with the amounts
    of all calls. It ends early if the provider refuses to go on."""
    calls = calls_of(request)
    if len(calls) == 1:
        return await ask(request)
    steps, whole = step_names(request.messages), request_digest(request.messages, request.params)
    turns: list[Turn] = []
    for call in calls:
        messages = filled(call.messages, [turn.completion.text for turn in turns], steps)
        answer = await ask(replace(call, messages=messages, whole=whole))
        turns.append(Turn(request_digest(messages, call.params), answer))
        if answer.finish_reason in REFUSED_REQUESTS and not answer.text:
            break
    return join_turns(turns)


def join_turns(turns: Sequence[Turn]) -> Completion:
    """Return one completion for all turns: the last answer, and what all of them took. An amount is
    unknown if that of one turn is; the time to the first token is that of the first turn."""
    answers = [turn.completion for turn in turns]
    prompt = _total(answer.prompt_tokens for answer in answers)
    written = _total(answer.completion_tokens for answer in answers)
    cached = _total(answer.cached_tokens for answer in answers)
    stored = _total(answer.cache_write_tokens for answer in answers)
    return replace(
        answers[-1],
        latency_ms=_total(answer.latency_ms for answer in answers),
        ttft_ms=answers[0].ttft_ms,
        cost_usd=_total(answer.cost_usd for answer in answers),
        prompt_tokens=None if prompt is None else int(prompt),
        completion_tokens=None if written is None else int(written),
        cached_tokens=None if cached is None else int(cached),
        cache_write_tokens=None if stored is None else int(stored),
        replayed=all(answer.replayed for answer in answers),
        turns=tuple(turns),
    )


def _total(amounts: Iterable[float | None]) -> float | None:
    known = list(amounts)
    return None if None in known else math.fsum(amount for amount in known if amount is not None)
