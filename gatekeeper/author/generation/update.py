"""Keeps a specification, its tests and its contract in step with a prompt whose lines changed.

Only what follows from changed lines is asked for again. Rules on other lines keep their id, text,
check and tests as they are; if their lines moved, they get the new numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gatekeeper.author.generation.ask import Asker
from gatekeeper.author.generation.effort import Effort
from gatekeeper.author.generation.files import FixtureRow, as_tests, contract_models, fixture_row
from gatekeeper.author.generation.input_specification import PREFIX as INPUT
from gatekeeper.author.generation.open_questions import PREFIX as QUESTION
from gatekeeper.author.generation.outdated_tests import (
    EarlierTests,
    category_of,
    find_earlier_tests,
    without_cleared,
    written_entries,
)
from gatekeeper.author.generation.rule_checks import propose_checks, prove_checks
from gatekeeper.author.generation.rules import rule_ids
from gatekeeper.author.generation.run import (
    INTENT,
    KEPT_FOR_PERSON,
    PROMPT,
    REMOVED_BY_PERSON,
    GeneratedItems,
    GenerateOptions,
    GenerationPlan,
    dropped_notice,
    invert_with_edited,
    made_of,
    prompt_digests,
    require_tests,
    sample_outputs,
    usable_tests,
)
from gatekeeper.author.generation.update_items import (
    CONSTRAINTS,
    QUESTIONS,
    RULES,
    Updated,
    must_ask,
    update_items,
)
from gatekeeper.author.specification.merge import content_digest, merge_items, merge_text, said_of
from gatekeeper.author.specification.prompt_lines import LineChanges, compare_lines
from gatekeeper.author.specification.records import (
    GeneratedTest,
    InputConstraint,
    OpenQuestion,
    Rule,
    Specification,
)
from gatekeeper.author.specification.unchanged_items import Carried, carry_over
from gatekeeper.errors import UsageError
from gatekeeper.numbers import count


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """What a change of the prompt's lines leaves as it is, and the tests that a person's change of
    a rule, or another variable of the prompt, makes outdated."""

    changes: LineChanges
    input: Carried[InputConstraint]
    rules: Carried[Rule]
    questions: Carried[OpenQuestion]
    earlier: EarlierTests

    @property
    def to_retest(self) -> frozenset[str]:
        """Return the rules whose tests are written again although their lines did not change."""
        return self.earlier.unsendable | self.earlier.outdated.keys()

    @property
    def stages(self) -> int:
        """Return the number of questions about the specification."""
        kinds = (self.input.affected, self.rules.affected, self.questions.affected)
        return sum(must_ask(affected, self.changes) for affected in kinds)

    @property
    def needs_model(self) -> bool:
        """Return whether a model has to be asked."""
        return bool(self.stages or self.earlier.unsendable or self.earlier.need_model)


def plan_update(plan: GenerationPlan) -> UpdatePlan:
    """Find what changed since the specification was made. Calls no model.

    Raises UsageError if there is no specification, or if it does not say from which text it was
    made.
    """
    before, place = plan.present.specification, plan.places.specification
    if plan.present.contents.get(place) is None:
        raise UsageError(
            f"{plan.prompt.reference} has no specification {place} yet; run the command without "
            "--update"
        )
    changes = compare_lines(before.made.get(PROMPT, ""), prompt_digests(plan.prompt))
    if changes is None:
        raise UsageError(
            f"{place}: `made.{PROMPT}` does not say from which lines of {plan.prompt.reference} "
            "the specification was generated; run the command once without --update"
        )
    made = before.made
    own = {name: made[name] for name in rule_ids(before) if name in made}
    return UpdatePlan(
        changes,
        carry_over(before.input, made_of(made, INPUT), changes),
        carry_over(before.rules, own, changes),
        carry_over(before.questions, made_of(made, QUESTION), changes),
        find_earlier_tests(plan.prompt, before, plan.present.fixtures),
    )


async def update(
    plan: GenerationPlan, step: UpdatePlan, asker: Asker, options: GenerateOptions
) -> GeneratedItems:
    """Ask what the changed lines change, and return what is in force. Raises MeasurementError and
    UsageError."""
    prompt, before, changes = plan.prompt, plan.present.specification, step.changes
    intent, ids = {"intent": before.intent or "none"}, before.ids
    constraints = await update_items(asker, prompt, changes, CONSTRAINTS, step.input, intent, ids)
    rules = await update_items(asker, prompt, changes, RULES, step.rules, others=ids)
    questions = await update_items(asker, prompt, changes, QUESTIONS, step.questions, others=ids)
    if not rules.items:
        raise UsageError(
            f"{prompt.reference}: {asker.model} found no rule for the output in the changed "
            "prompt; describe a good answer in the prompt, or use a stronger --model"
        )
    to_invert = {rule.id for rule in step.earlier.to_invert}
    edited = [rule for rule in rules.items if rule.id in to_invert]
    inverted, in_force = await invert_with_edited(asker, rules.remade, edited, rules.items)
    proposals = await propose_checks(asker, prompt, inverted)
    again = {rule.id for rule in inverted}
    retested = [r for r in in_force if r.id in step.to_retest and r.id not in again]
    to_test = (*inverted, *(rule for rule in retested if rule.id not in step.earlier.complete))
    leaving = again | step.to_retest | set(rules.retired)
    kept_rows = [row for row in plan.present.fixtures if row.rule not in leaving]
    kept = as_tests((*kept_rows, *step.earlier.kept))
    tests, unfit = await usable_tests(asker, plan, constraints.items, to_test, options, kept)
    samples = await sample_outputs(asker, prompt, tests, options.prove_with)
    proven = {rule.id: rule for rule in prove_checks(proposals, samples)}
    remade = (*proven, *(rule.id for rule in retested))
    rows, rows_made, notices = _rows(plan, tests, remade, rules.retired, step.earlier)
    final = tuple(proven.get(rule.id, rule) for rule in in_force)
    require_tests(rows, asker.model, unfit)
    text = str(constraints.answer.get("intent", before.intent))
    text, intent_made = merge_text(before.made.get(INTENT), before.intent, " ".join(text.split()))
    specification = Specification(
        before.prompt,
        text,
        constraints.items,
        final,
        questions.items,
        {
            INTENT: intent_made,
            **constraints.made,
            **rules.made,
            **{name: content_digest(rule) for name, rule in proven.items()},
            **questions.made,
            **rows_made,
            **written_entries(before, final, to_test, step.earlier.outdated, options.effort, rows),
        },
        before.wishes,
    )
    every = (constraints, rules, questions)
    notices = [*_about(step, every), *step.earlier.notices(), *notices, *unfit]
    if constraints.remade or constraints.retired:
        notices.append(
            "The input specification changed, but the tests of unchanged rules were kept."
        )
    return GeneratedItems(specification, rows, tuple(notices))


def without_model(plan: GenerationPlan, step: UpdatePlan) -> GeneratedItems:
    """Return what is in force if no line with a meaning of its own changed: at most other line
    numbers."""
    before = plan.present.specification
    gone = step.earlier.left_behind(plan.present)
    made = {
        **{name: known for name, known in before.made.items() if name not in gone},
        **step.input.made,
        **step.rules.made,
        **step.questions.made,
        **written_entries(before, step.rules.items, (), step.earlier.outdated, Effort(0), ()),
    }
    specification = replace(
        before,
        input=step.input.items,
        rules=step.rules.items,
        questions=step.questions.items,
        made=made,
    )
    rows = tuple(row for row in plan.present.fixtures if row.id not in gone)
    said = said_of("removed, because you removed the inverse rule", gone)
    return GeneratedItems(specification, rows, (*_about(step, ()), *said))


def keep_models(plan: GenerationPlan, options: GenerateOptions) -> GenerateOptions:
    """Return the options with the contract's models if the user names no others."""
    model, judge = contract_models(plan.present.contract)
    return replace(options, prove_with=options.prove_with or model, judge=options.judge or judge)


