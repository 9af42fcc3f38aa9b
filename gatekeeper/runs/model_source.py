"""Sources that can answer a run instead of this process's models: batches, the shards of a plan, a
cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Completion, Request, Trial
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.gate.forecast.forecast import Amounts
from gatekeeper.gate.pipeline import RunContext
from gatekeeper.gate.results.result import Measurement
from gatekeeper.gate.work import Work
from gatekeeper.numbers import count
from gatekeeper.providers.models.cost_estimate import count_tokens, expected_cost, worst_cost
from gatekeeper.reports.terminal.progress import TerminalProgress
from gatekeeper.runs.answers.kept import AnswerLog, request_key
from gatekeeper.runs.models import require_single_calls
from gatekeeper.sampling.calls import distinct_requests
from gatekeeper.sampling.retries import RetryPolicy

if TYPE_CHECKING:
    from gatekeeper.providers.batch.api import KnownBatch
    from gatekeeper.providers.batch.client import BatchClient


class RunHooks:
    """How a source may change a run. Unless a subclass says otherwise, it changes nothing."""

    def prepare(self, around: RunContext, work: Work, log: AnswerLog | None) -> RunContext:  # noqa: ARG002
        """Return the context of the run, with limits and retries that suit the source."""
        return around

    def follow(self, progress: TerminalProgress) -> None:
        """Show on the progress what the source waits for."""

    @property
    def amounts(self) -> Amounts:
        """Return what a request takes, as functions of the request."""
        return Amounts(expected_cost, worst_cost, count_tokens)

    def count(self, found: Measurement) -> Measurement:
        """Return the measurement with the calls and costs that this process does not know of."""
        return found

    @property
    def unfinished(self) -> bool:
        """Whether the source still works on answers that the run has not got."""
        return False

    def notices(self) -> Iterable[str]:
        """Return what there is to say of the source after the run."""
        return ()


class ModelSource(RunHooks, ABC):
    """A model client that answers a run, and may change how the run is made."""

    @abstractmethod
    async def complete(self, request: Request) -> Completion:
        """Return the model's answer. Raises CallFailed."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close what is open."""


# A run that asks its models in batches, at the price that the providers take for these.


MOST_CALLS = 100_000
"""The most requests of one run in batches. All of them wait at the same time."""

_ATTEMPTS = 3
"""How many batches a request may be part of. A request that its batch did not answer goes
into the next batch."""

_RETRY = RetryPolicy(
    attempts=_ATTEMPTS,
    throttled_attempts=_ATTEMPTS,
    timeout_seconds=30 * 24 * 3600.0,  # limits.minutes ends the wait
    first_wait_seconds=0.0,
    longest_wait_seconds=0.0,
    give_up_after=MOST_CALLS,  # failures of one batch come in a row
)


