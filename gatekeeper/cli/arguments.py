"""Command-line arguments that several commands share, and the values that they stand for."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

from gatekeeper.contract.policies.policy import NO_HISTORY, POLICY_PATH
from gatekeeper.errors import UsageError
from gatekeeper.reports.formats import Format
from gatekeeper.runs.library.arguments import ORDER_SEED, SuiteArguments

if TYPE_CHECKING:
    from gatekeeper.contract.policies.policy import Policy
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.contract.values.definition import Contract
    from gatekeeper.git import Repository
    from gatekeeper.history.stores.store import HistoryStore


Arguments = TypeVar("Arguments", bound=SuiteArguments)

DEFAULT_OUT = Path(".gatekeeper/out")


def add_arms(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the two revisions to compare, and the contracts."""
    parser.add_argument(
        "--base", metavar="REF", help="branch to merge into (default: the remote's default branch)"
    )
    head = parser.add_mutually_exclusive_group()
    head.add_argument("--head", metavar="REF", help="commit with the change (default: HEAD)")
    head.add_argument(
        "--worktree", action="store_true", help="test the files in the work tree, not a commit"
    )
    add_contract(parser)


def add_contract(parser: argparse.ArgumentParser) -> None:
    """Add the option that selects contracts."""
    parser.add_argument(
        "--contract",
        action="append",
        default=[],
        metavar="NAME",
        help="use only this contract; can be repeated",
    )


def add_past(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the history to read."""
    parser.add_argument(
        "--history",
        metavar="WHERE",
        help=("where past runs are stored, as in `run --history` (default: the policy's history)"),
    )


def add_out(parser: argparse.ArgumentParser, default: Path = DEFAULT_OUT) -> None:
    """Add the option that names the folder for the reports."""
    parser.add_argument(
        "--out",
        type=Path,
        default=default,
        metavar="DIR",
        help=f"folder for the reports (default: {default})",
    )


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Add the option that replaces every model by a recording."""
    parser.add_argument(
        "--replay",
        type=Path,
        metavar="FILE",
        help="take all answers from this samples.jsonl and call no model",
    )


def add_cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="FILE",
        help="reuse the samples in this file, and add the new samples to it; needs an API key, "
        "which signs the samples",
    )


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run: its reports, its history, a recording, its order."""
    add_out(parser)
    add_reports(parser)
    add_history(parser)
    add_replay(parser)
    order = parser.add_mutually_exclusive_group()
    order.add_argument(
        "--resume",
        action="store_true",
        help=("continue the unfinished run in the folder of --out, and reuse its answers"),
    )
    add_order_seed(order, "result.json")


def add_order_seed(parser: argparse._ActionsContainer, file: str) -> None:
    """Add the option that repeats the order of an earlier run, which a file of that run names."""
    parser.add_argument(
        "--order-seed",
        type=_order_seed,
        metavar="SEED",
        help=f"the order_seed in the {file} of an earlier run, to repeat the order of its requests",
    )


def add_reports(parser: argparse.ArgumentParser) -> None:
    """Add the option that names more reports."""
    parser.add_argument(
        "--format",
        action="append",
        default=[],
        choices=get_args(Format),
        help="also write the report in this format; can be repeated",
    )


def add_history(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the history to read, and to which a run is added."""
    parser.add_argument(
        "--history",
        metavar="WHERE",
        help=("where past runs are stored: branch:NAME, NAME.jsonl, NAME.sqlite, postgresql://…"),
    )


def add_plan_file(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the plan of a run on several machines."""
    parser.add_argument(
        "--plan",
        type=Path,
        required=True,
        metavar="FILE",
        help="the file that `gatekeeper plan` wrote",
    )


def _order_seed(text: str) -> str:
    if not ORDER_SEED.fullmatch(text):
        raise argparse.ArgumentTypeError(
            "an order seed has 32 digits 0-9a-f; copy `order_seed` from the JSON report of the "
            "earlier run"
        )
    return text


def library_arguments(kind: type[Arguments], parsed: argparse.Namespace) -> Arguments:
    """Return the parsed options as the arguments of a function of the library."""
    found = {field.name: getattr(parsed, field.name) for field in fields(kind)}
    return kind(**{**found, "contract": tuple(parsed.contract), "format": tuple(parsed.format)})


def past_of(arguments: argparse.Namespace, repository: Repository, policy: Policy) -> HistoryStore:
    """Return the history that the option of `add_past` or the policy names, not yet read.

    Raises UsageError if neither names one, or if the option names a file that does not exist.
    """
    from gatekeeper.history.stores.open import open_history, require_history

    location = arguments.history or policy.history
    if location == NO_HISTORY:
        raise UsageError(
            f"{POLICY_PATH} turns the history off, but this command needs a history; "
            "choose one with --history"
        )
    store = open_history(location, repository)
    if arguments.history and not getattr(arguments, "source", None):
        require_history(location, "--history")
    return store


def named_contract(revision: Revision, policy: Policy, name: str) -> Contract:
    """Return the contract of that name. Raises UsageError and ContractError."""
    from gatekeeper.checks.packages import use_packages
    from gatekeeper.checks.registry import SHAPES
    from gatekeeper.contract.changes.affected import every_contract
    from gatekeeper.contract.changes.groups import narrowed

    use_packages(policy)
    (found,) = narrowed(every_contract(revision, policy, SHAPES), [name])
    if found.head is None:
        raise UsageError(f"there is no contract `{name}`")
    return found.head
