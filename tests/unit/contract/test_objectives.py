"""Objectives as they are written, named and taken apart."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited

from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.meaning.digests import contract_digest
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import CheckShape, Contract
from gatekeeper.contract.values.objectives import (
    MEASURES,
    Objective,
    label_of,
    measure_of,
    read_objectives,
)
from gatekeeper.errors import ContractError

SHAPES = {
    "equals": CheckShape({"type": "object", "properties": {"value": {}}}),
    "opinion": CheckShape({"type": "object", "properties": {"value": {}}}, scores=True),
}
CONTRACT = """\
contract: 1
name: tag
prompt: p.txt
model: m
fixtures:
  - {id: a, vars: {word: x}, category: billing, checks: [{type: equals, name: own, value: 1}]}
  - {id: b, vars: {word: y}, category: 7}
  - {id: c, vars: {word: z}, category: a.b}
checks: [{type: equals, name: valid.json, value: 1}]
"""


def load(slo: str, text: str = CONTRACT) -> Contract:
    files = {"tag.yaml": f"{text}slo: {slo}\n".encode(), "p.txt": b"{{ word }}"}
    return load_contract(MemoryRevision(files), "tag.yaml", SHAPES)


def complaint(slo: str) -> str:
    with pytest.raises(ContractError) as caught:
        load(slo)
    return str(caught.value)


def test_every_kind_is_read_in_one_order_whatever_the_order_of_the_keys():
    first = load(
        "{window: 7d, repair_rate: 0.1, success_rate: {target: 0.9, window: 24h}, "
        "checks: {valid.json: 0.99, own: null}, latency_p99_ms: 9, tokens_per_call: 100, "
        "categories: {billing: {latency_p50_ms: 5, checks: {own: 0.5}}, '7': {success_rate: 1}}}"
    )
    assert first.slo == (
        Objective("success_rate", 0.9, "24h"),
        Objective("checks.valid.json", 0.99, "7d"),
        Objective("latency_p99_ms", 9, "7d"),
        Objective("tokens_per_call", 100, "7d"),
        Objective("repair_rate", 0.1, "7d"),
        Objective("categories.7.success_rate", 1, "7d"),
        Objective("categories.billing.checks.own", 0.5, "7d"),
        Objective("categories.billing.latency_p50_ms", 5, "7d"),
    )
    again = load(
        "{tokens_per_call: 100, latency_p99_ms: 9, "
        "categories: {'7': {success_rate: 1}, billing: {checks: {own: 0.5}, latency_p50_ms: 5}}, "
        "checks: {valid.json: 0.99}, success_rate: {window: 24h, target: 0.9}, repair_rate: 0.1, "
        "window: 7d}"
    )
    assert contract_digest(again) == contract_digest(first)


def test_the_category_of_a_fixture_counts_where_an_objective_asks_for_it():
    moved = edited(CONTRACT, "category: 7", "category: billing")
    for slo, same in (("{success_rate: 0.9}", True), ("{categories: {billing: {}}}", True)):
        assert (contract_digest(load(slo)) == contract_digest(load(slo, moved))) is same
    evaluated = "{categories: {billing: {success_rate: 0.9}}}"
    assert contract_digest(load(evaluated)) != contract_digest(load(evaluated, moved))


@pytest.mark.parametrize(
    ("slo", "told"),
    [
        ("{checks: {valid_json: 0.9}}", "slo.checks.valid_json: no check is named `valid_json`"),
        ("{checks: {valid_json: 0.9}}", "did you mean `valid.json`?"),
        ("{checks: {own: 0}}", "slo.checks.own: 0 is not more than 0"),
        ("{checks: [own]}", "is not a mapping"),
        ("{categories: {bill: {success_rate: 0.9}}}", "no fixture has the category `bill`"),
        ("{categories: {a.b: {success_rate: 0.9}}}", "the category `a.b` contains a dot"),
        ("{categories: {billing: {sucess_rate: 0.9}}}", "did you mean `success_rate`?"),
        ("{categories: {'7': {checks: {own: 0.9}}}}", "no check is named `own`"),
        ("{categories: {billing: {window: 7d}}}", "unknown key"),
        ("{latency_p95_ms: {window: 7d}}", "`target` is missing"),
        ("{latency_p95_ms: {target: -1}}", "slo.latency_p95_ms.target: -1 is not more than 0"),
        ("{latency_p95_ms: {target: 1, window: 3 days}}", "such as 28d or 24h"),
        ("{latency_p95_ms: fast}", "is not a number or a mapping"),
        ("{latency_p97_ms: 5}", "unknown key"),
        ("{repair_rate: 1}", "1 is not less than 1"),
        ("{success_rate: {target: 0.9, of: x}}", "unknown key"),
        ("{judge_score: 0.8}", "slo.judge_score: this contract has no check that gives a score"),
    ],
)
def test_what_could_never_be_decided_is_told_with_its_place(slo, told):
    found = complaint(slo)
    assert told in found
    assert found.startswith("tag.yaml:")


def test_a_judge_score_needs_a_check_that_gives_one():
    evaluation = edited(CONTRACT, "name: valid.json", "name: kind}, {type: opinion, name: o")
    found = load("{judge_score: 0.8}", evaluation)
    assert found.slo == (Objective("judge_score", 0.8),)


names = st.text(min_size=1, max_size=8)
categories = names.filter(lambda name: "." not in name)


_COUNTED = {"success_all_of", "success_any_of"}


@given(
    st.sampled_from([f"{key}.5" if key in _COUNTED else key for key in MEASURES if key != "checks"])
    | names.map("checks.{}".format),
    st.none() | categories,
)
def test_a_name_can_be_taken_apart(own, category):
    name = own if category is None else f"categories.{category}.{own}"
    objective = Objective(name, 0.5)
    kind = own.split(".")[0]
    check = own.removeprefix("checks.") if kind == "checks" else None
    assert (objective.category, objective.check) == (category, check)
    assert objective.measure == MEASURES[kind]
    assert MEASURES[kind].label.format(5) in label_of(name)


def test_labels_are_for_people():
    assert label_of("latency_p95_ms") == "latency p95"
    assert label_of("checks.valid-json") == "valid-json pass rate"
    assert label_of("categories.billing.checks.own") == "billing: own pass rate"
    with pytest.raises(KeyError):
        measure_of("speed")


@pytest.mark.parametrize(
    ("name", "target", "good"),
    [
        ("success_rate", 0.95, "0.95"),
        ("checks.x", 0.99, "0.99"),
        ("categories.x.repair_rate", 0.05, "0.95"),
        ("latency_p50_ms", 900, "0.5"),
        ("latency_p99_ms", 900, "0.99"),
        ("cost_per_call_usd", 0.01, None),
        ("tokens_per_call", 10, None),
        ("judge_score", 0.8, None),
    ],
)
def test_the_share_of_events_that_must_be_good(name, target, good):
    assert Objective(name, target).good_share == (None if good is None else Decimal(good))


def test_no_objective_is_none():
    assert read_objectives({}) == read_objectives({"success_rate": None, "checks": None}) == ()
