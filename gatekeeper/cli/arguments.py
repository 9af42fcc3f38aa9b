"""Arguments that several commands take, and what they stand for."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from gatekeeper.contract.policy import NO_HISTORY, POLICY_PATH
from gatekeeper.errors import UsageError
from gatekeeper.reports.formats import Format

if TYPE_CHECKING:
    from gatekeeper.contract.change import Change
    from gatekeeper.contract.policy import Policy
    from gatekeeper.git import Repository
    from gatekeeper.history.store import HistoryStore

DEFAULT_OUT = Path(".gatekeeper/out")


def add_arms(parser: argparse.ArgumentParser) -> None:
    """What is compared with what."""
    parser.add_argument(
        "--base", metavar="REF", help="merged into (default: the remote's default branch)"
    )
    head = parser.add_mutually_exclusive_group()
    head.add_argument("--head", metavar="REF", help="the change (default: HEAD)")
    head.add_argument(
        "--worktree", action="store_true", help="the change is the work tree as it stands"
    )
    add_contract(parser)


def add_contract(parser: argparse.ArgumentParser) -> None:
    """Which contracts are meant."""
    parser.add_argument(
        "--contract",
        action="append",
        default=[],
        metavar="NAME",
        help="only this contract; may be given again",
    )


def add_past(parser: argparse.ArgumentParser) -> None:
    """Which history is looked at."""
    parser.add_argument(
        "--history",
        metavar="WHERE",
        help="past runs of the default branch, as for `run` (default: what the policy names)",
    )


def add_out(parser: argparse.ArgumentParser, default: Path = DEFAULT_OUT) -> None:
    """Where reports go."""
    parser.add_argument(
        "--out", type=Path, default=default, metavar="DIR", help=f"(default: {default})"
    )


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Whether models are asked at all."""
    parser.add_argument(
        "--replay",
        type=Path,
        metavar="FILE",
        help="answer every model from this samples.jsonl and call none",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """Where a run's reports go, and what it knows beforehand."""
    add_out(parser)
    parser.add_argument(
        "--format",
        action="append",
        default=[],
        choices=get_args(Format),
        help="write this report as well; may be given again",
    )
    parser.add_argument(
        "--history",
        metavar="WHERE",
        help="past runs of the default branch: branch:NAME, NAME.jsonl, NAME.sqlite, postgresql://…",
    )
    add_replay(parser)
    parser.add_argument(
        "--order-seed",
        type=_order_seed,
        metavar="SEED",
        help="repeat the order of an earlier run, by the order_seed of its result.json",
    )


def _order_seed(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{32}", text):
        raise argparse.ArgumentTypeError("not the order_seed of a result.json: 32 digits 0-9a-f")
    return text


def change_of(repository: Repository, arguments: argparse.Namespace) -> Change:
    """The change that `add_arms` names."""
    if arguments.worktree:
        return repository.worktree_change(arguments.base)
    return repository.change(arguments.base, arguments.head)


def history_of(arguments: argparse.Namespace, repository: Repository) -> HistoryStore | None:
    """The past runs that `--history` names, not yet read. Raises UsageError."""
    if arguments.history is None:
        return None
    from gatekeeper.history.open import open_history

    return open_history(arguments.history, repository)


def past_of(arguments: argparse.Namespace, repository: Repository, policy: Policy) -> HistoryStore:
    """The past runs that `add_past` names, not yet read. Raises UsageError."""
    from gatekeeper.history.open import open_history

    location = arguments.history or policy.history
    if location == NO_HISTORY:
        raise UsageError(f"{POLICY_PATH} keeps no history; name one with --history")
    return open_history(location, repository)
