"""The tables of assertions: what their rows name exists here, and one more assertion is one row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.foreign_files import loaded, triple
from support.promptfoo_suite import checks_of_first, kinds, read, suite

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.formats import (
    github_prompt,
    harness,
    openai_evals,
    openai_registry,
    pcsl,
    promptfoo,
)
from gatekeeper.contract.formats.promptfoo import assertion_types as promptfoo_rows
from gatekeeper.contract.formats.promptfoo.assertion import Assertion
from gatekeeper.contract.formats.reader import keys
from gatekeeper.contract.formats.rows import Row, row, written_as
from gatekeeper.contract.values.definition import Contract

TABLES: Mapping[str, Mapping[str, Row]] = {
    "github": github_prompt.STRINGS,
    "github built-in": github_prompt.BUILT_IN,
    "harness": harness.ROWS,
    "openai evals": openai_evals.ROWS,
    "openai operations": openai_evals.OPERATIONS,
    "openai metrics": openai_evals.METRICS,
    "openai registry": openai_registry.ROWS,
    "pcsl": pcsl.ROWS,
    "promptfoo": promptfoo_rows.ROWS,
}
OF_EVERY_CHECK = {"not"}


@pytest.mark.parametrize("table", TABLES)
def test_a_row_is_a_check_with_its_parameters_or_says_why_there_is_none(table: str) -> None:
    for kind, known in TABLES[table].items():
        assert (known.check == "") == bool(known.why), kind
        if isinstance(known.check, str) and known.check:
            judge, _, _ = known.check.partition(" ")
            assert known.params.keys() - OF_EVERY_CHECK <= SHAPES[judge].schema["properties"].keys()


def test_an_export_writes_only_checks_that_exist() -> None:
    assert written_as(github_prompt.STRINGS)["starts_with"] == "startsWith"
    for table in (github_prompt.STRINGS, openai_registry.ROWS):
        assert written_as(table).keys() <= SHAPES.keys()


def in_harness(kind: str) -> Contract:
    invariants = [{"type": kind, "spec": "a"}, {"type": "json"}]
    data = {"prompt_template": "Say {x}.", "model": "openai/m", "cases": [{"x": "a"}]}
    return loaded({"evals/h.json": json.dumps({**data, "invariants": invariants})}, "evals/h.json")


def in_pcsl(kind: str) -> Contract:
    files = triple(1)
    checks = [{"type": kind, "value": "a"}, {"type": "json_valid"}]
    files["evals/mail/es.json"] = json.dumps({"pcsl": "0.1.0", "checks": checks})
    return loaded(files, "evals/mail/ep.json")


def in_openai(kind: str) -> Contract:
    output = {"input": "{{ sample.output_text }}", "operation": "like", "reference": "a"}
    known = {"type": "string_check", **output}
    message = {"role": "user", "content": "Say {{ item.x }}."}
    source = {"model": "m", "input_messages": {"template": [message]}}
    source["source"] = {"content": [{"x": "a"}]}
    data = {"testing_criteria": [{"type": kind}, known], "data_source": source}
    return loaded({"evals/e.json": json.dumps(data)}, "evals/e.json")


def in_promptfoo(kind: str) -> Contract:
    asserts = [{"type": kind, "value": "a"}, {"type": "is-json"}]
    return read(suite({"vars": {"q": "a"}, "assert": asserts}))


@pytest.mark.parametrize(
    ("module", "contract_with", "value", "value_of"),
    [
        (harness, in_harness, lambda spec: spec, "a"),
        (openai_evals, in_openai, lambda item: item.get("type")[:1], "l"),
        (pcsl, in_pcsl, lambda item: item["value"], "a"),
        (promptfoo.assertion_types, in_promptfoo, Assertion.text, "a"),
    ],
)
def test_one_more_assertion_is_one_row(
    module: Any, contract_with: Any, value: Any, value_of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contract_with("zodiac")
    assert "zodiac" in kinds(before)
    assert len(checks_of_first(before)) == 1
    one = row("lunar", "contains", value=value, keys=keys("type value"))
    monkeypatch.setitem(module.ROWS, "lunar", one)
    first, _ = checks_of_first(contract_with("lunar"))
    assert (first.type, first.params["value"]) == ("contains", value_of)
