"""Anthropic's Messages API. https://docs.anthropic.com/en/api/messages

A request is sent natively only if litellm would send the same; what needs more (thinking, formats,
conversations that litellm rewrites, sign-in tokens) goes through litellm.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.models.params import ANSWER_LIMITS, TOOL_PARAMS
from gatekeeper.contract.values.definition import Attachment, Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.http.answer_stream import Event, JoinedText, read_object
from gatekeeper.providers.http.http_client import Exchange, HttpRequest, encode_json
from gatekeeper.providers.http.response_body import UnreadableAnswer
from gatekeeper.providers.models.endpoint import Endpoint
from gatekeeper.providers.models.price_list import price_entry
from gatekeeper.providers.native.call_cost import call_cost, is_billed_by_tokens
from gatekeeper.providers.native.chat_messages import (
    THINKING,
    arguments_of,
    opaque_of,
    require_taken,
    text_part,
    thoughts_of,
)
from gatekeeper.providers.native.endings import (
    OPENAI_REASONS,
    TokenUsage,
    count_at,
    fingerprint_of,
    read_document,
    read_ending,
    read_message_calls,
    token_count,
)
from gatekeeper.providers.native.prompt_caching import MARK, marked_message

# Tools as Anthropic's Messages API takes them, from the parameters in OpenAI's form.
#
# https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use


_PLAIN_KEYS = frozenset({"name", "description", "parameters"})
_SCHEMA_KEYS = frozenset({"type", "properties", "required", "additionalProperties", "$defs"})
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def tool_fields(params: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields `tools` and `tool_choice`, none without tools; None if litellm must
    translate them."""
    tools, choice = params.get("tools"), params.get("tool_choice")
    parallel = params.get("parallel_tool_calls")
    if tools is None:
        return {} if choice is None and parallel is None else None
    found = [_tool(tool) for tool in tools] if isinstance(tools, Sequence) else [None]
    if not found or None in found:
        return None
    chosen = _choice(choice)
    if chosen is None:
        return None
    if isinstance(parallel, bool):
        if chosen.get("type", "auto") != "auto":
            return None
        chosen = {"type": "auto", "disable_parallel_tool_use": not parallel}
    return {"tools": found, **({"tool_choice": chosen} if chosen else {})}


def _tool(tool: object) -> dict[str, Any] | None:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(function, Mapping) or not set(function) <= _PLAIN_KEYS:
        return None
    schema = function.get("parameters")
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return None
    if not set(schema) <= _SCHEMA_KEYS or "properties" not in schema:
        return None
    described = {n: function[n] for n in ("description",) if function.get(n)}
    return {"name": function["name"], "input_schema": schema, "type": "custom", **described}


def _choice(choice: object) -> dict[str, Any] | None:
    """Return Anthropic's form of a choice, empty for none; None if it has no such form."""
    if choice is None:
        return {}
    if isinstance(choice, str):
        return {"type": _CHOICES[choice]} if choice in _CHOICES else None
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return {"type": "tool", "name": name} if isinstance(name, str) else None


_VERSION = "2023-06-01"
_SIGN_IN_TOKEN = "sk-ant-oat"  # noqa: S105
_ASSUMED_MAXIMUM = 4096
"""litellm's `max_tokens` for a model that its list does not have; the API asks for one."""

_SAMPLING = frozenset({"temperature", "top_p", "top_k"})


def build_request(endpoint: Endpoint, request: Request) -> HttpRequest | None:
    """Return the HTTP request; None if litellm must send it."""
    url, key = _url(endpoint), endpoint.api_key
    own_key = key and not key.startswith(_SIGN_IN_TOKEN) and not _signed_in()
    require_taken(request, "image/", "application/pdf")
    conversation = _conversation(request.messages, marked_message(request))
    fields = _fields(endpoint.model, request.params)
    if url is None or not own_key or conversation is None or fields is None:
        return None
    if not is_billed_by_tokens(endpoint.model):
        return None
    document = {"model": read_model_name(endpoint.model).name, **conversation, **fields}
    if request.streamed:
        document["stream"] = True
    headers = {"x-api-key": key or "", "anthropic-version": _VERSION}
    return HttpRequest(url, headers, encode_json(document))