@dataclass(frozen=True, slots=True)
class BatchRun(ModelSource):
    """Answers a run from batches, in place of single calls. `client` asks in batches, and
    `add_names` names the requests of further trials."""

    client: BatchClient
    add_names: Callable[[Sequence[Trial]], None]

    async def complete(self, request: Request) -> Completion:
        return await self.client.complete(request)

    async def require_key(self, model: str) -> None:
        """Refuse a model without a key, before anything is sent. Raises UsageError."""
        await self.client.require_key(model)

    async def aclose(self) -> None:
        await self.client.aclose()

    def prepare(self, around: RunContext, work: Work, log: AnswerLog | None) -> RunContext:
        """Return the context in which all calls are made at once.

        Limits per minute are for single calls and do not apply. The log begins now, because a
        batch is paid for before its first answer. Raises MeasurementError if it cannot be written.
        """
        if log is not None:
            log.begin()
            if log.fault:
                raise MeasurementError(log.fault)
            self.client.journal.note = log.note_batch
            self.client.journal.place = str(log.path)
        limits = replace(work.policy.limits, requests_per_minute=None, tokens_per_minute=None)
        ready = replace(around, retry=_RETRY, limits=limits, together=True)
        return replace(ready, on_fresh=self.add_names)

    def follow(self, progress: TerminalProgress) -> None:
        """Show how far the batches are."""
        self.client.wait.on_change = progress.waits

    @property
    def amounts(self) -> Amounts:
        """Return what a request takes in a batch."""
        expected, worst = partial(expected_cost, batched=True), partial(worst_cost, batched=True)
        return Amounts(expected, worst, count_tokens)

    @property
    def unfinished(self) -> bool:
        return bool(self.client.running)

    def notices(self) -> Iterator[str]:
        """Say what was asked in batches, and what was not collected."""
        if self.client.submitted:
            batches = count(self.client.submitted, "batch", "batches")
            yield f"The models were called in {batches}, so no latency was measured."
        for batch, cancel in self.client.running.items():
            yield (
                f"The answers of the batch {batch} were not collected, but the "
                "provider bills this batch. To collect the answers, run the same command with "
                f"--resume. To cancel the batch, send {cancel}."
            )
        if self.client.possibly_paid_twice:
            yield (
                f"The provider might bill {count(self.client.possibly_paid_twice, 'request')} "
                "twice: the provider's answer to a submitted batch was lost, and the provider's "
                "API cannot say whether the batch has started."
            )


def open_batches(work: Work, known: Iterable[KnownBatch]) -> BatchRun:
    """Return what a run in batches needs. `known` are the batches of a run that is resumed. Raises
    UsageError for work that cannot be measured in batches."""
    from gatekeeper.providers.batch.api import BatchJournal
    from gatekeeper.providers.batch.client import BatchClient

    for job in work.jobs:
        _require_no_times(job.contract)
        require_single_calls(job, "--batch")
    calls = len(distinct_requests(work.trials))
    if calls > MOST_CALLS:
        raise UsageError(
            f"--batch: the run takes {calls:,} calls, but a run in batches can have at most "
            f"{MOST_CALLS:,}; test only some of the contracts with --contract"
        )
    # Two contracts may ask the same, and each gets an answer of its own: so a request is known by
    # its trial, and not by what it says.
    trial_of: dict[int, Trial] = {}

    def add_names(trials: Sequence[Trial]) -> None:
        trial_of.update((id(trial.request), trial) for trial in trials)

    def name_of(request: Request) -> str:
        return request_key(trial_of[id(request)])

    add_names(work.trials)

    client = BatchClient(BatchJournal(known), name_of, work.policy.through_litellm)
    _require_models(work, client)
    _require_prices(work)  # after models: one that no batch takes needs no price
    return BatchRun(client, add_names)


def _require_no_times(contract: Contract) -> None:
    """Refuse a contract that needs to know how long a call took: a batch does not say. Raises
    UsageError."""
    timed = [f"the objective {o.name}" for o in contract.slo if o.measure.unit == "ms"]
    timed += [
        f"the check {spec.name}"
        for spec in contract.every_check()
        if spec.type in ("latency", "ttft")
    ]
    if timed:
        raise UsageError(
            f"--batch: {contract.name} has {timed[0]}, but batches do not measure time; run this "
            "contract without --batch, and the other contracts with --batch and --contract"
        )


def _require_models(work: Work, client: BatchClient) -> None:
    """Refuse requests that cannot go into a batch. Raises UsageError."""
    for request in distinct_requests(work.trials):
        refused = client.refusal(request)
        if refused and not request.model.startswith("recorded/"):
            raise UsageError(refused)


def _require_prices(work: Work) -> None:
    """Refuse models without a known price under a limit on cost: of single calls the first one
    tells the price, of a batch none does in time. Raises UsageError."""
    if work.policy.limits.cost_usd is None:
        return
    for request in distinct_requests(work.trials):
        if worst_cost(request, batched=True) is None:
            raise UsageError(
                f"--batch: no price is known for {request.model}, so "
                "limits.cost_usd cannot limit a batch; set limits.cost_usd to "
                "null in the policy, so that only limits.calls limits the batch"
            )
