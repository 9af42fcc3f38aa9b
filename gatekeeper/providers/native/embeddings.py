"""OpenAI's embeddings, which many providers and servers speak: the cosine of two texts.

https://platform.openai.com/docs/api-reference/embeddings
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gatekeeper.contract.checks.embeddings import written_cosine
from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.providers.http.answer_stream import AnswerStream
from gatekeeper.providers.http.http_client import Exchange, HttpRequest, encode_json
from gatekeeper.providers.http.response_body import UnreadableAnswer
from gatekeeper.providers.models.endpoint import Endpoint
from gatekeeper.providers.native import openai_compatible
from gatekeeper.providers.native.call_cost import call_cost
from gatekeeper.providers.native.dialects import DIALECTS
from gatekeeper.providers.native.endings import (
    TokenUsage,
    fingerprint_of,
    read_document,
    token_count,
)

_MOST_NUMBERS = 20_000
"""Of one vector. The longest that providers offer have 4,096."""


def build_request(endpoint: Endpoint, request: Request) -> HttpRequest | None:
    """Return the HTTP request; None if the provider has no such service that is known."""
    model = read_model_name(endpoint.model)
    if model.provider not in DIALECTS:
        return None
    chat = openai_compatible.chat_url(endpoint, model.provider, model.name)
    headers = openai_compatible.auth_headers(endpoint, model.provider)
    if chat is None or headers is None:
        return None
    texts = [message.content for message in request.messages]
    document = {"model": model.name, "input": texts}
    url = chat.replace("/chat/completions", "/embeddings", 1)
    return HttpRequest(url, headers, encode_json(document))


def open_stream() -> AnswerStream:
    """Raise TypeError: vectors do not come in pieces."""
    raise TypeError("embeddings are not streamed")


def read_answer(model: str, exchange: Exchange) -> Completion:
    """Return the cosine of the two vectors. Raises UnreadableAnswer if there are none."""
    document = read_document(exchange.body)
    if not isinstance(document, Mapping):
        raise UnreadableAnswer("the answer is not a JSON object")
    one, other = _vectors(document.get("data"))
    try:
        cosine = written_cosine(one, other)
    except ValueError as error:
        raise UnreadableAnswer(str(error)) from None
    said = document.get("usage")
    tokens = token_count(said.get("prompt_tokens")) if isinstance(said, Mapping) else None
    usage = None if tokens is None else TokenUsage(tokens, 0)
    return Completion(
        text=cosine,
        latency_ms=exchange.latency_ms,
        prompt_tokens=tokens,
        completion_tokens=None if tokens is None else 0,
        cost_usd=call_cost(model, None, usage) if usage else None,
        fingerprint=fingerprint_of(document.get("model"), None),
        finish_reason="stop",
    )


def _vectors(data: Any) -> tuple[list[float], list[float]]:
    """Return the two vectors, in the order of the texts: an answer may have them in any order."""
    if not isinstance(data, list) or len(data) != 2 or not all(isinstance(d, dict) for d in data):
        raise UnreadableAnswer("the answer does not have two vectors")
    ordered = sorted(data, key=lambda item: item.get("index") == 1)
    one, other = (_vector(item.get("embedding")) for item in ordered)
    return one, other


def _vector(value: Any) -> list[float]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_NUMBERS:
        raise UnreadableAnswer("a vector in the answer is not a list of numbers")
    if not all(map(_is_finite, value)):
        raise UnreadableAnswer("a vector in the answer is not a list of numbers")
    return value


def _is_finite(number: Any) -> bool:
    try:
        return not isinstance(number, bool) and math.isfinite(number)
    except (TypeError, OverflowError):  # no number, or a whole one of hundreds of digits
        return False
