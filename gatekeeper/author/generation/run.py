"""Generates the specification, the tests and the contract of a prompt, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gatekeeper.author.generation.ask import SEED, Asker, ask_together
from gatekeeper.author.generation.call_limit import require_calls
from gatekeeper.author.generation.collection import Writer
from gatekeeper.author.generation.effort import MOST_BASELINE_TESTS, Effort
from gatekeeper.author.generation.files import (
    FixtureRow,
    Places,
    Present,
    as_tests,
    find_places,
    has_comments,
    read_present,
    write_contract,
    write_fixture_rows,
)
from gatekeeper.author.generation.input_specification import PREFIX as INPUT
from gatekeeper.author.generation.input_specification import specify_input
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt, number_prompt
from gatekeeper.author.generation.open_questions import PREFIX as QUESTION
from gatekeeper.author.generation.open_questions import find_questions
from gatekeeper.author.generation.outdated_tests import (
    EarlierTests,
    find_earlier_tests,
    merge_tests,
    written_entries,
)
from gatekeeper.author.generation.rule_checks import propose_checks, prove_checks
from gatekeeper.author.generation.rules import (
    find_rules,
    invert_rules,
    removed_rules,
    rule_ids,
)
from gatekeeper.author.generation.tests import without_near_duplicates
from gatekeeper.author.onboarding.overlay import Overlay
from gatekeeper.author.specification.merge import content_digest, merge_items, merge_text, said_of
from gatekeeper.author.specification.prompt_lines import line_digests
from gatekeeper.author.specification.records import GeneratedTest, Rule, Specification
from gatekeeper.author.specification.spec_file import write_specification
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
    belongs to changed lines of the prompt is made again; with `as_is`, nothing. `rates` and
    `expands` are those of an Effort."""

    model: str
    tests_per_rule: int = 3
    prove_with: str | None = None
    judge: str | None = None
    update: bool = False
    as_is: bool = False
    rates: bool = False
    expands: bool = False

    @property
    def effort(self) -> Effort:
        """Return what is done about tests."""
        return Effort(self.tests_per_rule, self.rates, self.expands)

    @property
    def models(self) -> tuple[str, ...]:
        """Return the models that a run calls."""
        return (self.model, *([self.prove_with] if self.prove_with else []))


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
    """Ask all stages, and return what is in force. Raises MeasurementError and UsageError."""
    prompt, before = plan.prompt, plan.present.specification
    intent, constraints = await specify_input(asker, prompt, before)
    rules = await find_rules(asker, prompt, before)
    if not rules.items and not before.rules:
        raise UsageError(
            f"{prompt.reference}: {asker.model} found no rule for the output"
            + (f" ({dropped_notice(rules.dropped)})" if rules.dropped else "")
            + "; describe a good answer in the prompt, or use a stronger --model"
        )
    made = before.made
    rule_made = {name: made[name] for name in rule_ids(before) if name in made}
    new = _to_make(rules.items, before, rule_made)
    earlier = find_earlier_tests(prompt, before, plan.present.fixtures, options.effort)
    expected = merge_items(rule_made, before.rules, rules.items).items
    _require_calls(asker, plan, options, expected, new, earlier)
    questions = await find_questions(asker, prompt, before)
    input_ = merge_items(made_of(made, INPUT), before.input, constraints.items)
    asked = merge_items(made_of(made, QUESTION), before.questions, questions.items)
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
    text, intent_made = merge_text(made.get(INTENT), before.intent, intent)
    specification = Specification(
        before.prompt,
        text,
        input_.items,
        proven.items,
        asked.items,
        {
            INTENT: intent_made,
            **input_.made,
            **proven.made,
            **asked.made,
            **rows.made,
            **written_entries(
                before, proven.items, to_test, earlier.outdated, options.effort, rows.items
            ),
        },
        before.wishes,
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


def made_of(made: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the part of `made` for ids with the prefix."""
    return {name: known for name, known in made.items() if name.startswith(prefix)}


def _to_make(
    rules: Sequence[Rule], before: Specification, made: Mapping[str, str]
) -> tuple[Rule, ...]:
    """Return the rules without those that a person edited or removed."""
    own = {rule.id for rule in before.rules if made.get(rule.id) != content_digest(rule)}
    gone = removed_rules(before)
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
