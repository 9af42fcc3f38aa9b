"""`gatekeeper mutate`, `blame` and `sweep`: find weak prompts and better settings."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from gatekeeper.author.blame.result import BlameResult, blame_document, describe_blame
from gatekeeper.author.blame.run import find_questions, search_causes
from gatekeeper.author.mutation.measure import (
    MutationPlan,
    MutationResult,
    measure_mutants,
    mutation_estimate_lines,
    plan_mutation,
    too_few_fixtures,
)
from gatekeeper.author.mutation.model_mutants import ANSWERS, ModelMutations, recorded_model
from gatekeeper.author.mutation.mutants import MUTATIONS, Mutation
from gatekeeper.author.mutation.report import describe_mutation, mutation_document
from gatekeeper.author.session import AnswerFile
from gatekeeper.cli.arguments import named_contract
from gatekeeper.cli.options import MANY, ORDER, REQUIRED, Option, options
from gatekeeper.cli.output import print_error, print_lines, write_and_show, write_document
from gatekeeper.contract.changes.own_code import trust_code
from gatekeeper.contract.models.faults import named_model
from gatekeeper.contract.policies.policy import Policy, load_policy, policy_in_force
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract, Position, Prompt
from gatekeeper.errors import UsageError
from gatekeeper.gate.sweep.compare import SweepResult
from gatekeeper.gate.sweep.grid import Axis, Setting, read_axis, settings_of
from gatekeeper.gate.sweep.lift import lift_settings
from gatekeeper.gate.work import plan_check
from gatekeeper.git import Repository
from gatekeeper.numbers import count
from gatekeeper.reports.described.sweep import describe_sweep, sweep_document
from gatekeeper.reports.formats.samples import sample_lines
from gatekeeper.reports.terminal.console import print_blocks
from gatekeeper.runs.answers.files import UNFINISHED, forget_unfinished, refuse_unfinished_batches
from gatekeeper.runs.answers.kept import KeptAnswers, read_unfinished, require_untracked
from gatekeeper.runs.execute import execute
from gatekeeper.runs.library.affected import change_of
from gatekeeper.runs.library.suite import require_writable, tracked_by
from gatekeeper.runs.models import require_known_models
from gatekeeper.runs.run_plan import RunPlan
from gatekeeper.runs.trying import sweep as measure

MUTATION_OUT = Path(".gatekeeper/mutation")


def mutate(arguments: argparse.Namespace) -> int:
    """Find the parts of a prompt that its contract does not protect.

    Drops, negates or softens one part of the prompt at a time, and tests each result against the
    prompt as the gate would test a pull request. A model can propose more changes. Decides nothing
    about a merge: the exit code is 0 if at least one mutant could be measured, and 3 otherwise.
    """
    if arguments.resume and arguments.replay:
        raise UsageError("--resume and --replay cannot be given together; choose one of them")
    mutations = _mutations(arguments.mutations)
    by_model = _by_model(arguments, wanted="model" in mutations)
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref) if arguments.ref else repository.worktree()
        policy = load_policy(revision)
        contract = named_contract(revision, policy, arguments.contract)
        unfinished = _unfinished(arguments, repository, by_model)
        order_seed = unfinished.header.order_seed if unfinished else arguments.order_seed
        asked = by_model.ask(contract, revision, policy, mutations) if by_model else None
        more = asked.mutants if asked else ()
        left = asked.policy if asked else policy
        plan = plan_mutation(contract, left, revision, mutations, order_seed, more)
        few = too_few_fixtures(plan)
        if arguments.estimate:
            more_lines = by_model.estimate_lines(contract.target.prompt) if by_model else ()
            return _estimate(plan, few, more_lines)
        if few:
            print_error(few)
        require_writable(arguments.out, plan.work.called_models, arguments.replay)
        answers = None if arguments.replay else arguments.out / UNFINISHED
        if answers:
            refuse_unfinished_batches(answers.parent)
        run = RunPlan(
            work=plan.work,
            revisions=(revision,),
            replay=arguments.replay,
            cache=arguments.cache,
            answers=answers,
            unfinished=unfinished,
        )
        result = measure_mutants(plan, run)
    if asked:
        notices = tuple(dict.fromkeys((*asked.notices, *result.run.notices)))
        result = replace(result, run=replace(result.run, notices=notices))
    code = _report_mutation(result, arguments.out)
    forget_unfinished(result.run.spent_answers)
    return code


def _unfinished(
    arguments: argparse.Namespace, repository: Repository, by_model: ModelMutations | None
) -> KeptAnswers | None:
    """Return the comparisons to continue; None if a run ended before them, while a model proposed
    mutations. Raises UsageError if there is nothing to continue."""
    if not arguments.resume or arguments.estimate:
        return None
    path: Path = arguments.out / UNFINISHED
    tracked = tracked_by(repository)
    if by_model and by_model.answers.replay is None:
        require_untracked(path.with_name(ANSWERS), tracked)
    if by_model and not path.exists():
        return None
    return read_unfinished(path, tracked)


def _by_model(arguments: argparse.Namespace, *, wanted: bool) -> ModelMutations | None:
    """Return how a model's mutants are made; None if none is wanted. Raises UsageError if the
    flags contradict one another."""
    recording: Path | None = arguments.mutations_from
    if not wanted:
        if arguments.model or recording:
            flag = "--model" if arguments.model else "--mutations-from"
            raise UsageError(f"{flag} needs `--mutations model`; add `model` to --mutations")
        return None
    if arguments.replay and not recording:
        raise UsageError(
            "--replay calls no model; name the mutate.answers.jsonl of the recorded run with "
            "--mutations-from"
        )
    model: str | None = arguments.model or (recorded_model(recording) if recording else None)
    if not model:
        raise UsageError("--mutations model needs --model, the model that rewrites parts")
    resume = arguments.resume and recording is None
    answers = AnswerFile(arguments.out / ANSWERS, recording, resume, arguments.cache)
    return ModelMutations(model, answers, arguments.estimate)


def _mutations(written: str | None) -> tuple[Mutation, ...]:
    if written is None:
        return MUTATIONS
    every = get_args(Mutation)
    names = [name.strip() for name in written.split(",") if name.strip()]
    unknown = next((name for name in names if name not in every), None)
    if unknown is not None or not names:
        raise UsageError(
            f"--mutations {written}: use one or more of {', '.join(every)}, separated by commas"
        )
    return tuple(mutation for mutation in every if mutation in names)


def _estimate(plan: MutationPlan, few: str | None, more: Iterable[str]) -> int:
    print_lines((*mutation_estimate_lines(plan), *more))
    if few:
        print_error(few)
    return 0


def _report_mutation(result: MutationResult, out: Path) -> int:
    samples = {"samples.jsonl": lambda: "".join(sample_lines(result.run))}
    write_document("mutation", describe_mutation(result), mutation_document(result), out, samples)
    return 0 if result.count("unknown") < len(result.mutants) else 3


BLAME_OUT = Path(".gatekeeper/blame")


def blame(arguments: argparse.Namespace) -> int:
    """Find the edits of a change that made a prompt worse.

    Checks the change, then tries its edits in groups on the fixtures that broke. Decides nothing
    about a merge: the exit code is 0 if every regression is explained or there is none, and 3
    otherwise.
    """
    with Repository.open(arguments.repo) as repository:
        change = change_of(repository, arguments.base, arguments.head, arguments.worktree)
        policy, notices = policy_in_force(change)
        work = plan_check(change, policy, arguments.contract, notices)
        require_writable(arguments.out, work.called_models, arguments.replay)
        revisions = (change.base, change.head)
        run = RunPlan(
            work=work, revisions=revisions, replay=arguments.replay, cache=arguments.cache
        )
        result = execute(run)
        questions = find_questions(work, result)
        print_error(
            f"{len(questions)} of {count(len(result.contracts), 'contract')} got worse; gatekeeper "
            "now searches for the cause"
            if questions
            else "no contract got worse"
        )
        found: Sequence[BlameResult] = ()
        if questions:
            found = search_causes(questions, work, revisions, policy.limits, arguments.replay)
    return _report_blame(found, arguments.out)


def _report_blame(found: Sequence[BlameResult], out: Path) -> int:
    document = json.dumps(blame_document(found), indent=2, ensure_ascii=False)
    contents = {"blame.json": lambda: f"{document}\n"}
    write_and_show(contents, out, lambda _: print_blocks(describe_blame(found)))
    return 0 if all(result.outcome == "explained" for result in found) else 3


SWEEP_OUT = Path(".gatekeeper/sweep")


def sweep(arguments: argparse.Namespace) -> int:
    """Find the best of many models, parameters and prompts for one contract.

    Compares every two settings on the same fixtures. With `--lift`, says how much the instructions
    of the contract help. Decides nothing about a merge: the exit code is 0 if a setting can be
    recommended, and 3 if too little could be measured.
    """
    axes = _axes(arguments)
    if axes and arguments.lift:
        raise UsageError("--lift: give no other setting to try")
    if arguments.samples is not None and arguments.samples < 1:
        raise UsageError(f"--samples {arguments.samples}: give at least 1")
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref) if arguments.ref else repository.worktree()
        policy = load_policy(revision)
        contract = _contract(revision, policy, arguments.contract, arguments.samples)
        if arguments.lift:
            base = repository.revision(arguments.lift)
            settings = lift_settings(contract, {arguments.lift: _instructions(contract, base)})
        else:
            settings = settings_of(contract, axes, revision)
        if arguments.replay is None:
            _require_sound_models(contract, settings, revision)
        models = {setting.target.model for setting in settings}
        require_writable(arguments.out, models, arguments.replay)
        result = measure(contract, settings, policy, revision, replay=arguments.replay)
    return report_sweep(result, arguments.out)


def _instructions(contract: Contract, base: Revision) -> Prompt:
    try:
        return load_prompt(base, contract.target.prompt.reference, contract.template)
    except UnreadableError as error:
        raise UsageError(f"--lift: {error.what} at that revision") from None


def _axes(arguments: argparse.Namespace) -> Sequence[Axis]:
    named = [
        Axis(name, tuple(part.strip() for part in text.split(",") if part.strip()))
        for name, text in (("model", arguments.model), ("prompt", arguments.prompt))
        if text is not None
    ]
    empty = next((axis.name for axis in named if not axis.values), None)
    if empty:
        raise UsageError(f"--{empty}: give at least one value")
    return [*named, *map(read_axis, arguments.param)]


def _contract(revision: Revision, policy: Policy, name: str, samples: int | None) -> Contract:
    contract = trust_code(named_contract(revision, policy, name), revision, policy)
    sampling = contract.sampling
    return replace(
        contract,
        sampling=replace(sampling, mode="fixed", samples=samples or sampling.samples),
    )


def _require_sound_models(
    contract: Contract, settings: Sequence[Setting], revision: Revision
) -> None:
    """Refuse models that cannot be called, and name those that are likely misspelt, before any
    call."""
    own = contract.target.model
    models = [
        named_model(contract, own)
        if setting.target.model == own
        else (Position("--model"), setting.target.model)
        for setting in settings
    ]
    for notice in require_known_models(models, [revision]):
        print_error(notice)


def report_sweep(result: SweepResult, out: Path) -> int:
    """Write and print the reports of a sweep; return the exit code."""
    write_document("sweep", describe_sweep(result), sweep_document(result), out)
    return 3 if result.recommendation.setting is None else 0


OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "mutate": options(
        f"""
    CONTRACT               the name of the contract
    --mutations NAME,…     the kinds of changes to make: drop, negate, soften, model (a model
                           rewrites parts); default: drop,negate,soften
    --model MODEL          the model that rewrites parts of the prompt, with --mutations model
    --mutations-from FILE  take the model's mutations from this mutate.answers.jsonl and do not
                           call the model
    --ref REF              the revision to mutate (default: the files in the work tree)
    --estimate             print the mutants, the number of calls and their cost, but call no model
    --out DIR              folder for the reports (default: {MUTATION_OUT})
    @replay
    @cache
    @resume
    or --order-seed SEED   the order_seed in the mutation.json of an earlier run, to repeat the
                           order of its requests
    """,
        out={"default": MUTATION_OUT},
        order_seed=ORDER,
    ),
    "blame": options(
        f"""
    @arms
    --out DIR  folder for the reports (default: {BLAME_OUT})
    @replay
    @cache
    """,
        out={"default": BLAME_OUT},
    ),
    "sweep": options(
        f"""
    --contract NAME       the contract to run
    --param NAME=VALUE,…  parameter with its values, such as temperature=0,0.7; can be repeated
    --model MODEL,…       models to try
    --prompt PATH,…       prompt files to try instead of the contract's prompt
    --lift BASE           compare the contract's instructions with those of the revision BASE, and
                          with none
    --samples N           how many samples of each fixture (default: as in the contract)
    --ref REF             the revision to test (default: the files in the work tree)
    --out DIR             folder for the reports (default: {SWEEP_OUT})
    @replay
    """,
        contract=REQUIRED,
        param=MANY,
        out={"default": SWEEP_OUT},
    ),
}
