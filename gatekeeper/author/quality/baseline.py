"""Asks for test inputs from the prompt alone, without its rules, to compare with.

This is the zero-shot baseline of the PromptPex paper. The tests stand in the fixture file with
`category: baseline`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gatekeeper.author.generation.ask import Asker
from gatekeeper.author.generation.files import BASELINE, fixture_row, with_results
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt, render_each
from gatekeeper.author.generation.run import Generated, GenerationPlan
from gatekeeper.author.generation.tests import without_near_duplicates
from gatekeeper.author.specification.merge import merge_items
from gatekeeper.author.specification.spec_file import GeneratedTest
from gatekeeper.numbers import count as counted

TESTS_AT_ONCE = 10
"""Tests of one call: more would not fit into one answer."""


async def with_baseline_tests(
    plan: GenerationPlan, asker: Asker, items: Generated, count: int
) -> Generated:
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
    others = [row for row in items.rows if not row.is_baseline]
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
        written = {"written": "\n".join(f"- {test.scenario}" for test in found)} if found else {}
        data, settings = {**prompt.data, **written}, {"count": str(wanted)}
        answer = await asker.ask("baseline_tests", data, settings, values=values)
        drafts = [_test(n, row) for n, row in enumerate(answer["tests"][:wanted], len(found))]
        sound = [test for test, _ in render_each(prompt.prompt, drafts)[0] if _has_text(test)]
        new, _ = without_near_duplicates(sound, found)
        if not new:
            break
        found = (*found, *new)
    return tuple(replace(test, id=f"{BASELINE}{n}") for n, test in enumerate(found, start=1))


def _test(number: int, row: Mapping[str, Any]) -> GeneratedTest:
    scenario, values = row["scenario"], dict(row["vars"])
    return GeneratedTest(f"new {number}", "", "baseline", "typical", scenario, "", values)


def _has_text(test: GeneratedTest) -> bool:
    return any(str(value).strip() for value in test.vars.values())
