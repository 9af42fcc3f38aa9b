"""Generates the specification, the tests and the contract of a prompt, stage by stage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gatekeeper.author.generation.ask import Asker, ask_together, require_calls
from gatekeeper.author.generation.earlier_tests import (
    EarlierTests,
    find_earlier_tests,
    merge_tests,
    written_entries,
)
from gatekeeper.author.generation.files import (
    FixtureRow,
    Places,
    Present,
    as_tests,
    contract_models,
    find_places,
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
    Kind,
    T,
    Updated,
    carry_over,
    find_items,
    invert_rules,
    must_ask,
    one_line,
    update_items,
)
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt, number_prompt, render_each
from gatekeeper.author.generation.questions import SEED
from gatekeeper.author.generation.rule_checks import propose_checks, prove_checks
from gatekeeper.author.generation.tests import (
    DEFAULT_EFFORT,
    EFFORTS,
    MOST_BASELINE_TESTS,
    Effort,
    Writer,
    without_near_duplicates,
)
from gatekeeper.author.specification.merge import Merged, content_digest, merge_text, said_of
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
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.values.change import Overlay, Revision
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
    effort: Effort = EFFORTS[DEFAULT_EFFORT]
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
class Generated:
    """The specification and the fixtures of a run, sentences about what a person should know, and
    the `texts` to write, by their path from the repository root."""

    specification: Specification
    rows: tuple[FixtureRow, ...]
    notices: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)


def plan_generation(revision: Revision, policy: Policy, reference: str) -> GenerationPlan:
    """Read the prompt and what is there for it. Calls no model.

    Raises ContractError for a file that cannot be used, and UsageError for a prompt without a
    variable.
    """
    prompt = number_prompt(revision, reference)
    places = find_places(revision, policy, prompt.reference)
    present = read_present(revision, places, prompt.reference)
    return GenerationPlan(prompt, places, present, revision, policy)


def items_as_they_are(plan: GenerationPlan) -> Generated:
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
    return Generated(present.specification, present.fixtures, notices)


async def generate(
    plan: GenerationPlan, asker: Asker, options: GenerateOptions, step: UpdatePlan | None = None
) -> Generated:
    """Ask all questions, or for an update those about what changed, and return what is in force.
    Raises MeasurementError and UsageError."""
    prompt, before, present = plan.prompt, plan.present.specification, plan.present
    constraints = await _items(plan, asker, CONSTRAINTS, step)
    rules = await _items(plan, asker, RULES, step)
    _require_rules(prompt, rules, options.model)
    earlier = step.earlier if step else _earlier_tests(plan, options.effort)
    if not step:
        _require_calls(asker, plan, options, rules, earlier)
    questions = await _items(plan, asker, OPEN_QUESTIONS, step)
    to_invert = {rule.id for rule in earlier.to_invert}
    edited = [rule for rule in rules.items if rule.id in to_invert]
    inverted = await invert_rules(asker, (*rules.remade, *edited))
    proposals = await propose_checks(asker, prompt, inverted[: len(rules.remade)])
    in_force = _joined(rules.items, inverted)
    again = {rule.id for rule in (rules.remade if step else in_force)}
    again |= step.to_retest & {rule.id for rule in in_force} if step else set()
    to_test = [rule for rule in in_force if rule.id in again - earlier.complete]
    others = [row for row in present.fixtures if row.rule not in {*again, *rules.retired}]
    kept = as_tests((*(others if step else ()), *earlier.kept_of(in_force)))
    tests, unfit = await usable_tests(asker, plan, constraints.items, to_test, options, kept)
    sampled = tests if step else (*tests, *kept)
    samples = await sample_outputs(asker, prompt, sampled, options.prove_with)
    proven = prove_checks(proposals, samples)
    in_force = _joined(in_force, proven)
    gone = set(rules.retired) if step else {row.rule for row in present.fixtures} - {*again, ""}
    rows = merge_tests(present, tests, in_force, (again, gone), earlier)
    if to_test:
        require_tests(rows.items, options.model, unfit)
    made = {**rules.made, **{rule.id: content_digest(rule) for rule in proven}}
    kinds = (constraints, replace(rules, items=in_force, made=made), questions)
    written = written_entries(
        before, in_force, to_test, earlier.outdated, options.effort, rows.items
    )
    specification = _specification(before, kinds, {**rows.made, **written})
    notices = (*_notices(step, kinds, rows, gone), *earlier.notices(), *unfit)
    return Generated(specification, rows.items, notices)


async def _items(
    plan: GenerationPlan, asker: Asker, kind: Kind[T], step: UpdatePlan | None
) -> Updated[T]:
    before = plan.present.specification
    if step is None:
        return await find_items(asker, plan.prompt, before, kind)
    carried: Carried[T] = step.carried[kind.section]
    return await update_items(asker, plan.prompt, step.changes, before, kind, carried)


def _joined(rules: Iterable[Rule], new: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules with new versions of some of them."""
    by_id = {rule.id: rule for rule in new}
    return tuple(by_id.get(rule.id, rule) for rule in rules)


def _require_rules(prompt: NumberedPrompt, rules: Updated[Rule], model: str) -> None:
    if not rules.items:
        raise UsageError(
            f"{prompt.reference}: {model} found no rule for the output"
            + (f" ({dropped_notice(rules.dropped)})" if rules.dropped else "")
            + "; describe a good answer in the prompt, or use a stronger --model"
        )


