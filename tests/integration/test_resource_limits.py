"""`gate: {cost: +20%}`: off by default, evaluated beyond chance, not weakened by a pull request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.proposals import CONTRACT, MANY, NO_SLO, OTHER, PROMPT_FILE, all_say
from support.recorded_repository import PROMPT, RECORDING, contract_files

from gatekeeper.cli.main import main

POLICY = ".github/gatekeeper.yml"


def base(gate: str = "", *, cost: float = 1.0, latency: float = 1.0, **more: str) -> dict[str, str]:
    """Every word has the answer `ok` under both prompts; the new one's takes so many times as
    much."""
    files = contract_files(NO_SLO + gate, MANY, all_say("ok", PROMPT) | all_say("ok"))
    lines = []
    for number, text in enumerate(files[RECORDING].splitlines()):
        line = json.loads(text)
        is_new = line["fixture"].startswith("Please")
        scatter = 1 + (number * 7 % 11) / 100
        line["cost_usd"] = 0.001 * scatter * (cost if is_new else 1)
        line["latency_ms"] = 500 * scatter * (latency if is_new else 1)
        lines.append(json.dumps(line) + "\n")
    return files | {RECORDING: "".join(lines)} | more


LIMITS = "gate: {cost: +20%, latency_p95: +25%}\n"


def test_without_a_limit_a_dearer_head_is_told_and_passes(check_of: Any) -> None:
    checked = check_of(base(cost=4.3), {PROMPT_FILE: OTHER})
    assert (checked.code, checked.contract["limits"]) == (0, [])


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"cost": 4.3}, {"cost": "exceeded", "latency_p95": "kept"}),
        ({"latency": 3.0}, {"cost": "kept", "latency_p95": "exceeded"}),
        ({"cost": 1.1, "latency": 0.5}, {"cost": "kept", "latency_p95": "kept"}),
    ],
)
def test_a_head_beyond_a_limit_fails(check_of: Any, changed: Any, wanted: Any) -> None:
    checked = check_of(base(LIMITS, **changed), {PROMPT_FILE: OTHER})
    assert {found["name"]: found["found"] for found in checked.contract["limits"]} == wanted
    fails = "exceeded" in wanted.values()
    assert checked.code == int(fails)
    assert ("resource_limit" in checked.codes()) == fails
    if fails:
        assert "exceeds a cost, token or latency limit" in checked.comment


def test_a_rise_without_enough_inputs_is_shown_and_holds_up_nothing(check_of: Any) -> None:
    files = base(LIMITS, latency=3.0)
    files["contracts/words.csv"] = "\n".join(files["contracts/words.csv"].splitlines()[:31]) + "\n"
    checked = check_of(files, {PROMPT_FILE: OTHER})
    assert checked.code == 0
    assert checked.contract["limits"][1]["found"] == "open"
    assert "resource_limit" in checked.codes("inconclusive")
    assert "gate.latency_p95" in checked.comment


@pytest.mark.parametrize("head", ["", "gate: {cost: +500%, latency_p95: +25%}\n"])
def test_a_weakened_limit_is_a_weakening_and_the_base_one_still_holds(
    check_of: Any, head: str
) -> None:
    checked = check_of(base(LIMITS, cost=4.3), {PROMPT_FILE: OTHER, CONTRACT: NO_SLO + head})
    assert checked.code == 1
    assert any(text.startswith("gate.cost") for text in checked.contract["weakened"])
    fails = [r for r in checked.contract["reasons"] if r["verdict"] == "fail"]
    assert ("resource_limit", "base") in {(r["code"], r["contract_from"]) for r in fails}
    found = {limit["name"]: limit["found"] for limit in checked.contract["under_base"]["limits"]}
    assert found["cost"] == "exceeded"


def test_a_price_that_is_not_known_does_not_pass_for_a_low_one(check_of: Any) -> None:
    files = base(LIMITS)
    lines = [json.loads(line) for line in files[RECORDING].splitlines()]
    for line in lines[-3:]:
        line["cost_usd"] = None
    files[RECORDING] = "".join(json.dumps(line) + "\n" for line in lines)
    strict = {POLICY: "on_inconclusive: fail\n"}
    checked = check_of(files | strict, {PROMPT_FILE: OTHER})
    assert checked.code == 1
    assert checked.contract["limits"][0]["found"] == "unmeasured"
    said = "The cost of some calls is unknown, so `gate.cost: +20%` cannot be evaluated."
    assert said in {reason["text"] for reason in checked.contract["reasons"]}
    assert "Use `gate.tokens` instead of `gate.cost`" in checked.comment


def test_every_sample_is_drawn_for_a_limit(check_of: Any) -> None:
    """A test that is asked when the suite's answer is sure would not be exact."""
    files = base(LIMITS + "sampling: {samples: 3}\n")
    lines = [json.loads(line) for line in files[RECORDING].splitlines()]
    files[RECORDING] = "".join(
        json.dumps(line | {"repetition": number}) + "\n" for line in lines for number in range(3)
    )
    checked = check_of(files, {PROMPT_FILE: OTHER})
    assert checked.contract["head"]["samples"] == 3 * len(MANY)


def test_a_limit_that_no_run_can_evaluate_is_warned_of_before(
    git_repository: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    unpriced = NO_SLO.replace(f"model: recorded/{RECORDING}", "model: openai/my-own-llama")
    assert unpriced != NO_SLO
    made = git_repository("words")
    made.write_all(contract_files(unpriced + LIMITS, MANY, {}))
    made.commit("base")
    made.git("switch", "-qc", "head")
    made.write_all({PROMPT_FILE: OTHER})
    made.commit("head")
    warning = (
        "the limit `gate.cost: +20%` can never be evaluated, because no price is known for "
        "openai/my-own-llama"
    )
    assert main(["validate", "--repo", str(made.path)]) == 0
    assert capsys.readouterr().out.count(warning) == 1
    assert main(["affected", "--repo", str(made.path), "--base", "main", "--json"]) == 0
    assert [warning in text for text in json.loads(capsys.readouterr().out)["warnings"]] == [True]
