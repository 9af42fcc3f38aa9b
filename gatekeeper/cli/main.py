"""The command line: finds the command, and maps its result and its errors to exit codes.

0 pass, 1 fail, 2 invalid input, 3 could not measure.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from gatekeeper import __version__
from gatekeeper.cli.commands import COMMANDS, load
from gatekeeper.cli.options import Actions, Command, Option, add_options
from gatekeeper.cli.output import (
    no_secrets_in_errors,
    open_missing_streams,
    print_error,
    refuse_folder_of_git,
    settle_streams,
)
from gatekeeper.errors import Bug, ContractError, as_told


class Parser(argparse.ArgumentParser):
    """Parses arguments as argparse does, and names what a misspelt one was meant to be."""

    def parse_known_args(  # type: ignore[override]  # its overloads differ in the namespace alone
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse what is known. Exits with a suggestion if an unknown option is nearly a known
        one."""
        found, unknown = super().parse_known_args(args, namespace)
        self._refuse_misplaced_contract(unknown)
        for argument in unknown:
            name = argument.partition("=")[0]
            names = [known[2:] for known in self._option_string_actions if known[:2] == "--"]
            near = _nearest(name[2:], names) if name.startswith("--") else None
            if near:
                self.error(f"there is no option `{name}`; did you mean `--{near}`?")
        return found, unknown

    def _refuse_misplaced_contract(self, unknown: Sequence[str]) -> None:
        """Exit if a contract is named without the option, or with one where none is needed."""
        if unknown and not any(argument.startswith("-") for argument in unknown):
            if "--contract" in self._option_string_actions:
                self.error(f"cannot use `{unknown[0]}`; did you mean `--contract {unknown[0]}`?")
        elif unknown[:1] == ["--contract"] and any(a.metavar == "CONTRACT" for a in self._actions):
            self.error("this command takes one contract; write its name without `--contract`")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # argparse suggests only from Python 3.14 on.
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError:
            near = _nearest(str(value), map(str, action.choices or ()))
            if near is None:
                raise
            text = f"there is no `{value}`; did you mean `{near}`?"
            raise argparse.ArgumentError(action, text) from None


def _nearest(name: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(name, list(known), n=1)
    return near[0] if near else None


COULD_NOT_MEASURE = 3
EXITS = "Exit codes: 0 pass, 1 fail, 2 invalid input, 3 could not measure."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Only --help and bad flags raise SystemExit."""
    open_missing_streams()
    _take_any_text(sys.stdout)
    _take_any_text(sys.stderr)
    given = sys.argv[1:] if argv is None else argv
    arguments = command_parser(_needed(given)).parse_args(given)
    with no_secrets_in_errors():
        exit_code = _run(arguments.command, arguments)
    return settle_streams(exit_code)


def _run(command: Command, arguments: argparse.Namespace) -> int:
    """Run the command, and map its errors to exit codes."""
    try:
        with _terminated_like_interrupted():
            refuse_folder_of_git(arguments)
            if arguments.env_file:
                from gatekeeper.cli.env_file import use_env_file

                use_env_file(arguments.env_file, arguments.repo)
            return command(arguments)
    except KeyboardInterrupt:
        _complain("interrupted")
        return COULD_NOT_MEASURE
    except Exception as error:
        told = as_told(error)
        if isinstance(told, Bug):
            print_error(told.trace)
        if isinstance(told, ContractError):
            # Print no prefix before the position: editors and problem matchers parse the line.
            print_error(str(told))
        else:
            _complain(str(told))
        return told.exit_code


def _needed(given: Sequence[str]) -> tuple[str, ...]:
    """Return the commands that must be loaded: the one that is run, or all for their help."""
    if given[:1] == ["--version"]:
        return ()
    return tuple(given[:1]) if given[:1] and given[0] in COMMANDS else tuple(COMMANDS)


@cache
def command_parser(loaded: tuple[str, ...] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Return the parser of all commands, with the arguments of those that are loaded;
    docs/commands.md is written from it."""
    parser = Parser(
        prog="gatekeeper", description="Decides whether a prompt change may merge.", epilog=EXITS
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        if name not in loaded:
            commands.add_parser(name)  # known, so that a misspelt name is recognised
            continue
        found = load(name)
        if not isinstance(found, Actions):
            added = _add_command(commands, name, *found)
        else:
            added = commands.add_parser(
                name, help=found.about, description=found.about, epilog=EXITS
            )
            actions = added.add_subparsers(required=True, metavar="ACTION")
            for action, own in found.options.items():
                _add_command(actions, action.__name__, action, own)
        added.add_argument(
            "--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: .)"
        )
        added.add_argument(
            "--env-file",
            type=Path,
            metavar="FILE",
            help="read environment variables, such as keys, from this file; one that is set "
            "already stays as it is, and reports hide the values",
        )
    return parser


def _add_command(
    commands: Any, name: str, command: Command, own: Sequence[Option]
) -> argparse.ArgumentParser:
    text = (command.__doc__ or "").strip()
    added: argparse.ArgumentParser = commands.add_parser(
        name, help=text.splitlines()[0], description=text, epilog=EXITS
    )
    added.set_defaults(command=command)
    add_options(added, own)
    return added


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
