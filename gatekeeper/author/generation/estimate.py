"""Forecasts the calls of a generation, and what they cost at most."""

from __future__ import annotations

from collections.abc import Iterator

from gatekeeper.author.generation import input_specification, open_questions, rules, tests
from gatekeeper.author.generation.ask import stage_request
from gatekeeper.author.generation.run import MOST_SAMPLES, GenerateOptions, GenerationPlan
from gatekeeper.numbers import count, dollars
from gatekeeper.providers.cost_estimate import worst_cost

ASSUMED_RULES = 10
"""Of a prompt for which there is no specification yet."""
STAGES = 5
"""The calls that do not depend on the number of rules."""


def estimate_lines(plan: GenerationPlan, options: GenerateOptions) -> Iterator[str]:
    """Yield how many calls a run makes and their highest possible cost, if prices are known. Calls
    that repeat a question after an unusable answer are not counted."""
    known = len(plan.present.specification.rules)
    number = known or ASSUMED_RULES
    samples = MOST_SAMPLES if options.prove_with else 0
    calls = STAGES + number + samples
    basis = "as in the specification" if known else "assumed"
    yield f"{count(number, 'rule')} ({basis}): {count(calls, 'call')}"
    cost = _cost(plan, options, number)
    limit = plan.policy.limits.cost_usd
    if cost is None:
        yield f"The price of {options.model} is not known."
        return
    yield f"At most {dollars(cost)} for the calls to {options.model}."
    if limit is not None:
        yield f"The run ends at the policy's limit of {dollars(limit)}."


def _cost(plan: GenerationPlan, options: GenerateOptions, number: int) -> float | None:
    """Return the highest cost of the calls to the model that generates."""
    data, model = plan.prompt.data, options.model
    schema = tests.answer_schema(plan.prompt)
    once = [
        stage_request(input_specification.STAGE, data, input_specification.SCHEMA, {}, model),
        stage_request(open_questions.STAGE, data, open_questions.SCHEMA, {}, model),
        *(stage_request(rules.STAGE, data, rules.SCHEMA, {}, model) for _ in range(3)),
    ]
    settings = {"count": str(options.tests_per_rule)}
    prices = [worst_cost(request) for request in once]
    prices += [worst_cost(stage_request(tests.STAGE, data, schema, settings, model))] * number
    known = [price for price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None
