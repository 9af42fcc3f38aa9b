"""News of a run for people who do not look at the pull request.

There are four kinds: a prompt change made things worse, an error budget is overspent so that its
prompt is frozen, a model or judge drifted although the prompt did not change, the policy's limit
of the month is nearly or wholly spent. News says only what happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.catalogue import REASONS, NewsKind

NEWS_KINDS: tuple[NewsKind, ...] = get_args(NewsKind)
"""The worst first."""


@dataclass(frozen=True, slots=True)
class News:
    """An event of one contract, or of a key of the policy.

    `text` may contain text of a pull request.
    """

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
