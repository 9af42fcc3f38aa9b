"""What a person at a terminal sees. rich is loaded only where there is something to lay out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.reports.headline import ICONS, title
from gatekeeper.reports.progress import TerminalProgress
from gatekeeper.result import GateResult

if TYPE_CHECKING:
    from rich.console import Console

    from gatekeeper.forecast import Forecast

__all__ = ["TerminalProgress", "print_forecast", "print_result"]


def print_result(
    result: GateResult,
    files: Mapping[str, Path] | None = None,
    console: Console | None = None,
) -> None:
    """The result in colour on a terminal, and without colour or frames elsewhere."""
    if console is None and _is_quiet(result):
        sys.stdout.write(f"{ICONS['pass']} {title(result)}: no contract is affected\n")
        return
    from gatekeeper.reports.screen import show_result

    show_result(result, files or {}, console or _console())


def print_forecast(forecast: Forecast, console: Console | None = None) -> None:
    """What a check would run, why, and at what price."""
    from gatekeeper.reports.screen import show_forecast

    show_forecast(forecast, console or _console())


def _is_quiet(result: GateResult) -> bool:
    return not (result.contracts or result.uncovered or result.notices) and result.verdict == "pass"


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)
