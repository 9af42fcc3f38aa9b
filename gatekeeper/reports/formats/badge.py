"""`badge.json`: the state of the prompts in a few words, for a badge in a README.

The format is shields.io's endpoint badge: https://shields.io/badges/endpoint-badge
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from gatekeeper import numbers
from gatekeeper.gate.results.result import GateResult, Verdict

_LABEL = "prompts"
_STATES: Mapping[Verdict, tuple[str, str]] = {
    "pass": ("passing", "brightgreen"),
    "fail": ("failing", "red"),
    "inconclusive": ("inconclusive", "yellow"),
    "error": ("not measured", "lightgrey"),
}
_WAIVED = ("waived", "orange")
_NOTHING = ("none affected", "lightgrey")


def render_badge(result: GateResult) -> str:
    """Render the verdict, and the share of head's fixtures that pass over all measured
    contracts."""
    state = _state(result)
    words, color = state
    share = _share(result)
    if share is not None and result.verdict != "error":
        words = f"{words} {share}" if state is _STATES["pass"] else f"{words}, {share} pass"
    badge: dict[str, object] = {"schemaVersion": 1, "label": _LABEL}
    badge |= {"message": words, "color": color, "isError": result.verdict == "error"}
    return json.dumps(badge, indent=2) + "\n"


def _state(result: GateResult) -> tuple[str, str]:
    if result.verdict == "pass" and not result.contracts:
        return _NOTHING
    reasons = (reason for contract in result.contracts for reason in contract.reasons)
    if result.verdict == "pass" and any(reason.code == "waived" for reason in reasons):
        return _WAIVED
    return _STATES[result.verdict]


def _share(result: GateResult) -> str | None:
    heads = [contract.head for contract in result.contracts if contract.head is not None]
    fixtures = sum(head.fixtures for head in heads)
    if not fixtures:
        return None
    passed = sum(head.fixtures_passed for head in heads)
    return numbers.percent(passed / fixtures).replace("\u00a0", " ")
