"""OpenAI's Responses API: the same requests as litellm's bridge, the same answers, streams, and
servers that answer badly."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer
from support.git_repository import GitRepository
from support.native_clients import (
    KEY,
    PRO,
    SHORT,
    ask,
    asked,
    chat,
    loop,
    outcome,
    point_at,
    response,
    said,
    spoken,
)
from support.streamed_answers import chunk, response_events, stream

from gatekeeper.cli.main import main
from gatekeeper.contract.values.definition import Message, ToolCall
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.hosted import HostedClient
from gatekeeper.providers.native.responses import is_asked_here

# Some of litellm's modules warn when they are imported, which would be taken for a failed call.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnsweringServer]:
    with AnsweringServer(Answer(200, response())) as server:
        point_at(server.url, monkeypatch)
        monkeypatch.setenv("AZURE_API_BASE", server.url)
        monkeypatch.setenv("AZURE_API_KEY", KEY)
        yield server


@pytest.fixture
def bridge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets litellm call the API without the package `mcp`: it imports its gateway to MCP servers,
    to find that no tool needs one."""
    name = "litellm.responses.mcp.litellm_proxy_mcp_handler"
    module: Any = ModuleType(name)
    module.LiteLLM_Proxy_MCP_Handler = SimpleNamespace(
        should_use_litellm_mcp_gateway=lambda tools: False
    )
    monkeypatch.setitem(sys.modules, name, module)


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Weather.", "parameters": SCHEMA},
}
BARE = {"type": "function", "function": {"name": "now"}}
STRICT = {"type": "function", "function": {**TOOL["function"], "strict": True}}  # type: ignore[dict-item]
NAMED = {"type": "function", "function": {"name": "get_weather"}}
FORM = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}}
PARAMS: list[dict[str, Any]] = [
    {},
    {"max_tokens": 7},
    {"max_completion_tokens": 70, "verbosity": "low", "service_tier": "flex"},
    {"tools": [TOOL, BARE, STRICT], "tool_choice": NAMED, "parallel_tool_calls": False},
    *({"tools": [TOOL], "tool_choice": choice} for choice in ("auto", "none", "required")),
    {"response_format": FORM, "verbosity": "high"},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}},
    *({"response_format": {"type": kind}} for kind in ("json_object", "text")),
    *({"reasoning_effort": effort} for effort in ("minimal", "low", "high")),
    {"reasoning_effort": {"effort": "high", "summary": "auto"}},
    {"temperature": 1},
]
CONVERSATIONS = (
    (Message("user", "Hi"),),
    (Message("user", "a"), Message("assistant", "b"), Message("user", "c")),
    (Message("system", "a"), Message("system", "b"), Message("user", "")),
    (Message("system", "a"),),
    (Message("developer", "a"), Message("user", "b")),
    (Message("user", "a"), Message("system", "s"), Message("user", "b"), Message("user", "c")),
    (Message("system", " "), Message("user", "<think>a</think>"), Message("assistant", "")),
)
LOW: dict[str, Any] = {"tools": [TOOL], "reasoning_effort": "low"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
REQUESTS = [
    *(Request(PRO, SHORT, params, 7, 0) for params in PARAMS),
    *(Request(PRO, messages, {}, None, 0) for messages in CONVERSATIONS),
    Request(PRO, loop("reasoning_items", [THOUGHT]), {"tools": [TOOL]}, None, 0),
    *(asked(f"openai/{name}") for name in ("o3-pro", "gpt-5-codex", "responses/gpt-4o")),
    *(asked(f"azure/{name}") for name in ("gpt-5-codex", "responses/my-own", "eu/gpt-5.1-codex")),
    *(asked(f"openai/{name}", **LOW) for name in ("gpt-5.4", "gpt-5.6-terra", "gpt-6-sol")),
    *(asked(f"azure/{name}", **LOW) for name in ("gpt-5.4", "gpt-5.5")),
    asked("azure/gpt-5.6", tools=[TOOL]),
    asked("openai/gpt-6-astra", tools=[TOOL], reasoning_effort="xhigh"),
    asked("openai/gpt-5.4", tools=[TOOL]),  # of another server: through Chat Completions
    asked("azure/gpt-5.4-mini", **(LOW | {"reasoning_effort": "none"})),
    asked("openai/gpt-5.1", **LOW),
    asked("openai/gpt-4o", tools=[TOOL]),
]


def sent(body: dict[str, Any]) -> dict[str, Any]:
    """What is asked, without what Gatekeeper says differently on purpose: nothing is stored,
    thoughts are encrypted in the answer, and a tool is strict only if the contract says so."""
    body = {name: value for name, value in body.items() if name != "include"}
    tools = body.get("tools", [])
    plain = [{k: v for k, v in tool.items() if v is not None} for tool in tools]
    plain = [{**tool, "strict": tool.get("strict", False)} for tool in plain]
    return {**body, "store": False, "tools": plain} if "input" in body else body


@pytest.mark.usefixtures("bridge")
@pytest.mark.long
def test_requests_are_those_of_litellm(server: AnsweringServer) -> None:
    async def main() -> None:
        clients = HostedClient(), HostedClient(["azure", "openai"])
        try:
            for request in REQUESTS:
                await compare(server, *clients, request)
        finally:
            for client in clients:
                await client.aclose()

    asyncio.run(main())


async def compare(
    server: AnsweringServer, native: HostedClient, litellm: HostedClient, request: Request
) -> None:
    """Ask the same in both ways; what is sent and what is answered must be the same."""
    name = request.model.partition("/")[2].removeprefix("responses/")
    here = is_asked_here(request.model, request.params, server.url)
    server.answer = Answer(200, response(model=name) if here else chat(model=name))
    server.requests.clear()
    one, other = [await outcome(client, request) for client in (native, litellm)]
    assert said(one) == said(other), (request, str(one), str(other))
    # No more: a third request is one that somebody pays for.
    assert len(server.requests) == 2, [
        (each.path, each.peer, each.body) for each in server.requests
    ]
    first, second = server.requests
    assert sent(first.body) == sent(second.body), request
    assert first.path == second.path, request
    for header in ("authorization", "api-key"):
        assert first.headers.get(header) == second.headers.get(header)


def call(**more: Any) -> dict[str, Any]:
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_a", "status": "completed"}
    return {**item, "name": "get_weather", "arguments": '{"city": "Zürich"}', **more}


SUMMED = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hmm"}]}
LENGTH, FILTER = {"reason": "max_output_tokens"}, {"reason": "content_filter"}
NO_COUNTS = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
ANSWERS: dict[str, dict[str, Any]] = {
    "success": response(),
    "unicode": response(spoken("Grüße 🙂\u202e")),
    "a summary of the thoughts": response(SUMMED, spoken("Hi")),
    "several parts": response(spoken("Grüße", " 🙂")),
    "two messages": response(spoken("One. "), SUMMED, spoken("Two.")),
    "a call": response(call()),
    "text and calls": response(spoken("Hm"), call(), call(call_id="call_b", arguments="{}")),
    "a call without its id": response(call(call_id=None)),
    "an empty text": response(spoken("")),
    "too long": response(spoken("Hi"), status="incomplete", incomplete_details=LENGTH),
    "thoughts alone, too long": response(SUMMED, status="incomplete", incomplete_details=LENGTH),
    "filtered": response(spoken("H"), status="incomplete", incomplete_details=FILTER),
    "an unknown item": response({"type": "weather", "id": "w"}, spoken("Hi")),
    "few counts": response(usage=NO_COUNTS),
    "a tier": response(service_tier="flex"),
    "an error with 200": response(error={"code": "server_error", "message": "No"}),
    "no output": response() | {"output": "none"},
}


@pytest.mark.usefixtures("bridge")
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_read_as_litellm_reads_them(server: AnsweringServer, name: str) -> None:
    server.answer = Answer(200, ANSWERS[name])
    native, litellm = ask(asked(PRO), False), ask(asked(PRO), True)
    assert said(native) == said(litellm), (str(native), str(litellm))


def answered(server: AnsweringServer, answer: Answer) -> Completion | Exception:
    """What a request for a stream gets."""
    server.answer = answer
    return ask(replace(asked(PRO), streamed=True), through_litellm=False)


def whole(server: AnsweringServer, document: Any) -> Completion | Exception:
    server.answer = Answer(200, document)
    return ask(asked(PRO), through_litellm=False)


def read(server: AnsweringServer, document: Any) -> Completion:
    found = whole(server, document)
    assert isinstance(found, Completion)
    return found


def is_an_outage(found: Completion | Exception) -> bool:
    """Whether it is a failure that is paid for and asked again."""
    assert isinstance(found, CallFailed)
    return (found.retryable, found.fatal, found.billable) == (True, False, True)


def test_a_refusal_is_an_answer(server: AnsweringServer) -> None:
    refused = {"type": "refusal", "refusal": "I cannot."}
    found = read(server, response({**spoken(), "content": [refused]}))
    assert (found.text, found.finish_reason) == ("I cannot.", "refusal")
    begun = response({**spoken("Well"), "content": [*spoken("Well")["content"], refused]})
    found = read(server, begun)
    assert (found.text, found.finish_reason) == ("Well", "content_filter")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"code": "invalid_prompt", "message": "Invalid prompt"}, "request_refused"),
        ({"code": "context_length_exceeded", "message": "Too much"}, "request_too_long"),
        ({"code": "content_filter", "message": "No"}, "content_filter"),
    ],
)
def test_a_refused_prompt_is_no_outage(
    error: dict[str, Any], reason: str, server: AnsweringServer
) -> None:
    failed = response(status="failed", error=error) | {"output": []}
    event = {"type": "error", **error}
    for answer in (
        Answer(200, failed),
        stream(*response_events(failed)),
        stream(chunk(event)),
        Answer(400, {"error": {**error, "param": "input"}}),
    ):
        found = answered(server, answer)
        assert isinstance(found, Completion)
        assert (found.text, found.finish_reason) == ("", reason)


