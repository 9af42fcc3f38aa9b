"""OpenAI's Responses API. https://platform.openai.com/docs/api-reference/responses

OpenAI's reasoning models take tools only here, and some models answer only here. Requests are those
of litellm's bridge from Chat Completions, but for four things: answers are not stored, a model with
tools encrypts its thoughts in them, tools are strict only if the contract says so, as in Chat
Completions, and a parameter that this API does not have is refused instead of left out. An answer
is read as the Chat Completion with the same content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.models.params import ANSWER_LIMITS
from gatekeeper.contract.reading.model_traits import gpt_version, reasons
from gatekeeper.contract.values.definition import Attachment, Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.http.answer_stream import Event, read_object
from gatekeeper.providers.http.http_client import Exchange, HttpRequest, encode_json
from gatekeeper.providers.http.response_body import UnreadableAnswer
from gatekeeper.providers.models.endpoint import Endpoint
from gatekeeper.providers.models.price_list import RESPONSES_PREFIX, price_entry
from gatekeeper.providers.native.chat_messages import (
    REASONING,
    function_of,
    name_of,
    require_taken,
    text_part,
    thoughts_of,
)
from gatekeeper.providers.native.endings import read_document, refused_request
from gatekeeper.providers.native.openai_compatible import auth_headers, read_chat

_PROVIDERS = frozenset({"openai", "azure"})
_SAME = frozenset({"parallel_tool_calls", "service_tier", "temperature", "top_p"})
_TRANSLATED = frozenset({"reasoning_effort", "response_format", "tool_choice", "tools"})
_TAKEN = _SAME | _TRANSLATED | {*ANSWER_LIMITS, "verbosity"}
_OF_THE_SYSTEM = ("system", "developer")
_LEAST_TOKENS = 16
"""The lowest limit of an answer that the API takes; litellm raises lower ones to it."""

_WITH_TOOLS = (5, 4)
"""The first GPT that takes tools in Chat Completions only if it does not reason."""

_OPENAI_HOST = "api.openai.com"


def is_asked_here(model: str, params: Mapping[str, Any], address: str | None) -> bool:
    """Return whether this API answers for the model with these parameters.

    Args:
        model: The model's full name. `openai/responses/NAME` always means this API.
        params: The parameters of the request.
        address: Where OpenAI's models are called. Other servers take tools with reasoning in Chat
            Completions, and may not have this API.
    """
    named = read_model_name(model)
    provider, name = named.provider, named.name
    if provider not in _PROVIDERS:
        return False
    entry = price_entry(model) or {}
    if name.startswith(RESPONSES_PREFIX) or entry.get("mode") == "responses":
        return True
    effort, summary = effort_and_summary(params)
    if summary is None and not params.get("tools"):
        return False
    if not reasons(name) or "search" in name:
        return False
    host = urlsplit(address or "").hostname or _OPENAI_HOST
    own = provider == "openai" and not f".{host}".endswith(f".{_OPENAI_HOST}")
    if summary is not None and not own:
        return True
    if not params.get("tools") or (gpt_version(name) or (0, 0)) < _WITH_TOOLS:
        return False
    rests = effort == "none" and entry.get("supports_none_reasoning_effort") is not False
    return not rests and (effort is not None or not own)


def refused_params(params: Mapping[str, Any]) -> list[str]:
    """Return the parameters of a request that this API does not have."""
    return sorted(n for n, value in params.items() if value is not None and n not in _TAKEN)


def refusal(model: str, param: str) -> str:
    """Say that the API does not have a parameter of a request to the model."""
    return f"`{model}` is asked through OpenAI's Responses API, which does not take `{param}`"


def build_request(endpoint: Endpoint, request: Request) -> HttpRequest | None:
    """Return the HTTP request; None if litellm must send it. Raises CallFailed for a parameter that
    the API does not have."""
    model = read_model_name(endpoint.model)
    url, headers = _url(endpoint, model.provider), auth_headers(endpoint, model.provider)
    if url is None or headers is None:
        return None
    require_taken(request, "image/", "application/pdf")
    refused = refused_params(request.params)
    if refused:
        said = f"{refusal(request.model, refused[0])}; remove `{refused[0]}`"
        raise CallFailed(said, fatal=True, author=True)
    document = {
        "model": model.name.removeprefix(RESPONSES_PREFIX),
        "store": False,
        **_conversation(request.messages),
        **_fields(request.params),
    }
    if request.params.get("tools") and reasons(model.name.removeprefix(RESPONSES_PREFIX)):
        document["include"] = ["reasoning.encrypted_content"]
    if request.streamed:
        document["stream"] = True
    return HttpRequest(url, headers, encode_json(document))


def open_stream() -> ResponseStream:
    """Return what joins a streamed answer."""
    return ResponseStream()


def read_answer(model: str, exchange: Exchange) -> Completion:
    """Return what was answered. Raises UnreadableAnswer and CallFailed if nothing was."""
    document = read_document(exchange.body)
    if not isinstance(document, Mapping):
        raise UnreadableAnswer("the answer is not a JSON object")
    error = document.get("error")
    if error:
        # A stream begins before the request is refused, so its status says nothing of that, and the
        # words of an outage may be those of a refusal: "Request too large … on tokens per min".
        fields = error if isinstance(error, Mapping) else {}
        code = encode_json({"error": {"code": fields.get("code")}})
        refused = refused_request(replace(exchange, status=400, body=code))
        if refused is not None:
            return refused
        text = fields.get("message") if fields else error
        raise UnreadableAnswer(str(text or error))
    return read_chat(model, _as_chat(document), exchange)


def effort_and_summary(params: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the effort, and the kind of summary of the thoughts."""
    effort = params.get("reasoning_effort")
    if isinstance(effort, Mapping):
        return effort.get("effort"), effort.get("summary")
    return effort, None


