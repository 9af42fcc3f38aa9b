"""OpenAI's Chat Completions, which most providers and servers speak.

https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlsplit

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.http.answer_stream import Event, JoinedText, read_object
from gatekeeper.providers.http.http_client import Exchange, HttpRequest, encode_json
from gatekeeper.providers.http.response_body import UnreadableAnswer
from gatekeeper.providers.models.endpoint import Endpoint
from gatekeeper.providers.native.call_cost import believed_cost, call_cost
from gatekeeper.providers.native.chat_messages import OF_A_CALL, chat_messages, opaque_of
from gatekeeper.providers.native.dialects import DIALECTS, chat_fields
from gatekeeper.providers.native.endings import (
    OPENAI_REASONS,
    TokenUsage,
    count_at,
    fingerprint_of,
    read_chat_calls,
    read_document,
    read_ending,
)

_AZURE_VERSION = "2025-02-01-preview"
"""litellm's, for the variable AZURE_API_VERSION that is not set."""


def build_request(endpoint: Endpoint, request: Request) -> HttpRequest | None:
    """Return the HTTP request; None if litellm must send it."""
    model = read_model_name(endpoint.model)
    fields = chat_fields(model.provider, model.name, request)
    url = chat_url(endpoint, model.provider, model.name)
    headers = auth_headers(endpoint, model.provider)
    if fields is None or url is None or headers is None:
        return None
    if model.provider == "openrouter":
        fields["usage"] = {"include": True}  # so that the answer has its price
    if request.streamed:
        fields["stream"] = True
        if DIALECTS[model.provider].counts_streams:
            fields["stream_options"] = {"include_usage": True}
    name = model.name
    if model.provider == "fireworks_ai" and not name.startswith("accounts/"):
        name = f"accounts/fireworks/models/{name}"
    document = {
        "model": name,
        "messages": chat_messages(request.messages, model.provider),
        **fields,
    }
    return HttpRequest(url, headers, encode_json(document))


def open_stream() -> ChatStream:
    """Return what joins a streamed answer."""
    return ChatStream()


def read_answer(model: str, exchange: Exchange) -> Completion:
    """Return what was answered. Raises UnreadableAnswer and CallFailed if nothing was."""
    return read_chat(model, read_document(exchange.body), exchange)


def read_chat(model: str, document: Any, exchange: Exchange) -> Completion:
    """Return what a Chat Completion says. Raises as `read_answer` does."""
    choice = _choice(document)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise UnreadableAnswer("a choice of the answer has no `message`")
    ending = read_ending(document, _text(message.get("content")), _reason(choice, message))
    if ending is None:
        raise CallFailed(f"{model}: the answer has no text", retryable=True, billable=True)
    usage = _usage(document)
    if usage and exchange.batched:
        usage = replace(usage, batched=True)
    says_cached = count_at(document.get("usage"), *_CACHED) is not None
    answered_by = _full_name(model, document.get("model"))
    return Completion(
        text=ending.text,
        latency_ms=exchange.latency_ms,
        prompt_tokens=usage.prompt if usage else None,
        completion_tokens=usage.completion if usage else None,
        cost_usd=_cost(model, document, usage) if usage else None,
        fingerprint=fingerprint_of(answered_by, document.get("system_fingerprint")),
        finish_reason=ending.reason,
        ttft_ms=exchange.ttft_ms,
        cached_tokens=usage.cached if usage and says_cached else None,
        reasoning_tokens=usage.reasoning if usage else None,
        tool_calls=read_chat_calls(message),
        opaque=opaque_of(message),
    )


def _full_name(model: str, answered_by: object) -> object:
    """Return the name of the model that answered, with the provider's if litellm adds that too."""
    provider = read_model_name(model).provider
    known = isinstance(answered_by, str) and answered_by
    return f"{provider}/{answered_by}" if known and DIALECTS[provider].named else answered_by


def chat_url(endpoint: Endpoint, provider: str, name: str) -> str | None:
    """Return the address of Chat Completions; None if litellm must find it."""
    base = (endpoint.api_base or "").rstrip("/")
    if "?" in base or "#" in base or base.endswith("/chat/completions"):
        return None
    if provider == "azure":
        if urlsplit(base).path:
            return None
        version = os.environ.get("AZURE_API_VERSION") or _AZURE_VERSION
        deployment = quote(name, safe="")
        query = f"api-version={quote(version, safe='')}"
        return f"{base}/openai/deployments/{deployment}/chat/completions?{query}"
    if provider == "mistral" and not base.endswith("/v1"):
        base += "/v1"
    return f"{base}/chat/completions"


