"""`gatekeeper selftest`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from gatekeeper.cli.arguments import add_contract, add_past, add_replay, past_of
from gatekeeper.cli.output import print_error, print_json, print_lines, readers_may_leave
from gatekeeper.contract.policies.policy import NO_HISTORY, load_policy
from gatekeeper.errors import MeasurementError
from gatekeeper.git import Repository

if TYPE_CHECKING:
    from gatekeeper.contract.policies.policy import Policy
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.gate.plan.plan import Job
    from gatekeeper.gate.results.selftest_result import Selftest
    from gatekeeper.gate.selftest import Pools
    from gatekeeper.history.record import Record

_SEED = "selftest"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ref", default="HEAD", help="the revision to test (default: HEAD)")
    add_contract(parser)
    add_past(parser)
    add_replay(parser)
    parser.add_argument(
        "--runs",
        type=_runs,
        default=200,
        metavar="N",
        help="how many runs of each change to make up (default: 200)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def selftest(arguments: argparse.Namespace) -> int:
    """Measure how often the gate errs on your suite.

    Compares each prompt with itself and with changes that are made up, by the rules of a real run.
    Takes the samples of the nights in the history; contracts without enough of them are sampled
    from the model. The exit code is 3 if a contract has too few samples, else 0.
    """
    from gatekeeper.gate.selftest import against_itself, missing_samples
    from gatekeeper.gate.selftest import selftest as measure
    from gatekeeper.gate.work import plan_run

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
    from gatekeeper.history.base_nights import told_by
    from gatekeeper.history.selftests import pools_of_nights

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
    from gatekeeper.gate.selftest import LEAST_SAMPLES, pools_of, sampled_whole
    from gatekeeper.gate.work import plan_run
    from gatekeeper.runs.run_plan import RunPlan, execute

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
    from gatekeeper.gate.results.selftest_result import selftest_lines

    for name, each in found.items():
        source = "the nights in the history" if name in of_nights else "new samples"
        print_lines((f"{name}, from {source}:", *(f"  {line}" for line in selftest_lines(each))))


def _runs(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError("give a number of runs from 1 to 100,000")
    return int(text)
