"""Every number that a check takes says which change of it weakens the check."""

from __future__ import annotations

from typing import Any

import pytest

from gatekeeper.checks.check import DIRECTIONS, Check, parameters
from gatekeeper.checks.registry import CHECKS, SHAPES
from gatekeeper.contract.values.definition import CheckSpec
from gatekeeper.contract.weakening.weakening import check_weakenings

BOUNDS = [
    (kind, name, SHAPES[kind].looser(name))
    for kind, check in CHECKS.items()
    for name in check.parameters["properties"]
    if SHAPES[kind].looser(name) not in ("subset", "change")
]


def named(kind: str, before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    code = {SHAPES[kind].code: "a.py:f"} if SHAPES[kind].code else {}
    specs = [CheckSpec(kind, "it", code | values, shape=SHAPES[kind]) for values in (before, now)]
    return [*check_weakenings("", specs[:1], specs[1:])]


@pytest.mark.parametrize(("kind", "name", "direction"), BOUNDS)
def test_a_bound_is_weaker_in_its_direction_only(kind: str, name: str, direction: str) -> None:
    low, high = {name: 0.1}, {name: 0.2}
    strict, loose = (low, high) if direction.startswith("up") else (high, low)
    [sentence] = named(kind, strict, loose)
    assert f"`{name}` weakened" in sentence
    assert named(kind, loose, strict) == []
    assert named(kind, {name: "{{ bound }}"}, strict)  # what a template gives is not known


def test_other_parameters_are_named_with_any_change() -> None:
    for before, now in ((["a"], ["a", "b"]), (["a", "b"], ["a"])):
        assert named("enum", {"values": before}, {"values": now})
    fewer, more = {"fields": ["a"]}, {"fields": ["a", "b"]}
    assert named("json_required", more, fewer)
    assert named("json_required", fewer, more) == []


@pytest.mark.parametrize("kind", ["number", "integer", ["number", "null"]])
@pytest.mark.parametrize("written", [{}, {"x-looser": "higher"}])
def test_a_number_without_a_direction_is_refused(kind: Any, written: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=f"`limit` needs `x-looser`, one of {DIRECTIONS[0]}"):
        Check(parameters(limit={"type": kind, **written}), lambda *_: None)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("before", "now", "weakened"),
    [
        ({}, {"max": 5}, True),  # without `max`, one call is required
        ({"max": 5}, {}, True),
        ({"max": 2}, {"max": 0}, False),
        ({"min": 2}, {}, True),
        ({}, {"min": 2}, False),
        ({"min": 2, "max": 3}, {"max": 3}, True),
        ({"order": ["a"]}, {"order": ["a"], "match": "any_order"}, True),
    ],
)
def test_a_tool_that_need_not_be_called_any_more_is_named(
    before: dict[str, Any], now: dict[str, Any], weakened: bool
) -> None:
    tool = {"tool": "refund"}
    assert bool(named("tool_call", tool | before, tool | now)) is weakened
