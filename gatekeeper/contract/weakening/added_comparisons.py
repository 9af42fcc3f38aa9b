"""Finds prompts that get more comparisons. All comparisons of a run share alpha, so that after the
merge each can be less sure of what it finds."""

from __future__ import annotations

from collections import Counter

from gatekeeper import numbers
from gatekeeper.contract.changes.affected import Affected
from gatekeeper.contract.weakening.policy_weakening import Weakening


def added_comparisons(affected: Affected) -> tuple[Weakening, ...]:
    """Return each prompt of base that has contracts, groups or slices and gets more of them."""
    added, kept = Counter[str](), Counter(affected.prompts_of_others)
    for contract in affected.contracts:
        if contract.head is None:
            continue
        prompt = contract.head.target.prompt.reference
        if contract.base is not None:
            more = len(contract.head.slices) - len(contract.base.slices)
            kept[prompt] += 1 + len(contract.base.slices)
            added[prompt] += max(0, more)
        elif contract.base_target is not None:
            added[prompt] += 1
    return tuple(
        Weakening(prompt, _said(more, more + kept[prompt]), what="Comparisons are added")
        for prompt, more in sorted(added.items())
        if more and kept[prompt]
    )


def _said(added: int, together: int) -> str:
    return f"gets {numbers.count(added, 'more comparison')}, so {together:,} share alpha"
