"""gatekeeper.sarif, held against the schema of OASIS and the rules of GitHub.

tests/reference/sarif-schema-2.1.0.json is the schema of the standard with errata 01,
https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json,
(c) OASIS Open, which allows copies: https://www.oasis-open.org/policies-guidelines/ipr/
"""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import results as examples
from support.edited_text import edited

from gatekeeper.contract.values.change import AffectedBy
from gatekeeper.gate.results.result import GateResult, Reason, ReasonCode, Waiver
from gatekeeper.reports.formats.sarif import MOST_RESULTS, SCHEMA, render_sarif

_SCHEMA = json.loads(
    (Path(__file__).parents[3] / "reference" / "sarif-schema-2.1.0.json").read_text("utf-8")
)
_VALIDATOR = jsonschema.Draft4Validator(_SCHEMA, format_checker=jsonschema.FormatChecker())
HARMLESS = {"not_worse", "no_regression", "waived"}


def _run(result: GateResult) -> dict[str, Any]:
    log = json.loads(render_sarif(result))
    _VALIDATOR.validate(log)
    (run,) = log["runs"]
    for found in run["results"]:
        assert run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == found["ruleId"]
    return dict(run)


def _results(result: GateResult) -> list[dict[str, Any]]:
    return list(_run(result)["results"])


@pytest.mark.parametrize("result", examples.EVERY.values(), ids=examples.EVERY)
def test_every_result_follows_the_standard(result: GateResult) -> None:
    assert _run(result)["invocations"][0]["exitCode"] == result.exit_code


def test_the_schema_is_the_one_that_is_named() -> None:
    assert _SCHEMA["id"] == SCHEMA


def test_a_finding_is_at_the_line_that_changed() -> None:
    regression, slo = _results(examples.FAIL)
    assert (regression["ruleId"], regression["level"]) == ("regression", "error")
    assert (slo["ruleId"], slo["level"]) == ("slo", "error")
    place = regression["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "prompts/speech-tag.prompty"
    head = examples.HEAD_PROMPT.splitlines()
    # The section that changed begins there.
    assert head[place["region"]["startLine"] - 1 :][0] in {"# Rules", head[7]}
    text = regression["message"]["text"]
    assert text.startswith("speech-tag: Worse than base: 9 of 40 fixtures broke")
    assert "The check “is a tag” fails most often: on 10 of 40 fixtures" in text


def test_a_contract_that_passes_has_no_result() -> None:
    assert _results(examples.PASS) == []
    assert _results(examples.QUIET) == []
    assert _run(examples.PASS)["invocations"][0]["executionSuccessful"] is True


def test_what_could_not_be_measured_is_no_error_of_the_prompt() -> None:
    run = _run(examples.ERROR)
    assert [found["level"] for found in run["results"]] == ["warning", "warning"]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert [r["level"] for r in _results(examples.INCONCLUSIVE)] == ["warning"]


def test_every_reason_that_can_speak_against_a_change_has_a_rule() -> None:
    rules = {rule["id"] for rule in _run(examples.PASS)["tool"]["driver"]["rules"]}
    assert rules == set(get_args(ReasonCode)) - HARMLESS


def test_more_sections_of_one_prompt_are_related_places() -> None:
    contract = examples.failing_contract()
    assert contract.base is not None
    assert contract.head is not None
    sections = "".join(f"# Part {n}\ntext\n\n" for n in range(3))
    base = replace(contract.base, prompt_text=sections)
    head = replace(contract.head, prompt_text=edited(sections, "text", "other"))
    (found, _) = _results(examples.result(replace(contract, base=base, head=head)))
    assert len(found["locations"]) == 1
    assert [place["id"] for place in found["relatedLocations"]] == [1, 2]


def test_the_same_finding_of_another_run_has_the_same_fingerprint() -> None:
    first, other = _results(examples.FAIL)
    contract = examples.failing_contract()
    moved = replace(contract, reasons=(Reason("regression", "Otherwise said.", "fail"),))
    (again,) = _results(examples.result(moved))
    assert again["partialFingerprints"] == first["partialFingerprints"]
    assert first["partialFingerprints"] != other["partialFingerprints"]
    (elsewhere, _) = _results(examples.result(replace(contract, path="contracts/b.yaml")))
    assert elsewhere["partialFingerprints"] != first["partialFingerprints"]


def test_reasons_of_one_code_are_one_result_and_the_worst_of_them_says_how_bad() -> None:
    reasons = (
        Reason("slo", "First.", "inconclusive"),
        Reason("not_worse", "Good.", "pass"),
        Reason("slo", "Second.", "fail"),
    )
    contract = replace(examples.failing_contract(), reasons=reasons)
    (found,) = _results(examples.result(contract))
    assert found["level"] == "error"
    assert "First. Second." in found["message"]["text"]


def test_an_accepted_regression_is_no_result_and_the_objective_still_is() -> None:
    waiver = Waiver("speech-tag", "accept", "ann", "9be31f07", "meant", "2026-03-02T10:31:07Z")
    contract = replace(examples.failing_contract(), waiver=waiver)
    assert [found["ruleId"] for found in _results(examples.result(contract))] == ["slo"]
    waived = replace(contract, verdict="pass", waiver=replace(waiver, kind="waive"))
    assert _results(examples.result(waived)) == []


def test_a_prompt_without_contract() -> None:
    (found,) = _results(examples.UNCOVERED)
    assert (found["ruleId"], found["level"]) == ("uncovered", "error")
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "prompts/greeting.md"
    told = replace(examples.PASS, uncovered=("prompts/greeting.md",))
    assert [found["level"] for found in _results(told)] == ["warning"]


@pytest.mark.long
def test_more_than_github_shows_are_cut_with_a_word() -> None:
    contracts = (replace(examples.removed_contract(f"c{n}"), path=f"c{n}") for n in range(5_001))
    result = examples.result(*contracts)
    run = _run(result)
    assert len(run["results"]) == MOST_RESULTS
    (said,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "only the worst" in said["message"]["text"]
    assert len(gzip.compress(render_sarif(result).encode())) < 10_000_000


def test_text_is_neither_a_link_nor_a_placeholder() -> None:
    reason = Reason("slo", "[click](https://evil.example) {0} \u202e", "fail")
    (found,) = _results(examples.result(replace(examples.failing_contract(), reasons=(reason,))))
    text = found["message"]["text"]
    assert "](" not in text
    assert "{{0}}" in text
    assert "⟨U+202E⟩" in text


@given(st.text(min_size=1, max_size=30))
def test_any_path_is_an_address_that_says_it(name: str) -> None:
    contract = replace(
        examples.removed_contract(), path=name, affected_by=(AffectedBy(name, "modified"),)
    )
    (found,) = _results(examples.result(contract))
    uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert unquote(uri, errors="surrogatepass") == name
