"""`gatekeeper.sarif`: what speaks against a change, for GitHub code scanning and editors.

SARIF 2.1.0: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html, of which GitHub
reads https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/
sarif-support-for-code-scanning. A rule is a reason code, a result is what one contract has
against it, at the line of the prompt that changed. A contract that passes has no result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any
from urllib.parse import quote

from gatekeeper import __version__
from gatekeeper.contract.prompts.reference import prompt_file
from gatekeeper.gate.decision.verdict import ACCEPTABLE
from gatekeeper.gate.results.result import ContractResult, GateResult, Reason, ReasonCode
from gatekeeper.reports.escape import clip, visible
from gatekeeper.reports.formats.annotations import Place, failing_check, places
from gatekeeper.reports.words.catalogue import REASONS, Level, ReasonEntry

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
MOST_RESULTS = 5_000
"""GitHub refuses more than 25,000 and shows 5,000 of them."""
_TEXT_LIMIT = 1_000
_RULES: Mapping[ReasonCode, ReasonEntry] = {
    code: entry for code, entry in REASONS.items() if entry.level is not None
}


def render_sarif(result: GateResult) -> str:
    """Render the run as a SARIF log with one run in it; the worst results first."""
    found = list(islice(_results(result), MOST_RESULTS + 1))
    invocation: dict[str, Any] = {
        "executionSuccessful": result.verdict != "error",
        "exitCode": result.exit_code,
    }
    if len(found) > MOST_RESULTS:
        text = f"The run has more than {MOST_RESULTS:,} results, so only the worst are listed."
        notification = {"level": "warning", "message": {"text": text}}
        invocation["toolExecutionNotifications"] = [notification]
    driver = {
        "name": "gatekeeper",
        "semanticVersion": __version__,
        "rules": [_rule(code, entry) for code, entry in _RULES.items()],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": found[:MOST_RESULTS],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _results(result: GateResult) -> Iterator[dict[str, Any]]:
    by_contract: dict[str, list[Place]] = {}
    for place in places(result.contracts, result.blame):
        by_contract.setdefault(place.contract.name, []).append(place)
    for found in by_contract.values():
        yield from _of_contract(found)
    # Whether the policy asks for a contract shows in the verdict alone.
    required = result.verdict == "fail" and all(c.verdict != "fail" for c in result.contracts)
    for path in result.uncovered:
        text = f"{path} has no contract."
        level: Level = "error" if required else "warning"
        yield _result("uncovered", level, text, path, [_location(prompt_file(path), 1)])


def _of_contract(found: Sequence[Place]) -> Iterator[dict[str, Any]]:
    contract = found[0].contract
    first, *others = (_location(place.path, place.line or 1, place.end_line) for place in found)
    gating = sorted(_gating(contract), key=lambda reason: reason.code)
    for code, reasons in groupby(gating, key=lambda reason: reason.code):
        same = list(reasons)
        worst: Level = "error" if any(r.verdict == "fail" for r in same) else "warning"
        said = [contract.name + ":", *(reason.text for reason in same)]
        if REASONS[code].about_answers and (check := failing_check(contract)):
            said.append(check)
        more = [{"id": number, **place} for number, place in enumerate(others, 1)]
        yield _result(code, worst, " ".join(said), contract.path, [first], relatedLocations=more)


def _gating(contract: ContractResult) -> tuple[Reason, ...]:
    """Return the reasons that speak against the contract, without those that a person waived."""
    accepted = contract.waiver is not None and contract.waiver.kind == "accept"
    return tuple(
        reason
        for reason in contract.reasons
        if reason.verdict != "pass" and not (accepted and reason.code in ACCEPTABLE)
    )


def _result(
    code: ReasonCode,
    level: Level,
    text: str,
    subject: str,
    locations: Sequence[Mapping[str, Any]],
    **other: Any,
) -> dict[str, Any]:
    """Build one result. `subject` is the file it is about, and with the rule it identifies the
    result."""
    digest = hashlib.sha256(f"{code}\n{subject}".encode(errors="surrogatepass")).hexdigest()
    return {
        "ruleId": code,
        "ruleIndex": list(_RULES).index(code),
        "level": level,
        "message": {"text": _message(text)},
        "locations": list(locations),
        "partialFingerprints": {"contractAndRule/v1": digest},
        **other,
    }


def _location(path: str, line: int, end: int | None = None) -> dict[str, Any]:
    uri = quote(path.encode(errors="surrogatepass"))
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": line, **({"endLine": end} if end else {})},
        }
    }


def _message(text: str) -> str:
    """Escape the text so that nothing in it is a link (SARIF 3.11.6) or a placeholder (3.11.5)."""
    shown = clip(visible(text), _TEXT_LIMIT).replace("](", "] (")
    return shown.replace("{", "{{").replace("}", "}}")


def _rule(code: ReasonCode, entry: ReasonEntry) -> dict[str, Any]:
    return {
        "id": code,
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.meaning},
        "help": {"text": f"{entry.meaning} {entry.advice}"},
        "defaultConfiguration": {"level": entry.level},
        "properties": {"tags": ["prompts"]},
    }
