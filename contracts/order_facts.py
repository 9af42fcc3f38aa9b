"""Whether an order says only what the customer's message says."""

from __future__ import annotations

import json
import re

from gatekeeper import Fail


def stands_in_message(output: str, vars: dict[str, str]) -> float | Fail:
    """Return the share of the order's values that stand in the message as words of their own."""
    try:
        order = json.loads(output)
    except ValueError:
        return Fail("not JSON")
    if not isinstance(order, dict) or not order:
        return Fail("not an order")
    words = re.findall(r"\w+", vars["message"].lower())
    found = [value for value in order.values() if str(value).lower() in words]
    return len(found) / len(order)
