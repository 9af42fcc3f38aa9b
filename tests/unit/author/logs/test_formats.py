"""Request logs of several programs, read line by line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.logs.formats import LoggedInput, UnreadLine, read_log
from gatekeeper.errors import UsageError

MESSAGES = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
PAIRS = (("system", "Be kind."), ("user", "Hi"))
SPAN = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "name": "chat",
                            "attributes": [
                                {"key": "gen_ai.system", "value": {"stringValue": "openai"}},
                                {"key": "gen_ai.prompt.0.role", "value": {"stringValue": "system"}},
                                {
                                    "key": "gen_ai.prompt.0.content",
                                    "value": {"stringValue": "Be kind."},
                                },
                                {"key": "gen_ai.prompt.1.role", "value": {"stringValue": "user"}},
                                {"key": "gen_ai.prompt.1.content", "value": {"stringValue": "Hi"}},
                            ],
                        }
                    ]
                }
            ]
        }
    ]
}


def read(tmp_path, *documents: object) -> list[LoggedInput]:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{json.dumps(document)}\n" for document in documents), "utf-8")
    return requests(path)


def requests(path) -> list[LoggedInput]:
    return [found for found in read_log(path) if isinstance(found, LoggedInput)]


@pytest.mark.parametrize(
    "document",
    [
        {"messages": MESSAGES, "model": "gpt-4o-mini"},
        {"custom_id": "1", "method": "POST", "body": {"messages": MESSAGES}},
        {"request": {"messages": MESSAGES}, "response": {"choices": []}},
        {"type": "GENERATION", "input": MESSAGES, "output": {"role": "assistant"}},
        {"type": "GENERATION", "input": {"messages": MESSAGES}},
        {"data": [{"input": MESSAGES}]},
        {"attributes": {"gen_ai.input.messages": json.dumps(MESSAGES)}},
        SPAN,
        {"messages": [MESSAGES[0], {"role": "user", "content": [{"type": "text", "text": "Hi"}]}]},
        {
            "attributes": {
                "gen_ai.input.messages": json.dumps(
                    [
                        MESSAGES[0],
                        {"role": "user", "parts": [{"type": "text", "content": "Hi"}]},
                    ]
                )
            }
        },
    ],
)
def test_messages_are_found_in_each_form(tmp_path, document):
    assert read(tmp_path, document) == [LoggedInput(PAIRS)]


@pytest.mark.parametrize("name", ["vars", "variables", "inputs"])
def test_values_are_found_by_their_usual_names(tmp_path, name):
    assert read(tmp_path, {name: {"x": "1"}}) == [LoggedInput(values={"x": "1"})]


def test_a_text_is_a_message_of_the_user_and_what_is_no_request_is_left_out(tmp_path):
    found = read(tmp_path, {"input": "Hi"}, {"input": {"x": "1"}}, {"level": "info"}, 3, None, [])
    assert found == [LoggedInput((("user", "Hi"),)), LoggedInput(values={"x": "1"})]


def test_one_document_with_many_requests_is_read_whole(tmp_path):
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"messages": MESSAGES}] * 3, indent=1), "utf-8")
    assert list(read_log(path)) == [LoggedInput(PAIRS)] * 3


def test_broken_lines_and_deep_documents_are_left_out(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("{broken\n" + "[" * 5000 + "\n" + '\n{"input": "Hi"}\n[]\n', "utf-8")
    found = [UnreadLine(path, 1), UnreadLine(path, 2), LoggedInput((("user", "Hi"),))]
    assert list(read_log(path)) == [*found, UnreadLine(path, 5)]


@pytest.mark.parametrize(
    "value", ["NaN", "-Infinity", "1e999", "[" * 30 + "]" * 30, '{"a":' * 30 + "1" + "}" * 30]
)
@pytest.mark.parametrize("name", ["vars", "input"])
def test_values_that_no_fixture_can_have_are_left_out(tmp_path, name, value):
    log = tmp_path / "log.jsonl"
    log.write_text(f'{{"{name}": {{"x": {value}}}}}\n{{"{name}": {{"x": 1.5}}}}\n')
    assert list(read_log(log)) == [UnreadLine(log, 1), LoggedInput(values={"x": 1.5})]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"missing\.jsonl"):
        list(read_log(tmp_path / "missing.jsonl"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["messages", "input", "role", "content", "attributes", "vars", "key"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(JSON)
def test_no_document_raises(tmp_path_factory, document):
    path = tmp_path_factory.mktemp("log") / "log.json"
    path.write_text(json.dumps(document), "utf-8")
    for found in requests(path):
        assert found.messages or found.values
