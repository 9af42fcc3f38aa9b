"""`gatekeeper diff` and `selftest`: compare two runs, and the gate with itself."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from gatekeeper.cli.arguments import past_of
from gatekeeper.cli.options import Option, options
from gatekeeper.cli.output import print_error, print_json, print_lines, readers_may_leave, report
from gatekeeper.contract.policies.policy import NO_HISTORY, Policy, load_policy
from gatekeeper.contract.values.change import Revision
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.gate.diff import Side, compare_sides, plan_diff
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.results.selftest_result import Selftest, selftest_lines
from gatekeeper.gate.selftest import (
    LEAST_SAMPLES,
    Pools,
    against_itself,
    missing_samples,
    pools_of,
    sampled_whole,
)
from gatekeeper.gate.selftest import selftest as measure
from gatekeeper.gate.work import plan_run
from gatekeeper.git import Repository
from gatekeeper.history.base_nights import told_by
from gatekeeper.history.record import Record
from gatekeeper.history.selftests import pools_of_nights
from gatekeeper.reports.described.result import describe_methods
from gatekeeper.reports.formats.read_samples import find_samples, read_run
from gatekeeper.reports.terminal.console import print_blocks
from gatekeeper.reports.write import forget_reports
from gatekeeper.runs.execute import execute
from gatekeeper.runs.library.suite import require_writable
from gatekeeper.runs.run_plan import RunPlan

DEFAULT_OUT = Path(".gatekeeper/diff")


def diff(arguments: argparse.Namespace) -> int:
    """Show what got better or worse between two revisions or two runs.

    If both sides are revisions, the contracts that differ are measured side by side. A run is read
    from its reports. A revision that is compared with a run is measured now.
    """
    forget_reports(arguments.out)
    result = _compared(arguments)
    exit_code = report(result, arguments.out)
    if arguments.methods:
        print_blocks(describe_methods(result))
    return exit_code


def _compared(arguments: argparse.Namespace) -> GateResult:
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
    with Repository.open(arguments.repo) as repository:
        change = repository.between(arguments.earlier, arguments.later)
        work = plan_diff(change, load_policy(change.head), arguments.contract)
        require_writable(arguments.out, work.called_models, arguments.replay)
        revisions = change.base, change.head
        return execute(RunPlan(work=work, revisions=revisions, replay=arguments.replay))


def _measured(ref: str, names: Sequence[str], arguments: argparse.Namespace) -> Side:
    """Measure a revision's contracts with those names now."""
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(ref)
        work = plan_run(revision, load_policy(revision), names)
        require_writable(arguments.out, work.called_models, arguments.replay)
        result = execute(RunPlan(work=work, revisions=(revision,), replay=arguments.replay))
    prompts = {c.name: c.head.prompt_path for c in result.contracts if c.head}
    return Side(ref, result.outcomes, revision.sha, prompts)


_SEED = "selftest"


def selftest(arguments: argparse.Namespace) -> int:
    """Measure how often the gate errs on your suite.

    Compares each prompt with itself and with changes that are made up, by the rules of a real run.
    Takes the samples of the nights in the history; contracts without enough of them are sampled
    from the model. The exit code is 3 if a contract has too few samples, else 0.
    """
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref)
        policy = load_policy(revision)
        planned = plan_run(revision, policy, arguments.contract).jobs
        jobs = {job.contract.name: paired for job in planned if (paired := against_itself(job))}
        pools = {} if arguments.replay else _of_nights(arguments, repository, policy, jobs)
        left = [name for name, job in jobs.items() if missing_samples(job, pools.get(name, {}))]
        pools |= _sampled(arguments, revision, policy, {name: jobs[name] for name in left})
    found: dict[str, Selftest] = {}
    for name, job in jobs.items():
        if missing := missing_samples(job, pools.get(name, {})):
            print_error(f"{name}: cannot be measured: {missing}")
        else:
            found[name] = measure(job, pools[name], arguments.runs, _SEED)
    with readers_may_leave():
        if arguments.json:
            print_json({name: asdict(each) for name, each in found.items()})
        else:
            _print(found, [name for name in found if name not in left])
    return 0 if found and len(found) == len(jobs) else MeasurementError.exit_code


def _of_nights(
    arguments: argparse.Namespace, repository: Repository, policy: Policy, jobs: dict[str, Job]
) -> dict[str, Pools]:
    """Return the samples of each contract's latest nights."""
    if arguments.history is None and policy.history == NO_HISTORY:
        return {}
    past = past_of(arguments, repository, policy).read()
    for fault in past.faults:
        print_error(fault)
    nights: dict[str, list[Record]] = {name: [] for name in jobs}
    for record in past.records:
        nights.get(record.contract, []).append(record)
    found = {name: pools_of_nights(job, nights[name]) for name, job in jobs.items()}
    # As in a run, whose weights come from the history too.
    jobs.update({name: told_by(job, job.contract, nights[name]) for name, job in jobs.items()})
    return found


def _sampled(
    arguments: argparse.Namespace, revision: Revision, policy: Policy, jobs: dict[str, Job]
) -> dict[str, Pools]:
    """Take samples of these contracts, two for each that a comparison plans."""
    if not jobs:
        return {}
    most = max(job.contract.sampling.samples for job in jobs.values())
    work = plan_run(revision, policy, [*jobs], samples=max(LEAST_SAMPLES, 2 * most))
    run = RunPlan(
        work=sampled_whole(work), revisions=(revision,), replay=arguments.replay, full_suite=True
    )
    result = execute(run)
    for notice in result.notices:
        print_error(notice)
    taken = {name: [o for o in result.outcomes if o.sample.trial.contract == name] for name in jobs}
    return {name: pools_of(outcomes) for name, outcomes in taken.items()}


def _print(found: dict[str, Selftest], of_nights: list[str]) -> None:
    for name, each in found.items():
        source = "the nights in the history" if name in of_nights else "new samples"
        print_lines((f"{name}, from {source}:", *(f"  {line}" for line in selftest_lines(each))))


def _runs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError("give a number of runs from 1 to 100,000")
    return int(text)


OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "diff": options(
        f"""
    EARLIER    the older side: a revision, or the folder or file of an earlier run's reports
    LATER      the newer side: a revision, or the folder or file of an earlier run's reports
    @contract
    --out DIR  folder for the reports (default: {DEFAULT_OUT})
    @replay
    --methods  also print what the methods that papers name find in these samples
    """,
        out={"default": DEFAULT_OUT},
    ),
    "selftest": options(
        """
    @ref
    @contract
    @past
    @replay
    --runs N  how many runs of each change to make up (default: 200)
    @json
    """,
        runs={"type": _runs, "default": 200},
    ),
}
