"""`gatekeeper generate`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.author.generation.effort import DEFAULT as DEFAULT_EFFORT
from gatekeeper.author.generation.effort import EFFORTS, MOST_BASELINE_TESTS
from gatekeeper.cli.arguments import add_cache, add_out
from gatekeeper.cli.output import print_error, print_lines
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository

if TYPE_CHECKING:
    from gatekeeper.author.generation.run import Generated, GenerateOptions, GenerationPlan
    from gatekeeper.author.quality.run import QualityOptions


_DEFAULT_BASELINE = 20


def add_quality(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("quality")
    group.add_argument(
        "--as-is",
        action="store_true",
        help="generate nothing; use the rules and tests in the files",
    )
    group.add_argument(
        "--check-quality",
        action="store_true",
        help="let judges decide which tests are valid and which rules follow from the prompt",
    )
    group.add_argument(
        "--leave-out-rejected",
        action="store_true",
        help="leave out the tests and rules that the judges of --check-quality reject",
    )
    group.add_argument(
        "--baseline",
        nargs="?",
        type=int,
        const=_DEFAULT_BASELINE,
        metavar="N",
        help=(
            "also write N tests directly from the prompt, for comparison (default: "
            f"{_DEFAULT_BASELINE})"
        ),
    )
    group.add_argument(
        "--ground-truth",
        metavar="MODEL",
        help="propose answers of this model as expected outputs if the judges accept them",
    )
    group.add_argument(
        "--accept-ground-truth",
        nargs="+",
        metavar="ID",
        help="accept the proposed answers of these tests, or of `all`, as expected outputs",
    )
    group.add_argument(
        "--judges",
        metavar="MODEL,…",
        help="the judges that grade the quality and the proposed answers; the majority decides "
        "(default: the contract's judge)",
    )
    group.add_argument(
        "--embeddings",
        metavar="MODEL",
        help="compare outputs by the embeddings of this model (default: by their words)",
    )


def read_quality(arguments: argparse.Namespace, plan: GenerationPlan) -> QualityOptions | None:
    """Return the steps to take; None if there are none. Raises UsageError."""
    from gatekeeper.author.generation.files import contract_models
    from gatekeeper.author.quality.ground_truth import require_other_families
    from gatekeeper.author.quality.run import QualityOptions

    count = arguments.baseline
    if count is not None and not 1 <= count <= MOST_BASELINE_TESTS:
        raise UsageError(f"--baseline {count}: give a number from 1 to {MOST_BASELINE_TESTS}")
    names = [name.strip() for name in (arguments.judges or "").split(",") if name.strip()]
    if arguments.embeddings:
        _require_embeddings(arguments.embeddings)
    # A contract that is there knows which model runs the prompt, and who grades it.
    model, judge = contract_models(plan.present.contract)
    has_baseline = any(row.is_baseline for row in plan.present.fixtures)
    options = QualityOptions(
        judges=tuple(dict.fromkeys(names)) or (arguments.judge or judge or arguments.model,),
        model=arguments.prove_with or plan.prompt.prompt.model or model or arguments.model,
        compares=has_baseline or bool(count),
        check=arguments.check_quality or arguments.leave_out_rejected,
        leave_out=arguments.leave_out_rejected,
        baseline=count or 0,
        ground_truth=arguments.ground_truth,
        embeddings=arguments.embeddings,
    )
    if options.is_empty:
        if arguments.as_is:
            raise UsageError(
                "--as-is alone does nothing; add --check-quality, --baseline or --ground-truth"
            )
        return None
    if options.ground_truth:
        require_other_families(options.ground_truth, options.judges)
    return options


def _require_embeddings(model: str) -> None:
    """Refuse a model of which no embeddings can be had, before any call. Raises UsageError."""
    from gatekeeper.contract.models.names import is_hosted, read_model_name
    from gatekeeper.providers.native.dialects import DIALECTS

    try:
        known = not model.startswith("local/") and (
            not is_hosted(model) or read_model_name(model).provider in DIALECTS
        )
    except ValueError as error:
        raise UsageError(f"--embeddings {model}: {error}") from None
    if not known:
        raise UsageError(
            f"--embeddings {model}: gatekeeper cannot get embeddings from this provider; use a "
            "model such as openai/text-embedding-3-small, or leave out --embeddings"
        )


DEFAULT_OUT = Path(".gatekeeper/generate")
DEFAULT_MUTATION = Path(".gatekeeper/mutation/mutation.json")
_MOST_TESTS = 50


def add_generate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "prompt", metavar="PROMPT", help="the prompt: FILE, FILE.yaml#key or FILE.py:CONSTANT"
    )
    parser.add_argument("--model", help="the model that writes the rules and tests")
    parser.add_argument(
        "--update",
        action="store_true",
        help="update only the rules, tests and other parts that belong to changed lines of the "
        "prompt",
    )
    parser.add_argument(
        "--prove-with",
        metavar="MODEL",
        help="let this model answer the prompt, and also test the checks on these answers",
    )
    parser.add_argument(
        "--judge", metavar="MODEL", help="the judge of the contract (default: --model)"
    )
    parser.add_argument(
        "--effort",
        choices=tuple(EFFORTS),
        default=DEFAULT_EFFORT,
        help=f"how many tests to write, and how to improve them (default: {DEFAULT_EFFORT})",
    )
    parser.add_argument(
        "--tests-per-rule",
        type=int,
        metavar="N",
        help="test inputs for each rule and for each inverse rule (default: set by --effort)",
    )
    parser.add_argument(
        "--estimate", action="store_true", help="print the calls and their cost; call no model"
    )
    parser.add_argument(
        "--for-survivors",
        type=Path,
        nargs="?",
        const=DEFAULT_MUTATION,
        metavar="FILE",
        help="write fixtures only for the parts of the prompt that `gatekeeper mutate` found to be "
        f"unprotected, as listed in FILE (default: {DEFAULT_MUTATION})",
    )
    add_quality(parser)
    add_out(parser, DEFAULT_OUT)
    parser.add_argument(
        "--replay",
        type=Path,
        metavar="FILE",
        help="take all answers from this generate.answers.jsonl and call no model",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue a run that failed: request only the answers that are not in its "
        "generate.answers.jsonl",
    )
    add_cache(parser)


def generate(arguments: argparse.Namespace) -> int:
    """Write a specification, fixtures and a contract for a prompt.

    A model says what the prompt's input is and which rules its output has to obey, and writes tests
    for each rule. Later runs keep the changes that you make in these files. Judges can check the
    rules and tests, and accept answers that another model proposes. The exit code is 0 if the files
    were written, 2 if the prompt or a file cannot be used, and 3 if the model gave no
    usable answer or a file cannot be written; then no file is changed.
    """
    from gatekeeper.author.generation.replace_files import finish_replacements
    from gatekeeper.author.generation.run import GenerateOptions, plan_generation
    from gatekeeper.author.session import ANSWERS
    from gatekeeper.contract.policies.policy import load_policy
    from gatekeeper.runs.answers.kept import require_untracked
    from gatekeeper.runs.library.arguments import tracked_by

    effort, tests = EFFORTS[arguments.effort], arguments.tests_per_rule
    if tests is not None:
        effort = replace(effort, tests_per_rule=tests)
    if not 1 <= effort.tests_per_rule <= _MOST_TESTS:
        raise UsageError(f"--tests-per-rule {tests}: give a number from 1 to {_MOST_TESTS}")
    if not arguments.model and not arguments.accept_ground_truth:
        raise UsageError("--model is missing; name the model that writes the rules and tests")
    others = {"--as-is": arguments.as_is, "--for-survivors": arguments.for_survivors}
    for other in (flag for flag, given in others.items() if given and arguments.update):
        raise UsageError(f"--update and {other} cannot be given together; choose one of them")
    if arguments.resume and arguments.replay:
        raise UsageError("--resume and --replay cannot be given together; choose one of them")
    options = GenerateOptions(
        arguments.model or "",
        effort,
        arguments.prove_with,
        arguments.judge,
        arguments.update,
        arguments.as_is,
    )
    with Repository.open(arguments.repo) as repository:
        root = repository.root or arguments.repo
        if arguments.resume:
            require_untracked(arguments.out / ANSWERS, tracked_by(repository))
        reference = _reference(arguments.prompt, arguments.repo, root)
        revision = repository.worktree()
        plan = plan_generation(revision, load_policy(revision), reference)
        if notices := finish_replacements(root, plan.places.paths):
            for notice in notices:
                print_error(notice)
            revision = repository.worktree()
            plan = plan_generation(revision, load_policy(revision), reference)
        if arguments.accept_ground_truth:
            return _accept(plan, arguments.accept_ground_truth, root)
        if arguments.for_survivors:
            from gatekeeper.cli.survivors import write_for_survivors

            return write_for_survivors(plan, options, arguments, root)
        quality = read_quality(arguments, plan)
        if arguments.estimate:
            return _estimate(plan, options, quality)
        return _run(plan, options, quality, arguments, root)


def _reference(written: str, repo: Path, root: Path) -> str:
    """Return the prompt's reference from the repository root: the path is from the folder that the
    user is in, or from the repository if it is not there."""
    from gatekeeper.contract.discovery.prompt_files import CODE_SUFFIXES
    from gatekeeper.contract.prompts.reference import read_reference
    from gatekeeper.contract.reading.read import UnreadableError
    from gatekeeper.gate.validate import repository_path

    try:
        place = read_reference(written)
    except UnreadableError as error:
        raise UsageError(f"{written}: {error.what}; {error.fix}") from None
    if place.path.lower().endswith(CODE_SUFFIXES) and not place.constant:
        raise UsageError(
            f"{written}: the prompt in a code file is a constant; write {written}:NAME, with the "
            "name of the constant"
        )
    path = Path(place.path)
    if not path.exists():
        path = repo / place.path
    try:
        return repository_path(path, root) + place.part
    except UsageError:
        raise UsageError(
            f"{written}: this file is not in the repository {root.resolve()}; choose a prompt in "
            "this repository, or choose the repository of the file with --repo"
        ) from None


def _accept(plan: GenerationPlan, ids: list[str], root: Path) -> int:
    from gatekeeper.author.quality.ground_truth import accept_proposals, unused_notice
    from gatekeeper.numbers import count

    changed = accept_proposals(plan, ids, root)
    print_lines([f"{plan.places.fixtures}: {count(len(changed), 'answer')} accepted"])
    if notice := unused_notice(plan):
        print_error(notice)
    return 0


def _estimate(
    plan: GenerationPlan, options: GenerateOptions, quality: QualityOptions | None
) -> int:
    from gatekeeper.author.forecast import estimate_lines, quality_estimate_lines

    lines = [] if options.as_is else list(estimate_lines(plan, options))
    lines += quality_estimate_lines(plan, options, quality) if quality else []
    print_lines(lines)
    return 0


def _run(
    plan: GenerationPlan,
    options: GenerateOptions,
    quality: QualityOptions | None,
    arguments: argparse.Namespace,
    root: Path,
) -> int:
    from gatekeeper.author.quality.report import quality_lines
    from gatekeeper.author.quality.run import QualitySteps
    from gatekeeper.author.session import ANSWERS, AnswerFile, generate_files

    steps = QualitySteps(quality) if quality else None
    path = arguments.out / ANSWERS
    answers = AnswerFile(path, arguments.replay, arguments.resume, arguments.cache)
    done = generate_files(plan, options, root, answers, steps)
    found = quality_lines(steps.report) if steps and steps.report else ()
    print_lines([*_lines(plan, done.generated, done.written), *found, done.calls])
    for notice in done.generated.notices:
        print_error(notice)
    return 0


def _lines(plan: GenerationPlan, made: Generated, written: tuple[str, ...]) -> list[str]:
    from gatekeeper.numbers import count, lines

    found = made.specification
    checked = len(found.rules) - len(found.judged_rules)
    said = [
        f"{plan.prompt.reference}: {count(len(found.rules), 'rule')}, {checked} with a check and "
        f"{len(found.judged_rules)} for a judge; {count(len(made.rows), 'fixture')}; "
        f"{count(len(found.questions), 'open question')}"
    ]
    for question in found.questions:
        place = lines(question.lines)
        said.append(f"  {question.kind}{place and ', '}{place}: {question.text}")
    return [*said, *(f"wrote {path}" for path in written), *([] if written else ["no change"])]
