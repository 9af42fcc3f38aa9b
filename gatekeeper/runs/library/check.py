"""`gatekeeper.check`: compare a change with the branch to merge into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.contract.policies.policy import policy_in_force
from gatekeeper.git import Repository
from gatekeeper.history.tampering import paths_in_repository, refuse_own_history
from gatekeeper.runs.library.arguments import AnyPath, CheckArguments, check_arguments
from gatekeeper.runs.library.reports import (
    Measured,
    forget_earlier_reports,
    require_writable,
    write_measured,
)
from gatekeeper.runs.library.repository import change_of, history_of, unfinished_of
from gatekeeper.runs.library.uncommitted import uncommitted

if TYPE_CHECKING:
    from gatekeeper.contract.values.change import Change
    from gatekeeper.gate.results.result import GateResult
    from gatekeeper.reports.formats import Format
    from gatekeeper.runs.session import Explain


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

    Raises:
        ContractError: A contract, prompt, fixture or policy file is wrong. `problems` lists why.
        UsageError: An argument cannot be used, such as an unknown branch.
        MeasurementError: Nothing could be measured, for example without a model's key.
        WriteError: A report could not be written. Its `result` is the result.
    """
    given = check_arguments(
        repo=repo,
        base=base,
        head=head,
        worktree=worktree,
        contract=contract,
        out=out,
        format=format,
        history=history,
        replay=replay,
        cache=cache,
        resume=resume,
        order_seed=order_seed,
    )
    return write_measured(measure_check(given), given)


def measure_check(
    given: CheckArguments,
    *,
    terminal: bool = False,
    explain: Callable[[Change], Explain | None] | None = None,
) -> Measured:
    """Measure a change, and write no report. Raises what `check` raises.

    On a `terminal`, progress goes to standard error, and a first Ctrl-C ends the run with the
    samples so far. `explain` returns what says more about a change after the measurement.
    """
    from gatekeeper.gate.work import plan_check
    from gatekeeper.reports.write import require_formats
    from gatekeeper.runs.session import RunOptions, measure
    from gatekeeper.runs.unfinished import FILE, refuse_unfinished_batches

    require_formats(given.format)
    if not given.resume:
        forget_earlier_reports(given)
    with Repository.open(given.repo) as repository:
        change = change_of(repository, given.base, given.head, given.worktree)
        policy, notices = policy_in_force(change)
        notices = (*notices, *uncommitted(repository, given.head, given.worktree, policy))
        unfinished = unfinished_of(given, repository)
        order_seed = unfinished.order_seed if unfinished else given.order_seed
        work = plan_check(change, policy, given.contract, notices, order_seed)
        if unfinished:
            # A run that is refused leaves the reports as they are.
            unfinished.require_same(work.trials)
            forget_earlier_reports(given)
        if given.history and work.trials:
            for path in paths_in_repository(given.history, repository.root or Path()):
                refuse_own_history(path, change)
        history = history_of(given.history, repository)
        kept = given.out is not None and work.trials and not given.replay
        answers = given.out / FILE if given.out and kept else None
        require_writable(given.out, work.called_models, given.replay)
        if answers:
            refuse_unfinished_batches(answers.parent)
        options = RunOptions(
            history=history,
            replay=given.replay,
            cache=given.cache,
            since=lambda sha: repository.since(sha, change.base.sha),
            answers=answers,
            unfinished=unfinished,
            explain=explain(change) if explain else None,
            terminal=terminal,
        )
        return Measured(measure(work, (change.base, change.head), options), answers)
