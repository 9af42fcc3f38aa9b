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
from gatekeeper.reports.words.catalogue import REASONS
from gatekeeper.reports.words.evidence import slice_lines
from gatekeeper.reports.words.headline import title

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
    """Render what failed the gate as failures and errors, and what did not as skipped, so that the
    file is red exactly where the gate is."""
    seconds = _seconds(result)
    limit = _output_limit(sum(len(contract.fixtures) for contract in result.contracts))
    suites = [_suite(contract, result, seconds, limit) for contract in result.contracts]
    if result.exit_code and not any(map(_is_red, suites)):
        whole = ContractResult("gatekeeper", "", result.verdict, ())
        suites.append(_Suite(whole.name, [_verdict_case(whole, title(result))]))
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
    suite = _Suite(
        xml_text(contract.name),
        cases,
        timestamp=result.started.isoformat(timespec="seconds"),
        file=xml_text(file_of_contract(contract.path)),
        properties=_properties(contract, result),
    )
    blocks = result.exit_code != 0 and contract.verdict == result.verdict
    # An objective, a limit or a removal can decide without a failing fixture: the file
    # must not be green where the gate is not.
    if (blocks or contract.verdict in ("fail", "error")) and not _is_red(suite):
        reasons = (r.text for r in contract.reasons if r.verdict == contract.verdict)
        suite.test_cases.append(_verdict_case(contract, "; ".join(reasons)))
    return suite


def _is_red(suite: _Suite) -> bool:
    return any(case.is_failure() or case.is_error() for case in suite.test_cases)


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
        excuse = _excuse(fixture, contract)
        _add_failures(case, fixture, limit, excuse)
        case.stderr = errors or None
    elif fixture.head_passed is None and errors and contract.verdict in ("fail", "error"):
        case.add_error_info(_line(fixture.errors[0]), errors, "call")
    elif fixture.head_passed is None:
        why = fixture.errors[0] if errors else "sampling stopped before this fixture's result"
        case.add_skipped_info(_line(f"not measured: {why}" + ("" if errors else " was known")))
        case.stderr = errors or None
    else:
        case.stderr = errors or None
    return case


def _excuse(fixture: FixtureResult, contract: ContractResult) -> str:
    """Say why a fixture that fails did not fail the gate; empty if it did."""
    if contract.verdict != "fail":
        return f"fails, and the verdict of the contract is {contract.verdict}"
    if any((m.fixture, m.found) == (fixture.id, "broke") for m in contract.must_pass):
        return ""
    deciding = (r for r in contract.reasons if (r.verdict, r.contract_from) == ("fail", "head"))
    if not {REASONS[r.code].example for r in deciding} & {"worse", "failing", "objective"}:
        return "fails, and the contract fails for another reason"
    if fixture.confirmation is not None and fixture.confirmation.found == "kept":
        return f"fails ({fixture.confirmation})"
    return "fails on base as well" if fixture.base_passed is False else ""


def _add_failures(case: _Case, fixture: FixtureResult, limit: int, excuse: str) -> None:
    """Add a failure for each failing check; with an excuse, one note that the case is skipped."""
    found = {failure.check: failure for failure in reversed(fixture.failures_on("head"))}
    told = [
        (f"{f.check}: {f.message or 'failed'}", f"{f.message or 'failed'}\n\noutput:\n{f.output}")
        for f in reversed(found.values())
    ] or [(f"passed {fixture.head or 'too few samples'}", "")]
    if excuse:
        case.properties["failed_checks"] = "; ".join(reversed(found))
        case.add_skipped_info(_line(f"{excuse}: {told[0][0]}"))
        return
    for line, whole in told:
        case.add_failure_info(_line(line), xml_text(clip(whole, limit)) or None, "check")


def _not_run_case(skipped: NotRun, contract: ContractResult) -> _Case:
    place = f"{skipped.position.path}:{skipped.position.line or 1}"
    case = _Case(f"{skipped.kind} ({place})", contract)
    case.add_skipped_info(_line(f"not run: {skipped.why}"))
    return case


def _verdict_case(contract: ContractResult, why: str) -> _Case:
    case = _Case("verdict", contract)
    text = _line(why) or contract.verdict
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
