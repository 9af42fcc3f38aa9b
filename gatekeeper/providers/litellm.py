"""Models behind a provider's API, through litellm: those that have no native client here."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import warnings
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

import aiohttp
import httpx

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.reading.thoughts import without_thoughts
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.failures import call_failed
from gatekeeper.providers.http import http_client
from gatekeeper.providers.http.http_client import Exchange, HttpClient
from gatekeeper.providers.http.network_guard import NetworkGuard
from gatekeeper.providers.keyless import Keyless
from gatekeeper.providers.models.cost_estimate import FREE
from gatekeeper.providers.models.endpoint import (
    Endpoint,
    endpoint_of,
    missing_key,
    require_endpoint,
    require_known_params,
)
from gatekeeper.providers.models.price_list import price_entry
from gatekeeper.providers.native.anthropic import reasoning_in
from gatekeeper.providers.native.call_cost import believed_cost
from gatekeeper.providers.native.chat_messages import chat_messages, opaque_of, require_taken
from gatekeeper.providers.native.endings import (
    fingerprint_of,
    read_chat_calls,
    read_document,
    read_ending,
    refused_request,
    token_count,
)
from gatekeeper.providers.native.prompt_caching import MARK, marked_message

# litellm without its network access at import, its prints, its log lines and its warnings.


_A_KEY = re.compile(r"_(?:KEY|KEY_ID|TOKEN|SECRET)$")


def load_litellm() -> Any:
    """Import litellm and return it. The import takes seconds, so never do it on an event loop."""
    # Its price list would be fetched from the network, which can hang for seconds.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # Otherwise a .env file found upwards of the package may set keys and base URLs.
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    # A workflow gives a secret that is not there as nothing, which litellm takes for a key.
    for name in [n for n, value in os.environ.items() if not value and _A_KEY.search(n)]:
        del os.environ[name]
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router", "httpx"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # Of an answer with a value of the wrong type pydantic warns, and quotes the value.
    warnings.filterwarnings("ignore", module=r"(?:litellm|pydantic|openai)(?:\.|$)")
    return litellm


# What litellm sends through httpx goes over `HttpClient`. Refused are a request to another host
# than the model's, one that carries another provider's secret, a redirect, and an answer without
# end.


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


_REHEARSAL_SECONDS = 10.0
_TIMEOUT_SECONDS = 600.0  # the runner's own limit is far shorter


class LitellmClient:
    """Asks models through litellm, which is imported with the first request."""

    def __init__(
        self, guard: NetworkGuard, connect: Callable[[], HttpClient], keyless: Keyless
    ) -> None:
        """`connect` returns the HTTP client to use and starts the guard; whoever gives it closes
        both. `keyless` signs in to models without a key."""
        self._guard, self._connect, self._keyless = guard, connect, keyless
        self._opening = asyncio.Lock()
        self._session: _Session | None = None

    async def complete(self, request: Request) -> Completion:
        require_known_params(request)
        endpoint = require_endpoint(request.model)
        _require_sent(request)
        session = await self._open(endpoint)
        endpoint = await self._keyless.signed_in(endpoint)
        exchange = Exchange(endpoint)
        token = current_exchange.set(exchange)
        try:
            arguments = _arguments(session.litellm, request, endpoint)
            call = asyncio.ensure_future(session.litellm.acompletion(**arguments))
            response = await _answer(call, exchange)
        except Exception as error:
            refused = refused_request(exchange)
            if refused is not None:
                return refused
            raise call_failed(request.model, error, exchange) from error
        finally:
            current_exchange.reset(token)
        return _completion(session.litellm, request.model, response, exchange)

    async def require_key(self, model: str) -> None:
        """Refuse a model that cannot be called, before anything is sent: an invalid name, an
        unknown provider, a missing address or key. Raises UsageError.

        AWS's and Google's libraries may find elsewhere what the environment seems to lack (a
        profile, a token of the machine), so for those a call is tried that ends at the wire.
        """
        endpoint = endpoint_of(model, os.environ)
        if not endpoint.missing or endpoint.provider.ambient:
            # Loading litellm here takes none of the first calls' time.
            session = await self._open(endpoint)
            if not endpoint.missing or await _sends_a_request(session.litellm, model, endpoint):
                return
        raise missing_key(model, endpoint)

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _open(self, endpoint: Endpoint) -> _Session:
        async with self._opening:
            if self._session is None:
                litellm = await asyncio.to_thread(load_litellm)
                self._session = _Session(litellm, self._connect())
        self._guard.allow(endpoint.host_patterns)
        return self._session


class _Session:
    """litellm with its HTTP going over a transport of ours, until it is closed."""

    def __init__(self, litellm: Any, http: HttpClient) -> None:
        from litellm.llms.custom_httpx import http_handler

        self.litellm = litellm
        self._transport = HttpxTransport(http)
        # litellm makes the transport of every asynchronous client here, also of OpenAI's. Up to
        # 1.83 the function's name began with an underscore; later that is but an alias.
        self._handler = http_handler.AsyncHTTPHandler
        names = ("create_async_transport", "_create_async_transport")
        self._own_transport = {
            n: getattr(self._handler, n) for n in names if hasattr(self._handler, n)
        }
        if not self._own_transport:
            raise RuntimeError(
                "gatekeeper does not know where this version of litellm creates its connections"
            )
        for name in self._own_transport:
            setattr(self._handler, name, staticmethod(lambda **_: self._transport))
        from litellm.llms.vertex_ai.vertex_llm_base import VertexBase

        self._vertex, self._own_token = VertexBase, VertexBase.get_access_token
        self._own_async_token = VertexBase.get_access_token_async
        VertexBase.get_access_token = _lent(self._own_token)
        VertexBase.get_access_token_async = _lent_async(self._own_async_token)
        litellm.in_memory_llm_clients_cache.flush_cache()

    async def close(self) -> None:
        from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER
        from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

        for name, own in self._own_transport.items():
            setattr(self._handler, name, staticmethod(own))
        self._vertex.get_access_token = self._own_token
        self._vertex.get_access_token_async = self._own_async_token
        await close_litellm_async_clients()
        # Clients are cached with their transport: the next session must not find these.
        self.litellm.in_memory_llm_clients_cache.flush_cache()
        await GLOBAL_LOGGING_WORKER.stop()


# litellm takes an access token of Google only from google-auth's own credentials. It gets the one
# that `Keyless` had instead, and the project of the call.


def _lent(own: Callable[..., Any]) -> Callable[..., Any]:
    def get_access_token(base: Any, credentials: Any, project_id: Any, *more: Any) -> Any:
        return _lease(credentials, project_id) or own(base, credentials, project_id, *more)

    return get_access_token


def _lent_async(own: Callable[..., Any]) -> Callable[..., Any]:
    async def get_access_token(base: Any, credentials: Any, project_id: Any, *more: Any) -> Any:
        return _lease(credentials, project_id) or await own(base, credentials, project_id, *more)

    return get_access_token


def _lease(credentials: Any, project_id: Any) -> tuple[Any, Any] | None:
    exchange = current_exchange.get()
    lease = exchange.endpoint.lease if exchange and exchange.endpoint else {}
    return (credentials, project_id) if credentials in lease.values() else None


async def _answer(call: asyncio.Future[Any], exchange: Exchange) -> Any:
    """Return what the call returns. If it is cancelled, the call ends before this does.

    litellm prepares a call in a thread; cancelled there, it would leave a coroutine that nobody
    awaits. So it continues to the network, which refuses it.
    """
    call.add_done_callback(_retrieve)
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        exchange.refused = True
        if exchange.sent:
            call.cancel()
        await asyncio.wait([call])
        raise


def _retrieve(call: asyncio.Future[Any]) -> None:
    """Look at the call's error, which asyncio otherwise prints if a second cancellation came before
    anybody could."""
    if not call.cancelled():
        call.exception()


_KINDS = {
    "supports_vision": "image/",
    "supports_pdf_input": "application/pdf",
    "supports_audio_input": "audio/",
}
_SURE = frozenset({"anthropic", "azure", "bedrock", "gemini", "openai", "vertex_ai"})
"""Providers to which litellm sends pictures and documents of any model."""


def _require_sent(request: Request) -> None:
    """Refuse files that litellm may leave out without a word: of many providers' messages it sends
    only the text. Raises CallFailed."""
    entry, sure = price_entry(request.model) or {}, ("image/", "application/pdf")
    taken = [kind for flag, kind in _KINDS.items() if entry.get(flag) is True]
    known = sure if read_model_name(request.model).provider in _SURE else ()
    require_taken(request, *taken, *known)


def _arguments(litellm: Any, request: Request, endpoint: Endpoint) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        **request.params,
        "model": endpoint.model,
        # Both, or litellm would look for them, and may find another provider's.
        "api_key": endpoint.api_key,
        "api_base": endpoint.api_base,
        "messages": _messages(request),
        "num_retries": 0,
        "max_retries": 0,
        "timeout": _TIMEOUT_SECONDS,
        **endpoint.lease,
    }
    if "tools" in request.params:
        # litellm must not call servers that a tool names, and must not load what that takes.
        arguments["_skip_mcp_handler"] = True
    # Not every provider takes a seed, and none answers the worse for not getting one; any
    # other unsupported parameter is the author's to remove, so litellm's refusal stands.
    if request.seed is not None and "seed" not in request.params:
        with contextlib.suppress(Exception):
            if "seed" in (litellm.get_supported_openai_params(endpoint.model) or ()):
                arguments["seed"] = request.seed
    return arguments


def _messages(request: Request) -> list[dict[str, Any]]:
    """Return the messages, with the mark for the provider's cache."""
    said = chat_messages(request.messages, read_model_name(request.model).provider)
    marked = marked_message(request)
    if marked is not None and not request.messages[marked].files:
        text = request.messages[marked].content
        said[marked]["content"] = [{"type": "text", "text": text, "cache_control": MARK}]
    return said


