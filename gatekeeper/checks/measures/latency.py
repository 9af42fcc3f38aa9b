"""The request took at most `max_ms` milliseconds. The time that the request waits for a free slot
in gatekeeper does not count.

If the time of the request is not known, the check is undetermined. To limit the 95th percentile of
the times of all requests, use `slo: {latency_p95_ms: …}`.
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
from gatekeeper.numbers import milliseconds as shown


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    limit = params["max_ms"]

    def evaluate(sample: Sample) -> Finding:
        latency = sample.completion.latency_ms if sample.completion else None
        if latency is None:
            return undetermined("the provider did not report how long the request took")
        if latency > limit:
            return failed(f"expected at most {shown(limit)}; the request took {shown(latency)}")
        return PASSED

    return evaluate


CHECK = Check(
    parameters(
        required=("max_ms",),
        max_ms={
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "The longest time that passes, a number of milliseconds above 0.",
        },
    ),
    _prepare,
    group="measures",
    examples=(
        Example(
            "{type: latency, max_ms: 4000}",
            Completion("Yes.", latency_ms=800),
            Completion("Yes.", latency_ms=4100),
        ),
    ),
)
