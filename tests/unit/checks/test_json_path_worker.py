"""The child's service for JSONPath, called in this process."""

from __future__ import annotations

from typing import Any

import pytest

from gatekeeper.checks.reading import json_path_worker
from gatekeeper.checks.reading.json_path_worker import answer
from gatekeeper.sandbox.process_limits import TimeUpError

VALUE = {"a": [1, 2, 3]}


def ask(query: str, **more: Any) -> Any:
    (response,) = answer({"query": query, **more})
    return response


def test_a_query_alone_is_compiled() -> None:
    assert ask("$.a[?@ > 1]") == {"error": None}


@pytest.mark.parametrize("query", ["$.a[", "$.a | $.b"])
def test_what_is_no_single_query_is_an_error(query: str) -> None:
    assert ask(query, value=VALUE)["error"]


@pytest.mark.parametrize("query", ["", " "])
def test_an_empty_query_is_named(query: str) -> None:
    assert ask(query) == {"error": "it is empty"}


def test_a_query_that_takes_too_long_to_compile_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(query: str) -> None:
        raise TimeUpError

    monkeypatch.setattr(json_path_worker, "_compiled", never)
    assert set(ask("$")) == {"error"}


def test_values_are_counted_or_returned_with_their_paths() -> None:
    assert ask("$.a[*]", value=VALUE) == {"count": 3}
    found = ask("$.a[*]", value=VALUE, most=3)
    assert found == {
        "values": [1, 2, 3],
        "paths": ["$['a'][0]", "$['a'][1]", "$['a'][2]"],
        "more": False,
    }
    assert ask("$.a[*]", value=VALUE, most=2)["more"] is True


def test_a_value_too_deep_to_search_is_a_fault() -> None:
    deep: Any = 1
    for _ in range(400):
        deep = [deep]
    assert set(ask("$..a", value=deep)) == {"fault"}
