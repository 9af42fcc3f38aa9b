"""Errors with which a provider refuses a request because of its content: an answer, not an
outage."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gatekeeper.contract.values.trial import REFUSED, TOO_LONG

CONTENT_FILTER = "content_filter"

# Codes with which providers refuse a prompt instead of answering it, with status 400.
# Azure OpenAI, OpenAI, OpenAI's images, DashScope; DeepSeek has a sentence and no code.
_FILTERED_CODES = frozenset(
    {"content_filter", "content_policy_violation", "data_inspection_failed"}
)
_FILTERED_WORDS = ("content exists risk", "flagged as potentially violating")

# Statuses with which a request is refused for what is in it.
_REFUSING = frozenset({400, 413, 422})
_MAX_MESSAGE = 2_000

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
    said = said[:_MAX_MESSAGE]
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