def auth_headers(endpoint: Endpoint, provider: str) -> dict[str, str] | None:
    """Return the headers of the key and of the account; None if litellm must find them."""
    if provider == "azure" and endpoint.signs_in:
        return {"Authorization": f"Bearer {endpoint.lease.get('azure_ad_token', '')}"}
    if provider == "azure":
        return {"api-key": endpoint.api_key} if endpoint.api_key else None
    headers = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
    if provider == "openai":
        if os.environ.get("OPENAI_CUSTOM_HEADERS"):
            return None
        account = os.environ.get("OPENAI_ORGANIZATION") or os.environ.get("OPENAI_ORG_ID")
        project = os.environ.get("OPENAI_PROJECT_ID")
        headers |= {"OpenAI-Organization": account} if account else {}
        headers |= {"OpenAI-Project": project} if project else {}
    return headers


def _choice(document: Any) -> Mapping[str, Any]:
    if not isinstance(document, Mapping):
        raise UnreadableAnswer("the answer is not a JSON object")
    error = document.get("error")
    if error:
        text = error.get("message") if isinstance(error, Mapping) else error
        raise UnreadableAnswer(str(text or error))
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise UnreadableAnswer("an answer without choices")
    return choices[0]


def _text(content: object) -> object:
    """Return the text of an answer, without the thoughts that Mistral's models list beside it.
    https://docs.mistral.ai/capabilities/reasoning/"""
    if not isinstance(content, list):
        return content
    parts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return "".join(part for part in parts if isinstance(part, str))


def _reason(choice: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    said = choice.get("finish_reason")
    reason = OPENAI_REASONS.get(said, "stop") if isinstance(said, str) else "stop"
    return "tool_calls" if reason == "stop" and message.get("tool_calls") else reason


_GIVEN, _MADE = "prompt_tokens_details", "completion_tokens_details"
_CACHED = ("prompt_cache_hit_tokens", f"{_GIVEN}.cached_tokens")
_WRITTEN = (f"{_GIVEN}.cache_write_tokens", f"{_GIVEN}.cache_creation_tokens")
_KINDS = ("audio", "image", "video")
_OTHERS = [f"{_GIVEN}.video_tokens", *(f"{_MADE}.{kind}_tokens" for kind in _KINDS)]


def _usage(document: Mapping[str, Any]) -> TokenUsage | None:
    """Return the tokens; None if the provider does not report them. No prompt has no tokens."""
    said = document.get("usage")
    prompt, completion = count_at(said, "prompt_tokens"), count_at(said, "completion_tokens")
    if not isinstance(said, Mapping) or not prompt or completion is None:
        return None
    reasoning = count_at(said, f"{_MADE}.reasoning_tokens", "reasoning_tokens")
    tier = document.get("service_tier") or said.get("service_tier")
    return TokenUsage(
        prompt,
        completion,
        cached=_above_zero(said, _CACHED),
        cache_writes=_above_zero(said, _WRITTEN),
        reasoning=None if reasoning is None else min(reasoning, completion),
        tier=tier if isinstance(tier, str) else None,
        other=_above_zero(said, _OTHERS) > 0,
        images=_above_zero(said, (f"{_GIVEN}.image_tokens",)),
        audio=_above_zero(said, (f"{_GIVEN}.audio_tokens",)),
    )


def _above_zero(usage: Mapping[str, Any], places: Iterable[str]) -> int:
    """Return the first count above zero at the places; zero if there is none."""
    return next(filter(None, (count_at(usage, place) for place in places)), 0)


def _cost(model: str, document: Mapping[str, Any], usage: TokenUsage) -> float | None:
    """Return what the call cost. OpenRouter reports it."""
    if model.startswith("openrouter/"):
        stated = believed_cost(document["usage"].get("cost"))
        if document["usage"].get("is_byok") is True:
            details = document["usage"].get("cost_details")
            found = details.get("upstream_inference_cost") if isinstance(details, Mapping) else None
            upstream = believed_cost(found)
            return None if upstream is None or stated is None else stated + upstream
        if stated is not None:
            return stated
    return call_cost(model, document.get("model"), usage)


# Chat Completions that come token by token.
# https://platform.openai.com/docs/api-reference/chat-streaming


_THOUGHTS_ASIDE = ("reasoning_content", "reasoning")
_DETAILS = "reasoning_details"
_ONCE = ("model", "system_fingerprint")
_LAST = ("usage", "service_tier")


class ChatStream:
    """Joins the chunks of one answer; see `AnswerStream`."""

    def __init__(self) -> None:
        self.has_token = False
        self.is_complete = False
        self._whole: dict[str, Any] = {}
        self._choice: dict[str, Any] | None = None
        self._aside: dict[str, JoinedText] = {}
        self._details: list[Any] = []
        self._calls = JoinedCalls()
        self._text, self._refusal = JoinedText(), JoinedText()

    def add(self, event: Event) -> None:
        if event.data == "[DONE]":
            self._end()
            return
        chunk = read_object(event)
        if chunk.get("error"):
            self._whole, self.is_complete = {"error": chunk["error"]}, True
            return
        self._whole |= {name: chunk[name] for name in _LAST if chunk.get(name)}
        self._whole |= {n: chunk[n] for n in _ONCE if chunk.get(n) and n not in self._whole}
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, Mapping) and choice.get("index") in (0, None):
                self._add_choice(choice)

    def document(self) -> Mapping[str, Any]:
        if "error" in self._whole or self._choice is None:
            return {"choices": [], **self._whole}
        message = {
            **{name: str(text) for name, text in self._aside.items()},
            _DETAILS: self._details,
            "content": str(self._text) or None,
            "refusal": str(self._refusal) or None,
            "tool_calls": self._calls.document() or None,
        }
        return {**self._whole, "choices": [{**self._choice, "index": 0, "message": message}]}

    def _end(self) -> None:
        """Refuse an answer without a reason why it ended: servers send `[DONE]` after a failure of
        their own too, and what came before it is then cut."""
        if self._choice is not None and "finish_reason" not in self._choice:
            raise UnreadableAnswer("the stream ended without a `finish_reason`")
        self.is_complete = True

    def _add_choice(self, choice: Mapping[str, Any]) -> None:
        self._choice = self._choice or {}
        if choice.get("finish_reason"):
            self._choice["finish_reason"] = choice["finish_reason"]
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return
        for name in _THOUGHTS_ASIDE:
            if delta.get(name):
                self._aside.setdefault(name, JoinedText()).add(delta[name])
        details = delta.get(_DETAILS)
        self._details += details if isinstance(details, list) else []
        calls_tool = self._calls.add(delta)
        has_text = self._text.add(delta.get("content"))
        has_refusal = self._refusal.add(delta.get("refusal"))
        self.has_token |= has_text or has_refusal or calls_tool