def _url(endpoint: Endpoint, provider: str) -> str | None:
    base = (endpoint.api_base or "").rstrip("/")
    if "?" in base or "#" in base:
        return None
    if provider == "azure":
        base = base.removesuffix("/openai/v1").removesuffix("/openai")
        return None if urlsplit(base).path else f"{base}/openai/v1/responses?api-version=preview"
    return base if base.endswith("/responses") else f"{base}/responses"


def _conversation(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the fields `input` and `instructions`, which are the first messages of the system. The
    API wants an input, so a system's message that is alone becomes it."""
    first = next((i for i, m in enumerate(messages) if m.role not in _OF_THE_SYSTEM), 0)
    said = [m.content for m in messages[:first]]
    items = [item for message in messages[first:] for item in _items(message)]
    return {"input": items, **({"instructions": " ".join(said)} if any(said) else {})}


def _items(message: Message) -> list[dict[str, Any]]:
    kind = "output_text" if message.role == "assistant" else "input_text"
    role = "system" if message.role in _OF_THE_SYSTEM else message.role
    parts: list[dict[str, Any]] = [{"type": kind, "text": message.content}]
    if message.files:
        parts = [*map(_file_part, message.files), *text_part(message, kind)]
    if message.answers is not None:
        result = {"type": "function_call_output", "call_id": message.answers}
        return [{**result, "output": parts}]
    said = [{"type": "message", "role": role, "content": parts}]
    calls = [
        {"type": "function_call", "call_id": call.id, **function_of(call)} for call in message.calls
    ]
    thoughts = thoughts_of(message, REASONING)
    return [*thoughts, *(said if message.content or not calls else []), *calls]


def _file_part(file: Attachment) -> dict[str, Any]:
    if file.media_type.startswith("image/"):
        return {"type": "input_image", "image_url": file.data_url, "detail": "auto"}
    return {"type": "input_file", "file_data": file.data_url, "filename": name_of(file)}


def _fields(params: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    text: dict[str, Any] = {}
    for name, value in params.items():
        if value is None:
            continue
        if name in ANSWER_LIMITS:
            fields["max_output_tokens"] = max(int(value), _LEAST_TOKENS)
        elif name == "reasoning_effort":
            fields["reasoning"] = value if isinstance(value, Mapping) else {"effort": value}
        elif name == "tools":
            fields["tools"] = [_tool(tool["function"]) for tool in value]
        elif name == "tool_choice":
            chosen = isinstance(value, Mapping)
            fields[name] = {"type": "function", **value["function"]} if chosen else value
        elif name == "response_format":
            text["format"] = _format(value)
        elif name == "verbosity":
            text["verbosity"] = value
        else:
            fields[name] = value
    return {**fields, **({"text": text} if text else {})}


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "parameters": None, "strict": False, **function}


def _format(value: Any) -> Any:
    schema = value.get("json_schema") if isinstance(value, Mapping) else None
    if not isinstance(schema, Mapping):
        return value
    return {"type": "json_schema", "name": "response_schema", "strict": False, **schema}


# Answers, as the Chat Completions that say the same.


_COUNTS = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "prompt_tokens_details": "input_tokens_details",
    "completion_tokens_details": "output_tokens_details",
}


