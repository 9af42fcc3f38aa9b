"""The exit code of a verdict. gatekeeper/errors.py has the exit codes of errors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from gatekeeper.gate.results.result import ContractResult, Verdict

OnInconclusive = Literal["pass", "fail"]


def exit_code(verdict: Verdict, on_inconclusive: OnInconclusive) -> int:
    """Return the exit code of the process; the base policy decides about `inconclusive`."""
    if verdict == "inconclusive":
        return 1 if on_inconclusive == "fail" else 0
    return {"pass": 0, "fail": 1, "error": 3}[verdict]


def exit_code_of(verdict: Verdict, contracts: Collection[ContractResult]) -> int:
    """Return the exit code of a run: 3 instead of 0 if nothing tested what changed of a contract,
    because a required check would otherwise be green. For other doubts, the policies of the
    inconclusive contracts decide together: one `fail` is enough."""
    open_ = [contract for contract in contracts if contract.verdict == "inconclusive"]
    blocks = any(contract.on_inconclusive == "fail" for contract in open_)
    code = exit_code(verdict, "fail" if blocks else "pass")
    return 3 if not code and any(map(_is_untested, open_)) else code


def _is_untested(contract: ContractResult) -> bool:
    """Return whether no request shows a change of the prompt, or a contract that could not be used
    before either leaves it untested."""
    found = {(r.code, r.contract_from) for r in contract.reasons if r.verdict == "inconclusive"}
    return bool(found & {("untested", "head"), ("error", "head")})
