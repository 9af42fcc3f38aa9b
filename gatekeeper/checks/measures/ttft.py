"""The first token of the answer came within `max_ms` milliseconds.

If the time to the first token is not known, the check is undetermined. If a contract has this
check, gatekeeper streams the answers so that it can time the first token. If gatekeeper cannot
stream the answers of the model, gatekeeper reports an error before any call: see [time to first
token](objectives.md#time-to-first-token).
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
        time = sample.completion.ttft_ms if sample.completion else None
        if time is None:
            return undetermined("the time to the first token was not measured")
        if time > limit:
            return failed(
                f"expected the first token within {shown(limit)}; got it after {shown(time)}"
            )
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
            "{type: ttft, max_ms: 800}",
            Completion("Hello.", ttft_ms=300.0),
            Completion("Hello.", ttft_ms=900.0),
        ),
    ),
)
