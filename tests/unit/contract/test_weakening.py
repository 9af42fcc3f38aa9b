"""Every loosening has its sentence, and what is stricter has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatekeeper.contract.model import (
    CheckSpec,
    Contract,
    Fixture,
    GatePolicy,
    Objectives,
    Prompt,
    RepairPolicy,
    SamplingPolicy,
    Target,
)
from gatekeeper.contract.weakening import loosenings

LENGTH = CheckSpec("length", "short", {"max": 10, "min": 2})
FIELDS = CheckSpec("json_required", "fields", {"fields": ["a", "b"]})
SCHEMA = CheckSpec(
    "json_schema", "schema", {"schema": "s.json"}, files={"s.json": "{}", "t.json": "{}"}
)
OWN = CheckSpec("equals", "own", {"value": 1})
FIXTURES = (Fixture("a", {"x": 1}, "y", checks=(OWN,)), Fixture("b", {"x": 2}))
BASE = Contract(
    name="n",
    path="c.yaml",
    target=Target(Prompt("p", (), ""), "m", {}),
    fixtures=FIXTURES,
    checks=(LENGTH, FIELDS, SCHEMA),
    repair=RepairPolicy(("strip",), 2),
    sampling=SamplingPolicy(5, "adaptive", "majority"),
    slo=Objectives(0.9, 1000, 0.01),
    gate=GatePolicy(0.05, 0.05, 0.8),
)


def checks(*specs: CheckSpec) -> Contract:
    return replace(BASE, checks=specs)


def length(**params: object) -> Contract:
    return checks(replace(LENGTH, params=params), FIELDS, SCHEMA)


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (replace(BASE, fixtures=FIXTURES[1:]), ["fixture `a` removed"]),
        (
            replace(BASE, fixtures=(replace(FIXTURES[0], vars={"x": 9}), FIXTURES[1])),
            ["fixture `a`: its variables changed"],
        ),
        (
            replace(BASE, fixtures=(replace(FIXTURES[0], expected="z", checks=()), FIXTURES[1])),
            ['fixture `a`: `expected` changed from "y" to "z"', "fixture `a`: check `own` removed"],
        ),
        (checks(LENGTH, FIELDS), ["check `schema` removed"]),
        (
            checks(replace(LENGTH, severity="warn"), FIELDS, SCHEMA),
            ["check `short`: severity lowered from error to warn"],
        ),
        (length(max=20, min=2), ["check `short`: `max` loosened from 10 to 20"]),
        (length(max=10, min=1), ["check `short`: `min` loosened from 2 to 1"]),
        (length(max=10), ["check `short`: `min` removed, was 2"]),
        (length(max="{{ n }}", min=2), ['check `short`: `max` changed from 10 to "{{ n }}"']),
        (length(max=10, min=2, unit="words"), ['check `short`: `unit` added: "words"']),
        (
            checks(LENGTH, replace(FIELDS, name="x", params={"fields": ["a"]}), SCHEMA),
            ['check `fields`: `fields` loosened from ["a", "b"] to ["a"]'],
        ),
        (
            checks(LENGTH, FIELDS, replace(SCHEMA, files={"s.json": "true", "t.json": "{}"})),
            ['check `schema`: `schema` changed from "s.json" to "s.json"'],
        ),
        (
            checks(LENGTH, FIELDS, replace(SCHEMA, files={"s.json": "{}", "t.json": "true"})),
            ["check `schema`: a file that its schema refers to changed"],
        ),
        (
            replace(BASE, slo=Objectives(0.8, 2000, None, "1d")),
            [
                "slo.success_rate lowered from 0.9 to 0.8",
                "slo.latency_p95_ms raised from 1000 to 2000",
                "slo.cost_per_call_usd removed, was 0.01",
                "slo.window changed from 28d to 1d",
            ],
        ),
        (
            replace(BASE, gate=GatePolicy(0.01, 0.1, None)),
            [
                "gate.alpha lowered from 0.05 to 0.01",
                "gate.margin raised from 0.05 to 0.1",
                "gate.tolerance removed, was 0.8",
            ],
        ),
        (
            replace(BASE, sampling=SamplingPolicy(2, "adaptive", "any")),
            [
                "sampling.samples lowered from 5 to 2",
                "sampling.aggregate loosened from majority to any",
            ],
        ),
        (
            replace(BASE, sampling=SamplingPolicy(5, "fixed", "first")),
            ["sampling.aggregate changed from majority to first"],
        ),
        (
            replace(BASE, mode="enforce", repair=RepairPolicy(("strip", "lower"), 3)),
            [
                "repair step `lower` added",
                "repair.max_steps raised from 2 to 3",
                "mode changed from auto to enforce",
            ],
        ),
    ],
)
def test_loosenings(head: Contract, told: list[str]) -> None:
    assert list(loosenings(BASE, head)) == told


@pytest.mark.parametrize(
    "head",
    [
        BASE,
        replace(BASE, fixtures=(*FIXTURES, Fixture("c", {}))),
        checks(SCHEMA, LENGTH, FIELDS, OWN),
        checks(replace(LENGTH, name="renamed"), FIELDS, SCHEMA),
        length(max=9, min=3),
        length(max=10, min=2, max_words=3),
        checks(LENGTH, replace(FIELDS, params={"fields": ["b", "a", "c"]}), SCHEMA),
        checks(
            LENGTH,
            FIELDS,
            replace(SCHEMA, params={"schema": "z.json"}, files={"z.json": "{ }", "y.json": "{}"}),
        ),
        replace(BASE, slo=Objectives(0.95, 900, 0.001)),
        replace(BASE, gate=GatePolicy(0.1, 0, 0.9)),
        replace(BASE, sampling=SamplingPolicy(9, "fixed", "all")),
        replace(BASE, repair=RepairPolicy((), 9), mode="assist"),
    ],
)
def test_what_is_as_strict_or_stricter_is_not_told(head: Contract) -> None:
    assert loosenings(BASE, head) == ()


def test_a_new_objective_is_no_loosening() -> None:
    assert loosenings(replace(BASE, slo=Objectives(), gate=GatePolicy()), BASE) == ()
