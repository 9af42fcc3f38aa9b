"""Writes the reports of a run that the library made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.errors import WriteError

if TYPE_CHECKING:
    from gatekeeper.gate.results.result import GateResult
    from gatekeeper.runs.library.arguments import SuiteArguments


@dataclass(frozen=True, slots=True)
class Measured:
    """A result, and the file that keeps the answers of its run until the reports are written."""

    result: GateResult
    answers: Path | None = None


def forget_earlier_reports(given: SuiteArguments) -> None:
    """Remove the reports of an earlier run, so that nobody takes them for those of this one."""
    from gatekeeper.reports.write import forget_reports

    if given.out is not None:
        forget_reports(given.out)


def require_writable(out: Path | None, models: Iterable[str], replay: Path | None) -> None:
    """Raise WriteError if a model is to be called and the reports could not be written to `out`.

    Recordings cost nothing: their result is shown even if it cannot be written.
    """
    from gatekeeper.contract.files.references import recording_path
    from gatekeeper.reports import write

    if out is not None and replay is None and any(recording_path(m) is None for m in models):
        write.require_writable(out)


def write_measured(measured: Measured, given: SuiteArguments) -> GateResult:
    """Write the reports if a folder is named for them, and return the result.

    Raises WriteError, whose `result` is the result, if a file cannot be written.
    """
    if given.out is None:
        return measured.result
    from gatekeeper.reports.write import write_reports
    from gatekeeper.runs.unfinished import forget_unfinished

    try:
        write_reports(measured.result, given.out, given.format)
    except WriteError as error:
        error.result = measured.result
        raise
    if measured.answers and measured.result.verdict != "error":
        forget_unfinished(measured.answers)
    return measured.result
