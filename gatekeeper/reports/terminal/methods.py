"""Lists what the methods that papers name find in the samples of a result, by their keys in
`result.json`. They decide nothing."""

from __future__ import annotations

from collections.abc import Iterator

from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.escape import log_text
from gatekeeper.stats.interval import ConfidenceInterval


def methods_text(result: GateResult) -> str:
    """Return a block of lines per contract."""
    blocks = [
        "\n".join((f"{log_text(contract.name)}: methods that decide nothing", *_lines(contract)))
        for contract in result.contracts
    ]
    return "\n".join(blocks)


def _lines(contract: ContractResult) -> Iterator[str]:
    if contract.paired:
        for name, p in contract.paired.alternative_methods.items():
            yield f"  {name}: p = {p:.4g}"
        for name, interval in contract.paired.intervals.items():
            yield f"  difference, {name}: {_bounds(interval)}"
    for label, arm in (("base", contract.base), ("head", contract.head)):
        for name, interval in arm.intervals.items() if arm else ():
            yield f"  success rate on {label}, {name}: {_bounds(interval)}"


def _bounds(interval: ConfidenceInterval) -> str:
    return f"{interval.low:.4f} to {interval.high:.4f}"
