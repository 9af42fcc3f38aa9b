"""Computes the progress of one contract, for a person who watches the run. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.gate.results.result import Stopped


class Watched(Protocol):
    """The progress of one evaluation while it is sampled: monitor.EvaluationMonitor."""

    @property
    def evaluation(self) -> Evaluation: ...
    @property
    def outcomes(self) -> Sequence[Outcome]: ...
    @property
    def comparison(self) -> Comparison | None: ...
    @property
    def regressed(self) -> bool: ...
    @property
    def settled(self) -> bool: ...
    @property
    def stopped(self) -> Stopped | None: ...


@dataclass(frozen=True, slots=True)
class ContractProgress:
    """The progress of one contract: `sampled` of at most `planned` samples.

    `pairs` of base and head were compared, and `broke` and `fixed` inputs changed; None if nothing
    is compared. `worse` and `not_worse` say how near these results are, from 0 to 1; None if only a
    later look can decide. `answer` is the result as soon as no more samples are needed.
    """

    contract: str
    sampled: int
    planned: int
    pairs: int | None = None
    broke: int = 0
    fixed: int = 0
    worse: float | None = None
    not_worse: float | None = None
    answer: Stopped | None = None


def contract_progress(contract: str, watches: Iterable[Watched]) -> ContractProgress:
    """Return the progress of one contract from its watches, head's first: its comparison, and the
    samples of all."""
    every = tuple(watches)
    comparison = every[0].comparison
    broke, fixed = comparison.changed if comparison else (0, 0)
    worse, not_worse = (comparison.nearness if comparison else None) or (None, None)
    return ContractProgress(
        contract=contract,
        sampled=sum(len(watch.outcomes) for watch in every),
        planned=sum(len(watch.evaluation.trials) for watch in every),
        pairs=comparison.pairs if comparison else None,
        broke=broke,
        fixed=fixed,
        worse=worse,
        not_worse=not_worse,
        answer=_answer(every),
    )


def _answer(watches: tuple[Watched, ...]) -> Stopped | None:
    if any(watch.regressed for watch in watches):
        return "regressed"
    if not all(watch.settled for watch in watches):
        return None
    return watches[0].stopped or "exhausted"
