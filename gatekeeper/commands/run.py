"""`gatekeeper run`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gatekeeper.commands.arguments import add_contract, add_run
from gatekeeper.commands.output import report
from gatekeeper.contract.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ref", default="HEAD", help="the revision to run (default: HEAD)")
    add_contract(parser)
    add_run(parser)


def run(arguments: argparse.Namespace) -> int:
    """The full suite on one revision; appends to the history where one is named."""
    from gatekeeper.gate import plan_run
    from gatekeeper.history.file import append_history
    from gatekeeper.reports.write import forget_reports, require_formats
    from gatekeeper.session import measure

    require_formats(arguments.format)
    forget_reports(arguments.out)
    _require_writable(arguments.history)
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref)
        work = plan_run(revision, load_policy(revision), arguments.contract)
        result = measure(work, (revision,), history=arguments.history, replay=arguments.replay)
    code = report(result, arguments.out, arguments.format)
    if arguments.history:
        append_history(arguments.history, result)
    return code


def _require_writable(history: Path | None) -> None:
    """Before the first call is paid for, not after the last."""
    if history is None:
        return
    folder = history.parent
    if history.is_dir() or not folder.is_dir():
        raise UsageError(f"--history {history}: name a file in a folder that is there")
