"""`gatekeeper check`, `run`, `affected` and `validate`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import fields
from typing import TypeVar

from gatekeeper.cli.options import Option, options
from gatekeeper.cli.output import print_answer, print_error, print_json, readers_may_leave, report
from gatekeeper.errors import ContractError
from gatekeeper.reports.terminal.console import print_estimate
from gatekeeper.runs.library.arguments import CheckArguments, RunArguments, SuiteArguments

Arguments = TypeVar("Arguments", bound=SuiteArguments)


def _given(kind: type[Arguments], parsed: argparse.Namespace) -> Arguments:
    """Return the parsed options as the arguments of a function of the library."""
    found = {field.name: getattr(parsed, field.name) for field in fields(kind)}
    return kind(**{**found, "contract": tuple(parsed.contract), "format": tuple(parsed.format)})


def check(arguments: argparse.Namespace) -> int:
    """Decide whether a change may merge: compare it with the branch to merge into."""
    # `affected` needs none of this.
    from gatekeeper.author.promises import explain_promises
    from gatekeeper.runs.library.suite import measure_check

    result = measure_check(
        _given(CheckArguments, arguments), terminal=True, explain=explain_promises
    )
    return report(result, arguments.out, arguments.format, verbose=arguments.verbose)


def run(arguments: argparse.Namespace) -> int:
    """Run the full suite on one revision. With --history, adds the run to the history."""
    from gatekeeper.runs.library.suite import measure_run

    result = measure_run(_given(RunArguments, arguments), terminal=True, say=print_error)
    return report(result, arguments.out, arguments.format, verbose=arguments.verbose)


def affected(arguments: argparse.Namespace) -> int:
    """List what `check` would run, why, and what it would cost. Calls no model."""
    # The help of the other commands does not load what reads contracts.
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


def validate(arguments: argparse.Namespace) -> int:
    """Find all mistakes in contracts and prompts of the work tree. Calls no model."""
    # What finds mistakes costs the other commands a tenth of a second.
    from gatekeeper.reports.described.validation import describe_validation
    from gatekeeper.runs.library.validate import validate as find_mistakes

    found = find_mistakes(repo=arguments.repo, paths=arguments.paths)
    # Print no prefix before the position: editors and problem matchers parse the line.
    for problem in () if arguments.json else found.problems:
        print_error(str(problem))
    print_answer(found.document(), describe_validation(found), as_json=arguments.json)
    return 0 if found.valid else ContractError.exit_code


OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "check": options("""
    @arms
    @run
    @cache
    """),
    "run": options("""
    @ref
    @contract
    @run
    --batch           call OpenAI's and Anthropic's models in batches, at half the price and with
                      answers within 24 hours
    or --ray ADDRESS  call models from the nodes of the Ray cluster at this address: auto,
                      HOST:PORT, ray://HOST:PORT or local
    """),
    "affected": options("""
    @arms
    @json
    """),
    "validate": options(
        """
    PATH  contract files (default: all)
    @json
    """,
        path={"nargs": "*", "dest": "paths"},
    ),
}
