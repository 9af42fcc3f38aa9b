"""Forecasts the calls of `generate`, its later steps and `mutate`, and what they cost: about, and
at most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gatekeeper.author.generation.earlier_tests import find_earlier_tests
from gatekeeper.author.generation.questions import QUESTIONS, SEED
from gatekeeper.author.generation.run import (
    MOST_SAMPLES,
    GenerateOptions,
    GenerationPlan,
    plan_update,
)
from gatekeeper.author.generation.tests import EFFORTS, MOST_MISSING, Effort
from gatekeeper.author.quality.agreement import MOST_COMPARED, TESTS_AT_ONCE
from gatekeeper.author.quality.run import QualityOptions
from gatekeeper.contract.checks.embeddings import comparison_request
from gatekeeper.contract.values.definition import Message, Prompt
from gatekeeper.contract.values.trial import Request
from gatekeeper.numbers import count, dollars
from gatekeeper.providers.models.cost_estimate import expected_cost, worst_cost


class Planned(NamedTuple):
    """So many requests of one kind, with an answer of a usual length and with the longest one."""

    usual: Request
    most: Request
    number: int = 1


def cost_lines(planned: Iterable[Planned], share: float = 1.0) -> list[str]:
    """Return what the calls cost, and which models have no known price. `share` of them are
    expected to be made."""
    each = [(expected_cost(one.usual), worst_cost(one.most), one) for one in planned if one.number]
    unknown = {one.most.model for *costs, one in each if None in costs}
    lines = [f"The price of {', '.join(sorted(unknown))} is not known."] if unknown else []
    if all(worst is None for _, worst, _ in each):
        return lines
    usual = share * math.fsum((cost or 0.0) * one.number for cost, _, one in each)
    highest = math.fsum((worst or 0.0) * one.number for _, worst, one in each)
    limit = f"at most {dollars(highest)}" if math.isfinite(highest) else "without an upper limit"
    others = " for the other models" if unknown else ""
    return [*lines, f"Cost{others}: about {dollars(min(usual, highest))}, {limit}"]


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
        changed, affected = len(step.changes.changed), step.carried["rules"].affected
        number = len({*affected, *step.to_retest}) + changed
        again = 1 if step.earlier.to_invert else 0
        stages = step.stages + (2 if affected or changed else again)
        basis = f"assuming {count(changed, 'new rule')}, one for each changed line"

    scenarios = len(plan.present.specification.wishes.scenarios)

    def of_tests(effort: Effort) -> int:
        """Return the most calls that write and improve the tests."""
        complete = 0 if options.update else _complete(plan, effort)
        return effort.calls(number - complete, scenarios) + (MOST_MISSING if effort.rates else 0)

    most = {name: stages + samples + of_tests(effort) for name, effort in EFFORTS.items()}
    each = ", ".join(f"{name} {calls}" for name, calls in most.items())
    calls = count(stages + samples + of_tests(options.effort), "call")
    yield f"{count(number, 'rule')} ({basis}): at most {calls} (calls for each --effort: {each})"
    planned = list(_requests(plan, options, of_tests(options.effort), stages))
    yield from cost_lines(planned)
    limit = plan.policy.limits.cost_usd
    if limit is not None and all(worst_cost(one.most) is not None for one in planned):
        yield f"The run stops when it reaches the policy's limit of {dollars(limit)}."


def _complete(plan: GenerationPlan, effort: Effort) -> int:
    """Return the number of rules that have tests of more effort."""
    present = plan.present
    earlier = find_earlier_tests(plan.prompt, present.specification, present.fixtures, effort)
    return len(earlier.complete)


def _requests(
    plan: GenerationPlan, options: GenerateOptions, of_tests: int, stages: int
) -> Iterator[Planned]:
    prompt, settings = plan.prompt, {"count": str(options.effort.tests_per_rule)}
    for name in ("input_specification", "open_questions", "rules", "rules", "rules")[:stages]:
        yield planned_question(name, options.model, prompt.data)
    values = prompt.values_schema()
    each = planned_question("tests", options.model, prompt.data, settings, values=values)
    yield each._replace(number=of_tests)
    if options.prove_with:
        sample = assumed_sample(options.prove_with, prompt.prompt, prompt.prompt.params)
        yield Planned(sample, sample, MOST_SAMPLES)


def planned_question(name: str, *asked: Any, **more: Any) -> Planned:
    """Return a question of the table, asked with these arguments of `Question.request`."""
    question = QUESTIONS[name]
    usual = question.request(*asked, **more, most_tokens=USUAL_TOKENS)
    return Planned(usual, question.request(*asked, **more))


def assumed_sample(model: str, prompt: Prompt, params: Mapping[str, Any]) -> Request:
    """Return a request like those that run the prompt, with an input that is not there yet."""
    return Request(model, (Message("user", f"{prompt.text}{ASSUMED_TEXT}"),), params, SEED, 0)


def quality_estimate_lines(
    plan: GenerationPlan, options: GenerateOptions, quality: QualityOptions
) -> Iterator[str]:
    """Yield how many calls the steps make and their highest possible cost, if prices are known.
    Calls that repeat a question after an unusable answer are not counted."""
    calls = list(_quality_requests(plan, options, quality))
    total = sum(number for _, number in calls)
    yield f"Steps for baseline tests, quality and ground truth: at most {count(total, 'call')}"
    yield from cost_lines(Planned(request, request, number) for request, number in calls)


def _quality_requests(
    plan: GenerationPlan, options: GenerateOptions, quality: QualityOptions
) -> Iterator[tuple[Request, int]]:
    """Yield a request like those of each step, and how many there are."""
    data, prompt = plan.prompt.data, plan.prompt.prompt
    rules = len(plan.present.specification.rules) or ASSUMED_RULES
    present = plan.present.fixtures
    own = 2 * rules * options.effort.tests_per_rule
    if options.as_is:
        own = sum(not row.is_baseline for row in present)
    base = quality.baseline or sum(row.is_baseline for row in present)
    compared = min(base, MOST_COMPARED)
    text = {"a": ASSUMED_TEXT}
    if quality.baseline:
        settings, values = {"count": str(TESTS_AT_ONCE)}, plan.prompt.values_schema()
        question = QUESTIONS["baseline_tests"]
        request = question.request(options.model, data, settings, values=values)
        yield request, math.ceil(quality.baseline / TESTS_AT_ONCE)
    for judge in quality.judges:
        if quality.check:
            yield QUESTIONS["rule_grounded"].request(judge, data), rules
            yield QUESTIONS["test_valid"].request(judge, text), own + base
            yield QUESTIONS["rules_obeyed"].request(judge, text), 2 * compared
        if quality.ground_truth:
            yield QUESTIONS["answer_correct"].request(judge, {**data, **text}), own + base
    if quality.check and base:
        yield assumed_sample(quality.model, prompt, prompt.params), 2 * compared
        if quality.embeddings:
            yield comparison_request(quality.embeddings, ASSUMED_TEXT, ASSUMED_TEXT), compared
    if quality.ground_truth:
        yield assumed_sample(quality.ground_truth, prompt, prompt.params), own + base
