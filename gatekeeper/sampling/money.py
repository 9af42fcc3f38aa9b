"""Amounts of money in messages."""

from __future__ import annotations

import math


def in_dollars(amount: float) -> str:
    """`$2.00`, and below a dollar two digits that are not zero: `$0.0021`, never `$0.00`."""
    if amount == 0 or amount >= 1 or not math.isfinite(amount):
        return f"${amount:,.2f}"
    digits = min(12, 1 - math.floor(math.log10(abs(amount))))
    whole, _, part = f"{amount:.{max(digits, 2)}f}".partition(".")
    return f"${whole}.{part.rstrip('0').ljust(2, '0')}"
