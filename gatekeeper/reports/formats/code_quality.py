"""`gl-code-quality-report.json`: what speaks against a change, for GitLab's merge requests.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from gatekeeper.gate.results.result import GateResult, Verdict
from gatekeeper.reports.escape import clip, visible
from gatekeeper.reports.formats.annotations import Place, places
from gatekeeper.reports.words.ranking import worst_reasons

MOST_FINDINGS = 1_000
_TEXT_LIMIT = 1_000
_SEVERITIES: Mapping[Verdict, str] = {
    "fail": "critical",
    "error": "major",
    "inconclusive": "minor",
    "pass": "info",
}


def render_code_quality(result: GateResult) -> str:
    """Render a finding for each contract that does not pass, at the changed lines of its prompt,
    and one for each changed prompt without a contract. The worst come first."""
    found = [_finding(place) for place in places(result.contracts, result.blame)]
    found += [
        _entry("uncovered", "minor", f"{path} has no contract.", path, 1)
        for path in result.uncovered
    ]
    return json.dumps(found[:MOST_FINDINGS], indent=2) + "\n"


def _finding(place: Place) -> dict[str, Any]:
    contract = place.contract
    code = worst_reasons(contract)[0].code
    text = f"{contract.name}: {place.message}"
    severity = _SEVERITIES[contract.verdict]
    return _entry(code, severity, text, place.path, place.line or 1, contract.name)


def _entry(
    code: str, severity: str, text: str, path: str, line: int, name: str = ""
) -> dict[str, Any]:
    """Return a finding. Its fingerprint is the same as long as it is the same finding, so that
    GitLab knows what a change adds; two with one fingerprint would be shown as one."""
    identity = "\0".join((code, name, path, str(line)))
    return {
        "description": clip(visible(text), _TEXT_LIMIT),
        "check_name": f"gatekeeper/{code}",
        "fingerprint": hashlib.sha256(identity.encode(errors="replace")).hexdigest(),
        "severity": severity,
        "location": {"path": visible(path), "lines": {"begin": line}},
    }