class JoinedCalls:
    """Joins the tool calls that come in pieces. The first piece of a call has its name, and later
    ones of the same `index` continue its arguments. Servers that send each call in one piece may
    leave out the index."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[str, Any]] = {}
        self._texts: dict[tuple[int, str], JoinedText] = {}

    def add(self, delta: Mapping[str, Any]) -> bool:
        """Add the calls of a piece; return whether it has any."""
        pieces = delta.get("tool_calls")
        older = delta.get("function_call")
        if isinstance(older, Mapping):
            pieces = [{"index": 0, "function": older}]
        if not isinstance(pieces, list):
            return False
        for piece in pieces:
            if isinstance(piece, Mapping):
                self._add_piece(piece)
        return bool(pieces)

    def document(self) -> list[dict[str, Any]]:
        """Return the calls in the form of an unstreamed answer."""
        for (place, kind), text in self._texts.items():
            name = "input" if kind == "custom" else "arguments"
            self._calls[place][kind][name] = str(text)
        return [self._calls[place] for place in sorted(self._calls)]

    def _add_piece(self, piece: Mapping[str, Any]) -> None:
        said = piece.get("index")
        place = said if isinstance(said, int) else len(self._calls)
        call = self._calls.setdefault(place, {"type": "function"})
        if piece.get("id"):
            call.setdefault("id", piece["id"])
        call |= {name: piece[name] for name in OF_A_CALL if piece.get(name)}
        for kind in ("function", "custom"):
            part = piece.get(kind)
            if isinstance(part, Mapping):
                known = call.setdefault(kind, {})
                if part.get("name"):
                    known.setdefault("name", part["name"])
                more = part.get("input" if kind == "custom" else "arguments")
                self._texts.setdefault((place, kind), JoinedText()).add(_as_text(more))


def _as_text(value: object) -> object:
    """Return arguments as text. Some servers send the object itself."""
    return json.dumps(value) if isinstance(value, Mapping | list) else value