def open_stream() -> MessageStream:
    """Return what joins a streamed answer."""
    return MessageStream()


def read_answer(model: str, exchange: Exchange) -> Completion:
    """Return what was answered. Raises UnreadableAnswer and CallFailed if nothing was."""
    document = read_document(exchange.body)
    if not isinstance(document, Mapping):
        raise UnreadableAnswer("the answer is not a JSON object")
    if "error" in document:
        raise UnreadableAnswer(str(document["error"]))
    said = document.get("usage")
    if not isinstance(said, Mapping):
        raise UnreadableAnswer("the answer has no `usage`")
    reason = document.get("stop_reason")
    known = OPENAI_REASONS.get(reason, "stop") if isinstance(reason, str) else "stop"
    ending = read_ending(document, _text(document) or None, known)
    if ending is None:
        raise CallFailed(f"{model}: the answer has no text", retryable=True, billable=True)
    usage = _usage(said)
    if usage and exchange.batched:
        usage = replace(usage, batched=True)
    return Completion(
        text=ending.text,
        latency_ms=exchange.latency_ms,
        prompt_tokens=usage.prompt if usage else None,
        completion_tokens=usage.completion if usage else None,
        cost_usd=call_cost(model, document.get("model"), usage) if usage else None,
        fingerprint=fingerprint_of(document.get("model")),
        finish_reason=ending.reason,
        ttft_ms=exchange.ttft_ms,
        cached_tokens=token_count(said.get("cache_read_input_tokens")),
        cache_write_tokens=token_count(said.get("cache_creation_input_tokens")),
        reasoning_tokens=usage.reasoning if usage else None,
        tool_calls=read_message_calls(document),
        opaque=_opaque(document),
    )


def _url(endpoint: Endpoint) -> str | None:
    base = (endpoint.api_base or "").rstrip("/")
    if "?" in base or "#" in base or os.environ.get("LITELLM_ANTHROPIC_DISABLE_URL_SUFFIX"):
        return None
    return base if base.endswith("/v1/messages") else f"{base}/v1/messages"


def _signed_in() -> bool:
    """Return whether there is a token of a sign-in, which litellm prefers to a key."""
    return bool(os.environ.get("ANTHROPIC_AUTH_TOKEN"))


def _conversation(messages: Sequence[Message], marked: int | None) -> dict[str, Any] | None:
    """Return the fields `system` and `messages`, with the mark for the cache; None if litellm would
    rewrite the conversation: it merges messages of one role, moves late ones of the system, and
    replaces or trims texts. What tools answered together is one message."""
    first = next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))
    turns = messages[first:]
    if not turns or any(m.role not in _ROLES for m in turns):
        return None
    bare = (m for m in messages if not (m.calls or m.files) and m.answers is None)
    if not all(m.content.strip() for m in bare):
        return None
    if any(m.role == "assistant" and m.content != m.content.rstrip() for m in turns):
        return None
    blocks = [_blocks(message) for message in messages]
    if marked is not None:
        blocks[marked][-1]["cache_control"] = MARK
    said: list[dict[str, Any]] = []
    for message, content in zip(turns, blocks[first:], strict=True):
        role = _ROLES[message.role]
        if not said or role != said[-1]["role"]:
            said.append({"role": role, "content": content})
        elif message.role == "tool":
            said[-1]["content"] += content
        else:
            return None
    return {
        "messages": said,
        **({"system": [b for each in blocks[:first] for b in each]} if first else {}),
    }


_ROLES = {"user": "user", "assistant": "assistant", "tool": "user"}


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.answers is not None:
        result = {"type": "tool_result", "tool_use_id": message.answers}
        return [{**result, "content": message.content}]
    files = [_file_block(file) for file in message.files]
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments_of(call)}
        for call in message.calls
    ]
    return [*thoughts_of(message, THINKING), *files, *text_part(message, "text"), *calls]


