"""Compares a prompt with its specification: how alike do they behave on baseline tests?

The specification as a prompt says what the task is and which rules the output has to obey. If it
behaves as the prompt does, it says what the prompt says. This is the agreement of the PromptPex
paper, which compares outputs by the cosine of their embeddings; the paired test on compliance is an
addition. Baseline tests, its zero-shot baseline, are written from the prompt alone and stand in the
fixture file with `category: baseline`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gatekeeper.author.generation.ask import Asker, ask_together
from gatekeeper.author.generation.files import (
    BASELINE,
    FixtureRow,
    contract_check,
    fixture_row,
    with_results,
)
from gatekeeper.author.generation.items import numbered_rules
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt, render_each
from gatekeeper.author.generation.questions import SEED
from gatekeeper.author.generation.rule_checks import prepare_rule_check
from gatekeeper.author.generation.run import Generated, GenerationPlan
from gatekeeper.author.generation.tests import without_near_duplicates
from gatekeeper.author.quality.judges import Panel
from gatekeeper.author.specification.merge import merge_items
from gatekeeper.author.specification.spec_file import GeneratedTest, Rule, Specification
from gatekeeper.contract.checks.embeddings import comparison_request, read_cosine
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request
from gatekeeper.numbers import count as counted
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.intervals import rate_interval
from gatekeeper.stats.paired.mcnemar import mcnemar_exact

MOST_COMPARED = 50
"""Baseline tests on which the prompt and its specification are compared."""
_WORD = re.compile(r"\w+")
_LONGEST = 100_000
"""Characters of a text whose embedding is asked for."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One baseline test. `cosine` is None if an output is missing, `prompt` and `specification` say
    whether its output obeys every rule, None if that is unknown."""

    id: str
    cosine: float | None
    prompt: bool | None
    specification: bool | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How alike a prompt and its specification behave. `model` ran both, `embeddings` compared the
    outputs; None if their words did."""

    model: str
    embeddings: str | None
    tests: tuple[Compared, ...] = field(default=())

    @property
    def cosines(self) -> tuple[float, ...]:
        """Return the cosines that are known."""
        return tuple(one.cosine for one in self.tests if one.cosine is not None)

    @property
    def cosine(self) -> float | None:
        """Return the mean cosine; None without any."""
        known = self.cosines
        return math.fsum(known) / len(known) if known else None

    def count(self, prompt: bool, specification: bool) -> int:
        """Return on how many tests the two comply so."""
        return sum((one.prompt, one.specification) == (prompt, specification) for one in self.tests)

    @property
    def known(self) -> int:
        """Return on how many tests the compliance of both is known."""
        return sum(self.count(one, other) for one in (True, False) for other in (True, False))

    @property
    def alike(self) -> int:
        """Return on how many tests both comply, or neither does."""
        return self.count(True, True) + self.count(False, False)

    @property
    def interval(self) -> ConfidenceInterval | None:
        """Return the 95 % interval of the share of tests on which both comply alike."""
        return rate_interval(self.alike, self.known)

    @property
    def p_value(self) -> float:
        """Return McNemar's exact two-sided p-value for a difference in compliance. Tests whose
        compliance is unknown count in the way that speaks least for a difference."""
        broke, fixed = self.count(True, False), self.count(False, True)
        open_ = len(self.tests) - self.known
        return max(
            mcnemar_exact(broke + more, fixed + other, "two-sided")
            for more in range(open_ + 1)
            for other in range(open_ + 1 - more)
        )


async def measure_agreement(
    plan: GenerationPlan,
    asker: Asker,
    panel: Panel,
    specification: Specification,
    rows: Sequence[FixtureRow],
    model: str,
    embeddings: str | None,
) -> Agreement:
    """Run the prompt and its specification on up to 50 baseline tests. Raises as `Panel.ask`
    does."""
    prompt = plan.prompt.prompt
    chosen = [row for row in rows if row.is_baseline and isinstance(row.data.get("vars"), dict)]
    sound, _ = render_each(prompt, chosen[:MOST_COMPARED])
    comply = _compliance(plan, panel, specification.rules)

    async def compare(row: FixtureRow, messages: tuple[Message, ...]) -> Compared:
        own = Request(model, messages, prompt.params, SEED, 0)
        said = specification_messages(specification, row.vars)
        other = Request(model, said, prompt.params, SEED, 0)
        one, two = await ask_together(
            *(asker.text(request, "agreement") for request in (own, other))
        )
        judged = await ask_together(comply(one), comply(two))
        return Compared(row.id, await _cosine(asker, one, two, embeddings), *judged)

    compared = await ask_together(*(compare(row, messages) for row, messages in sound))
    return Agreement(model, embeddings, tuple(compared))


def specification_messages(
    specification: Specification, variables: Mapping[str, object]
) -> tuple[Message, ...]:
    """Return a specification as the messages of a prompt: its intent and its rules, and the
    values."""
    rules = "\n".join(f"- {rule.text}" for rule in specification.rules)
    values = [v if len(variables) == 1 else f"{n}: {v}" for n, v in variables.items()]
    return (
        Message("system", f"{specification.intent}\n\nRules for the output:\n{rules}".strip()),
        Message("user", "\n".join(map(str, values))),
    )


def word_cosine(one: str, other: str) -> float:
    """Return the cosine of two texts by the sets of their words, from 0 to 1. Texts without words
    are alike only if they are the same."""
    first, second = set(_words(one)), set(_words(other))
    if not first or not second:
        return 1.0 if one.strip() == other.strip() else 0.0
    return len(first & second) / math.sqrt(len(first) * len(second))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _compliance(
    plan: GenerationPlan, panel: Panel, rules: Sequence[Rule]
) -> Callable[[str | None], Coroutine[None, None, bool | None]]:
    """Return what says whether an output obeys every rule; None if that is open."""
    checks = [
        prepare_rule_check(contract_check(rule), plan.revision, plan.places.contract)
        for rule in rules
        if rule.check is not None
    ]
    judged = [rule for rule in rules if rule.check is None]

    async def comply(output: str | None) -> bool | None:
        if output is None:
            return None
        found = [check(output) for check in checks]
        if judged and False not in found:
            data = {"rules": numbered_rules(judged), "output": output}
            verdicts = await panel.ask_of_each("rules_obeyed", data, len(judged))
            found += [verdict.answer for verdict in verdicts]
        return False if False in found else None if None in found else True

    return comply


async def _cosine(
    asker: Asker, one: str | None, other: str | None, embeddings: str | None
) -> float | None:
    if one is None or other is None:
        return None
    if embeddings is None or not one.strip() or not other.strip():
        return word_cosine(one, other)
    request = comparison_request(embeddings, one[:_LONGEST], other[:_LONGEST])
    answer = await asker.text(request, "cosine")
    return None if answer is None else read_cosine(answer)


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
