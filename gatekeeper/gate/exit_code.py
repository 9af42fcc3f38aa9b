"""The exit code of a verdict. gatekeeper/errors.py has the exit codes of errors."""

from __future__ import annotations

from gatekeeper.contract.policy import Policy
from gatekeeper.gate.result import Verdict


def exit_code(verdict: Verdict, policy: Policy) -> int:
    """Return the exit code of the process; the base policy decides about `inconclusive`."""
    if verdict == "inconclusive":
        return 1 if policy.on_inconclusive == "fail" else 0
    return {"pass": 0, "fail": 1, "error": 3}[verdict]
