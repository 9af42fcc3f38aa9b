"""One contract's evidence in words, for somebody who asks why."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper import numbers
from gatekeeper.gate.decision.unit_words import detectable_sizes, likely, paired_p_value
from gatekeeper.gate.results.links import Links
from gatekeeper.gate.results.result import ContractResult, GateResult, PairedResult
from gatekeeper.reports.escape import code, prose, prose_with_code
from gatekeeper.reports.markdown.decision import objective_line, under_base_contract
from gatekeeper.reports.markdown.details import fixture_text
from gatekeeper.reports.markdown.names import Names
from gatekeeper.reports.words.call_counts import describe_calls, describe_cost
from gatekeeper.reports.words.comparison_text import (
    can_be_chance,
    counts,
    deciding_test,
    difference,
    early_size,
    ended_early,
    is_better,
    is_significant,
)
from gatekeeper.reports.words.evidence import limit_details
from gatekeeper.reports.words.headline import ICONS
from gatekeeper.reports.words.ranking import broken_fixtures, failing_fixtures, worst_reasons

_MOST_NAMES = 20
_MOST_FAILURES = 5
_OUTPUT = 400


def render_explanation(result: GateResult, name: str) -> str:
    """Render Markdown of at most some ten thousand characters."""
    contract = next((c for c in result.contracts if c.name == name), None)
    if contract is None:
        shown = code(name, 100)
        return f"This change does not affect {shown}, so this run has no samples of {shown}.\n"
    parts = [
        f"## {ICONS[contract.verdict]} {code(name, 100)}: {contract.verdict}",
        "\n".join(
            f"- {ICONS[r.verdict]} {prose_with_code(r.text, 600)}" for r in worst_reasons(contract)
        ),
        *_evidence(contract, result.links),
    ]
    before = under_base_contract(contract)
    if before:
        parts += ["### Under the base contract", *_evidence(before, result.links)]
    commit = f"Checked at {code(result.head_sha[:10])}"
    spent = f"{describe_calls(result.calls)}, {describe_cost(result)}"
    parts.append(f"<sub>{commit} · {spent}</sub>")
    return "\n\n".join(filter(None, parts)) + "\n"


def _evidence(contract: ContractResult, links: Links) -> list[str]:
    parts = [*_comparison(contract, contract.paired)] if contract.paired else [_alone(contract)]
    if contract.slo:
        rows = "\n".join(f"- {objective_line(slo, contract)}" for slo in contract.slo)
        parts.append(f"**Objectives**\n\n{rows}")
    limits = limit_details(contract)
    parts += [f"**Limits from base to head**: {prose(limits)}."] if limits else []
    return [*parts, *_failures(contract, links)]


def _alone(contract: ContractResult) -> str:
    head = contract.head
    if head is None:
        return ""
    passed = f"{head.fixtures_passed:,} of {numbers.count(head.fixtures, 'fixture')} pass"
    return f"Head is not compared with base. On head, {passed}."


def _comparison(contract: ContractResult, paired: PairedResult) -> list[str]:
    broke = [fixture.id for fixture in broken_fixtures(contract)]
    fixed = [f.id for f in contract.fixtures if f.change == "fixed"]
    found = [
        f"**What changed**: {prose(counts(paired))}.",
        *([f"Broke: {_names(broke)}."] if broke else []),
        *([f"Fixed: {_names(fixed)}."] if fixed else []),
    ]
    return [" ".join(found), _size(paired), _test(contract, paired), _detectable(paired)]


def _size(paired: PairedResult) -> str:
    if paired.difference is None:
        return ""
    if ended_early(paired):
        return f"**By how much**: {early_size(paired)}."
    what = "mean score" if paired.scores else "pass rate"
    text = f"**By how much**: {difference(paired)} in the {what}"
    interval = likely(paired)
    return f"{text}; 95\u00a0% interval {interval}." if interval else f"{text}."


def _test(contract: ContractResult, paired: PairedResult) -> str:
    if paired.p_value is None:
        return "**Significance**: no pair of answers could be compared."
    p = paired_p_value(paired, equals="")
    chance = (
        f"if head were as good as base, the probability of a result at least this bad would be {p}"
    )
    verdict = "below" if is_significant(paired) else "not below"
    meaning = "chance does not explain the drop"
    if not is_significant(paired):
        chance_alone = can_be_chance(paired, contract)
        meaning = "the result can be chance" if chance_alone else "for other inputs, this is open"
    if is_better(paired):
        meaning = "the results do not suggest a drop"
    test = prose(deciding_test(paired))
    return f"**Significance**: {prose(chance)}, which is {verdict} the level; {meaning}. ({test})"


def _detectable(paired: PairedResult) -> str:
    effect = paired.minimum_detectable_effect
    if effect is None:
        text = "with so few fixtures, no drop over all inputs could be distinguished from chance"
    else:
        text = f"{detectable_sizes(paired)} would probably have been detected"
    end = " if sampling had not ended early" if effect is not None and paired.incomplete else ""
    return f"**What could have been detected**: {text}{end}."


def _failures(contract: ContractResult, links: Links) -> list[str]:
    failed = [*broken_fixtures(contract), *failing_fixtures(contract)]
    lost = [f for f in contract.fixtures if f.errors]
    names = Names(contract.name, links)
    shown = failed[:_MOST_FAILURES]
    parts = [fixture_text(fixture, "head", _OUTPUT, names, alone=False) for fixture in shown]
    left = len(failed) - len(parts)
    if parts:
        parts.insert(0, "**The worst failures**")
    if left > 0:
        parts.append(f"…and {left:,} more in `result.json`.")
    if lost:
        calls = numbers.count(len(lost), "fixture")
        parts.append(f"Samples are missing for {calls}: {code(lost[0].errors[0], 300)}.")
    return parts


def _names(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MOST_NAMES:,} more" if len(ids) > _MOST_NAMES else ""
    return ", ".join(code(i, 60) for i in ids[:_MOST_NAMES]) + more
