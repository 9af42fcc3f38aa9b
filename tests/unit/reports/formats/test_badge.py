"""badge.json, by the rules of shields.io's endpoint badge."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support import results as examples

from gatekeeper.gate.results.result import GateResult, Reason
from gatekeeper.reports.formats.badge import render_badge

# https://shields.io/badges/endpoint-badge
_TYPES: dict[str, type] = {
    "schemaVersion": int,
    "label": str,
    "message": str,
    "color": str,
    "isError": bool,
}


def _badge(result: GateResult) -> dict[str, Any]:
    badge = json.loads(render_badge(result))
    assert badge["schemaVersion"] == 1
    assert badge["label"]
    assert badge["message"]
    for key, value in badge.items():
        assert isinstance(value, _TYPES[key])
    return dict(badge)


@pytest.mark.parametrize(
    ("result", "message", "color"),
    [
        (examples.PASS, "passing 96.7 %", "brightgreen"),
        (examples.FAIL, "failing, 88 % pass", "red"),
        (examples.INCONCLUSIVE, "inconclusive, 75 % pass", "yellow"),
        (examples.ERROR, "not measured", "lightgrey"),
        (examples.QUIET, "none affected", "lightgrey"),
        (examples.REMOVED, "failing", "red"),
        (examples.UNCOVERED, "failing", "red"),
    ],
)
def test_the_verdict_and_the_share_that_passes(
    result: GateResult, message: str, color: str
) -> None:
    badge = _badge(result)
    assert (badge["message"], badge["color"]) == (message, color)
    assert badge["isError"] is (result is examples.ERROR)


def test_a_waived_failure_is_not_a_pass_like_any_other() -> None:
    reasons = (Reason("waived", "Waived by @ann.", "pass"),)
    contract = replace(examples.failing_contract(), verdict="pass", reasons=reasons)
    badge = _badge(examples.result(contract))
    assert (badge["message"], badge["color"]) == ("waived, 75 % pass", "orange")


def test_nearly_all_is_not_all() -> None:
    contract = replace(examples.passing_contract(), head=examples.arm(99_999, 100_000))
    assert _badge(examples.result(contract))["message"] == "passing > 99.9 %"
