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
from typing import Any, Literal
from urllib.parse import quote

from gatekeeper import __version__
from gatekeeper.gate.result import ContractResult, GateResult, Reason, ReasonCode
from gatekeeper.reports.annotations import Place, failing_check, places
from gatekeeper.reports.escape import clip, visible

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
MOST_RESULTS = 5_000
"""GitHub refuses more than 25,000 and shows 5,000 of them."""
_TEXT_LIMIT = 1_000

Level = Literal["error", "warning"]
"""A failure, and what could not be decided or measured: no fault of the prompt's."""


_RULES: Mapping[ReasonCode, tuple[str, str]] = {
    "regression": (
        "The prompt got worse",
        "Base and head answered the same fixtures, and head passes fewer of them than chance "
        "explains. Mend the prompt, or change what the fixtures expect.",
    ),
    "slo": (
        "An objective is missed",
        "An objective of the contract is missed, or its interval leaves open whether it is met.",
    ),
    "tolerance": (
        "Too few fixtures pass",
        "Fewer fixtures pass than the contract's tolerance asks for.",
    ),
    "budget": (
        "The error budget is spent",
        "Until the window has moved on, only changes that make things better may merge.",
    ),
    "unread": (
        "The history could not be read",
        "Whether an error budget is spent is not known. Run the gate again once the history can be "
        "read.",
    ),
    "weakened": (
        "The contract was loosened",
        "The change takes away or loosens what the contract asks for, and the policy does not "
        "allow it.",
    ),
    "removed": (
        "The contract was removed",
        "The prompt stays and no contract watches it any more.",
    ),
    "replaced": (
        "A prompt was replaced without a comparison",
        "A prompt is gone, while the change adds others that may take its place. Keep the "
        "contract, by its name, on the one that does, to have it compared with the old one.",
    ),
    "new_contract": (
        "A new contract has too few fixtures",
        "The policy asks more fixtures of a new contract. Add some.",
    ),
    "untested": (
        "No fixture reaches what changed in a prompt",
        "Every request of the contract's fixtures is the same as before. Add a fixture whose "
        "request the change reaches.",
    ),
    "policy_loosened": (
        "The policy is loosened",
        "The change asks less in .github/gatekeeper.yml, and the base policy asks for a "
        "maintainer's waiver.",
    ),
    "must_pass": (
        "What must pass fails",
        "A fixture or check with `must_pass: true` fails in every sample on head and not "
        "on base, or more often than on base by more than chance explains.",
    ),
    "nothing_passes": (
        "No fixture passes",
        "Every fixture that was measured fails on head. The prompt or the contract's checks are "
        "wrong.",
    ),
    "resource_limit": (
        "A call takes more than the contract allows",
        "Cost, tokens or latency rose above a limit of the contract's `gate` by more than chance "
        "explains.",
    ),
    "uncovered": (
        "A changed prompt has no contract",
        "Nothing says what the prompt is expected to do. Write a contract for it.",
    ),
    "error": (
        "Could not be measured",
        "Calls to the model failed. This says nothing about the prompt: remove the cause and run "
        "the gate again.",
    ),
    "limit": (
        "A limit ended the run",
        "The policy's limit on calls, cost or time was reached before the answer was sure.",
    ),
    "interrupted": ("The run was interrupted", "Run the gate again."),
    "undecided": (
        "Not enough evidence",
        "The prompt may have got worse by more than the margin, or it may be chance. Add fixtures "
        "or samples.",
    ),
    "unseen": (
        "A change could not be seen",
        "There is too little to compare to see a change of any size. Add fixtures or an objective.",
    ),
}
_ABOUT_ANSWERS: frozenset[ReasonCode] = frozenset(
    {"regression", "slo", "tolerance", "undecided", "nothing_passes", "must_pass", "resource_limit"}
)


def render_sarif(result: GateResult) -> str:
    """The run as a SARIF log with one run in it; the worst results first."""
    found = list(islice(_results(result), MOST_RESULTS + 1))
    invocation: dict[str, Any] = {
        "executionSuccessful": result.verdict != "error",
        "exitCode": result.exit_code,
    }
    if len(found) > MOST_RESULTS:
        text = f"More than {MOST_RESULTS:,} results: only the worst are listed."
        invocation["toolExecutionNotifications"] = [_notification(text)]
    driver = {
        "name": "gatekeeper",
        "semanticVersion": __version__,
        "rules": [_rule(code, *texts) for code, texts in _RULES.items()],
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
    for place in places(result.contracts):
        by_contract.setdefault(place.contract.name, []).append(place)
    for found in by_contract.values():
        yield from _of_contract(found)
    # Whether the policy asks for a contract shows in the verdict alone.
    required = result.verdict == "fail" and all(c.verdict != "fail" for c in result.contracts)
    for path in result.uncovered:
        text = f"{path} has no contract."
        level: Level = "error" if required else "warning"
        yield _result("uncovered", level, text, path, [_location(path, 1)])


def _of_contract(found: Sequence[Place]) -> Iterator[dict[str, Any]]:
    contract = found[0].contract
    first, *others = (_location(place.path, place.line or 1) for place in found)
    gating = sorted(_gating(contract), key=lambda reason: reason.code)
    for code, reasons in groupby(gating, key=lambda reason: reason.code):
        same = list(reasons)
        worst: Level = "error" if any(r.verdict == "fail" for r in same) else "warning"
        said = [contract.name + ":", *(reason.text for reason in same)]
        if code in _ABOUT_ANSWERS and (check := failing_check(contract)):
            said.append(check)
        more = [{"id": number, **place} for number, place in enumerate(others, 1)]
        yield _result(code, worst, " ".join(said), contract.path, [first], relatedLocations=more)


def _gating(contract: ContractResult) -> tuple[Reason, ...]:
    """The reasons that speak against the contract, without those that a person waived."""
    accepted = contract.waiver is not None and contract.waiver.kind == "accept"
    return tuple(
        reason
        for reason in contract.reasons
        if reason.verdict != "pass" and not (accepted and reason.code == "regression")
    )


def _result(
    code: ReasonCode,
    level: Level,
    text: str,
    subject: str,
    locations: Sequence[Mapping[str, Any]],
    **other: Any,
) -> dict[str, Any]:
    """`subject` is the file that the result is about: with the rule it tells results apart."""
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


def _location(path: str, line: int) -> dict[str, Any]:
    uri = quote(path.encode(errors="surrogatepass"))
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": line},
        }
    }


def _message(text: str) -> str:
    """Text in which nothing is a link (3.11.6) or a placeholder (3.11.5)."""
    shown = clip(visible(text), _TEXT_LIMIT).replace("](", "] (")
    return shown.replace("{", "{{").replace("}", "}}")


def _notification(text: str) -> dict[str, Any]:
    return {"level": "warning", "message": {"text": text}}


def _rule(code: ReasonCode, title: str, text: str) -> dict[str, Any]:
    return {
        "id": code,
        "shortDescription": {"text": title},
        "fullDescription": {"text": text},
        "help": {"text": text},
        "properties": {"tags": ["prompts"]},
    }
