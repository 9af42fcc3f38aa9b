"""The calls that trials need: one for each, or one for several that ask the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from gatekeeper.contract.calls.calls import calls_of, up_to
from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.definition import SimulatedUser
from gatekeeper.contract.values.trial import Completion, JudgeAnswer, Outcome, Request, Trial

if TYPE_CHECKING:
    import asyncio

    from gatekeeper.sampling.pace import Order

State = Literal["waiting", "running", "answered", "unwanted", "surplus", "lost"]


@dataclass(eq=False, slots=True)
class SharedCall:
    """One call to a model, for one trial or for the identical ones of both arms.

    `unwanted` was never started, `surplus` was started and cancelled, `lost` was started and ended
    by a limit. `used` says that at least one of its trials took the answer as evidence, `known`
    that no model is called for the answer, `queued` that a worker has to make it, because of the
    answer or because of the judges. `order` is what is being called at the moment.
    """

    trials: list[int]
    state: State = "waiting"
    task: asyncio.Task[Any] | None = None
    completion: Completion | None = None
    error: str | None = None
    used: bool = False
    known: bool = False
    unrecorded: bool = False
    queued: bool = True
    order: Order | None = None
    judge_answers: dict[int, tuple[JudgeAnswer, ...]] = field(default_factory=dict)
    """What judges said of each trial's sample, by position; nothing for samples without judges."""
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    """The outcomes of the trials of a long answer, by position, until it is their turn."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of the call."""
        return self.state not in ("waiting", "running")

    @property
    def free(self) -> bool:
        """Whether no model was called."""
        replayed = self.completion is not None and self.completion.replayed
        return self.known or self.unrecorded or replayed

    @property
    def is_surplus(self) -> bool:
        """Whether the call was paid for and is evidence for none of its trials."""
        answered = self.state == "answered" and not self.free
        return self.state == "surplus" or (answered and not self.used)

    @contextmanager
    def cancellable(self) -> Iterator[None]:
        """Let `cancel` end this block, in which the current task makes the call, and only it."""
        import asyncio

        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        cancelled_before = task.cancelling()
        self.task = task
        try:
            yield
        except asyncio.CancelledError:
            if not self.is_over or task.cancelling() > cancelled_before + 1:
                raise  # the task itself was cancelled
        finally:
            self.task = None
            while task.cancelling() > cancelled_before:
                task.uncancel()  # also if the client did not heed it

    def cancel(self) -> None:
        """Stop making the call, because nobody needs its answer any more."""
        if self.task is not None:
            self.state = "surplus" if self.state == "running" else "unwanted"
            self.task.cancel()


def distinct_requests(trials: Sequence[Trial]) -> tuple[Request, ...]:
    """Return the requests that the trials need if nothing stops early; shared ones once, and one
    for each answer of a conversation and each step of a chain."""
    return tuple(request for _, request in distinct_calls(trials))


def distinct_calls(trials: Sequence[Trial]) -> Iterator[tuple[Trial, Request]]:
    """Yield each of these requests with the first trial that needs it. Chains of one fixture that
    begin with the same requests send them once."""
    calls, _ = group_calls(trials)
    sent: set[tuple[object, ...]] = set()
    for trial in (trials[call.trials[0]] for call in calls):
        parts = calls_of(trial.request)
        if len(parts) == 1:
            yield trial, parts[0]
            continue
        if isinstance(trial.request.call, SimulatedUser) or trial.request.tools:
            # What a user or a tool will say is not known, so nothing is known to be shared.
            yield from ((trial, part) for part in parts)
            continue
        for number, part in enumerate(parts):
            begun = (
                trial.part_of or trial.contract,
                trial.fixture,
                part.model,
                request_digest(up_to(trial.request, number)),
                part.seed,
                part.repetition,
            )
            if begun not in sent:
                yield trial, part
            sent.add(begun)


def group_calls(
    trials: Sequence[Trial], known: Mapping[int, Completion] = {}
) -> tuple[list[SharedCall], list[SharedCall]]:
    """Return the calls to make in plan order, and the call of each trial.

    Trials of one contract with its groups, and of one repetition, share a call if their requests
    are identical: with two calls, chance alone could make arms, repeated fixtures or evaluations
    differ. Known answers are known by pairs, and no other pair calls the model for them.
    """
    calls: dict[tuple[object, ...], SharedCall] = {}
    call_of: list[SharedCall] = []
    for index, trial in enumerate(trials):
        request, answer = trial.request, known.get(index)
        digest = request_digest(request)
        key = (
            trial.part_of or trial.contract,
            request.model,
            digest,
            request.seed,
            request.repetition,
            answer,
        )
        if key not in calls:
            state: State = "waiting" if answer is None else "answered"
            known_before = answer is not None
            calls[key] = SharedCall(
                [], state, completion=answer, known=known_before, queued=not known_before
            )
        calls[key].trials.append(index)
        call_of.append(calls[key])
    return list(calls.values()), call_of
