"""By how much a call may take more on head than on base: the limits in a contract's `gate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, get_args

LimitName = Literal["cost", "tokens", "latency_p50", "latency_p95"]
"""The keys of the contract format. Reports show the limits in this order."""


@dataclass(frozen=True, slots=True)
class ResourceLimit:
    """`most` is the share by which the resource may rise: 0.2 for `+20%`."""

    name: LimitName
    most: float

    def __str__(self) -> str:
        return f"+{self.most * 100:g}%"


def read_limits(gate: Mapping[str, Any]) -> tuple[ResourceLimit, ...]:
    """Return the limits in the `gate` of a contract that conforms to the schema."""
    names: tuple[LimitName, ...] = get_args(LimitName)
    written = ((name, gate.get(name)) for name in names)
    return tuple(ResourceLimit(name, _share(text)) for name, text in written if text is not None)


def _share(text: str) -> float:
    """Parse `+20%` as 0.2; divided as a decimal, so that `+10%` is the nearest number to a
    tenth."""
    return float(Decimal(text.strip().removeprefix("+").removesuffix("%")) / 100)
