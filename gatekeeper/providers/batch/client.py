"""Answers requests from batches: gathers what arrives together, submits it, waits for the results.

It is a model client like any other, so limits, retries, evidence and reports work as always. A
request that failed and is asked again arrives again, and goes into the next batch.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, MeasurementError
from gatekeeper.numbers import count
from gatekeeper.providers.batch.anthropic import AnthropicBatches
from gatekeeper.providers.batch.api import (
    BatchApi,
    BatchItem,
    BatchJournal,
    BatchState,
    BatchUnknown,
    ItemResult,
    KnownBatch,
    SubmissionLost,
)
from gatekeeper.providers.batch.openai import OpenAIBatches
from gatekeeper.providers.batch.transport import BatchTransport
from gatekeeper.providers.hosted import ChatApi, native_api, read_completion
from gatekeeper.providers.http.http_client import Exchange, HttpClient, HttpRequest
from gatekeeper.providers.http.network_guard import NetworkGuard
from gatekeeper.providers.models.catalogue import CATALOGUE
from gatekeeper.providers.models.endpoint import (
    Endpoint,
    endpoint_of,
    missing_key,
    require_endpoint,
    require_known_params,
)
from gatekeeper.sampling.retries import Sleep


class BatchWait:
    """The batches that have not ended. `on_change` gets a text for people at each poll, empty once
    no batch is waited for."""

    def __init__(self) -> None:
        self.on_change: Callable[[str], object] = lambda _: None
        self._open: dict[str, tuple[int, int | None]] = {}

    def saw(self, batch: str, requests: int, done: int | None = None) -> None:
        """Note how many of the batch's requests are done; None is not known."""
        self._open[batch] = requests, done
        self.on_change(self._text())

    def ended(self, batch: str) -> None:
        """Note that the batch is no longer waited for."""
        if self._open.pop(batch, None):
            self.on_change(self._text())

    def _text(self) -> str:
        if not self._open:
            return ""
        requests = sum(requests for requests, _ in self._open.values())
        known = [done for _, done in self._open.values() if done is not None]
        said = f"waiting for {count(len(self._open), 'batch', 'batches')}"
        if known:
            return f"{said}, {sum(known):,} of {count(requests, 'request')} done"
        return f"{said} of {count(requests, 'request')}"


T = TypeVar("T")

BATCH_APIS: Mapping[str, Callable[[BatchTransport, str], BatchApi]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
}
"""By provider. The addresses of others are not known to take batches."""

MOST_ITEMS = 20_000
MOST_BYTES = 50_000_000
"""Of one batch: below what the providers take."""

_QUIET_SECONDS = 1.0
"""After this long without another request, the requests so far are submitted together."""

_FIRST_POLL_SECONDS, _LAST_POLL_SECONDS, _POLL_GROWTH = 5.0, 120.0, 1.5

_SECONDS_TO_SUBMIT = 5.0
"""How long a run that was interrupted waits for the id of a batch. A runner of GitHub kills it
after ten."""

_MOST_OUTAGES = 20
"""After so many in a row, of four minutes each, the wait for a batch ends."""


@dataclass(eq=False, slots=True)
class _Waiting:
    """A request that waits for its answer."""

    name: str
    request: Request
    api: ChatApi
    sent: HttpRequest
    answer: asyncio.Future[Completion]


