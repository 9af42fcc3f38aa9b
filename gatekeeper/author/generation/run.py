"""Generates the specification, the tests and the contract of a prompt, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gatekeeper.author.generation.ask import Asker, ask_together, require_calls
from gatekeeper.author.generation.earlier_tests import (
    EarlierTests,
    category_of,
    find_earlier_tests,
    merge_tests,
    without_cleared,
    written_entries,
)
from gatekeeper.author.generation.effort import DEFAULT, EFFORTS, MOST_BASELINE_TESTS, Effort
from gatekeeper.author.generation.files import (
    FixtureRow,
    Places,
    Present,
    as_tests,
    contract_models,
    find_places,
    fixture_row,
    has_comments,
    read_present,
    write_contract,
    write_fixture_rows,
)
from gatekeeper.author.generation.items import (
    CONSTRAINTS,
    OPEN_QUESTIONS,
    QUESTION,
    RULES,
    Carried,
    Updated,
    carry_over,
    find_items,
    invert_rules,
    must_ask,
    one_line,
    update_items,
)
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt, number_prompt
from gatekeeper.author.generation.questions import SEED
from gatekeeper.author.generation.rule_checks import propose_checks, prove_checks
from gatekeeper.author.generation.tests import Writer, without_near_duplicates
from gatekeeper.author.overlay import Overlay
from gatekeeper.author.specification.merge import (
    Merged,
    content_digest,
    merge_items,
    merge_text,
    said_of,
)
from gatekeeper.author.specification.prompt_lines import LineChanges, compare_lines, line_digests
from gatekeeper.author.specification.spec_file import (
    GeneratedTest,
    InputConstraint,
    OpenQuestion,
    Rule,
    Specification,
    write_specification,
)
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.prompts.render import render_all, render_messages
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import ContractError, MeasurementError, UsageError
from gatekeeper.gate.forecast.power import compute_power
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.validate import prepare_contract
from gatekeeper.numbers import count, size_in_points

MOST_SAMPLES = 10
"""Outputs of the prompt's own model on which checks are proved."""
CONTRACT, INTENT, PROMPT = "contract", "intent", "prompt"
REMOVED_BY_PERSON = "not generated again, because you removed the item"
KEPT_FOR_PERSON = "kept, because you changed or added the item"


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """What a user chooses. `prove_with` is the model whose outputs prove the checks, `judge` the
    one that grades the other rules; None for the model that generates. With `update`, only what
    belongs to changed lines of the prompt is made again; with `as_is`, nothing."""

    model: str
    effort: Effort = EFFORTS[DEFAULT]
    prove_with: str | None = None
    judge: str | None = None
    update: bool = False
    as_is: bool = False

    @property
    def named_models(self) -> tuple[tuple[str, str], ...]:
        """Return the models that a run calls, each with the flag that names it."""
        proves = [("--prove-with", self.prove_with)] if self.prove_with else []
        return (("--model", self.model), *proves)


@dataclass(frozen=True, slots=True)
class GenerationPlan:
    """What a run starts from."""

    prompt: NumberedPrompt
    places: Places
    present: Present
    revision: Revision
    policy: Policy