def _file_block(file: Attachment) -> dict[str, Any]:
    source = {"type": "base64", "media_type": file.media_type, "data": file.base64}
    kind = "image" if file.media_type.startswith("image/") else "document"
    return {"type": kind, "source": source}


def _fields(model: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the other fields; None if litellm must translate or refuse a parameter."""
    entry = price_entry(model) or {}
    offered = tool_fields(params)
    if offered is None:
        return None
    fields: dict[str, Any] = dict(offered)
    for name, value in params.items():
        if name in TOOL_PARAMS:
            continue
        if name in ANSWER_LIMITS and isinstance(value, int) and "max_tokens" not in fields:
            fields["max_tokens"] = value
        elif name == "stop" and (stops := _stop_sequences(value)):
            fields["stop_sequences"] = stops
        elif name in _SAMPLING and _takes_sampling(entry) and isinstance(value, int | float):
            fields[name] = value
        else:
            return None
    longest = entry.get("max_output_tokens") or entry.get("max_tokens") or _ASSUMED_MAXIMUM
    return {"max_tokens": longest, **fields}


def _stop_sequences(value: object) -> list[str]:
    stops = value if isinstance(value, list) else [value]
    sound = [stop for stop in stops if isinstance(stop, str) and stop]
    return sound if len(sound) == len(stops) else []


def _takes_sampling(entry: Mapping[str, Any]) -> bool:
    """Return whether the model certainly takes a temperature: later ones do not, and an unknown
    model may be one of those."""
    return bool(entry) and entry.get("supports_sampling_params") is not False


def _opaque(document: Mapping[str, Any]) -> str | None:
    blocks = [block for block in document["content"] if isinstance(block, Mapping)]
    thoughts = [block for block in blocks if block.get("type") in _THOUGHT_TYPES]
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    return opaque_of({THINKING: thoughts, "tool_calls": calls})


def _text(document: Mapping[str, Any]) -> str:
    return "".join(block["text"] for block in _text_blocks(document.get("content")))


def _text_blocks(content: object) -> Iterator[Mapping[str, Any]]:
    if not isinstance(content, list):
        raise UnreadableAnswer("the answer has no `content`")
    for block in content:
        if not isinstance(block, Mapping):
            raise UnreadableAnswer("a part of `content` is not a JSON object")
        if block.get("type") == "text":
            if not isinstance(block.get("text"), str):
                raise UnreadableAnswer("the text of a text block is not a string")
            yield block


_THOUGHT_TYPES = ("thinking", "redacted_thinking")
_THOUGHTS = "output_tokens_details.thinking_tokens"
_REQUIRED = ("input_tokens", "output_tokens")


def reasoning_in(said: Mapping[str, Any], completion: int) -> int | None:
    """Return how many tokens of the answer are thoughts; None if the API does not count them."""
    rounds = said.get("iterations")
    counts = [count_at(part, _THOUGHTS) for part in rounds] if isinstance(rounds, list) else []
    if not counts or None in counts:
        counts = [count_at(said, _THOUGHTS)]
    known = [count for count in counts if count is not None]
    return min(sum(known), completion) if known else None


def _usage(said: Mapping[str, Any]) -> TokenUsage | None:
    """Return the tokens; None if the provider does not report them. No prompt has no tokens."""
    rounds = said.get("iterations")
    parts = rounds if isinstance(rounds, list) and rounds else [said]
    # What is missing or no count is unknown, and never zero.
    if any(count_at(part, name) is None for part in parts for name in _REQUIRED):
        return None
    plain, completion, written, cached = (
        sum(count_at(part, name) or 0 for part in parts)
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_creation_input_tokens",
            "cache_read_input_tokens",
        )
    )
    prompt = plain + written + cached
    if not prompt:
        return None
    tier, region, speed = (said.get(name) for name in ("service_tier", "inference_geo", "speed"))
    return TokenUsage(
        prompt,
        completion,
        cached=cached,
        cache_writes=written,
        cache_writes_1h=min(
            sum(count_at(part, "cache_creation.ephemeral_1h_input_tokens") or 0 for part in parts),
            written,
        ),
        reasoning=reasoning_in(said, completion),
        tier=tier if isinstance(tier, str) else None,
        surcharges=tuple(
            name.lower()
            for name in (region, speed if speed == "fast" else None)
            if isinstance(name, str) and name.lower() not in ("global", "not_available")
        ),
    )


# Messages that come token by token.
# https://docs.anthropic.com/en/docs/build-with-claude/streaming


class MessageStream:
    """Joins the events of one answer; see `AnswerStream`. Events of other types are ignored, as the
    API asks of its clients."""

    def __init__(self) -> None:
        self.has_token = False
        self.is_complete = False
        self._message: dict[str, Any] | None = None
        self._error: Any = None
        self._text = JoinedText()
        self._calls: dict[object, _Call] = {}
        self._thoughts: dict[object, dict[str, Any]] = {}

    def add(self, event: Event) -> None:
        found = read_object(event)
        match found.get("type"):
            case "error":
                self._error, self.is_complete = found.get("error") or "unknown", True
            case "message_start":
                self._message = dict(_part(found, "message"))
            case "content_block_start":
                block = _part(found, "content_block")
                if block.get("type") == "tool_use":
                    self._calls[found.get("index")] = _Call(block)
                    self.has_token = True
                elif block.get("type") in _THOUGHT_TYPES:
                    self._thoughts[found.get("index")] = dict(block)
                self.has_token |= self._add_text(block, "text")
            case "content_block_delta":
                delta = _part(found, "delta")
                self.has_token |= self._add_text(delta, "text_delta")
                call = self._calls.get(found.get("index"))
                if call and delta.get("type") == "input_json_delta":
                    call.arguments.add(delta.get("partial_json"))
                thought = self._thoughts.get(found.get("index"), {})
                for name in _OF_A_THOUGHT & delta.keys():
                    thought[name] = f"{thought.get(name) or ''}{delta[name]}"
            case "message_delta":
                self._end_with(found)
            case "message_stop":
                self._require_reason()
                self.is_complete = True

    def document(self) -> Mapping[str, Any]:
        if self._error is not None:
            return {"type": "error", "error": self._error}
        text = str(self._text)
        content = [{"type": "text", "text": text}] if text else []
        calls = [call.document() for call in self._calls.values()]
        thoughts = self._thoughts.values()
        return {**(self._message or {}), "content": [*thoughts, *content, *calls]}

    def _add_text(self, part: Mapping[str, Any], kind: str) -> bool:
        return part.get("type") == kind and self._text.add(part.get("text"))

    def _require_reason(self) -> None:
        """Refuse a message without a reason why it ended: it may be cut, and only the event with
        the reason has the message's tokens."""
        if not (self._message or {}).get("stop_reason"):
            raise UnreadableAnswer("the stream ended without a `stop_reason`")

    def _end_with(self, found: Mapping[str, Any]) -> None:
        """Note why the message ended. Its token counts are those of the whole message so far."""
        if self._message is None:
            raise UnreadableAnswer("the first event of the stream is missing")
        self._message |= _part(found, "delta")
        first, last = self._message.get("usage"), found.get("usage")
        if isinstance(last, Mapping):
            known = {name: value for name, value in last.items() if value is not None}
            self._message["usage"] = {**(first if isinstance(first, Mapping) else {}), **known}


_OF_A_THOUGHT = frozenset({"thinking", "signature"})


class _Call:
    """A tool call whose arguments come in pieces of JSON."""

    def __init__(self, block: Mapping[str, Any]) -> None:
        self._block = block
        self.arguments = JoinedText()

    def document(self) -> dict[str, Any]:
        """Return the block of an unstreamed answer; its input is text if it is not JSON, because it
        was cut off."""
        text = str(self.arguments)
        if not text:
            return dict(self._block)
        try:
            return {**self._block, "input": json.loads(text)}
        except (ValueError, RecursionError):
            return {**self._block, "input": text}


def _part(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = found.get(name)
    if not isinstance(part, Mapping):
        raise UnreadableAnswer(f"an event of the stream has no `{name}`")
    return part
