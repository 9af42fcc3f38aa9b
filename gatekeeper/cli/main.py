"""The command line: finds the command, and maps its result and its errors to exit codes.

0 pass, 1 fail, 2 invalid input, 3 could not measure.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TextIO

from gatekeeper import __version__
from gatekeeper.cli.arguments import refuse_folder_of_git
from gatekeeper.cli.commands import COMMANDS, Command
from gatekeeper.cli.output import (
    no_secrets_in_errors,
    open_missing_streams,
    print_error,
    settle_streams,
)
from gatekeeper.cli.parser import Parser
from gatekeeper.errors import ContractError, GatekeeperError, fault_of_the_machine

COULD_NOT_MEASURE = 3
EXITS = "Exit codes: 0 pass, 1 fail, 2 invalid input, 3 could not measure."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Only --help and bad flags raise SystemExit."""
    open_missing_streams()
    arguments = _parser().parse_args(argv)
    _take_any_text(sys.stdout)
    _take_any_text(sys.stderr)
    with no_secrets_in_errors():
        exit_code = _run(arguments.command, arguments)
    return settle_streams(exit_code)


def _run(command: Command, arguments: argparse.Namespace) -> int:
    """Run the command, and map its errors to exit codes."""
    try:
        with _terminated_like_interrupted():
            refuse_folder_of_git(arguments)
            return command(arguments)
    except ContractError as error:
        # Print no prefix before the position: editors and problem matchers parse the line.
        print_error(str(error))
        return error.exit_code
    except GatekeeperError as error:
        _complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        _complain("interrupted")
        return COULD_NOT_MEASURE
    except Exception as error:
        fault = fault_of_the_machine(error)
        if fault:
            _complain(str(fault))
            return fault.exit_code
        # An unexpected error is neither a pass nor a fail of the prompt.
        print_error(traceback.format_exc().rstrip())
        _complain("this is a bug in gatekeeper, please report it")
        return COULD_NOT_MEASURE


@cache
def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="gatekeeper", description="Decides whether a prompt change may merge.", epilog=EXITS
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command, add_arguments in COMMANDS:
        text = (command.__doc__ or "").strip()
        added = commands.add_parser(
            command.__name__, help=text.splitlines()[0], description=text, epilog=EXITS
        )
        added.set_defaults(command=command)
        added.add_argument(
            "--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: .)"
        )
        add_arguments(added)
    return parser


def _take_any_text(stream: TextIO) -> None:
    """Print a question mark for a character that the terminal cannot show, and do not fail."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


@contextlib.contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Treat SIGTERM, which runners send to cancel a job, like Ctrl-C.

    By default, Python would end without a message.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _complain(text: str) -> None:
    print_error(f"gatekeeper: {text}")
