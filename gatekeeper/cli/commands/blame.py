"""`gatekeeper blame`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.cli.arguments import add_arms, add_cache, add_out, add_replay
from gatekeeper.cli.output import print_error, write_and_show
from gatekeeper.contract.policies.policy import policy_in_force
from gatekeeper.git import Repository
from gatekeeper.runs.library.places import require_writable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatekeeper.author.blame.result import BlameResult

DEFAULT_OUT = Path(".gatekeeper/blame")


def add(parser: argparse.ArgumentParser) -> None:
    add_arms(parser)
    add_out(parser, DEFAULT_OUT)
    add_replay(parser)
    add_cache(parser)


def blame(arguments: argparse.Namespace) -> int:
    """Find the edits of a change that made a prompt worse.

    Checks the change, then tries its edits in groups on the fixtures that broke. Decides nothing
    about a merge: the exit code is 0 if every regression is explained or there is none, and 3
    otherwise.
    """
    from gatekeeper.author.blame.run import find_questions, search_causes
    from gatekeeper.gate.work import plan_check
    from gatekeeper.numbers import count
    from gatekeeper.runs.library.places import change_of
    from gatekeeper.runs.run_plan import RunPlan, execute

    with Repository.open(arguments.repo) as repository:
        change = change_of(repository, arguments.base, arguments.head, arguments.worktree)
        policy, notices = policy_in_force(change)
        work = plan_check(change, policy, arguments.contract, notices)
        require_writable(arguments.out, work.called_models, arguments.replay)
        revisions = (change.base, change.head)
        run = RunPlan(
            work=work, revisions=revisions, replay=arguments.replay, cache=arguments.cache
        )
        result = execute(run)
        questions = find_questions(work, result)
        print_error(
            f"{len(questions)} of {count(len(result.contracts), 'contract')} got worse; gatekeeper "
            "now searches for the cause"
            if questions
            else "no contract got worse"
        )
        found: Sequence[BlameResult] = ()
        if questions:
            found = search_causes(questions, work, revisions, policy.limits, arguments.replay)
    return _report(found, arguments.out)


def _report(found: Sequence[BlameResult], out: Path) -> int:
    from gatekeeper.author.blame.result import blame_document, sentences
    from gatekeeper.reports.escape import visible
    from gatekeeper.reports.terminal.console import log_console

    document = json.dumps(blame_document(found), indent=2, ensure_ascii=False)

    def show(_: Mapping[str, Path]) -> None:
        console = log_console()
        for result in found:
            title = visible(f"{result.contract}: {result.prompt_path}")
            console.print(title, style="bold", markup=False)
            for sentence in sentences(result):
                console.print(f"  {sentence}", markup=False, highlight=False)
            if result.revert and result.revert.written:
                console.print(visible(result.revert.written.diff), markup=False, highlight=False)
            console.print(f"  {result.calls.made} calls for the search", style="dim", markup=False)

    write_and_show({"blame.json": lambda: f"{document}\n"}, out, show)
    return 0 if all(result.outcome == "explained" for result in found) else 3
