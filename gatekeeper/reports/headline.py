"""What a reader must know in ten seconds: may it merge, what got worse, how sure, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.reports import figures
from gatekeeper.reports.harmless import code, prose
from gatekeeper.result import (
    ContractResult,
    GateResult,
    PairedResult,
    Reason,
    ReasonCode,
    SloResult,
    Verdict,
)

ICONS: dict[Verdict, str] = {"pass": "✅", "fail": "❌", "inconclusive": "⚠️", "error": "🚫"}
_SEVERITY: dict[Verdict, int] = {"fail": 0, "error": 1, "inconclusive": 2, "pass": 3}
_REASON_LIMIT = 600

OBJECTIVES = {
    "success_rate": "success rate",
    "latency_p95_ms": "latency p95",
    "cost_per_call_usd": "cost per call",
}

_ACTIONS: dict[ReasonCode, str] = {
    "regression": "Look at the fixtures that broke below, then mend the prompt. "
    "Where the new answers are the wanted ones, change what the fixtures expect.",
    "slo": "Bring the prompt back within its objectives, or agree on another objective "
    "in a pull request of its own.",
    "tolerance": "Mend the prompt until enough of its fixtures pass; the failing ones are below.",
    "budget": "The error budget is spent: only changes that make things better may merge.",
    "weakened": "Take the loosening back, or have the policy allow it.",
    "removed": "Put the contract back, or remove the prompt with it.",
    "uncovered": "Write a contract for the prompt.",
    "error": "This says nothing about the prompt. Remove the cause and run the gate again.",
    "limit": "Raise the limit in the policy or draw fewer samples, and run the gate again.",
    "interrupted": "Run the gate again.",
    "undecided": "Add fixtures or samples to see smaller differences.",
    "unseen": "Add fixtures or samples to see smaller differences.",
}


def by_severity(contracts: Sequence[ContractResult]) -> tuple[ContractResult, ...]:
    """The worst first; among equals the largest drop first."""
    return tuple(
        sorted(contracts, key=lambda c: (_SEVERITY[c.verdict], _difference(c.paired), c.name))
    )


def worst_reasons(contract: ContractResult) -> tuple[Reason, ...]:
    return tuple(sorted(contract.reasons, key=lambda reason: _SEVERITY[reason.verdict]))


def title(result: GateResult) -> str:
    """The verdict in a few words, without markup."""
    if result.verdict == "error":
        return "Could not measure"
    if result.kind == "run":
        return {
            "pass": "Every contract holds",
            "fail": "A contract does not hold",
            "inconclusive": "Not enough evidence",
        }[result.verdict]
    if result.verdict == "fail":
        return "Do not merge"
    if result.verdict == "inconclusive":
        merge = "the policy lets it merge" if result.exit_code == 0 else "the policy blocks it"
        return f"Not enough evidence: {merge}"
    return "May merge"


def headline(result: GateResult) -> str:
    """The title line of the comment, as a Markdown heading."""
    return f"## {ICONS[result.verdict]} {title(result)}{_subject(result)}"


def lead(result: GateResult) -> tuple[str, ...]:
    """The one or two paragraphs under the title."""
    if not result.contracts:
        return (_nothing_affected(result),)
    ranked = by_severity(result.contracts)
    concerned = [contract for contract in ranked if contract.verdict == result.verdict]
    first = (concerned or ranked)[0]
    sentences = [what_happened(first, result.verdict)]
    if len(concerned) > 1 and result.verdict != "pass":
        sentences.append(f"The table shows {len(concerned) - 1:,} more.")
    action = _action(result, first)
    return (" ".join(sentences), *([f"**What to do:** {action}"] if action else []))


def what_happened(contract: ContractResult, verdict: Verdict) -> str:
    """The finding that matters most about one contract, with its size and how sure it is."""
    name = code(contract.name, 80)
    reasons = worst_reasons(contract)
    worst = reasons[0] if reasons else None
    if verdict == "error":
        why = f": {prose(worst.text, _REASON_LIMIT)}" if worst else "."
        return f"{name} could not be measured{why}"
    paired = contract.paired
    if verdict == "fail" and worst and worst.code != "regression":
        return f"{name}: {prose(worst.text, _REASON_LIMIT)}"
    if paired is None or paired.difference is None:
        return f"{name}: {prose(worst.text, _REASON_LIMIT)}" if worst else f"{name}: {verdict}."
    return f"{name}: {_comparison(contract, paired)}{seeable(paired)}"


def seeable(paired: PairedResult) -> str:
    """What the run could have seen, which every result without a finding must say."""
    effect = paired.minimum_detectable_effect
    if effect is None or _is_significant(paired):
        return ""
    return f" This run could only have seen a drop of {figures.size_in_points(effect)} or more."


def objective_value(slo: SloResult, value: float | None) -> str:
    if slo.objective == "success_rate":
        return figures.percent(value)
    if slo.objective == "latency_p95_ms":
        return figures.milliseconds(value)
    return figures.dollars(value)


def _comparison(contract: ContractResult, paired: PairedResult) -> str:
    change = _difference(paired)
    worse = "got worse" if _is_significant(paired) else "no sure change"
    if paired.interval is not None and paired.interval.low > 0:
        worse = "got better"
    elif change == 0 and not (paired.broke or paired.fixed):
        worse = "no fixture changed"
    shares = ""
    if contract.base and contract.head:
        shares = (
            f"{contract.base.fixtures_passed:,} → {contract.head.fixtures_passed:,} of "
            f"{figures.count(contract.head.fixtures, 'fixture')} pass, "
        )
    interval = figures.points_interval(paired.interval)
    size = f"**{figures.points(paired.difference)}** {interval}".rstrip()
    sure = f", p {figures.p_value(paired.p_value, paired.alpha)}" if paired.p_value else ""
    return f"**{worse}**. {shares}{size}{sure}; {paired.broke:,} broke, {paired.fixed:,} fixed."


def _subject(result: GateResult) -> str:
    if result.verdict == "error" or not result.contracts:
        return ""
    concerned = [c for c in by_severity(result.contracts) if c.verdict == result.verdict]
    if result.verdict == "pass":
        better = "no contract got measurably worse" if result.kind == "check" else ""
        return f": {better}" if better else ""
    if result.verdict != "fail" or not concerned:
        return ""
    others = f" and {figures.count(len(concerned) - 1, 'more', 'more')}" if concerned[1:] else ""
    return f": {_fault(concerned[0])}{others}"


def _fault(contract: ContractResult) -> str:
    name = code(contract.name, 60)
    worst = next((r.code for r in worst_reasons(contract) if r.verdict == "fail"), None)
    if worst == "regression":
        return f"{name} got worse"
    if worst == "removed":
        return f"the contract {name} was removed"
    if worst == "weakened":
        return f"{name} was weakened"
    if worst in ("slo", "tolerance"):
        return f"{name} misses its objective"
    if worst == "budget":
        return f"{name} has no error budget left"
    return name


def _nothing_affected(result: GateResult) -> str:
    if result.verdict != "pass":
        found = "; ".join(prose(notice, _REASON_LIMIT) for notice in result.notices[:3])
        if result.uncovered:
            return (
                f"Prompts changed that no contract covers. **What to do:** {_ACTIONS['uncovered']}"
            )
        return found or "No contract ran."
    contracts = f" of {result.unaffected:,}" if result.unaffected else ""
    return f"No prompt contract{contracts} is affected by this change, so no model was called."


def _action(result: GateResult, contract: ContractResult) -> str:
    if result.verdict == "pass":
        return ""
    codes = [r.code for r in worst_reasons(contract) if r.verdict == result.verdict]
    return next((_ACTIONS[code] for code in codes if code in _ACTIONS), "")


def _is_significant(paired: PairedResult) -> bool:
    return paired.p_value is not None and paired.p_value < paired.alpha


def _difference(paired: PairedResult | None) -> float:
    return 0.0 if paired is None or paired.difference is None else paired.difference
