"""What happened on the network for one call to a hosted model, and the rules for each request.

A request to another host than the model's, or one with another provider's secret, is not sent. A
redirect is not followed: a client that follows it would send the key along, and trust any server
that answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gatekeeper.providers.http.answer_stream import AnswerStream
from gatekeeper.providers.models.endpoint import Endpoint


@dataclass(slots=True)
class Exchange:
    """What happened on the network for one call; of several requests the last one counts.

    `endpoint` says to which hosts it may be sent. `sent` says that a request was handed to the HTTP
    client, `reached` that a connection was had and the provider may have got it, `refused` that no
    further request is taken. `fault` says why gatekeeper refused the request or the answer; another
    try would be refused too. `body` is the answer, unpacked. `stream` joins an answer that comes
    token by token, and `ttft_ms` is then the time until its first one; `body` is the whole. `pause`
    is the number of seconds until used-up rate limits are reset; None if something remains. `sink`
    takes a large answer instead of `body`: each part as it comes in, and no bytes at its end.
    `batched` says that the answer came in a batch and costs less.
    """

    endpoint: Endpoint | None = None
    sent: bool = False
    reached: bool = False
    refused: bool = False
    fault: str | None = None
    latency_ms: float | None = None
    status: int | None = None
    retry_after: str | None = None
    pause: float | None = None
    body: bytes = b""
    stream: AnswerStream | None = None
    ttft_ms: float | None = None
    sink: Callable[[bytes], None] | None = None
    batched: bool = False


def request_refused(exchange: Exchange, url: str, content: Iterable[bytes]) -> str | None:
    """Say why the request must not be sent; None if it may. `content` is all that it says."""
    if exchange.endpoint is None:
        return "a request for which no provider is known"
    return exchange.endpoint.refusal(url, content)