def _rows(
    plan: GenerationPlan,
    tests: Sequence[GeneratedTest],
    remade: Sequence[str],
    retired: Sequence[str],
    earlier: EarlierTests,
) -> tuple[tuple[FixtureRow, ...], dict[str, str], list[str]]:
    """Return the fixtures from now on, their part of `made`, and sentences about them. Fixtures of
    other rules stay byte for byte, in their place."""
    every = plan.present.specification.made.items()
    made = without_cleared(
        {name: known for name, known in every if "." in name},
        plan.present.fixtures,
        earlier.outdated,
    )
    new = [*earlier.kept, *map(fixture_row, earlier.without_tests_that_stay(tests))]
    new.sort(key=lambda row: category_of(row.id) == "inverse_rule")
    again, gone = set(remade), set(retired)
    theirs = [row for row in plan.present.fixtures if row.rule in again]
    merged = merge_items(
        {name: known for name, known in made.items() if name.partition(".")[0] in again},
        theirs,
        new,
        lambda row: row.digest,
    )
    of_rule: dict[str, list[FixtureRow]] = {}
    for row in merged.items:
        of_rule.setdefault(row.rule, []).append(row)
    rows: list[FixtureRow] = []
    dropped: list[str] = []
    kept = list(merged.kept)
    for row in plan.present.fixtures:
        rule = row.rule
        if rule in again:
            rows += of_rule.pop(rule, [])
        elif rule in gone and made.get(row.id) == row.digest:
            dropped.append(row.id)
        else:
            rows.append(row)
            kept += [row.id] if rule in gone else []
    rows += [row for left in of_rule.values() for row in left]
    there = {row.id for row in rows}
    then = {
        name: known
        for name, known in made.items()
        if name.partition(".")[0] not in again and (name in there or name not in dropped)
    }
    said = [
        *said_of("removed, because the rule that the test belongs to was removed", dropped),
        *said_of(REMOVED_BY_PERSON, merged.removed),
        *said_of(KEPT_FOR_PERSON, kept),
    ]
    return tuple(rows), {**then, **merged.made}, said


def _about(step: UpdatePlan, every: Sequence[Updated]) -> list[str]:  # type: ignore[type-arg]
    """Return sentences about what changed of the items."""
    changed, gone = len(step.changes.changed), len(step.changes.gone)
    said = []
    if changed or gone:
        said.append(
            f"In the prompt: {count(changed, 'line')} new or changed, "
            f"{count(gone, 'earlier line')} replaced or removed"
        )
    for what, field in (("added", "added"), ("reworded", "reworded")):
        said += said_of(what, [name for one in every for name in getattr(one, field)])
    retired = [name for one in every for name in one.retired]
    settled = [name for name in retired if name.startswith(QUESTION)]
    unsaid = [name for name in retired if name not in settled]
    said += said_of("removed, because the prompt no longer states the item", unsaid)
    said += said_of("removed, because the changed lines answer the open question", settled)
    removed = [name for one in every for name in one.removed]
    said += said_of(REMOVED_BY_PERSON, removed)
    kinds = (step.input, step.rules, step.questions)
    own = [name for kind in kinds for name in kind.own_affected]
    said += said_of(
        "kept, because you changed or added the item; the prompt lines of the item have changed, "
        "so check whether the item is still right",
        own,
    )
    lost = sum(one.dropped for one in every)
    return [*said, *([dropped_notice(lost)] if lost else [])]
