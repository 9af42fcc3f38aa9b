"""Calls models behind a provider's API: natively if possible, else through litellm."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.values.call import Embedding
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.failures import call_failed
from gatekeeper.providers.http.answer_stream import AnswerStream
from gatekeeper.providers.http.http_client import Exchange, HttpClient, HttpRequest
from gatekeeper.providers.http.network_guard import NetworkGuard
from gatekeeper.providers.keyless import Keyless
from gatekeeper.providers.models.catalogue import CATALOGUE
from gatekeeper.providers.models.endpoint import (
    Endpoint,
    endpoint_of,
    missing_key,
    require_endpoint,
    require_known_params,
)
from gatekeeper.providers.native import (
    anthropic,
    embeddings,
    ollama,
    openai_compatible,
    responses,
)
from gatekeeper.providers.native.dialects import DIALECTS
from gatekeeper.providers.native.endings import read_document, refused_request
from gatekeeper.providers.native.prompt_caching import is_marked

if TYPE_CHECKING:
    from gatekeeper.providers.litellm import LitellmClient


class ChatApi(Protocol):
    """An API that is spoken natively."""

    def build_request(self, endpoint: Endpoint, request: Request) -> HttpRequest | None:
        """Return the HTTP request; None if litellm must send it."""
        ...

    def open_stream(self) -> AnswerStream:
        """Return what joins a streamed answer."""
        ...

    def read_answer(self, model: str, exchange: Exchange) -> Completion:
        """Return what was answered. Raises an exception that says why there is no answer."""
        ...


NATIVE_APIS: Mapping[str, ChatApi] = {
    **dict.fromkeys(DIALECTS, openai_compatible),
    "anthropic": anthropic,
    "ollama_chat": ollama,
}
"""The API of each provider that is called natively."""


def native_api(endpoint: Endpoint, request: Request | None) -> ChatApi | None:
    """Return the API for a request, or the usual one of the provider; None if litellm calls it."""
    if request is not None and responses.is_asked_here(
        endpoint.model, request.params, endpoint.api_base
    ):
        return responses
    return NATIVE_APIS.get(read_model_name(endpoint.model).provider)


class ProviderError(Exception):
    """An error that a provider answered with; the text is the provider's."""


class HostedClient:
    """Calls hosted models. `through_litellm` are the providers that only litellm calls."""

    def __init__(self, through_litellm: Collection[str] = ()) -> None:
        self._forced = frozenset(through_litellm)
        self._guard = NetworkGuard()
        self._endpoints: dict[str, Endpoint] = {}
        self._http: HttpClient | None = None
        self._litellm: LitellmClient | None = None
        self._keyless = Keyless(self._client, self._guard)

    async def complete(self, request: Request) -> Completion:
        require_known_params(request)
        endpoint = self._endpoint(request.model)
        api = self._api(endpoint, request)
        if api is not None:
            endpoint = await self._keyless.signed_in(endpoint)
        sent = api.build_request(endpoint, request) if api else None
        if api is None or sent is None:
            if isinstance(request.call, Embedding):
                raise _no_embeddings(request.model)
            return await self._through_litellm().complete(request)
        exchange = Exchange(endpoint, stream=api.open_stream() if request.streamed else None)
        try:
            await self._client().post(sent, exchange)
        except Exception as error:
            raise call_failed(request.model, error, exchange) from error
        completion = read_completion(api, request.model, exchange)
        return replace(completion, pause=exchange.pause) if exchange.pause else completion

    def can_stream(self, request: Request) -> bool:
        """Return whether the answer can be streamed; answers through litellm are not."""
        return self._native_request(self._endpoint(request.model), request) is not None

    def is_cached(self, request: Request) -> bool:
        """Return whether the provider's cache keeps the messages that the request shares."""
        return is_marked(request)

    async def require_key(self, model: str) -> None:
        """Refuse a model that cannot be called, before anything is sent: an invalid name, an
        unknown provider, a missing address or key. Raises UsageError."""
        endpoint = endpoint_of(model, os.environ)
        if self._api(endpoint) is None:
            await self._through_litellm().require_key(model)
        elif endpoint.missing:
            raise missing_key(model, endpoint)

    async def aclose(self) -> None:
        if self._litellm is not None:
            await self._litellm.aclose()
            self._litellm = None
        if self._http is not None:
            await self._http.aclose()
            self._http = None
        self._guard.stop()

    def _native_request(self, endpoint: Endpoint, request: Request) -> HttpRequest | None:
        api = self._api(endpoint, request)
        return api.build_request(endpoint, request) if api else None

    def _api(self, endpoint: Endpoint, request: Request | None = None) -> ChatApi | None:
        """Return the API of the endpoint for a request; None if litellm calls it."""
        provider = read_model_name(endpoint.model).provider
        by_proxy = endpoint.provider is not CATALOGUE.get(provider)
        if provider in self._forced or by_proxy:
            return None
        if request is not None and isinstance(request.call, Embedding):
            return embeddings if provider in DIALECTS else None
        return native_api(endpoint, request)

    def _endpoint(self, model: str) -> Endpoint:
        endpoint = self._endpoints.get(model)
        if endpoint is None:
            endpoint = self._endpoints[model] = require_endpoint(model)
            self._guard.allow(endpoint.host_patterns)
        return endpoint

    def _client(self) -> HttpClient:
        if self._http is None:
            self._http = HttpClient()
            self._guard.start()
        return self._http

    def _through_litellm(self) -> LitellmClient:
        if self._litellm is None:
            from gatekeeper.providers.litellm import LitellmClient

            self._litellm = LitellmClient(self._guard, self._client, self._keyless)
        return self._litellm


def _no_embeddings(model: str) -> CallFailed:
    return CallFailed(
        f"{model}: gatekeeper cannot get embeddings from this provider; use a "
        "model that gatekeeper calls through OpenAI's API, such as "
        "openai/text-embedding-3-small (docs/models.md lists the providers)",
        fatal=True,
        author=True,
    )


def read_completion(api: ChatApi, model: str, exchange: Exchange) -> Completion:
    """Return what the exchange answers. Raises CallFailed."""
    try:
        if exchange.status is not None and exchange.status >= 400:
            raise ProviderError(error_text(exchange.body))
        return api.read_answer(model, exchange)
    except CallFailed:
        raise
    except Exception as error:
        refused = refused_request(exchange)
        if refused is not None:
            return refused
        raise call_failed(model, error, exchange) from error


def error_text(body: bytes) -> str:
    """Return the provider's error message, with its code if the message alone is unclear."""
    document = read_document(body)
    whole = document if isinstance(document, Mapping) else {}
    error = whole.get("error")
    fields = error if isinstance(error, Mapping) else whole
    said = fields.get("message") or (error if isinstance(error, str) else None)
    if not isinstance(said, str):
        return body.decode("utf-8", "replace")
    codes = {code for code in (fields.get("code"), fields.get("type")) if isinstance(code, str)}
    telling = sorted(code for code in codes & _TELLING_CODES if code not in said)
    return f"{said} ({telling[0]})" if telling else said


_TELLING_CODES = frozenset({"insufficient_quota", "model_not_found"})
