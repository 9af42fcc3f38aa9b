"""Reads why a model stopped. An answer without text counts if the provider says why it ended.

A model that refuses is not an outage: otherwise head could refuse as many inputs as the margin
allows to stay unmeasured. litellm says `stop` even if the provider said nothing, so the answer
itself is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gatekeeper.contract.values.trial import Completion
from gatekeeper.providers.http.http_exchange import Exchange
from gatekeeper.providers.refusals import refusal_reason

_MAX_REASON = 40

# The field with the reason: OpenAI and most others; Anthropic; Bedrock; Gemini; Cohere; Ollama;
# OpenAI's responses.
_REASONS: tuple[tuple[str | int, ...], ...] = (
    ("choices", 0, "finish_reason"),
    ("stop_reason",),
    ("stopReason",),
    ("candidates", 0, "finishReason"),
    ("promptFeedback", "blockReason"),
    ("finish_reason",),
    ("done_reason",),
    ("incomplete_details", "reason"),
    ("status",),
)


# OpenAI's words for why a model stopped, and the words of servers that say it otherwise.
OPENAI_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "stop": "stop",
        "length": "length",
        "tool_calls": "tool_calls",
        "function_call": "function_call",
        "content_filter": "content_filter",
        "content_filtered": "content_filter",
        "max_tokens": "length",
        "end_turn": "stop",
        "stop_sequence": "stop",
        "tool_use": "tool_calls",
        "refusal": "content_filter",
        "sensitive": "content_filter",
        "MAX_TOKENS": "length",
        "SAFETY": "content_filter",
        "RECITATION": "content_filter",
        "PROHIBITED_CONTENT": "content_filter",
        "BLOCKLIST": "content_filter",
        "SPII": "content_filter",
        "OTHER": "content_filter",
    }
)


class Ending(NamedTuple):
    """A model's text, and why it stopped: in OpenAI's word, or the provider's; None if unknown."""

    text: str
    reason: str | None


def read_ending(document: Any, content: object, known: object) -> Ending | None:
    """Read how an answer ended; None for one with neither text nor reason.

    Args:
        document: The answer itself, as `read_document` returns it.
        content: The text in it.
        known: Why it ended in OpenAI's words, as far as those have a word for it.
    """
    said = next(filter(None, (_text_at(document, path) for path in _REASONS)), None)
    reason = _reason(known, said) if said else None
    if not content and reason is not None:
        refusal = _text_at(document, ("choices", 0, "message", "refusal"))
        return Ending(refusal or "", "refusal" if refusal else reason)
    return Ending(content, reason) if isinstance(content, str) else None


def refused_request(exchange: Exchange) -> Completion | None:
    """Return the empty answer of a provider that refused a request: because of its filter, or
    because the messages are too long or malformed. None for other failures.

    Such an answer costs nothing, except Azure's: it bills what it has processed before it refuses,
    and does not say how much. https://learn.microsoft.com/azure/ai-foundry/openai/how-to/manage-costs
    """
    reason = refusal_reason(exchange.status, read_document(exchange.body))
    if reason is None:
        return None
    asked = exchange.endpoint.model if exchange.endpoint else ""
    cost = None if asked.startswith(_BILLS_REFUSALS) else 0.0
    return Completion("", latency_ms=exchange.latency_ms, cost_usd=cost, finish_reason=reason)


_BILLS_REFUSALS = ("azure/", "azure_ai/", "azure_text/")


def _reason(known: object, said: str) -> str:
    """Return OpenAI's word for the reason; the provider's own if there is none."""
    unknown = not isinstance(known, str) or (known == "stop" and said.lower() not in _COMPLETE)
    reason = said if unknown else str(known)
    return reason[:_MAX_REASON] if reason.isprintable() else "unknown"


_COMPLETE = frozenset(
    {"stop", "end_turn", "complete", "completed", "eos", "stop_sequence", "eos_token"}
)


def read_document(body: bytes) -> Any:
    """Parse an answer's JSON; None if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _text_at(document: Any, path: tuple[str | int, ...]) -> str | None:
    value = _at(document, path)
    return value if isinstance(value, str) and value else None


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        inside = isinstance(document, Mapping) and isinstance(key, str) and key in document
        item = isinstance(document, list) and isinstance(key, int) and key < len(document)
        if not inside and not item:
            return None
        document = document[key]
    return document
