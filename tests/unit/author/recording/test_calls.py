"""Calls of tools in logs and traces: each form, and what is no call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.recording.calls import RecordedCall, read_calls
from gatekeeper.author.recording.rows import rows_of
from gatekeeper.sampling.stored_text import MOST_OF_MESSAGE, shorten

ARGUMENTS = {"id": "A7"}
OPENAI = [
    {"role": "user", "content": "Where is A7?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "find_order", "arguments": '{"id": "A7"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "shipped"},
]
RESPONSES = [
    {"role": "user", "content": "Where is A7?"},
    {
        "type": "function_call",
        "id": "fc_9",
        "call_id": "call_1",
        "name": "find_order",
        "arguments": '{"id": "A7"}',
    },
    {"type": "function_call_output", "call_id": "call_1", "output": "shipped"},
]
ANTHROPIC = [
    {"role": "user", "content": "Where is A7?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "find_order", "input": ARGUMENTS},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "content": [{"type": "text", "text": "shipped"}],
            }
        ],
    },
]
OTEL_MESSAGES = [
    {"role": "user", "parts": [{"type": "text", "content": "Where is A7?"}]},
    {
        "role": "assistant",
        "parts": [
            {"type": "tool_call", "id": "call_1", "name": "find_order", "arguments": ARGUMENTS}
        ],
    },
    {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "call_1", "response": "shipped"}],
    },
]
OTLP = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "5b8e",
                            "name": "execute_tool find_order",
                            "attributes": [
                                {"key": key, "value": {"stringValue": value}}
                                for key, value in {
                                    "gen_ai.operation.name": "execute_tool",
                                    "gen_ai.tool.name": "find_order",
                                    "gen_ai.tool.call.arguments": '{"id": "A7"}',
                                    "gen_ai.tool.call.result": "shipped",
                                }.items()
                            ],
                        }
                    ]
                }
            ]
        }
    ]
}


def calls_of(path: Path, *documents: Any) -> list[list[RecordedCall]]:
    path.write_text("\n".join(json.dumps(document) for document in documents))
    return [list(conversation) for conversation in read_calls([path])]


@pytest.mark.parametrize(
    "document",
    [
        {"messages": OPENAI},
        {"request": {"body": {"messages": OPENAI}}, "status": 200},
        {"input": RESPONSES},
        {"messages": ANTHROPIC},
        {"attributes": {"gen_ai.input.messages": json.dumps(OTEL_MESSAGES)}},
        {"attributes": {"gen_ai.input.messages": OTEL_MESSAGES}},
        OTLP,
        {
            "name": "execute_tool find_order",
            "attributes": {
                "gen_ai.tool.name": "find_order",
                "gen_ai.tool.call.arguments": ARGUMENTS,
                "gen_ai.tool.call.result": "shipped",
            },
        },
    ],
    ids=["openai", "wrapped", "responses", "anthropic", "text", "structured", "otlp", "span"],
)
def test_every_form_gives_the_call_with_its_answer(document, tmp_path) -> None:
    assert calls_of(tmp_path / "log.jsonl", document) == [
        [RecordedCall("find_order", ARGUMENTS, "shipped")]
    ]


def test_errors_and_structured_answers_are_kept_as_such(tmp_path) -> None:
    failed = {
        "attributes": {
            "gen_ai.tool.name": "refund",
            "gen_ai.tool.call.result": {"code": 7},
            "error.type": "timeout",
        }
    }
    message = json.loads(json.dumps(ANTHROPIC))
    message[2]["content"][0]["is_error"] = True
    assert calls_of(tmp_path / "log.jsonl", failed, message) == [
        [RecordedCall("refund", {}, {"code": 7}, is_error=True)],
        [RecordedCall("find_order", ARGUMENTS, "shipped", is_error=True)],
    ]


def test_the_same_id_in_two_conversations_is_two_calls(tmp_path) -> None:
    other = json.loads(json.dumps(OPENAI))
    other[1]["tool_calls"][0]["function"]["arguments"] = '{"id": "B8"}'
    other[2]["content"] = "lost"
    found = calls_of(tmp_path / "log.jsonl", {"messages": OPENAI}, {"messages": other})
    assert found == [
        [RecordedCall("find_order", ARGUMENTS, "shipped")],
        [RecordedCall("find_order", {"id": "B8"}, "lost")],
    ]


@pytest.mark.parametrize(
    "document",
    [
        {"messages": OPENAI[:2]},
        {"messages": OPENAI[2:]},
        {"messages": [{"role": "tool", "tool_call_id": ["call_1"], "content": "x"}]},
        {"attributes": {"gen_ai.tool.name": "find_order"}},
        {
            "attributes": {
                "gen_ai.tool.name": "f",
                "gen_ai.tool.call.arguments": "[1]",
                "gen_ai.tool.call.result": "x",
            }
        },
    ],
    ids=["unanswered", "uncalled", "no id", "no result", "no object"],
)
def test_what_has_no_call_or_no_answer_gives_nothing(document, tmp_path) -> None:
    assert calls_of(tmp_path / "log.jsonl", document) == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "type", "id", "function", "name", "content", "parts", "input"])
            | st.text(max_size=3),
            inner | st.sampled_from(["tool", "tool_call", "tool_result", "[{", "assistant"]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(_JSON)
def test_any_json_is_read_without_an_error(tmp_path_factory, document) -> None:
    path = tmp_path_factory.mktemp("logs") / "log.json"
    assert isinstance(calls_of(path, document), list)


def sample(*results: Any, contract: str = "shop", arguments: str = '{"id": "A7"}') -> Any:
    calls = [{"name": "find_order", "arguments": arguments, "id": None} for _ in results]
    turn = {"output_raw": "", "tool_calls": calls, "results": list(results)}
    return {"contract": contract, "turns": [turn, {"output_raw": "done"}]}


def test_of_samples_what_a_simulator_answered_is_read(tmp_path) -> None:
    said = {"text": "Error: gone", "is_error": True, "source": "simulated"}
    again = {"text": "shipped", "source": "simulated"}
    found = calls_of(tmp_path / "samples.jsonl", sample(said, {**said, "source": "row"}, again))
    assert found == [
        [
            RecordedCall("find_order", ARGUMENTS, "Error: gone", is_error=True),
            RecordedCall("find_order", ARGUMENTS, "shipped"),
        ]
    ]
    assert rows_of(found).rows == (
        {
            "tool": "find_order",
            "when": ARGUMENTS,
            "error": "gone",
            "then": [{"returns": "shipped"}],
        },
    )


@pytest.mark.parametrize(
    "left",
    [
        sample({"text": "shipped", "source": "row"}),
        sample({"text": "", "source": "none"}),
        sample({"text": "shipped", "source": "simulated"}, contract="other"),
        sample({"text": "shipped", "source": "simulated"}, arguments="[1]"),
        sample({"text": "shipped", "source": "simulated"}, arguments='{"id": "A... [cut'),
        sample({"text": 1, "source": "simulated"}),
        sample("shipped"),
        {"tool_calls": [], "results": 1},
        {**sample({"text": "x", "source": "simulated"}), "contract": ["shop"]},
    ],
)
def test_what_no_simulator_of_the_contract_answered_is_left_out(left, tmp_path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text(f"{json.dumps(left)}\n" * 2)
    assert list(read_calls([path], "shop")) == []


def test_an_answer_that_was_cut_makes_no_row(tmp_path) -> None:
    cut = {"text": shorten("x" * 3_000, MOST_OF_MESSAGE), "source": "simulated"}
    found = rows_of(calls_of(tmp_path / "samples.jsonl", sample(cut)))
    assert (found.rows, found.left_out) == ((), 1)