async def _sends_a_request(litellm: Any, model: str, endpoint: Endpoint) -> bool:
    """Return whether litellm has all that it needs for a request. Nothing is sent."""
    rehearsal = Exchange(endpoint, refused=True)
    token = current_exchange.set(rehearsal)
    request = Request(model, (Message("user", "-"),), {}, None, 0)
    try:
        async with asyncio.timeout(_REHEARSAL_SECONDS):
            await litellm.acompletion(**_arguments(litellm, request, endpoint))
    except TimeoutError:
        return True  # it looks for credentials somewhere, and may find them
    except Exception:
        return rehearsal.sent
    finally:
        current_exchange.reset(token)
    return True


def _completion(litellm: Any, model: str, response: Any, exchange: Exchange) -> Completion:
    content, known = _text_and_reason(response)
    message = _message(response)
    document = read_document(exchange.body)
    content = _with_thoughts(content, document)
    ending = read_ending(document, content, known)
    if ending is None:
        raise CallFailed(f"{model}: the answer has no text", retryable=True, billable=True)
    usage = getattr(response, "usage", None)
    # litellm reports zero if the provider reported nothing; no prompt has no tokens.
    prompt_tokens = token_count(getattr(usage, "prompt_tokens", None)) or None
    completion_tokens = token_count(getattr(usage, "completion_tokens", None))
    completion_tokens = completion_tokens if prompt_tokens else None
    return Completion(
        text=ending.text,
        latency_ms=exchange.latency_ms,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cost_usd=_cost(litellm, model, response) if completion_tokens is not None else None,
        fingerprint=fingerprint_of(
            getattr(response, "model", None), getattr(response, "system_fingerprint", None)
        ),
        finish_reason=ending.reason,
        cached_tokens=token_count(getattr(_details(usage), "cached_tokens", None)),
        cache_write_tokens=token_count(getattr(_details(usage), "cache_creation_tokens", None)),
        reasoning_tokens=_reasoning(usage, document, completion_tokens),
        tool_calls=read_chat_calls(message),
        opaque=opaque_of(message),
    )


