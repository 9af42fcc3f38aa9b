"""`gatekeeper diff`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.cli.arguments import add_contract, add_out, add_replay
from gatekeeper.cli.output import report
from gatekeeper.contract.policies.policy import Allow, BudgetPolicy, Policy, load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository
from gatekeeper.runs.library.places import require_writable

if TYPE_CHECKING:
    from gatekeeper.gate.diff import Side
    from gatekeeper.gate.results.result import GateResult

DEFAULT_OUT = Path(".gatekeeper/diff")


def add(parser: argparse.ArgumentParser) -> None:
    for name, says in (("earlier", "the older side"), ("later", "the newer side")):
        parser.add_argument(
            name,
            metavar=name.upper(),
            help=f"{says}: a revision, or the folder or file of an earlier run's reports",
        )
    add_contract(parser)
    add_out(parser, DEFAULT_OUT)
    add_replay(parser)
    parser.add_argument(
        "--methods",
        action="store_true",
        help="also print what the methods that papers name find in these samples",
    )


def diff(arguments: argparse.Namespace) -> int:
    """Show what got better or worse between two revisions or two runs.

    If both sides are revisions, the contracts that differ are measured side by side. A run is read
    from its reports. A revision that is compared with a run is measured now.
    """
    from gatekeeper.reports.write import forget_reports

    forget_reports(arguments.out)
    result = _compared(arguments)
    exit_code = report(result, arguments.out)
    if arguments.methods:
        from gatekeeper.reports.described.result import describe_methods
        from gatekeeper.reports.terminal.console import print_blocks

        print_blocks(describe_methods(result))
    return exit_code


def _compared(arguments: argparse.Namespace) -> GateResult:
    from gatekeeper.gate.diff import compare_sides

    sides = [_saved(arguments.earlier), _saved(arguments.later)]
    if not any(sides):
        return _revisions(arguments)
    names = arguments.contract or _contracts_of(sides)
    earlier, later = (
        side or _measured(ref, names, arguments)
        for side, ref in zip(sides, (arguments.earlier, arguments.later), strict=True)
    )
    return compare_sides(earlier, later, arguments.contract)


def _saved(name: str) -> Side | None:
    """Return the run whose reports are at that path, or None if there is no run."""
    from gatekeeper.gate.diff import Side
    from gatekeeper.reports.formats.read_samples import find_samples, read_run

    path = find_samples(Path(name))
    if path is None:
        if Path(name).suffix in (".json", ".jsonl") or Path(name).is_dir():
            raise UsageError(f"{name}: no samples.jsonl found; give a folder with reports")
        return None
    run = read_run(path)
    return Side(name, run.outcomes, run.sha, run.prompts)


def _contracts_of(sides: Sequence[Side | None]) -> list[str]:
    found = [o.sample.trial.contract for side in sides if side for o in side.outcomes]
    return list(dict.fromkeys(found))


def _revisions(arguments: argparse.Namespace) -> GateResult:
    """Measure both revisions now, side by side, without the policy's limits on what may merge."""
    from gatekeeper.gate.work import plan_check
    from gatekeeper.runs.run_plan import RunPlan, execute

    with Repository.open(arguments.repo) as repository:
        change = repository.between(arguments.earlier, arguments.later)
        work = plan_check(change, _neutral(load_policy(change.head)), arguments.contract)
        work = replace(work, kind="diff", affected=replace(work.affected, uncovered=()))
        require_writable(arguments.out, work.called_models, arguments.replay)
        revisions = change.base, change.head
        return execute(RunPlan(work=work, revisions=revisions, replay=arguments.replay))


def _neutral(policy: Policy) -> Policy:
    never = BudgetPolicy(freeze=False)
    return replace(policy, allow=Allow(True, True), require_contract=False, error_budget=never)


def _measured(ref: str, names: Sequence[str], arguments: argparse.Namespace) -> Side:
    """Measure a revision's contracts with those names now."""
    from gatekeeper.gate.diff import Side
    from gatekeeper.gate.work import plan_run
    from gatekeeper.runs.run_plan import RunPlan, execute

    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(ref)
        work = plan_run(revision, load_policy(revision), names)
        require_writable(arguments.out, work.called_models, arguments.replay)
        result = execute(RunPlan(work=work, revisions=(revision,), replay=arguments.replay))
    prompts = {c.name: c.head.prompt_path for c in result.contracts if c.head}
    return Side(ref, result.outcomes, revision.sha, prompts)
