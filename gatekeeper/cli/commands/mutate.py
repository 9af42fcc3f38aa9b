"""`gatekeeper mutate`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from gatekeeper.cli.arguments import add_cache, add_order_seed, add_out, add_replay
from gatekeeper.cli.named_contract import named_contract
from gatekeeper.cli.output import print_error, print_lines, write_document
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository
from gatekeeper.runs.library.places import require_writable

if TYPE_CHECKING:
    from gatekeeper.author.mutation.measure import MutationPlan, MutationResult
    from gatekeeper.author.mutation.model_mutants import ModelMutations
    from gatekeeper.author.mutation.mutants import Mutation
    from gatekeeper.gate.results.result import GateResult
    from gatekeeper.runs.answers.kept import KeptAnswers

DEFAULT_OUT = Path(".gatekeeper/mutation")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("contract", metavar="CONTRACT", help="the name of the contract")
    parser.add_argument(
        "--mutations",
        metavar="NAME,…",
        help="the kinds of changes to make: drop, negate, soften, model (a model rewrites parts); "
        "default: drop,negate,soften",
    )
    parser.add_argument(
        "--model", help="the model that rewrites parts of the prompt, with --mutations model"
    )
    parser.add_argument(
        "--mutations-from",
        type=Path,
        metavar="FILE",
        help="take the model's mutations from this mutate.answers.jsonl and do not call the model",
    )
    parser.add_argument(
        "--ref", help="the revision to mutate (default: the files in the work tree)"
    )
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="print the mutants, the number of calls and their cost, but call no model",
    )
    add_out(parser, DEFAULT_OUT)
    add_replay(parser)
    add_cache(parser)
    order = parser.add_mutually_exclusive_group()
    order.add_argument(
        "--resume",
        action="store_true",
        help="continue the unfinished run in the folder of --out, and reuse its answers",
    )
    add_order_seed(order, "mutation.json")


def mutate(arguments: argparse.Namespace) -> int:
    """Find the parts of a prompt that its contract does not protect.

    Drops, negates or softens one part of the prompt at a time, and tests each result against the
    prompt as the gate would test a pull request. A model can propose more changes. Decides nothing
    about a merge: the exit code is 0 if at least one mutant could be measured, and 3 otherwise.
    """
    from gatekeeper.author.mutation.measure import (
        measure_mutants,
        plan_mutation,
        too_few_fixtures,
    )
    from gatekeeper.runs.answers.files import UNFINISHED, forget_unfinished
    from gatekeeper.runs.answers.kept import refuse_unfinished_batches
    from gatekeeper.runs.run_plan import RunPlan

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
        left = asked.policy_after(policy) if asked else policy
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
        result, measured = measure_mutants(plan, run)
    if asked:
        notices = tuple(dict.fromkeys((*asked.notices, *result.notices)))
        result = replace(result, notices=notices)
    code = _report(result, measured, arguments.out)
    if answers and not result.count("unknown"):
        forget_unfinished(answers)
    return code


def _unfinished(
    arguments: argparse.Namespace, repository: Repository, by_model: ModelMutations | None
) -> KeptAnswers | None:
    """Return the comparisons to continue; None if a run ended before them, while a model proposed
    mutations. Raises UsageError if there is nothing to continue."""
    from gatekeeper.author.mutation.model_mutants import ANSWERS
    from gatekeeper.runs.answers.files import UNFINISHED
    from gatekeeper.runs.answers.kept import read_unfinished, require_untracked
    from gatekeeper.runs.library.places import tracked_by

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
    from gatekeeper.author.generation.model_run import AnswerFile
    from gatekeeper.author.mutation.model_mutants import ANSWERS, ModelMutations, recorded_model

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
    from gatekeeper.author.mutation.mutants import MUTATIONS, Mutation

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
    from gatekeeper.author.mutation.measure import mutation_estimate_lines

    print_lines((*mutation_estimate_lines(plan), *more))
    if few:
        print_error(few)
    return 0


def _report(result: MutationResult, measured: GateResult, out: Path) -> int:
    from gatekeeper.author.mutation.report import describe_mutation, mutation_document
    from gatekeeper.reports.formats.samples import sample_lines

    samples = {"samples.jsonl": lambda: "".join(sample_lines(measured))}
    write_document("mutation", describe_mutation(result), mutation_document(result), out, samples)
    return 0 if result.count("unknown") < len(result.mutants) else 3
