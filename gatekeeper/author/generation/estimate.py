"""Forecasts the calls of a generation, and what they cost at most."""

from __future__ import annotations

from collections.abc import Iterator

from gatekeeper.author.generation import input_specification, open_questions, rules, tests
from gatekeeper.author.generation.ask import stage_request
from gatekeeper.author.generation.collection import MOST_MISSING
from gatekeeper.author.generation.effort import EFFORTS, Effort
from gatekeeper.author.generation.run import MOST_SAMPLES, GenerateOptions, GenerationPlan
from gatekeeper.author.generation.update import plan_update
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
    stages, basis = STAGES, "as in the specification" if known else "assumed"
    if options.update:
        step = plan_update(plan)
        if not step.needs_model:
            yield "No line of the prompt changed: 0 calls"
            return
        changed = len(step.changes.changed)
        number = len({*step.rules.affected, *step.to_retest}) + changed
        stages = step.stages + (2 if step.rules.affected or changed else 0)
        basis = f"assuming {count(changed, 'new rule')}, one for each changed line"
    yield f"{count(number, 'rule')} ({basis}): {_calls(plan, options, number, stages, samples)}"
    cost = _cost(plan, options, number, stages)
    limit = plan.policy.limits.cost_usd
    if cost is None:
        yield f"The price of {options.model} is not known."
        return
    yield f"At most {dollars(cost)} for the calls to {options.model}."
    if limit is not None:
        yield f"The run ends at the policy's limit of {dollars(limit)}."


def _calls(
    plan: GenerationPlan, options: GenerateOptions, rules: int, stages: int, samples: int
) -> str:
    """Return the number of calls, and that of other efforts."""
    scenarios = len(plan.present.specification.wishes.scenarios) or 1

    def of(effort: Effort) -> int:
        rating = 1 + MOST_MISSING if effort.rates else 0
        return stages + samples + rules * (scenarios + effort.expands) + rating

    said = f"at most {count(of(options.effort), 'call')}"
    others = ", ".join(f"{name} {of(effort)}" for name, effort in EFFORTS.items())
    return f"{said} (at each --effort: {others})"


def _cost(plan: GenerationPlan, options: GenerateOptions, number: int, stages: int) -> float | None:
    """Return the highest cost of the calls to the model that generates."""
    data, model = plan.prompt.data, options.model
    schema = tests.answer_schema(plan.prompt)
    once = [
        stage_request(input_specification.STAGE, data, input_specification.SCHEMA, {}, model),
        stage_request(open_questions.STAGE, data, open_questions.SCHEMA, {}, model),
        *(stage_request(rules.STAGE, data, rules.SCHEMA, {}, model) for _ in range(3)),
    ][:stages]
    settings = {"count": str(options.tests_per_rule)}
    prices = [worst_cost(request) for request in once]
    each = worst_cost(stage_request(tests.STAGE, data, schema, settings, model))
    effort, scenarios = options.effort, len(plan.present.specification.wishes.scenarios) or 1
    further = 1 + MOST_MISSING if effort.rates else 0
    prices += [each] * (number * (scenarios + effort.expands) + further)
    known = [price for price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None
