"""`explain`: what to do after a run, from its result.json, for a program."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.results import (
    failing_contract,
    fixture,
    new_contract,
    passing_contract,
    removed_contract,
    result,
    undecided_contract,
    unmeasured_contract,
    weakened_contract,
)

import gatekeeper
from gatekeeper.errors import UsageError
from gatekeeper.gate.results.result import ContractResult, Reason
from gatekeeper.reports.formats.result_json import render_result, result_document
from gatekeeper.reports.words.catalogue import REASONS

KINDS: dict[str, Callable[[], ContractResult]] = {
    made.__name__: made
    for made in (
        failing_contract,
        undecided_contract,
        unmeasured_contract,
        removed_contract,
        weakened_contract,
    )
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_each_reason_against_a_change_has_what_to_do_about_it(make) -> None:
    contract = make()
    found = gatekeeper.explain(result(contract, passing_contract()))
    (said,) = found["contracts"]
    against = [reason.code for reason in contract.reasons if reason.verdict != "pass"]
    steps = {step["code"]: step for step in said["steps"]}
    assert set(against) <= set(steps)
    assert [steps[code]["do"] for code in against] == [REASONS[code].advice for code in against]
    assert found["tested"] == [contract.name, "order-id"]
    assert found["repeat"] == f"gatekeeper check --worktree --contract {contract.name}"


def test_a_pass_says_what_was_tested_and_no_more() -> None:
    found = gatekeeper.explain(result(passing_contract(), new_contract()))
    assert (found["verdict"], found["exit_code"]) == ("pass", 0)
    assert found["tested"] == ["order-id", "fresh"]
    assert found["contracts"] == []


def test_notes_of_a_pass_are_there() -> None:
    note = Reason("uncalibrated", "Nobody has measured it.", "pass")
    contract = replace(passing_contract(), reasons=(note,))
    ((step,),) = [one["steps"] for one in gatekeeper.explain(result(contract))["contracts"]]
    assert (step["code"], step["verdict"]) == ("uncalibrated", "pass")
    assert "gatekeeper judge calibrate" in step["do"]


def test_prompts_without_a_contract_are_there_with_what_to_do() -> None:
    found = gatekeeper.explain(result(uncovered=("prompts/new.md",)))
    assert found["uncovered"]["prompts"] == ["prompts/new.md"]
    assert "contract" in found["uncovered"]["do"]


def test_it_is_short_whatever_the_run_holds() -> None:
    long = [fixture(n, "broke", head_output="x" * 100_000) for n in range(300)]
    contract = replace(failing_contract(), fixtures=tuple(long))
    found = gatekeeper.explain(result(contract))
    assert found["contracts"][0]["failing"] == 300
    assert len(json.dumps(found)) < 20_000


def test_names_are_quoted_for_a_shell_and_broken_fixtures_come_first() -> None:
    contract = replace(
        failing_contract("a; rm -rf /"), fixtures=(fixture(0, "failing"), fixture(1, "broke"))
    )
    found = gatekeeper.explain(result(contract))
    assert found["repeat"].endswith("--contract 'a; rm -rf /'")
    changes = [failure["change"] for failure in found["contracts"][0]["failures"]]
    assert changes[0] == "broke"


def test_a_file_a_folder_and_the_result_say_the_same(tmp_path: Path) -> None:
    made = result(failing_contract(), undecided_contract())
    (tmp_path / "result.json").write_text(render_result(made), "utf-8")
    assert gatekeeper.explain(made) == gatekeeper.explain(tmp_path)
    assert gatekeeper.explain(tmp_path) == gatekeeper.explain(str(tmp_path / "result.json"))


def _without(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda document: {name: value for name, value in document.items() if name != key}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        ("null", "because $ does not"),
        ("[]", "because $ does not"),
        ('{"schema": 2}', "because $"),
        (_without("contracts"), "because $"),
        (lambda found: {**found, "verdict": "merge"}, "because $.verdict"),
        (lambda found: {**found, "contracts": [{"name": "x"}]}, "because $.contracts[0]"),
    ],
)
def test_what_is_no_result_is_refused_with_the_place(tmp_path: Path, text, said) -> None:
    path = tmp_path / "result.json"
    if callable(text):
        text = json.dumps(text(result_document(result(failing_contract()))))
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError, match=r"name the result\.json of a run") as caught:
        gatekeeper.explain(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_a_device_is_no_file(device: str) -> None:
    with pytest.raises(UsageError, match="not a file"):
        gatekeeper.explain(device)


def test_a_link_may_lead_to_the_result(tmp_path: Path) -> None:
    made = result(failing_contract())
    (tmp_path / "run.json").write_text(render_result(made), "utf-8")
    (tmp_path / "result.json").symlink_to("run.json")
    assert gatekeeper.explain(tmp_path) == gatekeeper.explain(made)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.json: cannot be read"):
        gatekeeper.explain(tmp_path / "nothing.json")


def test_an_output_index_that_is_wrong_does_not_end_it(tmp_path: Path) -> None:
    document = result_document(result(failing_contract()))
    failing = next(one for one in document["contracts"][0]["fixtures"] if one["failures"])
    failing["failures"][0] |= {"arm": "head", "output": 10_000}
    (tmp_path / "result.json").write_text(json.dumps(document), "utf-8")
    assert gatekeeper.explain(tmp_path)["contracts"][0]["failures"]
