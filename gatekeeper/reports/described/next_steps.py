"""Says what to do after a run, as short data for a program or an agent."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper.reports.escape import clip
from gatekeeper.reports.words.catalogue import REASONS

_MOST = 5
"""Failing fixtures of a contract, and failures of a fixture."""
_LONGEST = 600

Part = Mapping[str, Any]
"""An object of result.json."""


def next_steps(result: Part) -> dict[str, Any]:
    """Return the reasons of a result.json with what to do about each, and the worst failures.

    `message` and `output` of a failure quote a model.
    """
    contracts = [dict(_contract(one)) for one in result["contracts"]]
    open_ = [one for one in contracts if one["steps"]]
    names = "".join(f" --contract {shlex.quote(one['name'])}" for one in open_)
    again = {"check": "gatekeeper check --worktree", "run": "gatekeeper run"}.get(result["kind"])
    uncovered = result["uncovered"]
    return {
        "schema": 1,
        **{key: result[key] for key in ("kind", "verdict", "exit_code", "cost_usd")},
        "tested": [contract["name"] for contract in contracts],
        "contracts": open_,
        "uncovered": {"prompts": uncovered, "do": REASONS["uncovered"].advice if uncovered else ""},
        "policy_weakened": result["policy_weakened"],
        "notices": [clip(text, _LONGEST) for text in result["notices"]],
        "repeat": again and f"{again}{names}",
    }


def _contract(contract: Part) -> Iterator[tuple[str, Any]]:
    arm = contract["head"] or contract["base"]
    yield from ((key, contract[key]) for key in ("name", "path", "verdict"))
    yield "prompt", arm and arm["prompt"]
    yield "steps", [*_steps(contract)]
    fixtures = [fixture for fixture in contract["fixtures"] if fixture["head_passed"] is False]
    fixtures.sort(key=lambda fixture: fixture["change"] != "broke")
    yield "failing", len(fixtures)
    yield "failures", [_fixture(fixture) for fixture in fixtures[:_MOST]]


def _steps(contract: Part) -> Iterator[dict[str, Any]]:
    """Yield each reason that speaks against the change, and each note."""
    for reason in contract["reasons"]:
        entry = REASONS.get(reason["code"])
        if reason["verdict"] == "pass" and not (entry and entry.noted):
            continue
        do = entry.advice if entry else ""
        yield {**reason, "text": clip(reason["text"], _LONGEST), "do": do}


def _fixture(fixture: Part) -> dict[str, Any]:
    failures = [failure for failure in fixture["failures"] if failure["arm"] == "head"]
    outputs = fixture["outputs"]["head"]
    return {
        "fixture": fixture["id"],
        "change": fixture["change"],
        "checks": [
            {
                "check": failure["check"],
                "message": clip(failure["message"], _LONGEST),
                "output": clip("".join(outputs[failure["output"] :][:1]), _LONGEST),
            }
            for failure in failures[:_MOST]
        ],
    }
