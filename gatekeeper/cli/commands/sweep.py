"""`gatekeeper sweep`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.cli.arguments import add_out, add_replay
from gatekeeper.cli.named_contract import named_contract
from gatekeeper.cli.output import print_error, write_document
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository
from gatekeeper.runs.library.places import require_writable

if TYPE_CHECKING:
    from gatekeeper.contract.policies.policy import Policy
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.contract.values.definition import Contract
    from gatekeeper.gate.sweep.compare import SweepResult
    from gatekeeper.gate.sweep.grid import Axis, Setting

DEFAULT_OUT = Path(".gatekeeper/sweep")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--contract", required=True, metavar="NAME", help="the contract to run")
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE,…",
        help=("parameter with its values, such as temperature=0,0.7; can be repeated"),
    )
    parser.add_argument("--model", metavar="MODEL,…", help="models to try")
    parser.add_argument(
        "--prompt", metavar="PATH,…", help="prompt files to try instead of the contract's prompt"
    )
    parser.add_argument(
        "--samples",
        type=int,
        metavar="N",
        help="how many samples of each fixture (default: as in the contract)",
    )
    parser.add_argument("--ref", help="the revision to test (default: the files in the work tree)")
    add_out(parser, DEFAULT_OUT)
    add_replay(parser)


def sweep(arguments: argparse.Namespace) -> int:
    """Find the best of many models, parameters and prompts for one contract.

    Compares every two settings on the same fixtures. Decides nothing about a merge: the exit code
    is 0 if a setting can be recommended, and 3 if too little could be measured.
    """
    from gatekeeper.gate.sweep.grid import settings_of
    from gatekeeper.runs.sweep import sweep as measure

    axes = _axes(arguments)
    if arguments.samples is not None and arguments.samples < 1:
        raise UsageError(f"--samples {arguments.samples}: give at least 1")
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref) if arguments.ref else repository.worktree()
        policy = load_policy(revision)
        contract = _contract(revision, policy, arguments.contract, arguments.samples)
        settings = settings_of(contract, axes, revision)
        if arguments.replay is None:
            _require_sound_models(contract, settings, revision)
        models = {setting.target.model for setting in settings}
        require_writable(arguments.out, models, arguments.replay)
        result = measure(contract, settings, policy, revision, replay=arguments.replay)
    return report_sweep(result, arguments.out)


def _axes(arguments: argparse.Namespace) -> Sequence[Axis]:
    from gatekeeper.gate.sweep.grid import Axis, read_axis

    named = [
        Axis(name, tuple(part.strip() for part in text.split(",") if part.strip()))
        for name, text in (("model", arguments.model), ("prompt", arguments.prompt))
        if text is not None
    ]
    empty = next((axis.name for axis in named if not axis.values), None)
    if empty:
        raise UsageError(f"--{empty}: give at least one value")
    return [*named, *map(read_axis, arguments.param)]


def _contract(revision: Revision, policy: Policy, name: str, samples: int | None) -> Contract:
    from gatekeeper.contract.changes.own_code import trust_code

    contract = trust_code(named_contract(revision, policy, name), revision, policy)
    sampling = contract.sampling
    return replace(
        contract,
        sampling=replace(sampling, mode="fixed", samples=samples or sampling.samples),
    )


def _require_sound_models(
    contract: Contract, settings: Sequence[Setting], revision: Revision
) -> None:
    """Refuse models that cannot be called, and name those that are likely misspelt, before any
    call."""
    from gatekeeper.contract.models.faults import named_model
    from gatekeeper.contract.values.definition import Position
    from gatekeeper.runs.models import require_known_models

    own = contract.target.model
    models = [
        named_model(contract, own)
        if setting.target.model == own
        else (Position("--model"), setting.target.model)
        for setting in settings
    ]
    for notice in require_known_models(models, [revision]):
        print_error(notice)


def report_sweep(result: SweepResult, out: Path) -> int:
    """Write and print the reports of a sweep; return the exit code."""
    from gatekeeper.reports.described.sweep import describe_sweep, sweep_document

    write_document("sweep", describe_sweep(result), sweep_document(result), out)
    return 3 if result.recommendation.setting is None else 0
