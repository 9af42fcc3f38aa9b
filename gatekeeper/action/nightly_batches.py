"""The nightly run in batches: what an earlier attempt of the job left, and what the next one needs.

A job on GitHub ends after six hours at the latest, and a batch may take 24. A workflow that keeps
the folder of `out` between the attempts of a job pays for no batch twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from gatekeeper.action.workspace import give_to_owner, out_folder
from gatekeeper.errors import UsageError
from gatekeeper.runs.unfinished import (
    BATCHES,
    FILE,
    forget_unfinished,
    plan_digest,
    read_unfinished,
    refuse_unfinished_batches,
)

if TYPE_CHECKING:
    from gatekeeper.action.events import Activity
    from gatekeeper.action.inputs import ActionInputs
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.gate.results.result import GateResult
    from gatekeeper.gate.work import Work
    from gatekeeper.runs.session import RunOptions
    from gatekeeper.runs.unfinished import UnfinishedRun


@dataclass(frozen=True, slots=True)
class NightlyBatches:
    """The batches of one nightly run. `folder` keeps its files, `unfinished` is what an earlier
    attempt left there."""

    workspace: Path
    folder: Path
    unfinished: UnfinishedRun | None

    @property
    def order_seed(self) -> str | None:
        """The seed of the order in which the earlier attempt asked."""
        return self.unfinished.order_seed if self.unfinished else None

    def options(self, work: Work, options: RunOptions) -> RunOptions:
        """Return the options of a run that asks in batches. Raises UsageError for work that cannot
        be measured in batches, or that is not what the earlier attempt asked."""
        from gatekeeper.runs.batch_run import open_batches

        if not work.trials:
            return options
        if self.unfinished and self.unfinished.plan != plan_digest(work.trials):
            raise UsageError(
                f"{self.unfinished.path}: this file holds the answers of an earlier run in "
                "batches, and the earlier run tested another commit or other contracts. To use "
                "these answers, run the job of the earlier commit again. To drop these answers, "
                f"remove {FILE} and {BATCHES} from the folder of this file"
            )
        return replace(
            options,
            answers=self.folder / FILE,
            unfinished=self.unfinished,
            source=open_batches(work, self.folder / BATCHES),
        )

    def share(self) -> None:
        """Let later steps of the job read the files, if there are any."""
        give_to_owner(self.workspace, self.folder / FILE, self.folder / BATCHES)


def nightly_batches(
    settings: ActionInputs, activity: Activity, revision: Revision
) -> NightlyBatches | None:
    """Return the batches of a scheduled run whose workflow asks for them; None for any other run,
    because somebody waits for it. Raises UsageError for files that cannot be an earlier attempt's.
    """
    if not settings.batch or getattr(activity, "keep", None) != "schedule":
        return None
    folder = out_folder(settings.workspace, settings.out)
    names = {PurePosixPath(path).name for path in revision.entries}
    committed = sorted(names & {FILE, BATCHES})
    if committed:
        raise UsageError(
            f"input batch: {committed[0]} is under version control, so anybody could have written "
            "the answers in this file; remove the file from the repository"
        )
    if not (folder / FILE).exists():
        refuse_unfinished_batches(folder)
        return NightlyBatches(settings.workspace, folder, None)
    found = read_unfinished(folder / FILE, lambda _: False)
    return NightlyBatches(settings.workspace, folder, found)


def forget_batches(out: Path, result: GateResult) -> None:
    """Delete the files of a run in batches that has a verdict and all of its reports."""
    if result.verdict != "error" and (out / "result.json").exists():
        forget_unfinished(out / FILE)
