"""How a command's result reaches the terminal."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gatekeeper.result import GateResult
    from gatekeeper.settings import Format


def report(result: GateResult, out: Path, formats: Sequence[Format] = ()) -> int:
    """Write the reports to `out`, those of `formats` too; print the result; its exit code."""
    from gatekeeper.reports.terminal import print_result
    from gatekeeper.reports.write import write_reports

    files = write_reports(result, out, formats)
    with readers_may_leave():
        print_result(result, files)
    return result.exit_code


@contextlib.contextmanager
def readers_may_leave() -> Iterator[None]:
    """`gatekeeper check | head` must end with the verdict, not with the fate of the pipe."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich ends the process when its reader is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
