"""Reads why a model stopped. An answer without text counts if the provider says why it ended.

A model that refuses is not an outage: otherwise head could refuse as many inputs as the margin
allows to stay unmeasured. litellm says `stop` even if the provider said nothing, so the answer
itself is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import REFUSED, TOO_LONG, Completion
from gatekeeper.providers.http.http_client import Exchange

# The token counts of an answer, and the model that answered.


_LONGEST_NAME = 100
_MOST_TOKENS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one call, by how they are billed.

    `prompt` includes `cached` and `cache_writes`; `cache_writes_1h` are those of the writes that
    are kept for an hour. `completion` includes `reasoning`; None if the provider does not count it.
    `tier` is the service tier that answered, `surcharges` what makes every token dearer: a region,
    a speed. `images` and `audio` are those of the prompt, which have prices of their own; `other`
    says that some tokens are of yet another kind, `batched` that they are billed as those of a
    batch.
    """

    prompt: int
    completion: int
    cached: int = 0
    cache_writes: int = 0
    cache_writes_1h: int = 0
    reasoning: int | None = None
    tier: str | None = None
    surcharges: tuple[str, ...] = ()
    other: bool = False
    images: int = 0
    audio: int = 0
    batched: bool = False

    @property
    def is_sound(self) -> bool:
        """Return whether the counts can all be true: the cached part of the prompt is not longer
        than the prompt."""
        return self.cached + self.cache_writes <= self.prompt


def token_count(said: object) -> int | None:
    """Return the provider's token count; None if the value cannot be a number of tokens."""
    if isinstance(said, bool) or not isinstance(said, int) or not 0 <= said <= _MOST_TOKENS:
        return None
    return said


def count_at(document: Any, *places: str) -> int | None:
    """Return the count at the first of the places, such as `usage.prompt_tokens`, that has one;
    None if none has."""
    found = (token_count(_at(document, tuple(place.split(".")))) for place in places)
    return next((count for count in found if count is not None), None)


def fingerprint_of(*names: object) -> str | None:
    """Return the model that answered and its build, as far as the provider names them, because an
    alias such as `gpt-4o-mini` may mean another model tomorrow.
    https://platform.openai.com/docs/api-reference/chat/object"""
    named = [text[:_LONGEST_NAME] for text in names if isinstance(text, str) and text.isprintable()]
    return " ".join(filter(None, named)) or None


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
OPENAI_REASONS: Mapping[str, str] = {
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


# The tool calls of an answer.
#
# https://platform.openai.com/docs/api-reference/chat/object
# https://docs.anthropic.com/en/docs/agents-and-tools/tool-use


def read_chat_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Return the calls of a message of Chat Completions, also of one in OpenAI's older form. A call
    without a name gets an empty one, so that no call is overlooked."""
    found = [_chat_call(call) for call in _mappings(message.get("tool_calls"))]
    older = message.get("function_call")
    return (*found, _call(older, None)) if isinstance(older, Mapping) else tuple(found)


def read_message_calls(document: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Return the calls of an answer of Anthropic's Messages API."""
    blocks = _mappings(document.get("content"))
    return tuple(
        ToolCall(_text(block.get("name")), _arguments(block.get("input")), _id(block))
        for block in blocks
        if block.get("type") == "tool_use"
    )


def _chat_call(call: Mapping[str, Any]) -> ToolCall:
    custom, function = call.get("custom"), call.get("function")
    if isinstance(custom, Mapping):
        return ToolCall(_text(custom.get("name")), _text(custom.get("input")), _id(call))
    return _call(function if isinstance(function, Mapping) else {}, _id(call))


def _call(function: Mapping[str, Any], call_id: str | None) -> ToolCall:
    return ToolCall(_text(function.get("name")), _arguments(function.get("arguments")), call_id)


def _arguments(value: object) -> str:
    """Return the arguments as JSON text. Some servers answer with the object itself."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _id(call: Mapping[str, Any]) -> str | None:
    return _text(call.get("id")) or None


def _mappings(value: object) -> Sequence[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


# Errors with which a provider refuses a request because of its content: an answer, not an outage.


CONTENT_FILTER = "content_filter"

# Codes with which providers refuse a prompt instead of answering it, with status 400.
# Azure OpenAI, OpenAI, OpenAI's images, DashScope; DeepSeek has a sentence and no code.
_FILTERED_CODES = frozenset(
    {"content_filter", "content_policy_violation", "data_inspection_failed"}
)
_FILTERED_WORDS = ("content exists risk", "flagged as potentially violating")

# Statuses with which a request is refused for what is in it.
_REFUSING = frozenset({400, 413, 422})
_MOST_OF_ERROR = 2_000

# OpenAI and those who speak its protocol; Anthropic; vLLM and Groq have words alone.
_LONG_CODES = frozenset(
    {
        "context_length_exceeded",
        "string_above_max_length",
        "request_too_large",
        "exceed_context_size_error",
    }
)
_LONG_WORDS = re.compile(
    r"maximum context length|context[ _](?:length|window|size|limit)"
    r"|(?:prompt|input|request|messages?)(?: is| are|'s length is)? (?:too (?:long|large))"
    r"|reduce the length of the (?:messages|prompt|input)"
    r"|too many (?:input|prompt) tokens|(?:input|prompt) token count"
    r"|maximum (?:input|prompt) (?:length|tokens)"
    r"|(?:input|prompt) (?:length|tokens)[^.]{0,40}exceed"
)
_REFUSED_CODES = frozenset({"invalid_prompt"})
# The field that is blamed: `messages[0].content` (OpenAI), `messages.0: …` (Anthropic), `contents`.
_OWN_CONTENT = re.compile(
    r"^(?:messages|message|prompt|input|contents)(?:$|[.\[:]| must | should )"
)


def refusal_reason(status: int | None, document: Any) -> str | None:
    """Return why the request itself was refused; None if the error is of another kind."""
    if status not in _REFUSING:
        return None
    whole: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    error = whole.get("error")
    error = error if isinstance(error, Mapping) else {}
    # Bedrock and Cohere have the message at the top.
    said = " ".join(str(error.get("message") or whole.get("message") or "").lower().split())
    said = said[:_MOST_OF_ERROR]
    codes = {error.get(key) for key in ("code", "type") if isinstance(error.get(key), str)}
    if status == 400 and (codes & _FILTERED_CODES or any(w in said for w in _FILTERED_WORDS)):
        return CONTENT_FILTER
    if status == 413 or codes & _LONG_CODES or _LONG_WORDS.search(said):
        return TOO_LONG
    field = error.get("param")
    blamed = isinstance(field, str) and _OWN_CONTENT.match(field.lower())
    if codes & _REFUSED_CODES or blamed or _OWN_CONTENT.match(said):
        return REFUSED
    return None