class BatchClient:
    """Asks OpenAI's and Anthropic's models in batches.

    `name_of` returns a name of the request that is the same in every process, of at most 64 letters
    and digits. `journal` knows the batches of an earlier process, whose answers are not asked for
    again. `through_litellm` are the providers that only litellm calls, and so not in batches.
    `submitted` counts the batches of this process, `wait` says how far they are.
    """

    def __init__(
        self,
        journal: BatchJournal,
        name_of: Callable[[Request], str],
        through_litellm: Collection[str] = (),
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.wait = BatchWait()
        self.submitted = 0
        self.possibly_paid_twice = 0
        self.journal = journal
        self._name_of = name_of
        self._forced = frozenset(through_litellm)
        self._sleep = sleep
        self._earlier = {name: known for known in journal.known for name in known.names}
        self._running: dict[str, str] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._guard = NetworkGuard()
        self._http: HttpClient | None = None
        self._arrived: list[_Waiting] = []
        self._gathering: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._submitting: set[asyncio.Task[str]] = set()

    async def complete(self, request: Request) -> Completion:
        native = self._native(request)
        if native is None:
            raise CallFailed(self.refusal(request) or request.model, fatal=True, author=True)
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._arrived.append(_Waiting(self._name_of(request), request, *native, answer))
        if self._gathering is None:
            self._gathering = asyncio.create_task(self._gather())
        return await answer

    async def require_key(self, model: str) -> None:
        """Refuse a model without a key, before anything is sent. Raises UsageError."""
        endpoint = endpoint_of(model, os.environ)
        if endpoint.missing:
            raise missing_key(model, endpoint)

    def refusal(self, request: Request) -> str | None:
        """Say why the request cannot go into a batch; None if it can. Raises UsageError for a model
        that cannot be asked at all."""
        provider = read_model_name(request.model).provider
        if provider not in BATCH_APIS or provider in self._forced:
            return (
                f"{request.model} cannot be called in a batch, because batches are only for models "
                "of openai and anthropic that gatekeeper calls without litellm; run this contract "
                "without --batch, and the other contracts with --batch and --contract"
            )
        if self._native(request) is None:
            return (
                f"{request.model} cannot be called in a batch with these messages and parameters, "
                "because only litellm can send them; run without --batch"
            )
        return None

    @property
    def running(self) -> Mapping[str, str]:
        """How to cancel each batch whose answers were not collected, by its id."""
        return self._running

    async def aclose(self) -> None:
        """Stop to wait. Batches go on at the provider. One that is being submitted has some seconds
        to end: without its id nobody could collect its answers."""
        if self._submitting:
            await asyncio.wait(self._submitting, timeout=_SECONDS_TO_SUBMIT)
        tasks = [*self._tasks, *self._submitting, *filter(None, [self._gathering])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._http is not None:
            await self._http.aclose()
            self._http = None
        self._guard.stop()

    def _native(self, request: Request) -> tuple[ChatApi, HttpRequest] | None:
        provider = read_model_name(request.model).provider
        if provider not in BATCH_APIS or provider in self._forced:
            return None
        require_known_params(request)
        endpoint = self._endpoint(request.model)
        if endpoint.provider is not CATALOGUE[provider]:
            return None  # litellm's proxy is asked
        api = native_api(endpoint, request)
        sent = api.build_request(endpoint, request) if api else None
        return (api, sent) if api and sent else None

    def _endpoint(self, model: str) -> Endpoint:
        if model not in self._endpoints:
            self._endpoints[model] = require_endpoint(model)
        return self._endpoints[model]

    async def _gather(self) -> None:
        arrived = -1
        while arrived != len(self._arrived):
            arrived = len(self._arrived)
            await self._sleep(_QUIET_SECONDS)
        waiting, self._arrived, self._gathering = self._arrived, [], None
        earlier: dict[str, list[_Waiting]] = defaultdict(list)
        new: dict[tuple[str, str], list[_Waiting]] = defaultdict(list)
        for one in waiting:
            known = self._earlier.pop(one.name, None)
            if known is not None:
                earlier[known.key].append(one)
            else:
                new[one.request.model, one.sent.url].append(one)
        batches = {known.key: known for known in self.journal.known}
        for key, group in earlier.items():
            self._start(group, batches[key])
        for group in new.values():
            for part in _in_parts(group):
                self._start(part, None)

    def _start(self, waiting: Sequence[_Waiting], known: KnownBatch | None) -> None:
        task = asyncio.create_task(self._answer(waiting, known))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, waiting: Sequence[_Waiting], known: KnownBatch | None) -> None:
        """Answer the requests from one batch. Whatever goes wrong is the answer of them all."""
        try:
            await self._answer_from_batch(waiting, known)
        except CallFailed as failure:
            fail_all((one.answer for one in waiting), failure)
        except Exception as error:
            for one in waiting:
                if not one.answer.done():
                    one.answer.set_exception(error)

    async def _answer_from_batch(
        self, waiting: Sequence[_Waiting], known: KnownBatch | None
    ) -> None:
        endpoint = self._endpoint(waiting[0].request.model)
        api = self._api(endpoint, waiting[0].sent)
        batch = known.batch if known else None
        if known is not None and batch is None:
            batch = await self._find(api, known)
        if batch is None:
            batch = await self._submit(api, waiting)
        state = await self._ended(api, batch, len(waiting))
        if state.fault and known is not None:
            # What stopped it may be over, and nothing of it was billed.
            batch = await self._submit(api, waiting)
            state = await self._ended(api, batch, len(waiting))
        if state.fault:
            said = f"{endpoint.model}: the provider did not finish batch {batch}: {state.fault}"
            raise CallFailed(said, fatal=True)
        await self._read_results(api, endpoint, state, waiting, batch)
        self._running.pop(batch)

    async def _find(self, api: BatchApi, known: KnownBatch) -> str | None:
        """Return the id of a batch that an earlier process meant to submit; None if it did not."""
        try:
            batch = await self._despite_outages(lambda: api.find(known.key))
        except BatchUnknown:
            self.possibly_paid_twice += len(known.names)
            return None
        if batch is not None:
            self.journal.submitted(known.key, batch)
        return batch

    async def _submit(self, api: BatchApi, waiting: Sequence[_Waiting]) -> str:
        """Submit a batch and return its id, in a task that outlives whoever waits for it."""
        submitting = asyncio.create_task(self._submit_now(api, waiting))
        self._submitting.add(submitting)
        submitting.add_done_callback(self._submitting.discard)
        return await asyncio.shield(submitting)

    async def _submit_now(self, api: BatchApi, waiting: Sequence[_Waiting]) -> str:
        key = secrets.token_hex(16)
        names = [one.name for one in waiting]
        self.journal.intend(key, waiting[0].request.model, names)
        items = [BatchItem(one.name, one.sent.body) for one in waiting]
        try:
            batch = await api.submit(items, key)
        except SubmissionLost as lost:
            # The runner asks again, and counts a billable call at its worst price.
            try:
                found = await self._despite_outages(lambda: api.find(key))
            except BatchUnknown:
                self.possibly_paid_twice += len(names)
                lost.failure.billable = True
                raise lost.failure from lost
            if found is None:
                lost.failure.billable = False
                raise lost.failure from lost
            batch = found
        self.submitted += 1
        self._running[batch] = api.how_to_cancel(batch)
        try:
            self.journal.submitted(key, batch)
        except MeasurementError as error:
            how = api.how_to_cancel(batch)
            cancel = f"the provider bills the batch {batch}; cancel this batch with {how}"
            raise MeasurementError(f"{error}; {cancel}") from error
        return batch

    async def _ended(self, api: BatchApi, batch: str, requests: int) -> BatchState:
        self._running[batch] = api.how_to_cancel(batch)
        seconds = _FIRST_POLL_SECONDS
        self.wait.saw(batch, requests)
        try:
            while not (state := await self._of_batch(batch, lambda: api.state(batch))).ended:
                self.wait.saw(batch, requests, state.done)
                await self._sleep(seconds)
                seconds = min(seconds * _POLL_GROWTH, _LAST_POLL_SECONDS)
        finally:
            self.wait.ended(batch)
        if state.fault:
            self._running.pop(batch)
        return state

    async def _of_batch(self, batch: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask for what the provider has of a batch. Raises CallFailed, which is not the author's
        fault if the provider does not know the batch: it had accepted it."""
        try:
            return await self._despite_outages(ask)
        except CallFailed as failure:
            if not failure.author:
                raise
            self._running.pop(batch, None)
            said = (
                f"{failure}; the provider no longer has the batch {batch}: use the key and the "
                f"address that it was submitted with, or delete {self.journal.place} and run again"
            )
            raise CallFailed(said, fatal=True, billable=True) from failure

    async def _despite_outages(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask about a batch that may be billed, also if the provider does not answer for a while.

        Raises CallFailed that is not to be tried again: the requests would go into another batch.
        """
        for outage in range(1, _MOST_OUTAGES + 1):
            try:
                return await ask()
            except CallFailed as failure:
                if not failure.retryable or outage == _MOST_OUTAGES:
                    ends = failure.fatal or failure.retryable
                    said, author = str(failure), failure.author
                    raise CallFailed(said, fatal=ends, author=author, billable=True) from failure
            await self._sleep(_LAST_POLL_SECONDS)
        raise AssertionError("unreachable")

    async def _read_results(
        self,
        api: BatchApi,
        endpoint: Endpoint,
        state: BatchState,
        waiting: Sequence[_Waiting],
        batch: str,
    ) -> None:
        """Answer from the results. The first one of a name counts, and unknown names do not."""
        open_ones = {one.name: one for one in waiting}
        failed: list[tuple[_Waiting, CallFailed]] = []
        transport = self._transport(endpoint, waiting[0].sent)

        def on_row(row: Mapping[str, Any]) -> None:
            result = api.read_result(row)
            one = open_ones.pop(result.name, None) if result else None
            if one is None or result is None or one.answer.done():
                return
            try:
                one.answer.set_result(completion_of(endpoint, one.api, one.request.model, result))
            except CallFailed as failure:
                failed.append((one, failure))

        try:
            for place in state.places:
                await self._of_batch(batch, partial(transport.read_rows, place, on_row))
        finally:
            # Answers first: a failure may end the run, and these are paid for.
            await asyncio.sleep(0)
            for one, failure in failed:
                fail_all([one.answer], failure)
        said = f"{endpoint.model}: the batch {batch} has no result for the request"
        lost = CallFailed(said, retryable=True, billable=True)
        fail_all((one.answer for one in open_ones.values()), lost)

    def _api(self, endpoint: Endpoint, sent: HttpRequest) -> BatchApi:
        make = BATCH_APIS[read_model_name(endpoint.model).provider]
        return make(self._transport(endpoint, sent), sent.url)

    def _transport(self, endpoint: Endpoint, sent: HttpRequest) -> BatchTransport:
        self._guard.allow(endpoint.host_patterns)
        if self._http is None:
            self._http = HttpClient()
            self._guard.start()
        return BatchTransport(self._http, endpoint, sent.headers, self._sleep)


def _in_parts(waiting: Sequence[_Waiting]) -> Iterator[list[_Waiting]]:
    """Cut what is too large for one batch."""
    part: list[_Waiting] = []
    size = 0
    for one in waiting:
        length = len(one.sent.body) + 200
        if part and (len(part) >= MOST_ITEMS or size + length > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(one)
        size += length
    if part:
        yield part


def completion_of(endpoint: Endpoint, api: ChatApi, model: str, result: ItemResult) -> Completion:
    """Return the answer. Raises CallFailed; what failed in a batch is not billed."""
    if result.fault is not None:
        said = f"{model}: in a batch: {result.fault[:300]}"
        raise CallFailed(said, retryable=result.retryable)
    body = json.dumps(result.body).encode()
    exchange = Exchange(endpoint, sent=True, reached=True, status=result.status, body=body)
    exchange.batched = True
    return read_completion(api, model, exchange)


def fail_all(answers: Iterable[asyncio.Future[Completion]], failure: CallFailed) -> None:
    """Fail each request with a failure of its own. The batch was slowed down by the provider, not
    by how many requests were made at a time."""
    for answer in answers:
        if not answer.done():
            own = CallFailed(str(failure))
            vars(own).update(vars(failure), throttled=False, retry_after=None)
            answer.set_exception(own)
