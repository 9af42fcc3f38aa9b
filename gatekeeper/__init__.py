"""Gatekeeper decides whether a prompt change may merge.

`from gatekeeper import check, run, validate, affected, explain` runs it from Python:
docs/other-systems.md says how. Each of these names is loaded when it is first used, so `import
gatekeeper` takes no time. Their types stand in `__init__.pyi`.
"""

from __future__ import annotations

__version__ = "0.1.0"

_LIBRARY = {
    "check": "gatekeeper.runs.library.suite",
    "run": "gatekeeper.runs.library.suite",
    "affected": "gatekeeper.runs.library.affected",
    "validate": "gatekeeper.runs.library.validate",
    "explain": "gatekeeper.runs.library.explain",
    "Validation": "gatekeeper.runs.library.validate",
    "GateResult": "gatekeeper.gate.results.result",
    "ContractResult": "gatekeeper.gate.results.result",
    "Reason": "gatekeeper.gate.results.result",
    "RunEstimate": "gatekeeper.gate.forecast.estimate",
    "ContractEstimate": "gatekeeper.gate.forecast.estimate",
    "Problem": "gatekeeper.errors",
    "GatekeeperError": "gatekeeper.errors",
    "AuthorError": "gatekeeper.errors",
    "ContractError": "gatekeeper.errors",
    "UsageError": "gatekeeper.errors",
    "MeasurementError": "gatekeeper.errors",
    "WriteError": "gatekeeper.errors",
}
"""Each public name with its module. `__getattr__` imports it, so that no room of the package, which
may import this file, depends on the rooms above it."""


class Fail:
    """What a check of your own returns if the output fails it: `return Fail("no greeting")`."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        """Say what is wrong.

        Args:
            message: Short, for the reader of the report: what was expected, and what was found.
        """
        self.message = message

    def __bool__(self) -> bool:
        return False


def __getattr__(name: str) -> object:
    if name not in _LIBRARY:
        raise AttributeError(f"module 'gatekeeper' has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(_LIBRARY[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LIBRARY})