def _as_chat(document: Mapping[str, Any]) -> dict[str, Any]:
    said = document.get("usage")
    usage = said if isinstance(said, Mapping) else {}
    message = _message(document)
    whole = "content_filter" if message["refusal"] and message["content"] else "stop"
    return {
        "model": document.get("model"),
        "service_tier": document.get("service_tier"),
        "choices": [{"message": message, "finish_reason": _reason(document, whole)}],
        "usage": {name: usage.get(here) for name, here in _COUNTS.items()},
    }


def _message(document: Mapping[str, Any]) -> dict[str, Any]:
    output = list(_objects(document.get("output"), "output"))
    parts = [
        part
        for item in output
        if item.get("type") == "message"
        for part in _objects(item.get("content"), "content")
    ]
    return {
        "content": "".join(_texts(parts, "output_text", "text")),
        "refusal": "".join(_texts(parts, "refusal", "refusal")),
        REASONING: [i for i in output if i.get("type") == "reasoning" and i.get(_ENCRYPTED)],
        "tool_calls": [_call(item) for item in output if str(item.get("type")) in _CALLS],
    }


def _objects(value: object, name: str) -> Iterable[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise UnreadableAnswer(f"`{name}` of the answer is not a list of JSON objects")
    return value


def _texts(parts: Iterable[Mapping[str, Any]], kind: str, name: str) -> Iterator[str]:
    for part in parts:
        if part.get("type") == kind:
            text = part.get(name)
            if not isinstance(text, str):
                raise UnreadableAnswer(f"`{name}` of a part of the answer is not text")
            yield text


_ENCRYPTED = "encrypted_content"
_CALLS = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}


def _call(item: Mapping[str, Any]) -> dict[str, Any]:
    kind, written = _CALLS[item["type"]]
    named = {"name": item.get("name"), written: item.get(written)}
    return {"id": item.get("call_id") or item.get("id"), kind: named}


def _reason(document: Mapping[str, Any], whole: str) -> str:
    """Return why the answer ended, in the words of Chat Completions; `whole` for one that was
    completed. Raises UnreadableAnswer for one that was not made."""
    status = document.get("status")
    if status == "completed":
        return whole
    if status != "incomplete":
        raise UnreadableAnswer(f"the answer has the status {str(status)[:40]!r}")
    details = document.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    known = isinstance(reason, str) and reason not in ("", "max_output_tokens")
    return str(reason) if known else "length"


# Answers that come token by token. The last event has the whole answer, so the others only say when
# the first token came.
# https://platform.openai.com/docs/api-reference/responses-streaming


_TOKENS = frozenset(
    f"response.{kind}.delta"
    for kind in ("custom_tool_call_input", "function_call_arguments", "output_text", "refusal")
)
_LAST = frozenset({"response.completed", "response.failed", "response.incomplete"})


class ResponseStream:
    """Joins the events of one answer; see `AnswerStream`. Events of other types are ignored."""

    def __init__(self) -> None:
        self.has_token = False
        self.is_complete = False
        self._response: Mapping[str, Any] = {}

    def add(self, event: Event) -> None:
        found = read_object(event)
        kind = str(found.get("type"))
        if kind == "error":
            said = found.get("error")
            self._response = {"error": said if isinstance(said, Mapping) else dict(found)}
            self.is_complete = True
        elif kind in _LAST:
            self._end(found.get("response"))
        elif kind in _TOKENS:
            self.has_token |= bool(found.get("delta"))
        elif kind == "response.output_item.added":
            item = found.get("item")
            self.has_token |= isinstance(item, Mapping) and str(item.get("type")) in _CALLS

    def document(self) -> Mapping[str, Any]:
        return self._response

    def _end(self, response: object) -> None:
        """Refuse a last event that does not repeat what came before it: an answer would be empty
        that was not."""
        if not isinstance(response, Mapping):
            raise UnreadableAnswer("the last event of the stream has no `response`")
        made = response.get("status") in ("completed", "incomplete")
        if self.has_token and made and not any(_message(response).values()):
            raise UnreadableAnswer("the last event of the stream does not have the answer")
        self._response, self.is_complete = response, True
