"""One run in this process: what it measures, what it reads and what it keeps.

The action turns an event into a `RunPlan`, and the library, the commands and the shards turn their
options into one. runs/execute.py executes all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gatekeeper.contract.values.change import Change, Revision
from gatekeeper.gate.results.parts import price_if_all_known
from gatekeeper.gate.results.result import Measurement, Waiver
from gatekeeper.gate.work import Work

if TYPE_CHECKING:
    from gatekeeper.gate.results.author_results import ContractBlame, PromptPromises
    from gatekeeper.history.record import Trigger
    from gatekeeper.history.stores.store import HistoryStore
    from gatekeeper.reports.terminal.progress import TerminalProgress
    from gatekeeper.runs.answers.kept import KeptAnswers
    from gatekeeper.runs.model_source import ModelSource


@dataclass(frozen=True, slots=True)
class Explanation:
    """What more is known of a run: notices, the harmful edits of a failed one, the promises of its
    prompts, and the calls and US dollars that this took; a cost of None is not known."""

    notices: tuple[str, ...] = ()
    calls: int = 0
    cost_usd: float | None = 0.0
    blame: tuple[ContractBlame, ...] = ()
    promises: tuple[PromptPromises, ...] = ()

    def and_more(self, other: Explanation) -> Explanation:
        """Return this with the notices, calls and cost of another."""
        return replace(
            self,
            notices=(*self.notices, *other.notices),
            calls=self.calls + other.calls,
            cost_usd=price_if_all_known((self.cost_usd, other.cost_usd)),
        )

    def added_to(self, found: Measurement) -> Measurement:
        """Return the measurement with what is more known, so that the history and the report count
        it."""
        return replace(
            found,
            notices=(*found.notices, *self.notices),
            blame=self.blame,
            promises=self.promises,
            calls=replace(found.calls, made=found.calls.made + self.calls),
            cost_usd=price_if_all_known((found.cost_usd, self.cost_usd)),
        )


Explain = Callable[[Work, Measurement], Explanation]


class Commits(Protocol):
    """Where earlier commits come from."""

    def since(self, sha: str, head: str) -> Change | None:
        """Return what changed since a commit; None if the commit is not known."""
        ...


Since = Callable[[str], Change | None]
"""Returns what changed since a commit; None if the commit is not known."""


MergedWaivers = tuple[Sequence[Waiver], Sequence[str]]
"""The waivers of the merged change, and a notice if they are not known."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How to keep a run: its trigger, and a function that finds the waivers of its merge."""

    trigger: Trigger
    merged_waivers: Callable[[], MergedWaivers] = lambda: ((), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What a run measures, what it reads and what it keeps; by default, a trusted run of this
    process that keeps nothing."""

    work: Work
    revisions: tuple[Revision, ...]
    """Where `recorded/` models are read from, base first: base's recorded answers always win, and
    head can only add to them."""
    history: HistoryStore | None = None
    """What is read of past runs."""
    keep: Keep | None = None
    """How to add the run to the history."""
    since: Since | None = None
    """Returns what changed from an earlier commit to the one whose contracts have the history."""
    replay: Path | None = None
    """A samples.jsonl that answers every model."""
    cache: Path | None = None
    """Samples of earlier checks."""
    answers: Path | None = None
    """The file that keeps each answer until the run has ended."""
    unfinished: KeptAnswers | None = None
    """The answers of a run that stopped early."""
    source: ModelSource | None = None
    """Answers instead of this process's models."""
    waivers: tuple[Waiver, ...] = ()
    """Those for the tested commit."""
    notices: tuple[str, ...] = ()
    trusted: bool = True
    """False for a fork's head: a plan that could spend more than the limits, or whose price is
    unknown, is then refused."""
    full_suite: bool = False
    """Whether the run is refused if the policy's limit of the month is reached."""
    explain: Explain | None = None
    """Called after the measurement; may call models."""
    progress: TerminalProgress | None = None
    """Shows the progress of the run, instead of a terminal's own."""
    terminal: bool = True
    """Without one, no progress is shown and signals are the caller's."""

    @classmethod
    def of_change(cls, change: Change, work: Work, commits: Commits) -> RunPlan:
        """Return the plan that compares a change with its base."""
        since = partial(commits.since, head=change.base.sha)
        return cls(work=work, revisions=(change.base, change.head), since=since)

    @classmethod
    def of_revision(cls, revision: Revision, work: Work, commits: Commits) -> RunPlan:
        """Return the plan that measures one revision."""
        since = partial(commits.since, head=revision.sha)
        return cls(work=work, revisions=(revision,), since=since)
