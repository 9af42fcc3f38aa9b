"""The command line: builds the edges, calls the gate, maps results and errors to exit codes.

0 pass, 1 fail, 2 the author's mistake, 3 could not measure.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from gatekeeper import __version__
from gatekeeper.contract.policy import judging_policy, load_policy
from gatekeeper.errors import ContractError, GatekeeperError, UsageError
from gatekeeper.git import Repository

if TYPE_CHECKING:
    from gatekeeper.contract.change import Change
    from gatekeeper.result import GateResult

DEFAULT_OUT = Path(".gatekeeper/out")
COULD_NOT_MEASURE = 3
EXITS = "Exit codes: 0 pass, 1 fail, 2 the author's mistake, 3 could not measure."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Only --help and bad flags raise SystemExit."""
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    _take_any_text(sys.stdout)
    _take_any_text(sys.stderr)
    try:
        with _terminated_like_interrupted():
            return command(arguments)
    except ContractError as error:
        # Nothing before the place: editors and problem matchers read the line.
        print(error, file=sys.stderr)  # noqa: T201
        return error.exit_code
    except GatekeeperError as error:
        _complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        _complain("interrupted")
        return COULD_NOT_MEASURE
    except Exception:
        # An unforeseen fault is neither a pass nor a fail of the prompt.
        traceback.print_exc()
        _complain("this is a fault of gatekeeper itself, please report it")
        return COULD_NOT_MEASURE


def check(arguments: argparse.Namespace) -> int:
    """The pull-request gate."""
    from gatekeeper.gate import plan_check
    from gatekeeper.reports.write import forget_reports
    from gatekeeper.session import measure

    forget_reports(arguments.out)
    with Repository.open(arguments.repo) as repository:
        change = _change(repository, arguments)
        policy, notices = judging_policy(change)
        work = plan_check(change, policy, arguments.contract, notices)
        revisions = (change.base, change.head)
        result = measure(work, revisions, history=arguments.history, replay=arguments.replay)
    return _report(result, arguments.out)


def run(arguments: argparse.Namespace) -> int:
    """The full suite on one revision; appends to the history where one is named."""
    from gatekeeper.gate import plan_run
    from gatekeeper.history.file import append_history
    from gatekeeper.reports.write import forget_reports
    from gatekeeper.session import measure

    forget_reports(arguments.out)
    _require_writable(arguments.history)
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref)
        work = plan_run(revision, load_policy(revision), arguments.contract)
        result = measure(work, (revision,), history=arguments.history, replay=arguments.replay)
    code = _report(result, arguments.out)
    if arguments.history:
        append_history(arguments.history, result)
    return code


def affected(arguments: argparse.Namespace) -> int:
    """What a check would run and why. Calls no model."""
    from gatekeeper.forecast import forecast
    from gatekeeper.providers.prices import estimated_cost
    from gatekeeper.reports.terminal import print_forecast

    with Repository.open(arguments.repo) as repository:
        change = _change(repository, arguments)
        policy, _ = judging_policy(change)
        found = forecast(change, policy, arguments.contract, estimated_cost)
    with _readers_may_leave():
        if arguments.json:
            print(json.dumps(found.document(), indent=2))  # noqa: T201
        else:
            print_forecast(found)
    return 0


def validate(arguments: argparse.Namespace) -> int:
    """Contracts and prompts of the work tree, without a model: all problems at once."""
    from gatekeeper.validation import repository_path, validate_contracts

    with Repository.open(arguments.repo) as repository:
        revision = repository.worktree()
        root = repository.root or arguments.repo
        paths = [repository_path(path, root) for path in arguments.paths]
        lines, problems = validate_contracts(revision, load_policy(revision), paths)
    with _readers_may_leave():
        for line in lines:
            print(line)  # noqa: T201
    if problems:
        raise ContractError(problems)
    return 0


def init(arguments: argparse.Namespace) -> int:
    """A first contract, policy and workflow; files that are there already are left alone."""
    from gatekeeper.starter import write_starter

    with Repository.open(arguments.repo) as repository:
        for line in write_starter(repository.root or arguments.repo):
            print(line)  # noqa: T201
    return 0


def action(_: argparse.Namespace) -> int:
    """The container's entry: inputs and event come from the environment."""
    from gatekeeper.action import main as act

    return act()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gatekeeper", description="Decides whether a prompt change may merge.", epilog=EXITS
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(function: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        text = (function.__doc__ or "").strip()
        added = commands.add_parser(
            function.__name__, help=text.splitlines()[0], description=text, epilog=EXITS
        )
        added.set_defaults(command=function)
        added.add_argument(
            "--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: .)"
        )
        return added

    compared = command(check)
    _add_arms(compared)
    _add_run(compared)

    suite = command(run)
    suite.add_argument("--ref", default="HEAD", help="the revision to run (default: HEAD)")
    _add_contract(suite)
    _add_run(suite)

    forecast = command(affected)
    _add_arms(forecast)
    forecast.add_argument("--json", action="store_true", help="as JSON")

    checked = command(validate)
    checked.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="contract files (default: all)"
    )
    command(init)
    command(action)
    return parser


def _add_arms(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--base", metavar="REF", help="merged into (default: the remote's default branch)"
    )
    head = parser.add_mutually_exclusive_group()
    head.add_argument("--head", metavar="REF", help="the change (default: HEAD)")
    head.add_argument(
        "--worktree", action="store_true", help="the change is the work tree as it stands"
    )
    _add_contract(parser)


def _add_contract(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--contract",
        action="append",
        default=[],
        metavar="NAME",
        help="only this contract; may be given again",
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=DEFAULT_OUT, metavar="DIR", help=f"(default: {DEFAULT_OUT})"
    )
    parser.add_argument(
        "--history", type=Path, metavar="FILE", help="past runs of the default branch, jsonl"
    )
    parser.add_argument(
        "--replay",
        type=Path,
        metavar="FILE",
        help="answer every model from this samples.jsonl and call none",
    )


def _change(repository: Repository, arguments: argparse.Namespace) -> Change:
    if arguments.worktree:
        return repository.worktree_change(arguments.base)
    return repository.change(arguments.base, arguments.head)


def _report(result: GateResult, out: Path) -> int:
    from gatekeeper.reports.terminal import print_result
    from gatekeeper.reports.write import write_reports

    files = write_reports(result, out)
    with _readers_may_leave():
        print_result(result, files)
    return result.exit_code


def _require_writable(history: Path | None) -> None:
    """Before the first call is paid for, not after the last."""
    if history is None:
        return
    folder = history.parent
    if history.is_dir() or not folder.is_dir():
        raise UsageError(f"--history {history}: name a file in a folder that is there")


def _take_any_text(stream: TextIO) -> None:
    """A terminal that cannot show a character shows a question mark, and the verdict stands."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


@contextlib.contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM is how runners say Ctrl-C; by itself Python would die of it without a word."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _readers_may_leave() -> Iterator[None]:
    """`gatekeeper check | head` must end with the verdict, not with the fate of the pipe."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich ends the process when its reader is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(text: str) -> None:
    print(f"gatekeeper: {text}", file=sys.stderr)  # noqa: T201
