"""`junit.xml`: a suite a contract, a case a fixture, for the CI systems that read it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Mapping

from junit_xml import TestCase, TestSuite, to_xml_report_string

from gatekeeper import numbers
from gatekeeper.contract.formats.foreign_suite import file_of_contract
from gatekeeper.contract.values.definition import NotRun
from gatekeeper.gate.decision.unit_words import signed
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.escape import clip, plain, xml_text
from gatekeeper.reports.words.evidence import slice_lines

_MESSAGE_LIMIT = 1_000
_LONGEST_OUTPUT, _SHORTEST_OUTPUT = 10_000, 200
_OUTPUTS_IN_ALL = 6_000_000
"""The most characters of a file. Readers hold the file in memory, and some publish it as one
comment."""


class _Case(TestCase):  # type: ignore[misc]
    """A case with properties, which junit-xml only knows for suites."""

    def __init__(self, name: str, contract: ContractResult, **properties: str) -> None:
        super().__init__(
            xml_text(name),
            xml_text(contract.name),
            # Where publish-unit-test-result puts its annotations.
            file=xml_text(file_of_contract(contract.path)),
            allow_multiple_subelements=True,
        )
        self.properties = properties


class _Suite(TestSuite):  # type: ignore[misc]
    def build_xml_doc(self, encoding: str | None = None) -> ET.Element:
        suite: ET.Element = super().build_xml_doc(encoding)
        for element, case in zip(suite.findall("testcase"), self.test_cases, strict=True):
            properties = ET.Element("properties")
            for name, value in case.properties.items():
                ET.SubElement(properties, "property", {"name": name, "value": xml_text(value)})
            if len(properties):
                element.insert(0, properties)
        ET.indent(suite)
        return suite


def render_junit(result: GateResult) -> str:
    """Render a failed check as a failure, a failed call as an error, and an unmeasured fixture as
    skipped."""
    seconds = _seconds(result)
    limit = _output_limit(sum(len(contract.fixtures) for contract in result.contracts))
    suites = [_suite(contract, result, seconds, limit) for contract in result.contracts]
    # The package's own pretty printing takes seconds for a thousand cases.
    text: str = to_xml_report_string(suites, prettyprint=False, encoding="utf-8")
    return text + "\n"


def _suite(
    contract: ContractResult,
    result: GateResult,
    seconds: Mapping[tuple[str, str], float],
    limit: int,
) -> _Suite:
    cases = [_case(fixture, contract, limit) for fixture in contract.fixtures]
    for case, fixture in zip(cases, contract.fixtures, strict=True):
        case.elapsed_sec = seconds.get((contract.name, fixture.id))
    cases += [_not_run_case(skipped, contract) for skipped in contract.not_run]
    red = any(case.is_failure() or case.is_error() for case in cases)
    # An objective, a limit or a removal can decide without a failing fixture: the file
    # must not be green where the gate is not.
    if contract.verdict in ("fail", "error") and not red:
        cases.append(_verdict_case(contract))
    return _Suite(
        xml_text(contract.name),
        cases,
        timestamp=result.started.isoformat(timespec="seconds"),
        file=xml_text(file_of_contract(contract.path)),
        properties=_properties(contract, result),
    )


def _properties(contract: ContractResult, result: GateResult) -> dict[str, str]:
    properties = {
        "verdict": contract.verdict,
        "reasons": xml_text("; ".join(f"{r.code}: {r.text}" for r in contract.reasons)),
        "head": xml_text(result.head_sha),
        "base": xml_text(result.base_sha or numbers.NONE),
    }
    paired = contract.paired
    if paired:
        properties |= {
            "broke": str(paired.broke),
            "fixed": str(paired.fixed),
            "p_value": numbers.NONE if paired.p_value is None else f"{paired.p_value:.6g}",
            "difference": signed(paired, paired.difference),
        }
        found = slice_lines(contract).items()
        properties |= {xml_text(f"category.{name}"): xml_text(line) for name, line in found}
    return properties


def _case(fixture: FixtureResult, contract: ContractResult, limit: int) -> _Case:
    properties: dict[str, str] = {"change": fixture.change or "unknown"}
    for arm, tally in (("base", fixture.base), ("head", fixture.head)):
        if tally is not None:
            properties[arm] = str(tally)
    if fixture.confirmation is not None:
        properties["confirmation"] = str(fixture.confirmation)
    if fixture.duplicate_of is not None:
        properties["duplicate_of"] = fixture.duplicate_of
    if fixture.cluster is not None:
        properties["cluster"] = fixture.cluster
    case = _Case(fixture.id, contract, **properties)
    if fixture.category:
        case.category = xml_text(fixture.category)
    case.stdout = _both_outputs(fixture, limit)
    errors = "\n".join(xml_text(clip(error, _MESSAGE_LIMIT)) for error in fixture.errors)
    if fixture.quarantine is not None:
        case.add_skipped_info(_line(str(fixture.quarantine)))
        case.stderr = errors or None
    elif fixture.head_passed is False:
        _add_failures(case, fixture, limit)
        case.stderr = errors or None
    elif fixture.head_passed is None and errors:
        case.add_error_info(_line(fixture.errors[0]), errors, "call")
    elif fixture.head_passed is None:
        case.add_skipped_info(
            "not measured: sampling stopped before this fixture's result was known"
        )
    else:
        case.stderr = errors or None
    return case


def _add_failures(case: _Case, fixture: FixtureResult, limit: int) -> None:
    already = " (on base as well)" if fixture.base_passed is False else ""
    failures = [failure for failure in fixture.failures if failure.arm == "head"]
    seen: set[str] = set()
    for failure in failures:
        if failure.check in seen:
            continue
        seen.add(failure.check)
        text = failure.message or "failed"
        case.add_failure_info(
            _line(f"{failure.check}{already}: {text}"),
            xml_text(clip(f"{text}\n\noutput:\n{failure.output}", limit)),
            "check",
        )
    if not failures:
        case.add_failure_info(f"passed {fixture.head or 'too few samples'}{already}", None, "check")


def _not_run_case(skipped: NotRun, contract: ContractResult) -> _Case:
    place = f"{skipped.position.path}:{skipped.position.line or 1}"
    case = _Case(f"{skipped.kind} ({place})", contract)
    case.add_skipped_info(_line(f"not run: {skipped.why}"))
    return case


def _verdict_case(contract: ContractResult) -> _Case:
    case = _Case("verdict", contract)
    reasons = [reason for reason in contract.reasons if reason.verdict == contract.verdict]
    text = _line("; ".join(reason.text for reason in reasons)) or contract.verdict
    if contract.verdict == "error":
        case.add_error_info(text, None, "verdict")
    else:
        case.add_failure_info(text, None, "verdict")
    return case


def _both_outputs(fixture: FixtureResult, limit: int) -> str | None:
    outputs = (("base", fixture.base_output), ("head", fixture.head_output))
    shown = [f"{arm}: {clip(text, limit)}" for arm, text in outputs if text is not None]
    return xml_text("\n".join(shown)) or None


def _output_limit(cases: int) -> int:
    """Return how much of an output a case shows; there are two, and one more in a failure."""
    return max(_SHORTEST_OUTPUT, min(_LONGEST_OUTPUT, _OUTPUTS_IN_ALL // (3 * max(1, cases))))


def _seconds(result: GateResult) -> dict[tuple[str, str], float]:
    """Sum how long the head's calls of each fixture took, in seconds."""
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    for outcome in result.outcomes:
        trial, completion = outcome.sample.trial, outcome.sample.completion
        if trial.arm == "head" and completion and completion.latency_ms is not None:
            seconds[trial.contract, trial.fixture] += completion.latency_ms / 1000
    return seconds


def _line(text: str) -> str:
    return clip(xml_text(plain(text)), _MESSAGE_LIMIT)
