"""Rows of `tool_results` from calls: keyed on the call, in sequences, and redacted."""

from __future__ import annotations

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.recording.calls import RecordedCall
from gatekeeper.author.recording.rows import as_written, rows_of
from gatekeeper.contract.templates.plain import is_template

KEY = "sk-made-for-this-test-0123456789"


def call(returns: object, tool: str = "find", *, is_error: bool = False, **given: object):
    return RecordedCall(tool, given, returns, is_error)


def test_a_call_that_is_repeated_is_a_sequence_of_which_the_end_repeats() -> None:
    found = rows_of([[call("one", id=1), call("gone", id=1, is_error=True), call("x", id=2)]])
    assert found.rows == (
        {"tool": "find", "when": {"id": 1}, "returns": "one", "then": [{"error": "gone"}]},
        {"tool": "find", "when": {"id": 2}, "returns": "x"},
    )
    same = rows_of([[call("one", id=1)] * 3])
    assert same.rows == ({"tool": "find", "when": {"id": 1}, "returns": "one"},)


def test_histories_that_requests_repeat_count_once_and_the_longest_is_kept() -> None:
    short, long = [call("a", id=1)], [call("a", id=1), call("b", id=1)]
    found = rows_of([short, long, [call("other", id=1)]])
    assert found.rows == (
        {"tool": "find", "when": {"id": 1}, "returns": "a", "then": [{"returns": "b"}]},
    )
    assert found.other == 1


def test_rows_with_more_arguments_come_first_because_the_first_match_answers() -> None:
    found = rows_of([[call("all"), call("one", id=1), call("exact", id=1, full=True)]])
    assert [row["returns"] for row in found.rows] == ["exact", "one", "all"]
    assert "when" not in found.rows[-1]


def test_personal_data_and_secrets_go_and_a_row_matches_any_value_of_such_an_argument(
    monkeypatch,
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", KEY)
    found = rows_of([[call({"to": "ann@example.org", "key": KEY}, mail="ann@example.org", n=3)]])
    (row,) = found.rows
    assert row["when"] == {"n": 3}
    assert "ann@" not in str(row)
    assert KEY not in str(row)
    assert (found.replaced, found.loosened) == (2, 1)


def test_an_answer_that_is_too_long_gets_no_row_and_is_counted() -> None:
    found = rows_of([[call("x" * 200_000, id=1), call("short", id=2)]])
    assert [row["returns"] for row in found.rows] == ["short"]
    assert found.left_out == 1


@pytest.mark.parametrize("text", ["{{ state }}", "{% raw %}", "{{# b #}", "{{{{", "{{ '{{' }}"])
def test_what_a_tool_answered_is_no_template(text) -> None:
    (row,) = rows_of([[call({"deep": [text]}, id=1)]]).rows
    written = row["returns"]["deep"][0]
    assert jinja2.Environment(autoescape=False).from_string(written).render() == text  # noqa: S701


@given(st.text(alphabet="{}%#'a \r\n", max_size=12))
def test_any_text_comes_back_from_its_template(text) -> None:
    written = as_written(text)
    if is_template(written):  # a text without such a mark is not rendered
        template = jinja2.Environment(autoescape=False).from_string(written)  # noqa: S701
        written = template.render()
    assert written == text
