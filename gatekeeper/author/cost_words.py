"""Says in sentences what planned calls cost: about, and at most."""

from __future__ import annotations

import math
from collections.abc import Iterable

from gatekeeper.contract.values.trial import Request
from gatekeeper.numbers import dollars
from gatekeeper.providers.models.cost_estimate import expected_cost, worst_cost


def cost_lines(about: Iterable[tuple[Request, float]], most: Iterable[Request]) -> list[str]:
    """Return what the calls cost, and which models have no known price.

    Args:
        about: Requests with an answer of a usual length, and how many of each are expected.
        most: All requests that can be made, with the longest answer that is possible.
    """
    expected = [(request.model, expected_cost(request), number) for request, number in about]
    worst = [(request.model, worst_cost(request)) for request in most]
    unknown = {model for model, cost, _ in expected if cost is None}
    unknown |= {model for model, cost in worst if cost is None}
    lines = [f"The price of {', '.join(sorted(unknown))} is not known."] if unknown else []
    if all(cost is None for _, cost in worst):
        return lines
    usual = math.fsum((cost or 0.0) * number for _, cost, number in expected)
    highest = math.fsum(cost or 0.0 for _, cost in worst)
    limit = f"at most {dollars(highest)}" if math.isfinite(highest) else "without an upper limit"
    others = " for the other models" if unknown else ""
    return [*lines, f"Cost{others}: about {dollars(min(usual, highest))}, {limit}"]
