"""gl-code-quality-report.json, by GitLab's description of the format."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support import results as examples

from gatekeeper.reports.formats.code_quality import MOST_FINDINGS, render_code_quality


def findings(result):
    found = json.loads(render_code_quality(result))
    for entry in found:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert entry["location"]["lines"]["begin"] >= 1
        assert not entry["location"]["path"].startswith(("/", "./"))
    assert len({entry["fingerprint"] for entry in found}) == len(found)
    return found


def test_a_pass_has_no_finding():
    assert findings(examples.PASS) == []


@pytest.mark.parametrize(
    ("result", "severity"),
    [(examples.FAIL, "critical"), (examples.INCONCLUSIVE, "minor"), (examples.ERROR, "major")],
)
def test_what_does_not_pass_is_a_finding(result, severity):
    assert findings(result)[0]["severity"] == severity


def test_a_prompt_without_contract_is_a_finding():
    [entry] = findings(replace(examples.PASS, uncovered=("prompts/new.md",)))

    assert entry["check_name"] == "gatekeeper/uncovered"
    assert entry["location"]["path"] == "prompts/new.md"


def test_there_are_not_too_many():
    many = tuple(f"prompts/{number}.md" for number in range(MOST_FINDINGS + 5))

    assert len(findings(replace(examples.PASS, uncovered=many))) == MOST_FINDINGS
