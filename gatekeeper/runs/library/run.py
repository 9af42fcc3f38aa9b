"""`gatekeeper.run`: measure the full suite on one revision."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository
from gatekeeper.numbers import count
from gatekeeper.runs.library.arguments import AnyPath, RunArguments, run_arguments
from gatekeeper.runs.library.reports import (
    Measured,
    forget_earlier_reports,
    require_writable,
    write_measured,
)
from gatekeeper.runs.library.repository import (
    history_of,
    require_history_folder,
    tracked_by,
    unfinished_of,
)
from gatekeeper.runs.library.uncommitted import left_out_of_run

if TYPE_CHECKING:
    from gatekeeper.contract.policies.policy import Policy
    from gatekeeper.gate.results.result import GateResult
    from gatekeeper.gate.work import Work
    from gatekeeper.reports.formats import Format
    from gatekeeper.runs.batch_run import BatchRun
    from gatekeeper.runs.ray_cluster import RayCluster

Say = Callable[[str], object]
"""Takes a sentence for the person at a terminal."""


def run(
    *,
    repo: AnyPath = ".",
    ref: str = "HEAD",
    contract: str | Sequence[str] = (),
    out: AnyPath | None = None,
    format: Format | Sequence[Format] = (),  # noqa: A002  # the name of the option
    history: str | None = None,
    replay: AnyPath | None = None,
    resume: bool = False,
    order_seed: str | None = None,
    batch: bool = False,
    ray: str | None = None,
) -> GateResult:
    """Run the full suite on one revision, as `gatekeeper run` does.

    Nothing is printed. It works within a running event loop too, and then blocks it.

    Args:
        repo: The repository, or a folder in it.
        ref: The revision to run.
        contract: Run only the contracts of these names; none means all.
        out: The folder for the reports; None writes no file.
        format: Reports to write in addition to those of every run.
        history: Where past runs are kept; the run is added there. None keeps nothing.
        replay: A samples.jsonl that gives all answers; no model is called.
        resume: Go on with the unfinished run in `out`.
        order_seed: The order_seed of an earlier result, to repeat its order.
        batch: Call OpenAI's and Anthropic's models in batches. It needs `out`.
        ray: The address of a Ray cluster from whose nodes models are called.

    Raises:
        ContractError: A contract, prompt, fixture or policy file is wrong. `problems` lists why.
        UsageError: An argument cannot be used, such as an unknown revision.
        MeasurementError: Nothing could be measured, for example without a model's key.
        WriteError: A report could not be written. Its `result` is the result.
    """
    given = run_arguments(
        repo=repo,
        ref=ref,
        contract=contract,
        out=out,
        format=format,
        history=history,
        replay=replay,
        resume=resume,
        order_seed=order_seed,
        batch=batch,
        ray=ray,
    )
    return write_measured(measure_run(given), given)


def measure_run(
    given: RunArguments, *, terminal: bool = False, say: Say = lambda _: None
) -> Measured:
    """Measure the full suite, and write no report. Raises what `run` raises.

    On a `terminal`, progress goes to standard error, and a first Ctrl-C ends the run with the
    samples so far. `say` gets what a person at a terminal wants to know.
    """
    from gatekeeper.gate.work import plan_run
    from gatekeeper.reports.write import require_formats
    from gatekeeper.runs.keep_in_history import Keep
    from gatekeeper.runs.session import RunOptions, measure
    from gatekeeper.runs.unfinished import FILE

    _refuse_replay(given)
    require_formats(given.format)
    if not given.resume:
        forget_earlier_reports(given)
    require_history_folder(given.history)
    with Repository.open(given.repo) as repository:
        revision = repository.revision(given.ref)
        policy = load_policy(revision)
        _require_own_batches(given, repository)
        unfinished = unfinished_of(given, repository)
        order_seed = unfinished.order_seed if unfinished else given.order_seed
        # A recording has no answers about anchors.
        anchors = given.replay is None
        work = plan_run(revision, policy, given.contract, order_seed=order_seed, anchors=anchors)
        if unfinished:
            # A run that is refused leaves the reports as they are.
            unfinished.require_same(work.trials)
            forget_earlier_reports(given)
        history = history_of(given.history, repository)
        kept = given.out is not None and work.trials and not given.replay
        answers = given.out / FILE if given.out and kept else None
        require_writable(given.out, work.called_models, given.replay)
        batches = _batches(given, work, answers.parent) if answers else None
        with _cluster(given, policy, say) as cluster:
            options = RunOptions(
                history=history,
                keep=Keep("manual"),
                since=lambda sha: repository.since(sha, revision.sha),
                replay=given.replay,
                answers=answers,
                unfinished=unfinished,
                source=batches or cluster,
                notices=left_out_of_run(repository, given.ref, policy),
                full_suite=True,
                terminal=terminal,
            )
            return Measured(measure(work, (revision,), options), answers)


def _refuse_replay(given: RunArguments) -> None:
    """Refuse a recording for calls that are made elsewhere. Raises UsageError."""
    for name in ("batch", "ray"):
        if getattr(given, name) and given.replay:
            raise UsageError(
                f"--{name} and --replay cannot be combined, because --replay calls no model; "
                "use only one of them"
            )


def _require_own_batches(given: RunArguments, repository: Repository) -> None:
    """Refuse to resume from a file of batches that a change could have brought. Raises
    UsageError."""
    from gatekeeper.runs.unfinished import BATCHES

    if given.resume and given.out and tracked_by(repository)(given.out / BATCHES):
        file = given.out / BATCHES
        raise UsageError(f"--resume: {file} is under version control; remove the file from git")


@contextlib.contextmanager
def _cluster(given: RunArguments, policy: Policy, say: Say) -> Iterator[RayCluster | None]:
    """Connect to the cluster that is named; yield None if none is."""
    if given.ray is None:
        yield None
        return
    from gatekeeper.runs.ray_cluster import connect

    with connect(given.ray, policy.through_litellm) as cluster:
        say(f"sampling on {count(cluster.size, 'node')} of the Ray cluster")
        yield cluster


def _batches(given: RunArguments, work: Work, folder: Path) -> BatchRun | None:
    """Return what asks in batches; None if single calls do.

    Raises UsageError, also for a run that would ask again what the batches of an unfinished run
    answer.
    """
    from gatekeeper.runs.unfinished import BATCHES, refuse_unfinished_batches

    if not (given.batch and given.resume):
        refuse_unfinished_batches(folder)
    if not given.batch:
        return None
    from gatekeeper.runs.batch_run import open_batches

    return open_batches(work, folder / BATCHES)
