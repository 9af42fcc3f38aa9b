"""Ollama's chat API, as litellm speaks it for `ollama_chat/…`.

https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion

Ollama also speaks OpenAI's Chat Completions, but it answers otherwise there. If a request has no
`temperature` or no `top_p`, the model is sampled at 1.0, and here at what its Modelfile says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.reading.thoughts import without_thoughts
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.http.answer_stream import AnswerStream
from gatekeeper.providers.http.http_client import Exchange, HttpRequest, encode_json
from gatekeeper.providers.http.response_body import UnreadableAnswer
from gatekeeper.providers.models.endpoint import Endpoint
from gatekeeper.providers.native.chat_messages import (
    arguments_of,
    opaque_of,
    require_taken,
    thoughts_of,
)
from gatekeeper.providers.native.endings import (
    OPENAI_REASONS,
    fingerprint_of,
    read_chat_calls,
    read_document,
    read_ending,
    token_count,
)

_OPTIONS: Mapping[str, str] = {
    "frequency_penalty": "repeat_penalty",
    "max_completion_tokens": "num_predict",
    "max_tokens": "num_predict",
    "min_p": "min_p",
    "seed": "seed",
    "stop": "stop",
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
}
"""The parameters that litellm sends as options, with the names of these options."""

_EFFORTS = frozenset({"low", "medium", "high"})
"""The efforts with which a model thinks; with every other it does not."""

_ROLES = frozenset({"system", "user", "assistant", "tool"})


def build_request(endpoint: Endpoint, request: Request) -> HttpRequest | None:
    """Return the HTTP request; None if litellm must send it."""
    base = (endpoint.api_base or "").rstrip("/")
    fields = _fields(request)
    if request.streamed or fields is None or "?" in base or "#" in base:
        return None
    if not all(map(_is_plain, request.messages)):
        return None
    require_taken(request, "image/")
    document = {
        "model": read_model_name(endpoint.model).name,
        "messages": _messages(request.messages),
        "stream": False,
        **fields,
    }
    headers = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
    url = base if base.endswith("/api/chat") else f"{base}/api/chat"
    return HttpRequest(url, headers, encode_json(document))


def open_stream() -> AnswerStream:
    """Raise TypeError: Ollama streams lines of JSON and no events."""
    raise TypeError("answers of Ollama are not streamed")


def read_answer(model: str, exchange: Exchange) -> Completion:
    """Return what was answered. Raises UnreadableAnswer and CallFailed if nothing was."""
    document = read_document(exchange.body)
    message = document.get("message") if isinstance(document, Mapping) else None
    if not isinstance(message, Mapping):
        raise UnreadableAnswer("the answer has no `message`")
    if document.get("done") is False:
        raise UnreadableAnswer("the answer is only a part: its `done` is false")
    ending = read_ending(document, message.get("content"), _reason(document, message))
    if ending is None:
        raise CallFailed(f"{model}: the answer has no text", retryable=True, billable=True)
    prompt = token_count(document.get("prompt_eval_count")) or None
    return Completion(
        text=ending.text,
        latency_ms=exchange.latency_ms,
        prompt_tokens=prompt,
        completion_tokens=token_count(document.get("eval_count")) if prompt else None,
        cost_usd=0.0,
        fingerprint=fingerprint_of(model),
        finish_reason=ending.reason,
        tool_calls=read_chat_calls(message),
        opaque=opaque_of({**message, "reasoning_content": message.get("thinking")}),
    )


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    names = {call.id: call.name for message in messages for call in message.calls}
    sent = []
    for message in messages:
        images = [file.base64 for file in message.files]
        said: dict[str, Any] = {"role": message.role, "content": message.content, "images": images}
        if message.answers is not None:
            said |= {"tool_name": names.get(message.answers), "tool_call_id": message.answers}
        if message.calls:
            thoughts = thoughts_of(message, "reasoning_content")
            said |= {"thinking": thoughts} if thoughts else {}
            said["tool_calls"] = [
                {"function": {"name": call.name, "arguments": arguments_of(call)}}
                for call in message.calls
            ]
        sent.append(said)
    return sent


def _is_plain(message: Message) -> bool:
    """Return whether litellm leaves the message as it is: it sends thoughts apart."""
    return message.role in _ROLES and without_thoughts(message.content) == message.content


def _fields(request: Request) -> dict[str, Any] | None:
    """Return the fields other than model and messages; None if litellm must translate or refuse a
    parameter."""
    params = dict(request.params)
    if request.seed is not None:
        params.setdefault("seed", request.seed)
    model = read_model_name(request.model).name
    options: dict[str, Any] = {}
    fields: dict[str, Any] = {"options": options}
    for name, value in params.items():
        option = _OPTIONS.get(name)
        if value is None or option in options:
            return None
        if option is not None:
            options[option] = value
        elif name == "tools":
            fields["tools"] = value
        elif name == "reasoning_effort" and isinstance(value, str):
            # Only gpt-oss knows how much to think; other models think or do not.
            fields["think"] = value if model.startswith("gpt-oss") else value in _EFFORTS
        elif name == "response_format" and (form := _format(value)):
            fields["format"] = form
        else:
            return None
    return fields


def _format(value: object) -> object:
    """Return the form of the answer in Ollama's words; None if it has none for it."""
    kind = value.get("type") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or kind not in ("json_object", "json_schema"):
        return None
    described = value.get("json_schema")
    if kind == "json_object":
        return "json"
    return described.get("schema") if isinstance(described, Mapping) else None


def _reason(document: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    said = document.get("done_reason")
    reason = OPENAI_REASONS.get(said, "stop") if isinstance(said, str) else "stop"
    return "tool_calls" if message.get("tool_calls") else reason
