"""Sends a call once if several chains or conversations of one fixture need it.

If a change leaves the first step of a chain as it is, both arms ask it the same. Asked twice, it
would cost twice, and chance alone could make the arms differ. Other fixtures ask for themselves,
because fixtures count as independent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.trial import Completion, Request, Trial
from gatekeeper.sampling.stored_text import is_long

_Key = tuple[object, ...]


class SharedAnswers:
    """The answers that several trials of a run may need. `known` are answers of earlier runs, by
    the trial's index."""

    def __init__(self, trials: Sequence[Trial], known: Mapping[int, Completion]) -> None:
        self._under_way: dict[_Key, asyncio.Event] = {}
        self._answers: dict[_Key, Completion] = {}
        for index, completion in known.items():
            for number, turn in enumerate(completion.turns):
                key = _key(trials[index], trials[index].request, turn.request, number)
                self._answers.setdefault(key, turn.completion)

    async def ask(
        self, trial: Trial, call: Request, make: Callable[[Request], Awaitable[Completion]]
    ) -> Completion:
        """Return the answer to one call of the trial. The second to ask for a part of a chain waits
        for the first, and asks itself if that fails, is cancelled or has a long answer."""
        if call.whole is None:
            return await make(call)
        key = _key(trial, call, request_digest(call.messages, call.params), call.whole[1])
        while key not in self._answers:
            other = self._under_way.get(key)
            if other is not None:
                await other.wait()
                continue
            ended = self._under_way[key] = asyncio.Event()
            try:
                answer = await make(call)
                if is_long(answer):  # many of them would fill the memory
                    return answer
                self._answers[key] = answer
            finally:
                del self._under_way[key]
                ended.set()
        return self._answers[key]


def _key(trial: Trial, call: Request, digest: str, number: int) -> _Key:
    """Return what makes two calls the same one. Two steps of one chain are two calls, also if they
    ask the same."""
    contract = trial.part_of or trial.contract
    return contract, trial.fixture, number, call.model, digest, call.seed, call.repetition