def _reasoning(usage: Any, document: Any, completion: int | None) -> int | None:
    """Return how many tokens of the answer are reasoning. For an answer of Anthropic that does not
    count them, litellm would give an estimate."""
    if completion is None:
        return None
    if isinstance(document, Mapping) and document.get("type") == "message":
        said = document.get("usage")
        return reasoning_in(said, completion) if isinstance(said, Mapping) else None
    details = getattr(usage, "completion_tokens_details", None)
    count = token_count(getattr(details, "reasoning_tokens", None))
    return None if count is None else min(count, completion)


def _details(usage: Any) -> Any:
    return getattr(usage, "prompt_tokens_details", None)


def _text_and_reason(response: Any) -> tuple[object, object]:
    """Return the text that litellm found, and why it ended, in OpenAI's words."""
    try:
        choice = response.choices[0]
        return choice.message.content, getattr(choice, "finish_reason", None)
    except (AttributeError, IndexError, TypeError):
        return None, None


def _with_thoughts(content: object, document: Any) -> object:
    """Return the text as the provider sent it, if litellm took out thoughts that it begins with."""
    whole: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    choices = whole.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else whole
    message = choice.get("message") if isinstance(choice, Mapping) else None
    sent = message.get("content") if isinstance(message, Mapping) else whole.get("response")
    if isinstance(sent, list):
        texts = (part.get("text") for part in sent if isinstance(part, Mapping))
        sent = "".join(text for text in texts if isinstance(text, str))
    if not isinstance(sent, str) or without_thoughts(sent) == sent:
        return content
    return sent if sent.endswith(str(content or "")) else content


def _message(response: Any) -> Mapping[str, Any]:
    try:
        found = response.choices[0].message.model_dump()
    except (AttributeError, IndexError, TypeError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _cost(litellm: Any, model: str, response: Any) -> float | None:
    """Return the call's price; None if litellm knows none. For a model that is not in its list it
    may say 0."""
    usage = getattr(response, "usage", None)
    cached = token_count(getattr(_details(usage), "cached_tokens", None)) or 0
    if cached > (token_count(getattr(usage, "prompt_tokens", None)) or 0):
        return None
    try:
        cost = float(litellm.completion_cost(completion_response=response, model=model))
    except Exception:
        return None
    unknown = cost == 0 and not model.startswith(FREE) and price_entry(model) is None
    return None if unknown else believed_cost(cost)
