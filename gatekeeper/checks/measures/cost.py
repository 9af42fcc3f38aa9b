"""The call cost at most `max_usd` US dollars.

If the price of the call is not known, the check is undetermined. For an answer from a recording,
the check uses the cost of the recorded call.
"""

from __future__ import annotations

from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
    undetermined,
)
from gatekeeper.contract.trial import Completion, Sample
from gatekeeper.numbers import dollars


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    limit = params["max_usd"]

    def evaluate(sample: Sample) -> Finding:
        cost = sample.completion.cost_usd if sample.completion else None
        if cost is None:
            return undetermined("the price of the call is not known")
        if cost > limit:
            return failed(f"expected a cost of at most {dollars(limit)}; got {dollars(cost)}")
        return PASSED

    return evaluate


CHECK = Check(
    parameters(
        required=("max_usd",),
        max_usd={
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "The highest cost that passes, a number of US dollars above 0.",
        },
    ),
    _prepare,
    group="measures",
    examples=(
        Example(
            "{type: cost, max_usd: 0.002}",
            Completion("Hello.", cost_usd=0.0015),
            Completion("Hello.", cost_usd=0.0031),
        ),
    ),
)
