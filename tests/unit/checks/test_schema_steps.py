"""A schema whose work grows with the output beyond all bounds leaves the sample undetermined."""

from __future__ import annotations

import json

import pytest

from gatekeeper.checks.check import Files, ParameterError, SampleEvaluator
from gatekeeper.checks.schemas import schema_steps
from gatekeeper.checks.values.json_schema import CHECK
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial

TWICE = {"$ref": "#"}
DOUBLES = {"properties": {"a": {"allOf": [TWICE, TWICE]}}}


def evaluate(schema: object) -> SampleEvaluator:
    return CHECK.prepare({"schema": schema}, Files({}, "contracts/c.yaml"))


def sample(value: object) -> Sample:
    text = json.dumps(value)
    trial = Trial("c", "f", "head", 0, Request("m", (Message("user", "x"),), {}, None, 0))
    return Sample(trial, Completion(text), output=text)


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def test_an_output_within_the_steps_is_checked() -> None:
    assert evaluate(DOUBLES)(sample(deep(5))).passed is True


def test_an_output_beyond_the_steps_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_steps, "MAX_STEPS", 5_000)
    apply = evaluate(DOUBLES)
    found = apply(sample(deep(30)))
    assert found.passed is None
    assert "more than 5,000 steps" in found.message
    # Each sample has its own steps, …
    assert apply(sample(deep(3))).passed is True


def test_a_schema_that_keeps_running_out_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_steps, "MAX_STEPS", 2_000)
    apply = evaluate(DOUBLES)
    assert [apply(sample(deep(20))).passed for _ in range(12)] == [None] * 12
    assert apply(sample(deep(1))).passed is None


def test_a_schema_without_end_is_the_authors_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_steps, "MAX_STEPS", 5_000)
    parts = {
        f"p{n}": {"allOf": [{"$ref": f"#/$defs/p{n + 1}"}, {"$ref": f"#/$defs/p{n + 1}"}]}
        for n in range(40)
    }
    with pytest.raises(ParameterError, match="5,000 steps"):
        evaluate({"$ref": "#/$defs/p0", "$defs": {**parts, "p40": {}}})