TOO_FAST = "Request too large for gpt-5-pro on tokens per min (TPM): Limit 30000, Requested 36000."


@pytest.mark.parametrize(
    "error",
    [
        {"code": "rate_limit_exceeded", "message": TOO_FAST},
        {
            "code": "server_error",
            "message": "The prompt is too long in our queue",
            "param": "input",
        },
        {"code": "server_error", "message": "input: the store did not answer"},
        {"code": None, "message": "Prompt: the context window service is down"},
        {"code": ["invalid_prompt"], "message": "input"},
    ],
)
def test_an_outage_in_the_words_of_a_refusal_is_no_answer(
    error: dict[str, Any], server: AnsweringServer
) -> None:
    failed = response(status="failed", error=error) | {"output": []}
    events = (*response_events(failed)[-1:], chunk({"type": "error", **error}))
    for answer in (Answer(200, failed), *map(stream, events)):
        assert is_an_outage(answered(server, answer))


@pytest.mark.parametrize("name", [n for n, said in ANSWERS.items() if said["output"] != "none"])
def test_a_streamed_answer_says_the_same(server: AnsweringServer, name: str) -> None:
    expected = whole(server, ANSWERS[name])
    found = answered(server, stream(*response_events(ANSWERS[name])))
    assert said(found) == said(expected)
    assert server.requests[-1].body == {**server.requests[0].body, "stream": True}
    if isinstance(found, Completion):
        assert (found.ttft_ms is not None) == bool(found.text or found.tool_calls)