@dataclass(frozen=True, slots=True)
class GeneratedItems:
    """The specification and the fixtures of a run before they become files, and sentences about
    what a person should know."""

    specification: Specification
    rows: tuple[FixtureRow, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Generated:
    """What a run made: the `texts` to write, by their path from the repository root, and sentences
    about what a person should know."""

    specification: Specification
    fixtures: int
    texts: Mapping[str, str]
    notices: tuple[str, ...] = ()


def plan_generation(revision: Revision, policy: Policy, reference: str) -> GenerationPlan:
    """Read the prompt and what is there for it. Calls no model.

    Raises ContractError for a file that cannot be used, and UsageError for a prompt without a
    variable.
    """
    prompt = number_prompt(revision, reference)
    places = find_places(revision, policy, prompt.reference)
    present = read_present(revision, places, prompt.reference)
    return GenerationPlan(prompt, places, present, revision, policy)


def items_as_they_are(plan: GenerationPlan) -> GeneratedItems:
    """Return what the files hold. Raises UsageError if there is nothing."""
    present = plan.present
    if not present.specification.rules or not present.fixtures:
        raise UsageError(
            f"--as-is needs {plan.places.specification} with rules and "
            f"{plan.places.fixtures} with tests; run the command without --as-is first"
        )
    made = present.specification.made.get(PROMPT)
    changed = made is not None and made != prompt_digests(plan.prompt)
    said = f"{plan.prompt.reference} changed after {plan.places.specification} was generated"
    notices = (
        (f"{said}; to update the specification, use --update, not --as-is",) if changed else ()
    )
    return GeneratedItems(present.specification, present.fixtures, notices)


async def generate(plan: GenerationPlan, asker: Asker, options: GenerateOptions) -> GeneratedItems:
    """Ask all questions, and return what is in force. Raises MeasurementError and UsageError."""
    prompt, before = plan.prompt, plan.present.specification
    constraints = await find_items(asker, prompt, before, CONSTRAINTS)
    rules = await find_items(asker, prompt, before, RULES)
    if not rules.items and not before.rules:
        raise UsageError(
            f"{prompt.reference}: {asker.model} found no rule for the output"
            + (f" ({dropped_notice(rules.dropped)})" if rules.dropped else "")
            + "; describe a good answer in the prompt, or use a stronger --model"
        )
    rule_made = RULES.made(before)
    new = _to_make(rules.items, before, rule_made)
    earlier = find_earlier_tests(prompt, before, plan.present.fixtures, options.effort)
    expected = merge_items(rule_made, before.rules, rules.items).items
    _require_calls(asker, plan, options, expected, new, earlier)
    questions = await find_items(asker, prompt, before, OPEN_QUESTIONS)
    input_ = merge_items(CONSTRAINTS.made(before), before.input, constraints.items)
    asked = merge_items(OPEN_QUESTIONS.made(before), before.questions, questions.items)
    rest = tuple(rule for rule in rules.items if rule not in new)
    inverted, own = await invert_with_edited(asker, new, earlier.to_invert, before.rules)
    proposals = await propose_checks(asker, prompt, new)
    in_force = merge_items(rule_made, own, (*inverted, *rest)).items
    to_test = [rule for rule in in_force if rule.id not in earlier.complete]
    kept = as_tests(earlier.kept_of(in_force))
    tests, unfit = await usable_tests(asker, plan, input_.items, to_test, options, kept)
    samples = await sample_outputs(asker, prompt, (*tests, *kept), options.prove_with)
    ready = (replace(p, rule=rule) for p, rule in zip(proposals, inverted, strict=True))
    proven = merge_items(rule_made, own, (*prove_checks(tuple(ready), samples), *rest))
    rows = merge_tests(plan.present, tests, in_force, earlier)
    require_tests(rows.items, asker.model, unfit)
    specification = _specification(
        before,
        constraints.answer,
        (input_, proven, asked),
        {
            **rows.made,
            **written_entries(
                before, proven.items, to_test, earlier.outdated, options.effort, rows.items
            ),
        },
    )
    gone = (*proven.retired, *rows.retired)
    notices = [
        *said_of(REMOVED_BY_PERSON, (*proven.removed, *rows.removed)),
        *said_of(KEPT_FOR_PERSON, (*proven.kept, *rows.kept)),
        *said_of("removed, because the model did not generate the item again", gone),
    ]
    lost = constraints.dropped + rules.dropped + questions.dropped
    notices += [dropped_notice(lost)] if lost else []
    return GeneratedItems(specification, rows.items, (*notices, *earlier.notices(), *unfit))


def _specification(
    before: Specification,
    answer: Mapping[str, Any],
    kinds: tuple[Merged[InputConstraint], Merged[Rule], Merged[OpenQuestion]],
    made: Mapping[str, str],
) -> Specification:
    """Return what is in force of each kind, with the intent of an answer and `made` of the tests.
    An answer without an intent leaves it as it is."""
    said = one_line(answer.get("intent", before.intent))
    intent, digest = merge_text(before.made.get(INTENT), before.intent, said)
    items = {name: known for kind in kinds for name, known in kind.made.items()}
    constraints, rules, questions = kinds
    return replace(
        before,
        intent=intent,
        input=constraints.items,
        rules=rules.items,
        questions=questions.items,
        made={INTENT: digest, **items, **made},
    )


def _require_calls(
    asker: Asker,
    plan: GenerationPlan,
    options: GenerateOptions,
    rules: Sequence[Rule],
    new: Sequence[Rule],
    earlier: EarlierTests,
) -> None:
    """Raise TooFewCalls if the limit is not enough for the stages that follow the rules."""
    to_test = sum(rule.id not in earlier.complete for rule in rules)
    scenarios = len(plan.present.specification.wishes.scenarios)
    stages = 1 + bool(new or earlier.to_invert) + bool(new)
    require_calls(asker, stages + options.effort.calls(to_test, scenarios), len(rules))


def require_tests(rows: Sequence[FixtureRow], model: str, unfit: Sequence[str] = ()) -> None:
    """Raise MeasurementError if there is no test. `unfit` says why tests were left out."""
    if not rows:
        why = f" ({'; '.join(unfit)})" if unfit else ""
        raise MeasurementError(
            f"stage tests: {model} wrote no usable test{why}; use a stronger model with "
            "--model, or repeat the command"
        )


async def invert_with_edited(
    asker: Asker, new: Sequence[Rule], edited: Sequence[Rule], present: Sequence[Rule]
) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """Return the new rules with their inverses, and those of the file, of which the edited ones
    get another inverse."""
    inverted = await invert_rules(asker, (*new, *edited))
    again = {rule.id: rule for rule in inverted[len(new) :]}
    return inverted[: len(new)], tuple(again.get(rule.id, rule) for rule in present)


async def usable_tests(
    asker: Asker,
    plan: GenerationPlan,
    constraints: Sequence[Any],
    rules: Sequence[Rule],
    options: GenerateOptions,
    kept: Sequence[GeneratedTest] = (),
) -> tuple[tuple[GeneratedTest, ...], list[str]]:
    """Return the tests of all rules that can be sent and differ, also from those in `kept`, and
    sentences about the others."""
    prompt, scenarios = plan.prompt, plan.present.specification.wishes.scenarios
    writer = Writer(asker, prompt, constraints, rules, options.effort, scenarios)
    every, said = await writer.improve(await writer.write())
    rendered = list(render_all(prompt.prompt, [test.vars for test in every], Budget()))
    faults = [messages for messages in rendered if isinstance(messages, ContractError)]
    sound = [
        test
        for test, messages in zip(every, rendered, strict=True)
        if not isinstance(messages, ContractError)
    ]
    distinct, alike = without_near_duplicates(sound, kept)
    if faults:
        first = faults[0].problems[0].what
        said.append(
            f"{count(len(faults), 'test')} left out, because gatekeeper cannot render the prompt; "
            f"the first error is: {first}"
        )
    if alike:
        said.append(f"{count(alike, 'test')} left out, because another test is nearly the same")
    return distinct, said


async def sample_outputs(
    asker: Asker, prompt: NumberedPrompt, tests: Sequence[GeneratedTest], model: str | None
) -> tuple[str, ...]:
    """Return outputs of the prompt's own model: of one test of each rule first."""
    if model is None:
        return ()
    first = {test.rule: test for test in reversed(tests)}
    chosen = list(dict.fromkeys([*(t.id for t in first.values()), *(t.id for t in tests)]))
    by_id = {test.id: test for test in tests}
    requests = [
        Request(
            model, render_messages(prompt.prompt, by_id[name].vars), prompt.prompt.params, SEED, 0
        )
        for name in chosen[:MOST_SAMPLES]
    ]
    answers = await ask_together(*(asker.complete(request, "samples") for request in requests))
    return tuple(answer.text for answer in answers)


def generated_files(
    plan: GenerationPlan, items: GeneratedItems, options: GenerateOptions
) -> Generated:
    """Return the texts of the files. The contract was loaded and planned first, so that it runs."""
    places, present = plan.places, plan.present
    specification, rows, notices = items.specification, items.rows, list(items.notices)
    judge = options.judge or options.model
    own_model = options.prove_with or options.model
    contract = write_contract(places, plan.prompt, specification, own_model, judge)
    made = present.specification.made.get(CONTRACT)
    is_own = present.contract is not None and made != content_digest(present.contract)
    is_removed = present.contract is None and made is not None
    texts = {places.fixtures: write_fixture_rows(rows)}
    tested = {row.rule for row in rows}
    notices += said_of("no test", [r.id for r in specification.rules if r.id not in tested])
    if judge == own_model and specification.judged_rules and not (is_own or is_removed):
        notices.append(
            f"{judge} judges its own outputs in {places.contract}. Choose a judge of another "
            "family with --judge."
        )
    if is_own:
        notices.append(_kept_contract(places, was_made=made is not None))
    elif is_removed:
        notices.append(
            f"{places.contract} is not made again, because you removed it. To "
            "generate this file again, "
            f"delete the line `{CONTRACT}:` below `made:` in {places.specification}."
        )
    else:
        texts[places.contract] = contract
        made = content_digest(contract)
    known = {CONTRACT: made} if made is not None else {}
    if not options.as_is:  # else the rules are still those of an earlier text
        known[PROMPT] = prompt_digests(plan.prompt)
    specification = replace(specification, made={**specification.made, **known})
    if specification != present.specification:
        texts[places.specification] = write_specification(specification)
        if has_comments(present, places.specification):
            notices.append(f"The comments in {places.specification} are not kept.")
    if not is_removed:
        notices += _cluster_advice(plan, texts, sum(row.is_baseline for row in rows))
    return Generated(specification, len(rows), texts, tuple(notices))


def _cluster_advice(plan: GenerationPlan, texts: Mapping[str, str], baseline: int) -> list[str]:
    """Return what the contract can show. Raises ContractError for a contract that would not run; of
    one that stays as it is, nothing is said then."""
    path = plan.places.contract
    try:
        job = prepare_contract(Overlay(plan.revision, texts), path, plan.policy)
    except ContractError:
        if path in texts:
            raise
        return []
    return [cluster_advice(job, baseline)]


def _kept_contract(places: Places, *, was_made: bool) -> str:
    if was_made:
        return (
            f"{places.contract} is kept as it is, because you changed it. If you want the new "
            f"checks, copy the checks from {places.specification}. The fixtures are in "
            f"{places.fixtures}."
        )
    return (
        f"{places.contract} is kept as it is, because this command did not write it. The file "
        "might not use the new fixtures. To replace the file without a call to a model, move the "
        "file away and run the command again with --replay and the generate.answers.jsonl of this "
        f"run. To keep the file, copy the checks from {places.specification}, and add "
        f"{places.fixtures} to `fixtures` in the contract."
    )


def prompt_digests(prompt: NumberedPrompt) -> str:
    """Return what `made` remembers of the prompt's lines."""
    return line_digests(prompt.lines, prompt.prompt.includes)


def _to_make(
    rules: Sequence[Rule], before: Specification, made: Mapping[str, str]
) -> tuple[Rule, ...]:
    """Return the rules without those that a person edited or removed."""
    own = {rule.id for rule in before.rules if made.get(rule.id) != content_digest(rule)}
    gone = made.keys() - {rule.id for rule in before.rules}
    return tuple(rule for rule in rules if rule.id not in own and rule.id not in gone)


def dropped_notice(number: int) -> str:
    """Return the sentence about items of answers that cannot be used."""
    return f"{count(number, 'item')} left out, because the model named lines that do not exist"


def cluster_advice(job: Job, baseline: int) -> str:
    """Return in how many clusters the fixtures are, the smallest drop that a comparison can show
    with them, and how to get more clusters. The `baseline` tests are among the fixtures."""
    power = compute_power(job.evaluations[0])
    if power.note is None:
        return f"{power.units_text} can show a drop of {size_in_points(power.margin)}."
    said = f"{power.note}. "
    if power.clustered_fixtures is not None:
        said += "More tests of the same rules do not add a cluster. "
    said += "Add other inputs: from your logs with `gatekeeper fixtures add`"
    if power.fixtures_needed is None:
        return f"{said}, or by hand without the key `cluster`."
    wanted = min(baseline + power.fixtures_needed - power.inputs, MOST_BASELINE_TESTS)
    return (
        f"{said}, by hand without the key `cluster`, or with `gatekeeper generate --as-is "
        f"--baseline {wanted}`."
    )


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
    def kinds(self) -> tuple[Carried[Any], ...]:
        """Return the items of every kind."""
        return self.input, self.rules, self.questions

    @property
    def to_retest(self) -> frozenset[str]:
        """Return the rules whose tests are written again although their lines did not change."""
        return self.earlier.unsendable | self.earlier.outdated.keys()

    @property
    def stages(self) -> int:
        """Return the number of questions about the specification."""
        return sum(must_ask(kind.affected, self.changes) for kind in self.kinds)

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
    return UpdatePlan(
        changes,
        carry_over(before, CONSTRAINTS, changes),
        carry_over(before, RULES, changes),
        carry_over(before, OPEN_QUESTIONS, changes),
        find_earlier_tests(plan.prompt, before, plan.present.fixtures),
    )


async def update(
    plan: GenerationPlan, step: UpdatePlan, asker: Asker, options: GenerateOptions
) -> GeneratedItems:
    """Ask what the changed lines change, and return what is in force. Raises MeasurementError and
    UsageError."""
    prompt, before, changes = plan.prompt, plan.present.specification, step.changes
    known = (asker, prompt, changes, before)
    constraints = await update_items(*known, CONSTRAINTS, step.input)
    rules = await update_items(*known, RULES, step.rules)
    questions = await update_items(*known, OPEN_QUESTIONS, step.questions)
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
    digests = {name: content_digest(rule) for name, rule in proven.items()}
    specification = _specification(
        before,
        constraints.answer,
        (constraints, replace(rules, items=final, made={**rules.made, **digests}), questions),
        {
            **rows_made,
            **written_entries(before, final, to_test, step.earlier.outdated, options.effort, rows),
        },
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
        **{name: known for kind in step.kinds for name, known in kind.made.items()},
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


def _about(step: UpdatePlan, every: Sequence[Updated[Any]]) -> list[str]:
    """Return sentences about what changed of the items."""
    changed, gone = len(step.changes.changed), len(step.changes.gone)
    said = []
    if changed or gone:
        said.append(
            f"In the prompt: {count(changed, 'line')} new or changed, "
            f"{count(gone, 'earlier line')} replaced or removed"
        )
    for field in ("added", "reworded"):
        said += said_of(field, [name for one in every for name in getattr(one, field)])
    retired = [name for one in every for name in one.retired]
    settled = [name for name in retired if name.startswith(QUESTION)]
    unsaid = [name for name in retired if name not in settled]
    said += said_of("removed, because the prompt no longer states the item", unsaid)
    said += said_of("removed, because the changed lines answer the open question", settled)
    removed = [name for one in every for name in one.removed]
    said += said_of(REMOVED_BY_PERSON, removed)
    own = [name for kind in step.kinds for name in kind.own_affected]
    said += said_of(
        "kept, because you changed or added the item; the prompt lines of the item have changed, "
        "so check whether the item is still right",
        own,
    )
    lost = sum(one.dropped for one in every)
    return [*said, *([dropped_notice(lost)] if lost else [])]
