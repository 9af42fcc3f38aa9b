"""Sources that can answer a run instead of this process's models: batches, the shards of a plan, a
cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.gate.pipeline import Measurement, RunContext
from gatekeeper.gate.work import Work

if TYPE_CHECKING:
    from gatekeeper.gate.forecast.forecast import Amounts
    from gatekeeper.reports.terminal.progress import TerminalProgress
    from gatekeeper.runs.answers.kept import AnswerLog


class RunHooks:
    """How a source may change a run. Unless a subclass says otherwise, it changes nothing."""

    def prepare(self, around: RunContext, work: Work, log: AnswerLog | None) -> RunContext:  # noqa: ARG002
        """Return the context of the run, with limits and retries that suit the source."""
        return around

    def follow(self, progress: TerminalProgress) -> None:
        """Show on the progress what the source waits for."""

    @property
    def amounts(self) -> Amounts:
        """Return what a request takes, as functions of the request."""
        from gatekeeper.gate.forecast.forecast import Amounts
        from gatekeeper.providers.models.cost_estimate import (
            count_tokens,
            expected_cost,
            worst_cost,
        )

        return Amounts(expected_cost, worst_cost, count_tokens)

    def count(self, found: Measurement) -> Measurement:
        """Return the measurement with the calls and costs that this process does not know of."""
        return found

    def notices(self) -> Iterable[str]:
        """Return what there is to say of the source after the run."""
        return ()


class ModelSource(RunHooks, ABC):
    """A model client that answers a run, and may change how the run is made."""

    @abstractmethod
    async def complete(self, request: Request) -> Completion:
        """Return the model's answer. Raises CallFailed."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close what is open."""
