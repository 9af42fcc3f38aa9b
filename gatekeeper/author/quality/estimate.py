"""Forecasts the calls of the steps that follow a generation, and what they cost at most."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gatekeeper.author.cost_words import cost_lines
from gatekeeper.author.generation.ask import stage_request
from gatekeeper.author.generation.estimate import ASSUMED_RULES, ASSUMED_TEXT, assumed_sample
from gatekeeper.author.generation.run import GenerateOptions, GenerationPlan
from gatekeeper.author.generation.tests import variables_schema
from gatekeeper.author.quality import agreement, baseline, ground_truth, groundedness, validity
from gatekeeper.author.quality.judges import (
    VERDICT,
    VERDICT_TOKENS,
    VERDICTS,
    VERDICTS_TOKENS,
)
from gatekeeper.author.quality.options import MOST_COMPARED, QualityOptions
from gatekeeper.contract.checks.embeddings import comparison_request
from gatekeeper.contract.values.trial import Request
from gatekeeper.numbers import count


def quality_estimate_lines(
    plan: GenerationPlan, options: GenerateOptions, quality: QualityOptions
) -> Iterator[str]:
    """Yield how many calls the steps make and their highest possible cost, if prices are known.
    Calls that repeat a question after an unusable answer are not counted."""
    calls = [found for found in _requests(plan, options, quality) if found[1]]
    total = sum(number for _, number in calls)
    yield f"Steps for baseline tests, quality and ground truth: at most {count(total, 'call')}"
    yield from cost_lines(calls, [request for request, number in calls for _ in range(number)])


def _requests(
    plan: GenerationPlan, options: GenerateOptions, quality: QualityOptions
) -> Iterator[tuple[Request, int]]:
    """Yield a request like those of each step, and how many there are."""
    data = dict(plan.prompt.data)
    rules = len(plan.present.specification.rules) or ASSUMED_RULES
    present = plan.present.fixtures
    own = 2 * rules * options.tests_per_rule
    if options.as_is:
        own = sum(not row.is_baseline for row in present)
    base = quality.baseline or sum(row.is_baseline for row in present)
    text = {"a": ASSUMED_TEXT}
    prompt = plan.prompt.prompt
    if quality.baseline:
        schema = baseline.schema_with(variables_schema(plan.prompt))
        settings = {"count": str(baseline.BATCH)}
        request = stage_request(baseline.STAGE, data, schema, settings, options.model)
        yield request, math.ceil(quality.baseline / baseline.BATCH)
    for judge in quality.judges:
        grounded, valid, right = (
            stage_request(stage, asked, VERDICT, {}, judge, VERDICT_TOKENS)
            for stage, asked in (
                (groundedness.STAGE, data),
                (validity.STAGE, text),
                (ground_truth.STAGE, {**data, **text}),
            )
        )
        if quality.check:
            yield grounded, rules
            yield valid, own + base
            many = stage_request(agreement.STAGE, text, VERDICTS, {}, judge, VERDICTS_TOKENS)
            yield many, 2 * min(base, MOST_COMPARED)
        if quality.ground_truth:
            yield right, own + base
    if quality.check and base:
        yield assumed_sample(quality.model, prompt, prompt.params), 2 * min(base, MOST_COMPARED)
        if quality.embeddings:
            pair = comparison_request(quality.embeddings, ASSUMED_TEXT, ASSUMED_TEXT)
            yield pair, min(base, MOST_COMPARED)
    if quality.ground_truth:
        yield assumed_sample(quality.ground_truth, prompt, prompt.params), own + base
