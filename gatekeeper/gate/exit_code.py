"""The exit code of a verdict. gatekeeper/errors.py has the exit codes of errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from gatekeeper.gate.result import ContractResult, Verdict

OnInconclusive = Literal["pass", "fail"]


def exit_code(verdict: Verdict, on_inconclusive: OnInconclusive) -> int:
    """Return the exit code of the process; the base policy decides about `inconclusive`."""
    if verdict == "inconclusive":
        return 1 if on_inconclusive == "fail" else 0
    return {"pass": 0, "fail": 1, "error": 3}[verdict]


def strictest(contracts: Iterable[ContractResult]) -> OnInconclusive:
    """Return what the policies of the inconclusive contracts say together: `fail` if that of one
    does."""
    answers = {c.on_inconclusive for c in contracts if c.verdict == "inconclusive"}
    return "fail" if "fail" in answers else "pass"
