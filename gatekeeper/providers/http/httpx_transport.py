"""The HTTP transport under litellm: what litellm sends through httpx goes over `HttpClient`.

Refused are a request to another host than the model's, one that carries another provider's
secret, a redirect, and an answer without end.
"""

from __future__ import annotations

from contextvars import ContextVar

import aiohttp
import httpx

from gatekeeper.providers.http import http_client
from gatekeeper.providers.http.http_client import HttpClient
from gatekeeper.providers.http.http_exchange import Exchange

_OF_THE_CONNECTION = ("accept-encoding", "connection", "content-length", "host")
_OF_THE_BODY_AS_SENT = ("content-encoding", "content-length", "transfer-encoding")

current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)


class RequestRefused(httpx.RequestError):
    """A request that is not sent, or an answer that is not read."""


class HttpxTransport(httpx.AsyncBaseTransport):
    """Sends over `client`, reads answers completely, and notes them in `current_exchange`."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = current_exchange.get()
        if exchange is None:
            raise RequestRefused("a request outside of a model call", request=request)
        exchange.sent = True
        if exchange.refused:
            raise RequestRefused("the call is no longer needed", request=request)
        body = await request.aread()
        headers = [
            (name, value)
            for name, value in request.headers.multi_items()
            if name not in _OF_THE_CONNECTION
        ]
        try:
            answered = await self._client.send(
                request.method, str(request.url), headers, body, exchange
            )
        except http_client.RequestRefused as error:
            raise RequestRefused(str(error), request=request) from error
        except TimeoutError as error:
            raise httpx.ReadTimeout(str(error), request=request) from error
        except (aiohttp.ClientError, OSError) as error:
            raise httpx.NetworkError(str(error), request=request) from error
        return httpx.Response(
            exchange.status or 0,
            headers=[
                (name, value)
                for name, value in answered.items()
                if name.lower() not in _OF_THE_BODY_AS_SENT
            ],
            stream=httpx.ByteStream(exchange.body),
        )

    async def aclose(self) -> None:
        """Do nothing: litellm opens and closes clients, and the owner closes the HTTP client."""
