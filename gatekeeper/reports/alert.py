"""What of a run is worth telling people who do not look at the pull request.

Three kinds, and no other: a prompt change got worse, an error budget is spent so that its prompt
is frozen, a model drifted although nobody touched the prompt. News says what happened and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from gatekeeper.gate.result import ContractResult, GateResult
from gatekeeper.reports.catalogue import REASONS, NewsKind

NEWS_KINDS: tuple[NewsKind, ...] = get_args(NewsKind)
"""The worst first."""


@dataclass(frozen=True, slots=True)
class News:
    """One thing that happened to one contract. `text` may hold what a pull request wrote."""

    kind: NewsKind
    contract: str
    text: str


def news_of(result: GateResult) -> tuple[News, ...]:
    """Return the news of a check, contract by contract, without waived ones."""
    return tuple(news for contract in result.contracts for news in _of_contract(contract))


def wanted(news: Sequence[News], kinds: Sequence[str]) -> tuple[News, ...]:
    """Return the news of these kinds, in the order of `NEWS_KINDS`."""
    ordered = sorted(news, key=lambda found: NEWS_KINDS.index(found.kind))
    return tuple(found for found in ordered if found.kind in kinds)


def _of_contract(contract: ContractResult) -> list[News]:
    if contract.verdict != "fail":
        return []
    return [
        News(kind, contract.name, reason.text)
        for reason in contract.reasons
        if reason.verdict == "fail" and (kind := REASONS[reason.code].news) is not None
    ]