def _earlier_tests(plan: GenerationPlan, effort: Effort | None) -> EarlierTests:
    present = plan.present
    return find_earlier_tests(plan.prompt, present.specification, present.fixtures, effort)


def _notices(
    step: UpdatePlan | None,
    kinds: Sequence[Updated[Any]],
    rows: Merged[FixtureRow],
    gone: Collection[str],
) -> Iterator[str]:
    """Yield sentences about what changed and what a person's edits prevented."""
    if step:
        yield from _about(step, kinds)
    merged: tuple[Merged[Any], ...] = (*kinds, rows)
    retired = [name for one in (*(() if step else kinds), rows) for name in one.retired]
    of_gone = [name for name in retired if name.partition(".")[0] in gone and "." in name]
    rest = [name for name in retired if name not in of_gone]
    yield from said_of(REMOVED_BY_PERSON, [name for one in merged for name in one.removed])
    yield from said_of(KEPT_FOR_PERSON, [name for one in merged for name in one.kept])
    yield from said_of("removed, because this run did not generate the item again", rest)
    yield from said_of("removed, because the rule that the test belongs to was removed", of_gone)
    if lost := sum(one.dropped for one in kinds):
        yield dropped_notice(lost)
    if step and (kinds[0].remade or kinds[0].retired):
        yield "The input specification changed, but the tests of unchanged rules were kept."


def _specification(
    before: Specification,
    kinds: tuple[Updated[InputConstraint], Updated[Rule], Updated[OpenQuestion]],
    made: Mapping[str, str],
) -> Specification:
    """Return what is in force of each kind, with the intent of the answer about the input and
    `made` of the tests. An answer without an intent leaves it as it is."""
    said = one_line(kinds[0].answer.get("intent", before.intent))
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
    rules: Updated[Rule],
    earlier: EarlierTests,
) -> None:
    """Raise TooFewCalls if the limit is not enough for the stages that follow the rules."""
    to_test = sum(rule.id not in earlier.complete for rule in rules.items)
    scenarios = len(plan.present.specification.wishes.scenarios)
    stages = 1 + bool(rules.remade or earlier.to_invert) + bool(rules.remade)
    require_calls(asker, stages + options.effort.calls(to_test, scenarios), len(rules.items))


def require_tests(rows: Sequence[FixtureRow], model: str, unfit: Sequence[str] = ()) -> None:
    """Raise MeasurementError if there is no test. `unfit` says why tests were left out."""
    if not rows:
        why = f" ({'; '.join(unfit)})" if unfit else ""
        raise MeasurementError(
            f"stage tests: {model} wrote no usable test{why}; use a stronger model with "
            "--model, or repeat the command"
        )


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
    sound, faults = render_each(prompt.prompt, every)
    distinct, alike = without_near_duplicates([test for test, _ in sound], kept)
    if faults:
        first = faults[0][1].problems[0].what
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


def generated_files(plan: GenerationPlan, items: Generated, options: GenerateOptions) -> Generated:
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
    return Generated(specification, rows, tuple(notices), texts)


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
    """What a change of the prompt's lines leaves as it is, by the section of the specification, and
    the tests that a person's change of a rule, or another variable of the prompt, makes outdated.
    """

    changes: LineChanges
    carried: Mapping[str, Carried[Any]]
    earlier: EarlierTests

    @property
    def to_retest(self) -> frozenset[str]:
        """Return the rules whose tests are written again although their lines did not change."""
        return self.earlier.unsendable | self.earlier.outdated.keys()

    @property
    def stages(self) -> int:
        """Return the number of questions about the specification."""
        return sum(must_ask(kind.affected, self.changes) for kind in self.carried.values())

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
    kinds: tuple[Kind[Any], ...] = (CONSTRAINTS, RULES, OPEN_QUESTIONS)
    carried = {kind.section: carry_over(before, kind, changes) for kind in kinds}
    return UpdatePlan(changes, carried, _earlier_tests(plan, None))


def keep_models(plan: GenerationPlan, options: GenerateOptions) -> GenerateOptions:
    """Return the options with the contract's models if the user names no others."""
    model, judge = contract_models(plan.present.contract)
    return replace(options, prove_with=options.prove_with or model, judge=options.judge or judge)


def _about(step: UpdatePlan, kinds: Sequence[Updated[Any]]) -> Iterator[str]:
    """Yield sentences about what an update changed of the items."""
    changed, gone = len(step.changes.changed), len(step.changes.gone)
    if changed or gone:
        yield (
            f"In the prompt: {count(changed, 'line')} new or changed, "
            f"{count(gone, 'earlier line')} replaced or removed"
        )
    for how in ("added", "reworded"):
        yield from said_of(how, [name for one in kinds for name in getattr(one, how)])
    retired = [name for one in kinds for name in one.retired]
    settled = [name for name in retired if name.startswith(QUESTION)]
    unsaid = [name for name in retired if name not in settled]
    yield from said_of("removed, because the prompt no longer states the item", unsaid)
    yield from said_of("removed, because the changed lines answer the open question", settled)
    yield from said_of(
        "kept, because you changed or added the item; the prompt lines of the item have changed, "
        "so check whether the item is still right",
        [name for kind in step.carried.values() for name in kind.own_affected],
    )
