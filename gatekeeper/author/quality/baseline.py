"""Asks for test inputs from the prompt alone, without its rules, to compare with.

This is the zero-shot baseline of the PromptPex paper. The tests stand in the fixture file with
`category: baseline`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gatekeeper.author.generation.ask import Asker
from gatekeeper.author.generation.files import BASELINE, FixtureRow, fixture_row, with_results
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.generation.run import GeneratedItems, GenerationPlan
from gatekeeper.author.generation.tests import without_near_duplicates
from gatekeeper.author.specification.merge import merge_items
from gatekeeper.author.specification.spec_file import GeneratedTest
from gatekeeper.contract.prompts.render import render_all
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.errors import ContractError
from gatekeeper.numbers import count as counted

TESTS_AT_ONCE = 10
"""Tests of one call: more would not fit into one answer."""


async def with_baseline_tests(
    plan: GenerationPlan, asker: Asker, items: GeneratedItems, count: int
) -> GeneratedItems:
    """Return the items with up to `count` baseline tests in place of earlier ones. What a person
    changed, added or removed of them stays so. Raises as `Asker.ask` does."""
    tests = await write_baseline_tests(asker, plan.prompt, count)
    made = items.specification.made
    before = {name: known for name, known in made.items() if name.startswith(BASELINE)}
    merged = merge_items(
        before,
        tuple(row for row in items.rows if row.is_baseline),
        tuple(map(fixture_row, tests)),
        lambda row: row.digest,
    )
    rest = {name: known for name, known in made.items() if name not in before}
    notices = list(items.notices)
    if len(tests) < count:
        notices.append(
            f"{counted(count - len(tests), 'baseline test')} missing: the model "
            "wrote too few usable tests. A test is usable if it differs from all other "
            "tests and gatekeeper can render the prompt with it."
        )
    others: tuple[FixtureRow, ...] = tuple(row for row in items.rows if not row.is_baseline)
    return replace(
        items,
        specification=replace(items.specification, made={**rest, **merged.made}),
        rows=(*others, *with_results(merged.items, items.rows)),
        notices=tuple(notices),
    )


async def write_baseline_tests(
    asker: Asker, prompt: NumberedPrompt, count: int
) -> tuple[GeneratedTest, ...]:
    """Return up to `count` tests that differ and that the prompt can be rendered with. Each call
    shows what the calls before it wrote. Raises as `Asker.ask` does."""
    found: tuple[GeneratedTest, ...] = ()
    values = prompt.values_schema()
    while len(found) < count:
        wanted = min(TESTS_AT_ONCE, count - len(found))
        data, settings = _question(prompt, found), {"count": str(wanted)}
        answer = await asker.ask("baseline_tests", data, settings, values=values)
        drafts = [_test(row) for row in answer["tests"][:wanted]]
        new, _ = without_near_duplicates(_renderable(prompt, drafts, len(found)), found)
        if not new:
            break
        found = (*found, *new)
    return tuple(replace(test, id=f"{BASELINE}{n}") for n, test in enumerate(found, start=1))


def _question(prompt: NumberedPrompt, found: Sequence[GeneratedTest]) -> dict[str, str]:
    written = "\n".join(f"- {test.scenario}" for test in found)
    return {**prompt.data, "written": written} if written else dict(prompt.data)


def _test(row: Mapping[str, Any]) -> GeneratedTest:
    scenario = row["scenario"]
    return GeneratedTest("", "", "baseline", "typical", scenario, "", dict(row["vars"]))


def _renderable(
    prompt: NumberedPrompt, tests: Sequence[GeneratedTest], first: int
) -> list[GeneratedTest]:
    """Return the tests that can be sent, with ids that count on from `first`."""
    rendered = render_all(prompt.prompt, [test.vars for test in tests], Budget())
    named = enumerate(zip(tests, rendered, strict=True), start=first)
    return [
        replace(test, id=f"new {number}")
        for number, (test, messages) in named
        if not isinstance(messages, ContractError)
        and any(str(value).strip() for value in test.vars.values())
    ]
