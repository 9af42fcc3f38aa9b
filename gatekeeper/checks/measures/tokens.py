"""The call used at most `max` tokens.

The check is undetermined if the provider reports no tokens. For the answer alone, use
[length](#length) with `unit: tokens`.
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
from gatekeeper.contract.values.trial import Completion, Sample


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    limit = params["max"]
    of = params.get("of", "both")

    def evaluate(sample: Sample) -> Finding:
        counted = _tokens(sample.completion, of)
        if counted is None:
            return undetermined("the provider did not report the number of tokens")
        if counted > limit:
            return failed(f"expected at most {limit:,} tokens; the call used {counted:,}")
        return PASSED

    return evaluate


def _tokens(completion: Completion | None, of: str) -> int | None:
    if completion is None:
        return None
    sent, received = completion.prompt_tokens, completion.completion_tokens
    if of == "prompt":
        return sent
    if of == "answer":
        return received
    return None if sent is None or received is None else sent + received


CHECK = Check(
    parameters(
        required=("max",),
        max={
            "x-looser": "up",
            "type": "integer",
            "minimum": 1,
            "description": "The largest number of tokens that passes.",
        },
        of={
            "enum": ["both", "prompt", "answer"],
            "default": "both",
            "description": (
                "Which tokens count: the tokens of the `prompt`, of the `answer`, or both."
            ),
        },
    ),
    _prepare,
    group="measures",
    examples=(
        Example(
            "{type: tokens, max: 500}",
            Completion("Hello.", prompt_tokens=400, completion_tokens=80),
            Completion("Hello.", prompt_tokens=400, completion_tokens=120),
        ),
    ),
)
