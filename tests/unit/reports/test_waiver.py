"""How a waiver is shown: the verdict lifted, every finding still to be read."""

from __future__ import annotations

from dataclasses import replace

import jsonschema
from support import results as examples

from gatekeeper.gate.decision.verdict import waived
from gatekeeper.gate.results.result import GateResult, Waiver
from gatekeeper.reports.formats.junit import render_junit
from gatekeeper.reports.formats.result_json import result_document, result_schema
from gatekeeper.reports.markdown.comment import render_comment

WAIVER = Waiver(None, "waive", "octocat", "9" * 40, "it is *meant* @team", "2026-01-02T03:04:05Z")


def lifted() -> GateResult:
    contracts = [waived(contract, [WAIVER]) for contract in examples.FAIL.contracts]
    return replace(examples.result(*contracts), verdict="pass", exit_code=0)


def test_the_comment_says_who_waived_what_and_why() -> None:
    comment = render_comment(lifted())
    title = next(line for line in comment.splitlines() if line.startswith("## "))
    assert title.startswith("## ✅ May merge: `")
    assert title.endswith("waived by a person")
    assert r"it is \*meant\*" in comment
    assert "@octocat" not in comment
    assert "ℹ️" in comment
    assert "broke" in comment
    assert "no contract got significantly worse" not in comment


def test_the_document_records_it_and_follows_the_schema() -> None:
    document = result_document(lifted())
    jsonschema.validate(document, result_schema())
    first = document["contracts"][0]
    assert first["waiver"]["author"] == "octocat"
    assert first["waiver"]["contract"] is None
    assert first["reasons"][0]["code"] == "waived"
    assert result_document(examples.FAIL)["contracts"][0]["waiver"] is None


def test_junit_still_shows_the_fixtures_that_failed() -> None:
    junit = render_junit(lifted())
    assert "waived: Waived by" in junit
    assert "<failure" in junit
