"""What the terminal says about samples that could not be measured."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from rich.console import Console
from support import results as examples

from gatekeeper.gate.results.result import Reason
from gatekeeper.reports.terminal.console import print_result


def _lines(errors: tuple[str, ...], reason: str = "samples are missing") -> list[str]:
    """Return the lines about fixtures that were not measured, if each has one of these errors."""
    (contract, *_) = examples.PASS.contracts
    fixture = contract.fixtures[0]
    fixtures = tuple(
        replace(fixture, id=f"f{number}", errors=(error,)) for number, error in enumerate(errors)
    )
    reasons = (Reason("error", reason, "error"),)
    contract = replace(contract, verdict="error", reasons=reasons, fixtures=fixtures)
    written = StringIO()
    result = replace(examples.PASS, verdict="error", contracts=(contract,))
    print_result(result, {}, Console(file=written, width=200))
    return [line for line in written.getvalue().splitlines() if "not measured" in line]


def test_each_error_is_named_once_with_its_first_fixture() -> None:
    assert _lines(("no answer", "KeyError: 'x'", "no answer", "no answer")) == [
        "  not measured f0 and 2 more: no answer",
        "  not measured f1: KeyError: 'x'",
    ]


def test_an_error_that_a_reason_names_is_not_repeated() -> None:
    assert _lines(("no answer",), "No sample could be measured on head: no answer.") == []


def test_only_a_few_errors_are_named() -> None:
    assert len(_lines(tuple(f"error <{number}>" for number in range(9)))) == 5
