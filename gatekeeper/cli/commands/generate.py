"""`gatekeeper generate`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.cli.arguments import add_out
from gatekeeper.cli.output import print_error, readers_may_leave
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository

if TYPE_CHECKING:
    from gatekeeper.author.generation.run import Generated, GenerateOptions, GenerationPlan

DEFAULT_OUT = Path(".gatekeeper/generate")
DEFAULT_MUTATION = Path(".gatekeeper/mutation/mutation.json")
_MOST_TESTS = 50


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "prompt", metavar="PROMPT", help="the prompt: FILE, FILE.yaml#key or FILE.py:CONSTANT"
    )
    parser.add_argument("--model", required=True, help="the model that generates")
    parser.add_argument(
        "--update",
        action="store_true",
        help="make only what belongs to changed lines of the prompt again",
    )
    parser.add_argument(
        "--prove-with",
        metavar="MODEL",
        help="the prompt's own model: checks are proved on its outputs, too",
    )
    parser.add_argument(
        "--judge", metavar="MODEL", help="the judge of the contract (default: --model)"
    )
    parser.add_argument(
        "--tests-per-rule",
        type=int,
        default=3,
        metavar="N",
        help="test inputs for each rule, and for its inverse (default: 3)",
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
        f"unprotected (default: {DEFAULT_MUTATION})",
    )
    add_out(parser, DEFAULT_OUT)
    parser.add_argument(
        "--replay",
        type=Path,
        metavar="FILE",
        help="take all answers from this generate.answers.jsonl and call no model",
    )


def generate(arguments: argparse.Namespace) -> int:
    """Write a specification, fixtures and a contract for a prompt.

    A model says what the prompt's input is and which rules its output has to obey, and writes tests
    for each rule. What you changed, added or removed in these files stays so. The exit code is 0 if
    the files were written, 2 if the prompt or a file cannot be used, and 3 if the model gave no
    usable answer or a file cannot be written; then no file is changed.
    """
    from gatekeeper.author.generation.run import GenerateOptions, plan_generation
    from gatekeeper.contract.policy import load_policy

    if not 1 <= arguments.tests_per_rule <= _MOST_TESTS:
        raise UsageError(
            f"--tests-per-rule {arguments.tests_per_rule}: give a number from 1 to {_MOST_TESTS}"
        )
    options = GenerateOptions(
        arguments.model,
        arguments.tests_per_rule,
        arguments.prove_with,
        arguments.judge,
        arguments.update,
    )
    with Repository.open(arguments.repo) as repository:
        revision = repository.worktree()
        root = repository.root or arguments.repo
        plan = plan_generation(
            revision, load_policy(revision), _reference(arguments.prompt, arguments.repo, root)
        )
        if arguments.for_survivors:
            from gatekeeper.cli.survivors import write_for_survivors

            return write_for_survivors(plan, options, arguments, root)
        if arguments.estimate:
            return _estimate(plan, options)
        return _run(plan, options, arguments, root)


def _reference(written: str, repo: Path, root: Path) -> str:
    """Return the prompt's reference from the repository root: the path is from the folder that the
    user is in, or from the repository if it is not there."""
    from gatekeeper.contract.discovery.prompt_files import CODE_SUFFIXES
    from gatekeeper.contract.prompts.reference import read_reference
    from gatekeeper.contract.read import UnreadableError
    from gatekeeper.gate.validate import repository_path

    try:
        place = read_reference(written)
    except UnreadableError as error:
        raise UsageError(f"{written}: {error.what}; {error.fix}") from None
    if place.path.lower().endswith(CODE_SUFFIXES) and not place.constant:
        raise UsageError(f"{written}: name the constant that holds the prompt: {written}:NAME")
    path = Path(place.path)
    if not path.exists():
        path = repo / place.path
    try:
        return repository_path(path, root) + place.part
    except UsageError:
        raise UsageError(
            f"{written}: this file is not in the repository {root.resolve()}; name a prompt in it, "
            "or name its own repository with --repo"
        ) from None


def _estimate(plan: GenerationPlan, options: GenerateOptions) -> int:
    from gatekeeper.author.generation.estimate import estimate_lines

    with readers_may_leave():
        sys.stdout.writelines(f"{line}\n" for line in estimate_lines(plan, options))
    return 0


def _run(
    plan: GenerationPlan, options: GenerateOptions, arguments: argparse.Namespace, root: Path
) -> int:
    from gatekeeper.author.generation.session import generate_files

    done = generate_files(plan, options, root, arguments.out, arguments.replay)
    with readers_may_leave():
        sys.stdout.writelines(f"{line}\n" for line in _lines(plan, done.generated, done.written))
        sys.stdout.write(f"{done.calls}\n")
    for notice in done.generated.notices:
        print_error(notice)
    return 0


def _lines(plan: GenerationPlan, made: Generated, written: tuple[str, ...]) -> list[str]:
    from gatekeeper.numbers import count

    found = made.specification
    checked = len(found.rules) - len(found.judged_rules)
    said = [
        f"{plan.prompt.reference}: {count(len(found.rules), 'rule')}, {checked} with a check and "
        f"{len(found.judged_rules)} for a judge; {count(made.fixtures, 'fixture')}; "
        f"{count(len(found.questions), 'open question')}"
    ]
    for question in found.questions:
        lines = ", ".join(map(str, question.lines))
        said.append(f"  {question.kind}, line {lines}: {question.text}")
    return [*said, *(f"wrote {path}" for path in written), *([] if written else ["no change"])]
