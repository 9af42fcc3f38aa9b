"""`gatekeeper.check` and `gatekeeper.run`: plan a run, execute it, and write its reports."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.policies.policy import load_policy, policy_in_force
from gatekeeper.contract.values.change import Change
from gatekeeper.errors import UsageError, WriteError
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.work import plan_check, plan_run
from gatekeeper.git import Repository
from gatekeeper.history.tampering import paths_in_repository, refuse_own_history
from gatekeeper.numbers import count
from gatekeeper.reports.formats import Format
from gatekeeper.reports.write import forget_reports, require_formats, write_reports
from gatekeeper.reports.write import require_writable as require_folder
from gatekeeper.runs.answers.files import (
    UNFINISHED,
    forget_unfinished,
    names_batches,
    refuse_unfinished_batches,
)
from gatekeeper.runs.execute import execute
from gatekeeper.runs.library.affected import change_of, left_out_of_run, uncommitted
from gatekeeper.runs.library.arguments import (
    AnyPath,
    CheckArguments,
    RunArguments,
    SuiteArguments,
    check_arguments,
    run_arguments,
)
from gatekeeper.runs.request_log import logged_requests
from gatekeeper.runs.run_plan import Explain, Keep, RunPlan

if TYPE_CHECKING:
    from gatekeeper.history.stores.store import HistoryStore
    from gatekeeper.runs.answers.kept import KeptAnswers
    from gatekeeper.runs.model_source import ModelSource

    Sources = Callable[[RunPlan, KeptAnswers | None], AbstractContextManager[ModelSource | None]]

Say = Callable[[str], object]
"""Takes a sentence for the person at a terminal."""


def check(
    *,
    repo: AnyPath = ".",
    base: str | None = None,
    head: str | None = None,
    worktree: bool = False,
    contract: str | Sequence[str] = (),
    out: AnyPath | None = None,
    format: Format | Sequence[Format] = (),  # noqa: A002  # the name of the option
    history: str | None = None,
    replay: AnyPath | None = None,
    cache: AnyPath | None = None,
    resume: bool = False,
    order_seed: str | None = None,
    log_requests: AnyPath | None = None,
) -> GateResult:
    """Decide whether a change may merge, as `gatekeeper check` does.

    Nothing is printed. `result.verdict` is `pass`, `fail`, `inconclusive` or `error`, and
    `result.exit_code` is the exit code of the command. Models are called with the keys in this
    process's environment. It works within a running event loop too, and then blocks it.

    Args:
        repo: The repository, or a folder in it.
        base: The branch to merge into; by default, the remote's default branch.
        head: The commit with the change; by default, HEAD.
        worktree: Test the files in the work tree, not a commit.
        contract: Run only the contracts of these names; none means all that are affected.
        out: The folder for the reports; None writes no file.
        format: Reports to write in addition to those of every run.
        history: Where past runs are kept, for error budgets; None reads none.
        replay: A samples.jsonl that gives all answers; no model is called.
        cache: A file of samples to reuse, to which new ones are added.
        resume: Go on with the unfinished run in `out`.
        order_seed: The order_seed of an earlier result, to repeat its order.
        log_requests: A file for the HTTP requests to models and their answers, without keys.

    Raises:
        ContractError: A contract, prompt, fixture or policy file is wrong. `problems` lists why.
        UsageError: An argument cannot be used, such as an unknown branch.
        MeasurementError: Nothing could be measured, for example without a model's key.
        WriteError: A report could not be written. Its `result` is the result.
    """
    given = check_arguments(**locals())
    return write_measured(measure_check(given), given)


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
    log_requests: AnyPath | None = None,
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
        log_requests: A file for the HTTP requests to models and their answers, without keys.
        batch: Call OpenAI's and Anthropic's models in batches. It needs `out`.
        ray: The address of a Ray cluster from whose nodes models are called.

    Raises:
        ContractError: A contract, prompt, fixture or policy file is wrong. `problems` lists why.
        UsageError: An argument cannot be used, such as an unknown revision.
        MeasurementError: Nothing could be measured, for example without a model's key.
        WriteError: A report could not be written. Its `result` is the result.
    """
    given = run_arguments(**locals())
    return write_measured(measure_run(given), given)


def measure_check(
    given: CheckArguments,
    *,
    terminal: bool = False,
    explain: Callable[[Change], Explain | None] | None = None,
) -> GateResult:
    """Measure a change, and write no report. Raises what `check` raises.

    On a `terminal`, progress goes to standard error, and a first Ctrl-C ends the run with the
    samples so far. `explain` returns what says more about a change after the measurement.
    """

    def plan(repository: Repository, order_seed: str | None) -> RunPlan:
        change = change_of(repository, given.base, given.head, given.worktree)
        policy, notices = policy_in_force(change)
        notices = (*notices, *uncommitted(repository, given.head, given.worktree, policy))
        work = plan_check(change, policy, given.contract, notices, order_seed)
        if given.history and work.trials:
            for path in paths_in_repository(given.history, repository.root or Path()):
                refuse_own_history(path, change)
        return replace(
            RunPlan.of_change(change, work, repository),
            cache=given.cache,
            explain=explain(change) if explain else None,
            terminal=terminal,
        )

    return _measure(given, plan)


