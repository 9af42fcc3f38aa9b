"""The checks that limit one measure of a call."""

from __future__ import annotations

from collections.abc import Callable

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
from gatekeeper.checks.tools.tool_call import calling
from gatekeeper.contract.values.trial import Completion, Sample, Turn
from gatekeeper.numbers import dollars, milliseconds

_AMOUNT = {"type": "number", "exclusiveMinimum": 0}
_NUMBER = {"type": "integer", "minimum": 1}


def _check(
    about: str,
    limit: tuple[str, Parameters, str],
    measured: Callable[[Completion, Parameters], float | None],
    messages: tuple[str, Callable[[float, float], str]],
    example: Example,
    **others: Parameters,
) -> Check:
    """Return a check of the parameter `limit`, a name, a schema and a description, on what is
    `measured`. The messages are for a measure that is not known and for one above the limit."""
    name, kind, description = limit
    unknown, above = messages

    def prepare(params: Parameters, _files: Files) -> SampleEvaluator:
        most = params[name]

        def evaluate(sample: Sample) -> Finding:
            value = measured(sample.completion, params) if sample.completion else None
            if value is None:
                return undetermined(unknown)
            return failed(above(most, value)) if value > most else PASSED

        return evaluate

    parameter = {"x-looser": "up", **kind, "description": description}
    own = parameters(required=(name,), **{name: parameter}, **others)
    return Check(own, prepare, group="measures", examples=(example,), about=about)


_MAX_MS = ("max_ms", _AMOUNT, "The longest time that passes, in milliseconds.")

COST = _check(
    """
The call cost at most `max_usd` US dollars.

If the price is unknown, the check is undetermined. An answer from a recording has the cost of the
recorded call.
""",
    ("max_usd", _AMOUNT, "The highest cost that passes, in US dollars."),
    lambda completion, _: completion.cost_usd,
    (
        "the price of the call is not known",
        lambda most, cost: f"expected a cost of at most {dollars(most)}; got {dollars(cost)}",
    ),
    Example(
        "{type: cost, max_usd: 0.002}",
        Completion("Hello.", cost_usd=0.0015),
        Completion("Hello.", cost_usd=0.0031),
    ),
)
LATENCY = _check(
    """
The request took at most `max_ms` milliseconds, without waiting for a free slot.

If the time is unknown, the check is undetermined. For the 95th percentile, use `slo:
{latency_p95_ms: …}`.
""",
    _MAX_MS,
    lambda completion, _: completion.latency_ms,
    (
        "the provider did not report how long the request took",
        lambda most, took: (
            f"expected at most {milliseconds(most)}; the request took {milliseconds(took)}"
        ),
    ),
    Example(
        "{type: latency, max_ms: 4000}",
        Completion("Yes.", latency_ms=800),
        Completion("Yes.", latency_ms=4100),
    ),
)
_CALLING, _LAST = Turn("", calling(("find_order", "{}"))), Turn("", Completion("Yes."))
STEPS = _check(
    """
The model gave at most `max` answers: those that call tools, and the last one.

The contract's [`max_steps`](agents.md) ends a longer run, this check makes it fail. To limit the
calls, use [tool_call](#tool_call).
""",
    ("max", _NUMBER, "The most answers that pass."),
    lambda completion, _: len(completion.turns) or 1,
    (
        "the number of answers is not known",
        lambda most, steps: f"expected at most {most:g} steps; the model took {steps}",
    ),
    Example(
        "{type: steps, max: 2}",
        Completion("Yes.", turns=(_CALLING, _LAST)),
        Completion("Yes.", turns=(_CALLING, _CALLING, _LAST)),
    ),
)
TTFT = _check(
    """
The first token of the answer came within `max_ms` milliseconds.

Answers are streamed to measure it; a model that cannot stream is an error before any call ([time to
first token](objectives.md#time-to-first-token)). An unknown time is undetermined.
""",
    _MAX_MS,
    lambda completion, _: completion.ttft_ms,
    (
        "the time to the first token was not measured",
        lambda most, took: (
            f"expected the first token within {milliseconds(most)}; "
            f"got it after {milliseconds(took)}"
        ),
    ),
    Example(
        "{type: ttft, max_ms: 800}",
        Completion("Hello.", ttft_ms=300.0),
        Completion("Hello.", ttft_ms=900.0),
    ),
)


def _tokens(completion: Completion, params: Parameters) -> int | None:
    of = params.get("of", "both")
    if of == "both":
        return completion.tokens
    return completion.prompt_tokens if of == "prompt" else completion.completion_tokens


TOKENS = _check(
    """
The call used at most `max` tokens.

The check is undetermined if the provider reports no tokens. For the answer alone, use
[length](#length) with `unit: tokens`.
""",
    ("max", _NUMBER, "The largest number of tokens that passes."),
    _tokens,
    (
        "the provider did not report the number of tokens",
        lambda most, used: f"expected at most {most:,} tokens; the call used {used:,}",
    ),
    Example(
        "{type: tokens, max: 500}",
        Completion("Hello.", prompt_tokens=400, completion_tokens=80),
        Completion("Hello.", prompt_tokens=400, completion_tokens=120),
    ),
    of={
        "enum": ["both", "prompt", "answer"],
        "default": "both",
        "description": "Which tokens count: the tokens of the `prompt`, of the `answer`, or both.",
    },
)