def test_tools_of_another_kind_are_calls_too(server: AnsweringServer) -> None:
    made = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "SELECT 1"}
    found = read(server, response(made))
    assert found.tool_calls == (ToolCall("sql", "SELECT 1", "c"),)
    assert found.finish_reason == "tool_calls"


def test_the_model_that_answered_is_named(server: AnsweringServer) -> None:
    found = read(server, response(model="gpt-5-pro-2025-10-06"))
    assert found.fingerprint == "gpt-5-pro-2025-10-06"


NOTHING = response() | {"output": []}
UNREADABLE: dict[str, Any] = {
    "no JSON": b"<html>",
    "no object": ["Hi"],
    "failed": response(status="failed"),
    "cancelled": response(status="cancelled"),
    "still in progress": response(status="in_progress"),
    "no status": response(status=None),
    "a status that is none": response(status=["completed"]),
    "output of the wrong type": response() | {"output": {"type": "message"}},
    "an item of the wrong type": response("Hi"),
    "content of the wrong type": response({**spoken(), "content": "Hi"}),
    "a part of the wrong type": response({**spoken(), "content": ["Hi"]}),
    "text of the wrong type": response({**spoken(), "content": [{"type": "output_text"}]}),
    "a chat": chat(),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_answer_is_a_failure(server: AnsweringServer, name: str) -> None:
    assert is_an_outage(whole(server, UNREADABLE[name]))


@pytest.mark.parametrize(
    "usage", [None, [], {"input_tokens": "9"}, {"input_tokens": -1, "output_tokens": 10**15}]
)
def test_counts_of_the_wrong_type_are_unknown(server: AnsweringServer, usage: Any) -> None:
    found = read(server, response(usage=usage))
    assert (found.text, found.prompt_tokens, found.cost_usd) == ("Hi", None, None)


def test_names_and_arguments_of_the_wrong_type_are_calls(server: AnsweringServer) -> None:
    found = read(server, response(call(name=7, arguments={"a": 1}, call_id=["x"])))
    assert found.tool_calls == (ToolCall("", '{"a": 1}'),)


EVENTS = response_events(response())
DELTA = {"type": "response.output_text.delta", "delta": "H"}
BROKEN: dict[str, Answer] = {
    "nothing": stream(),
    "ends before the last event": stream(*EVENTS[:-1]),
    "rubbish": stream(b"data: {\n\n", *EVENTS),
    "an event that is no object": stream(b"data: [1]\n\n", *EVENTS),
    "the last event without the answer": stream(
        *EVENTS[:-1], chunk({"type": "response.completed", "response": NOTHING})
    ),
    "the last event without a response": stream(chunk({"type": "response.completed"})),
    "an error in the middle": stream(*EVENTS[:4], chunk({"type": "error", "message": "No"})),
    "failed in the middle": stream(*EVENTS[:4], *response_events(response(status="failed"))[-1:]),
    "the last event with an empty answer": stream(
        *EVENTS[:-1], *response_events(response(spoken("")))[-1:]
    ),
    "the last event with thoughts alone": stream(
        *EVENTS[:-1], *response_events(response({"type": "reasoning", "summary": []}))[-1:]
    ),
    "only unknown events": stream(*[chunk({"type": "response.weather"})] * 100),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_stream_is_a_failure(server: AnsweringServer, name: str) -> None:
    assert is_an_outage(answered(server, BROKEN[name]))


def test_events_that_are_strange_do_no_harm(server: AnsweringServer) -> None:
    strange = [
        {"type": 7},
        {"type": ["response.completed"]},
        {"type": "response.output_text.delta", "delta": {"a": 1}},
        {"type": "response.output_item.added", "item": "x"},
        {"type": "response.output_item.added", "item": {"type": ["function_call"]}},
    ]
    found = answered(server, stream(*map(chunk, strange), *EVENTS, *EVENTS[:3]))
    assert isinstance(found, Completion)
    assert found.text == "Hi"


@pytest.mark.long
def test_a_stream_without_end_is_ended(server: AnsweringServer) -> None:
    many = chunk({**DELTA, "obfuscation": "x" * 100_000}) * 1_100
    found = answered(server, stream(many))
    assert isinstance(found, CallFailed)
    assert (found.retryable, found.billable) == (False, True)
    assert "larger than" in str(found)


@pytest.mark.parametrize(
    "name", ["frequency_penalty", "logit_bias", "seed", "stop", "thinking", "top_k", "top_logprobs"]
)
def test_a_parameter_that_the_api_does_not_have_is_named(
    server: AnsweringServer, name: str
) -> None:
    found = ask(asked("openai/responses/gpt-4o", **{name: 1}), through_litellm=False)
    assert isinstance(found, CallFailed)
    assert (found.fatal, found.author, server.requests) == (True, True, [])
    assert f"does not take `{name}`; remove `{name}`" in str(found)


def test_an_error_says_no_key(server: AnsweringServer) -> None:
    server.answer = Answer(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})
    found = ask(asked(PRO), through_litellm=False)
    assert isinstance(found, CallFailed)
    assert found.fatal
    assert KEY not in json.dumps(str(found))
    assert "OPENAI_API_KEY" in str(found)


CONTRACT = """contract: 1
name: weather
prompt: ../p.md
model: openai/gpt-5.4
params: {reasoning_effort: low, max_tokens: 300, tools: [%s]}
fixtures:
- {vars: {city: Oslo}}
- {vars: {city: Rome}, turns: ["And tomorrow?"]}
checks: [{type: tool_call, tool: get_weather}, {type: contains, value: Norway}]
slo: {ttft_p95_ms: 100000}
"""


@pytest.mark.long
def test_a_run_measures_tools_turns_and_the_first_token(
    server: AnsweringServer, git_repository: Callable[..., GitRepository], tmp_path: Path
) -> None:
    made = git_repository("weather")
    contract = CONTRACT % json.dumps(TOOL)
    made.commit("add", {"contracts/w.yaml": contract, "p.md": "Weather in {{ city }}?"})
    said_it = response(spoken("Norway"), call(), model="gpt-5.4")
    server.answer = stream(*response_events(said_it))
    assert main(["run", "--repo", str(made.path), "--out", str(tmp_path)]) == 0
    assert {request.path for request in server.requests} == {"/v1/responses"}
    last = max((request.body["input"] for request in server.requests), key=len)
    assert [item["role"] for item in last] == ["user", "assistant", "user"]
    result = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert result["calls"]["reasoning_tokens"] == 3 * 64
    assert result["calls"]["cached_tokens"] == 3 * 600
    rows = (tmp_path / "samples.jsonl").read_text("utf-8").splitlines()
    assert all(json.loads(row)["ttft_ms"] > 0 for row in rows)
