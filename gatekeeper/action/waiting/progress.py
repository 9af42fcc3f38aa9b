"""Shows on a pull request that its test runs: a pending status, and the progress in the comment.

The process may be killed at any moment, so each text says until when the run can take at most.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

from gatekeeper import numbers
from gatekeeper.action.events import CheckMergeGroup, CheckPullRequest
from gatekeeper.action.github.client import PullRequestApi
from gatekeeper.action.github.comments import publish_progress
from gatekeeper.action.inputs import ActionInputs
from gatekeeper.action.publish import clean, publish_status
from gatekeeper.errors import PublishError
from gatekeeper.gate.measuring.monitor import ContractProgress
from gatekeeper.reports.escape import code, prose
from gatekeeper.reports.markers import comment_marker
from gatekeeper.reports.terminal.progress import TerminalProgress

SECONDS_BEFORE_COMMENT = 60.0
"""Of a shorter run, only the result is worth a comment."""
SECONDS_BETWEEN_COMMENTS = 30.0
_SHARE_BETWEEN_COMMENTS = 0.05
"""Of the run's time so far: GitHub allows the jobs of a repository 1,000 requests an hour."""
_LONGEST_JOB = 360.0
_MINUTES_FOR_THE_REST = 10.0


class PublishedProgress(TerminalProgress):
    """Follows the test of a pull request or merge group, in the log and on GitHub.

    GitHub is called in a thread, once at a time, and for no comment after a refused one: no answer
    of a model waits for it, and the result follows anyway.

    Args:
        minutes: How long the run may take; None for as long as a job.
    """

    def __init__(
        self,
        settings: ActionInputs,
        api: PullRequestApi,
        activity: CheckPullRequest | CheckMergeGroup,
        minutes: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(None, clock)
        self._settings = settings
        self._activity = activity
        self._api = api.without_waiting()
        self._minutes = (_LONGEST_JOB if minutes is None else minutes) + _MINUTES_FOR_THE_REST
        self._now = now
        self._until = ""
        self._next_comment = 0.0
        self._thread = ThreadPoolExecutor(1, "progress")
        self._told: Future[bool] | None = None

    def started(
        self, total: int, contracts: Callable[[], Sequence[ContractProgress]] = tuple
    ) -> None:
        """Start the display, and say on GitHub that the test runs."""
        super().started(total, contracts)
        now = self._now()
        self._until = numbers.moment(now + timedelta(minutes=self._minutes))
        self._next_comment = self._began + SECONDS_BEFORE_COMMENT
        text = (
            f"Testing since {numbers.moment(now)}. If this is still pending at {self._until}, the "
            "run has died: run the job again."
        )
        if total and self._settings.status_context:
            self._thread.submit(
                _succeeds,
                partial(
                    publish_status,
                    self._api,
                    self._activity.head_sha,
                    None,
                    text,
                    context=self._settings.status_context,
                    target_url=self._settings.run_url,
                ),
            )

    def finished(self) -> None:
        """Remove the display. Nothing is written to GitHub any more after this."""
        super().finished()
        self._thread.shutdown()

    def _show(self) -> None:
        super()._show()
        now, activity = self._clock(), self._activity
        if now < self._next_comment or not isinstance(activity, CheckPullRequest):
            return
        pause = max(SECONDS_BETWEEN_COMMENTS, _SHARE_BETWEEN_COMMENTS * (now - self._began))
        self._next_comment = now + pause
        self._tell(
            partial(
                publish_progress,
                self._api,
                activity.number,
                activity.head_sha,
                clean(self._comment(), self._settings),
                mode=self._settings.comment,
                marker=comment_marker(self._settings.id),
            )
        )

    def _tell(self, call: Callable[[], None]) -> None:
        """Make the call in the thread, unless an earlier one was refused or has not ended."""
        if self._told is None or (self._told.done() and self._told.result()):
            self._told = self._thread.submit(_succeeds, call)

    def _comment(self) -> str:
        """Return two lines: how far the run is, and until when the text can be true."""
        url = self._settings.run_url
        commit = code(self._activity.head_sha[:10])
        what = f"[Testing {commit}]({url})" if url else f"Testing {commit}"
        far = prose("; ".join([f"{self._calls()} calls{self._state()}", *self._evidence()]))
        return (
            f"⏳ **{what}**: {far}.\n\nThe result replaces this text. If it is still here at "
            f"{self._until}, the run has died: run the job again."
        )


def _succeeds(call: Callable[[], None]) -> bool:
    with suppress(PublishError):
        call()
        return True
    return False
