"""`gatekeeper check`, `run`, `affected` and `validate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gatekeeper.cli.arguments import (
    add_arms,
    add_cache,
    add_contract,
    add_run_options,
    library_arguments,
)
from gatekeeper.cli.output import print_answer, print_error, print_json, readers_may_leave, report
from gatekeeper.errors import ContractError
from gatekeeper.runs.library.arguments import CheckArguments, RunArguments


def add_check(parser: argparse.ArgumentParser) -> None:
    add_arms(parser)
    add_run_options(parser)
    add_cache(parser)


def check(arguments: argparse.Namespace) -> int:
    """Decide whether a change may merge: compare it with the branch to merge into."""
    from gatekeeper.author.promises import explain_promises
    from gatekeeper.runs.library.suite import measure_check

    given = library_arguments(CheckArguments, arguments)
    result = measure_check(given, terminal=True, explain=explain_promises)
    return report(result, arguments.out, arguments.format)


def add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ref", default="HEAD", help="the revision to test (default: HEAD)")
    add_contract(parser)
    add_run_options(parser)
    elsewhere = parser.add_mutually_exclusive_group()
    elsewhere.add_argument(
        "--batch",
        action="store_true",
        help="call OpenAI's and Anthropic's models in batches, at half the price and with answers "
        "within 24 hours",
    )
    elsewhere.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="call models from the nodes of the Ray cluster at this address: auto, HOST:PORT, "
        "ray://HOST:PORT or local",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the full suite on one revision. With --history, adds the run to the history."""
    from gatekeeper.runs.library.suite import measure_run

    given = library_arguments(RunArguments, arguments)
    result = measure_run(given, terminal=True, say=print_error)
    return report(result, arguments.out, arguments.format)


def add_affected(parser: argparse.ArgumentParser) -> None:
    add_arms(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def affected(arguments: argparse.Namespace) -> int:
    """List what `check` would run, why, and what it would cost. Calls no model."""
    from gatekeeper.reports.terminal.console import print_estimate
    from gatekeeper.runs.library.affected import affected as find_affected

    found = find_affected(
        repo=arguments.repo,
        base=arguments.base,
        head=arguments.head,
        worktree=arguments.worktree,
        contract=arguments.contract,
    )
    with readers_may_leave():
        if arguments.json:
            print_json(found.document())
        else:
            print_estimate(found)
    return 0


def add_validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="contract files (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def validate(arguments: argparse.Namespace) -> int:
    """Find all mistakes in contracts and prompts of the work tree. Calls no model."""
    from gatekeeper.reports.described.validation import describe_validation
    from gatekeeper.runs.library.validate import validate as find_mistakes

    found = find_mistakes(repo=arguments.repo, paths=arguments.paths)
    # Print no prefix before the position: editors and problem matchers parse the line.
    for problem in () if arguments.json else found.problems:
        print_error(str(problem))
    print_answer(found.document(), describe_validation(found), as_json=arguments.json)
    return 0 if found.valid else ContractError.exit_code
