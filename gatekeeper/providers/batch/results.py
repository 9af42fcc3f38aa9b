"""Hands what came of a batch to those who wait for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.trial import Completion
from gatekeeper.errors import CallFailed
from gatekeeper.providers.batch.api import ItemResult
from gatekeeper.providers.endpoint import Endpoint
from gatekeeper.providers.hosted import NATIVE_APIS, read_completion
from gatekeeper.providers.http_exchange import Exchange


def completion_of(endpoint: Endpoint, model: str, result: ItemResult) -> Completion:
    """Return the answer. Raises CallFailed; what failed in a batch is not billed."""
    if result.fault is not None:
        said = f"{model}: in a batch: {result.fault[:300]}"
        raise CallFailed(said, retryable=result.retryable)
    body = json.dumps(result.body).encode()
    exchange = Exchange(endpoint, sent=True, reached=True, status=result.status, body=body)
    exchange.batched = True
    api = NATIVE_APIS[read_model_name(endpoint.model).provider]
    return read_completion(api, model, exchange)


def fail_all(answers: Iterable[asyncio.Future[Completion]], failure: CallFailed) -> None:
    """Fail each request with a failure of its own. The batch was slowed down by the provider, not
    by how many requests were made at a time."""
    for answer in answers:
        if not answer.done():
            answer.set_exception(
                CallFailed(
                    str(failure),
                    retryable=failure.retryable,
                    fatal=failure.fatal,
                    author=failure.author,
                    billable=failure.billable,
                )
            )
