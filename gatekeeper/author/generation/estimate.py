"""Forecasts the calls of a generation, and what they cost at most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gatekeeper.author.cost_words import cost_lines
from gatekeeper.author.generation import input_specification, open_questions, rules, tests
from gatekeeper.author.generation.ask import MOST_TOKENS, SEED, stage_request
from gatekeeper.author.generation.collection import MOST_MISSING
from gatekeeper.author.generation.effort import EFFORTS, Effort
from gatekeeper.author.generation.outdated_tests import find_earlier_tests
from gatekeeper.author.generation.run import MOST_SAMPLES, GenerateOptions, GenerationPlan
from gatekeeper.author.generation.update import plan_update
from gatekeeper.contract.values.definition import Message, Prompt
from gatekeeper.contract.values.trial import Request
from gatekeeper.numbers import count, dollars
from gatekeeper.providers.models.cost_estimate import worst_cost

ASSUMED_RULES = 10
"""Of a prompt for which there is no specification yet."""
STAGES = 5
"""The calls that do not depend on the number of rules."""
USUAL_TOKENS = 600
"""Of an answer of a stage."""
ASSUMED_TEXT = "x" * 1_000
"""An input or an output that is not there yet."""


def estimate_lines(plan: GenerationPlan, options: GenerateOptions) -> Iterator[str]:
    """Yield how many calls a run makes and what they cost, if prices are known. Calls that repeat
    a question after an unusable answer are not counted."""
    known = len(plan.present.specification.rules)
    number = known or ASSUMED_RULES
    samples = MOST_SAMPLES if options.prove_with else 0
    stages, basis = STAGES, "as in the specification" if known else "assumed"
    if options.update:
        step = plan_update(plan)
        if not step.needs_model:
            yield "No line of the prompt and no rule changed, so the update makes 0 calls"
            return
        changed = len(step.changes.changed)
        number = len({*step.rules.affected, *step.to_retest}) + changed
        again = 1 if step.earlier.to_invert else 0
        stages = step.stages + (2 if step.rules.affected or changed else again)
        basis = f"assuming {count(changed, 'new rule')}, one for each changed line"

    def tested(effort: Effort) -> int:
        return number if options.update else number - _complete(plan, effort)

    yield f"{count(number, 'rule')} ({basis}): {_calls(plan, options, tested, stages + samples)}"
    own = tested(options.effort)
    usual = _requests(plan, options, own, stages, USUAL_TOKENS)
    most = _requests(plan, options, own, stages)
    yield from cost_lines([(request, 1.0) for request in usual], most)
    limit = plan.policy.limits.cost_usd
    if limit is not None and all(worst_cost(request) is not None for request in most):
        yield f"The run stops when it reaches the policy's limit of {dollars(limit)}."


def _complete(plan: GenerationPlan, effort: Effort) -> int:
    """Return the number of rules that have tests of more effort."""
    present = plan.present
    earlier = find_earlier_tests(plan.prompt, present.specification, present.fixtures, effort)
    return len(earlier.complete)


def _calls(
    plan: GenerationPlan, options: GenerateOptions, tested: Callable[[Effort], int], others: int
) -> str:
    """Return the number of calls, and that of other efforts. `tested` returns for how many rules
    tests are written; `others` are calls about something else."""

    def of(effort: Effort) -> int:
        return others + _calls_about_tests(plan, effort, tested(effort))

    said = f"at most {count(of(options.effort), 'call')}"
    each = ", ".join(f"{name} {of(effort)}" for name, effort in EFFORTS.items())
    return f"{said} (calls for each --effort: {each})"


def _calls_about_tests(plan: GenerationPlan, effort: Effort, rules: int) -> int:
    """Return the most calls that write and improve the tests of so many rules."""
    scenarios = len(plan.present.specification.wishes.scenarios)
    return effort.calls(rules, scenarios) + (MOST_MISSING if effort.rates else 0)


def _requests(
    plan: GenerationPlan,
    options: GenerateOptions,
    number: int,
    stages: int,
    tokens: int = MOST_TOKENS,
) -> list[Request]:
    """Return the requests, with answers of at most so many tokens."""
    data, model = plan.prompt.data, options.model
    schema = tests.answer_schema(plan.prompt)
    about = (
        (input_specification.STAGE, input_specification.SCHEMA),
        (open_questions.STAGE, open_questions.SCHEMA),
        *((rules.STAGE, rules.SCHEMA) for _ in range(3)),
    )
    once = [stage_request(stage, data, known, {}, model, tokens) for stage, known in about]
    settings = {"count": str(options.tests_per_rule)}
    each = stage_request(tests.STAGE, data, schema, settings, model, tokens)
    found = [*once[:stages], *[each] * _calls_about_tests(plan, options.effort, number)]
    if options.prove_with:
        prompt = plan.prompt.prompt
        found += [assumed_sample(options.prove_with, prompt, prompt.params)] * MOST_SAMPLES
    return found


def assumed_sample(model: str, prompt: Prompt, params: Mapping[str, Any]) -> Request:
    """Return a request like those that run the prompt, with an input that is not there yet."""
    return Request(model, (Message("user", f"{prompt.text}{ASSUMED_TEXT}"),), params, SEED, 0)