def measure_run(
    given: RunArguments, *, terminal: bool = False, say: Say = lambda _: None
) -> GateResult:
    """Measure the full suite, and write no report. Raises what `run` raises.

    On a `terminal`, progress goes to standard error, and a first Ctrl-C ends the run with the
    samples so far. `say` gets what a person at a terminal wants to know.
    """

    def plan(repository: Repository, order_seed: str | None) -> RunPlan:
        revision = repository.revision(given.ref)
        policy = load_policy(revision)
        # A recording has no answers about anchors.
        anchors = given.replay is None
        work = plan_run(revision, policy, given.contract, order_seed=order_seed, anchors=anchors)
        return replace(
            RunPlan.of_revision(revision, work, repository),
            keep=Keep("manual"),
            notices=left_out_of_run(repository, given.ref, policy),
            full_suite=True,
            terminal=terminal,
        )

    @contextlib.contextmanager
    def sources(plan: RunPlan, unfinished: KeptAnswers | None) -> Iterator[ModelSource | None]:
        if given.batch and plan.answers:
            from gatekeeper.runs.model_source import open_batches

            yield open_batches(plan.work, unfinished.batches.values() if unfinished else ())
        elif given.ray is not None:
            from gatekeeper.runs.ray_cluster import connect

            with connect(given.ray, plan.work.policy.through_litellm) as cluster:
                say(f"sampling on {count(cluster.size, 'node')} of the Ray cluster")
                yield cluster
        else:
            yield None

    _refuse_replay(given)
    require_history_folder(given.history)
    return _measure(given, plan, sources, collects_batches=given.batch and given.resume)


def _measure(
    given: SuiteArguments,
    make: Callable[[Repository, str | None], RunPlan],
    sources: Sources = lambda *_: contextlib.nullcontext(),
    *,
    collects_batches: bool = False,
) -> GateResult:
    """Execute a plan, which `make` returns for an order seed. `sources` returns what answers
    instead of this process's models; `collects_batches` says that it goes on with earlier
    batches."""
    require_formats(given.format)
    own = given.out and given.out / "samples.jsonl"
    if given.replay and own and given.replay.resolve() == own.resolve():
        raise UsageError(
            f"--replay {given.replay}: this run would overwrite the file; copy the file, or name "
            "another folder with --out"
        )
    # A run that ends early has no reports, and one that is refused, because the folder belongs to
    # an unfinished run, leaves those of that run.
    if given.out and not (given.resume or names_batches(given.out)):
        forget_reports(given.out)
    with Repository.open(given.repo) as repository:
        unfinished = _unfinished(given, repository)
        plan = make(repository, unfinished.header.order_seed if unfinished else given.order_seed)
        work = plan.work
        if unfinished:
            unfinished.require_same(work.trials)
        kept = work.trials and not given.replay
        plan = replace(
            plan,
            history=history_of(given.history, repository),
            replay=given.replay,
            answers=given.out / UNFINISHED if given.out and kept else None,
            unfinished=unfinished,
        )
        require_writable(given.out, work.called_models, given.replay)
        if plan.answers and not collects_batches:
            refuse_unfinished_batches(plan.answers.parent)
        if given.out:
            forget_reports(given.out)
        with logged_requests(given.log_requests) as lost, sources(plan, unfinished) as source:
            result = execute(replace(plan, source=source))
        return replace(result, notices=(*result.notices, *lost))


def _unfinished(given: SuiteArguments, repository: Repository) -> KeptAnswers | None:
    """Return the unfinished run to resume; None if none is to be resumed. Raises UsageError."""
    if not given.resume or given.out is None:
        return None
    from gatekeeper.runs.answers.kept import read_unfinished

    return read_unfinished(given.out / UNFINISHED, tracked_by(repository))


def _refuse_replay(given: RunArguments) -> None:
    """Refuse a recording for calls that are made elsewhere. Raises UsageError."""
    for name in ("batch", "ray"):
        if getattr(given, name) and given.replay:
            raise UsageError(
                f"--{name} and --replay cannot be combined, because --replay calls no model; "
                "use only one of them"
            )
    if given.ray and given.log_requests:
        raise UsageError(
            "--ray and --log-requests cannot be combined, because other machines send the "
            "requests; use only one of them"
        )


def write_measured(result: GateResult, given: SuiteArguments) -> GateResult:
    """Write the reports if a folder is named for them, and return the result.

    Raises WriteError, whose `result` is the result, if a file cannot be written.
    """
    if given.out is None:
        return result

    try:
        write_reports(result, given.out, given.format)
    except WriteError as error:
        error.result = result
        raise
    forget_unfinished(result.spent_answers)
    return result


def history_of(location: str | None, repository: Repository) -> HistoryStore | None:
    """Return the history at the location, not yet read. Raises UsageError."""
    if location is None:
        return None
    from gatekeeper.history.stores.open import open_history

    return open_history(location, repository)


def require_history_folder(history: str | None) -> None:
    """Raise UsageError, before any call is made, if the history's file cannot be written."""
    if history is None:
        return
    from gatekeeper.history.stores.open import file_of

    file = file_of(history, given_as="--history")
    if file is None:
        return
    if file.is_dir() or not file.parent.is_dir():
        raise UsageError(f"--history {history}: name a file in an existing folder")


def tracked_by(repository: Repository) -> Callable[[Path], bool]:
    """Return a function that says whether git tracks a file."""
    root = repository.root or Path()
    return lambda path: repository.tracks(paths_in_repository(str(path), root))


def require_writable(out: Path | None, models: Iterable[str], replay: Path | None) -> None:
    """Raise WriteError if a model is to be called and the reports could not be written to `out`.

    Recordings cost nothing: their result is shown even if it cannot be written.
    """
    if out is not None and replay is None and any(recording_path(m) is None for m in models):
        require_folder(out)
