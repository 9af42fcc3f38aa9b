"""Writes the main facts of a result: may it merge, what got worse, how significant it is, what to
do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gatekeeper import numbers
from gatekeeper.gate.comparison.missing_answers import missing_warnings
from gatekeeper.gate.decision.fixture_reasons import has_broken, significantly_broken
from gatekeeper.gate.decision.unit_words import (
    compared_units,
    detectable_sizes,
    flips_note,
    likely,
    mean_scores,
    paired_p_value,
    size_of,
)
from gatekeeper.gate.results.result import (
    WEIGHTED,
    ArmResult,
    ContractResult,
    GateResult,
    PairedResult,
    Reason,
    Verdict,
)
from gatekeeper.reports.escape import code, prose_with_code
from gatekeeper.reports.words.advice import advice
from gatekeeper.reports.words.catalogue import REASONS
from gatekeeper.reports.words.comparison_text import (
    base_contract_label,
    can_be_chance,
    counts,
    difference,
    early_size,
    early_stop,
    ended_early,
    in_samples,
    is_better,
    is_significant,
    rates,
    seeable_effect,
)
from gatekeeper.reports.words.evidence import broke_at, code_step, rise, sentence
from gatekeeper.reports.words.ranking import by_severity, worst_reasons

ICONS: dict[Verdict, str] = {"pass": "✅", "fail": "❌", "inconclusive": "⚠️", "error": "🚫"}
_REASON_LIMIT = 600


def reason_icon(reason: Reason) -> str:
    """Return the icon of a reason: of a note that lets a contract pass, such as a weakening that is
    allowed, the one of a note."""
    noted = reason.verdict == "pass" and REASONS[reason.code].noted
    return "ℹ️" if noted else ICONS[reason.verdict]


def title(result: GateResult) -> str:
    """Return the verdict in a few words, without markup."""
    if result.verdict == "error":
        return "Could not measure"
    if result.kind in ("run", "diff"):
        regressed = result.kind == "diff" and _has_regressed(result)
        return {
            "pass": "Every contract holds" if result.kind == "run" else "No regression",
            "fail": "A regression" if regressed else "A contract does not hold",
            "inconclusive": "Not enough evidence",
        }[result.verdict]
    if result.verdict == "fail":
        return "Do not merge"
    if result.verdict == "inconclusive":
        if result.exit_code == 3:
            return "Not tested: nothing measured the change"
        verb = "allows" if result.exit_code == 0 else "blocks"
        open_ = {r for c in result.contracts for r in c.reasons if r.verdict == "inconclusive"}
        untested = bool(open_) and all(map(_is_unseen, open_))
        what = "Not tested" if untested else "Not enough evidence"
        return f"{what}: the policy {verb} the merge"
    unseen = any(_is_unseen(r) for c in result.contracts for r in c.reasons)
    return "May merge, but a changed part of a prompt was not tested" if unseen else "May merge"


def _is_unseen(reason: Reason) -> bool:
    """Return whether a part of the prompt changed that no request shows."""
    return (reason.code, reason.contract_from) == ("untested", "head")


def _has_regressed(result: GateResult) -> bool:
    reasons = (reason for contract in result.contracts for reason in contract.reasons)
    return any(r.code in ("regression", "slice", "broke") and r.verdict == "fail" for r in reasons)


def headline(result: GateResult) -> str:
    """Return the title line of the comment, as a Markdown heading."""
    return f"## {ICONS[result.verdict]} {headline_text(result)}"


def headline_text(result: GateResult) -> str:
    """Return the title with its subject, as Markdown of one line."""
    return f"{title(result)}{_subject(result)}{_weakened(result)}"


def lead(result: GateResult) -> tuple[str, ...]:
    """Return the paragraphs under the title: what happened, what to do, what a call takes."""
    chosen = foremost(result)
    if chosen is None:
        return (_without_contract(result),)
    sentences = [what_happened(chosen)]
    others = sum(contract.verdict == result.verdict for contract in result.contracts) - 1
    if others and result.verdict == "pass":
        sentences.insert(0, f"The least favourable result of {others + 1:,} contracts:")
    elif others:
        more = numbers.count(others, "more contract")
        sentences.append(f"The table shows {more} with this verdict.")
    sentences += [
        prose_with_code(r.text, _REASON_LIMIT) for r in chosen.reasons if r.code == "waived"
    ]
    action = advice(result, chosen)
    found = [" ".join(sentences), f"**What to do:** {action}" if action else ""]
    found.append(sentence(result.contracts, only_changes=result.verdict != "pass"))
    return tuple(filter(None, found))


def said_in_lead(result: GateResult) -> Reason | None:
    """Return the reason that the lead quotes, or says in its own words."""
    chosen = foremost(result)
    if chosen is None:
        return None
    worst = next(iter(worst_reasons(chosen)), None)
    return worst if worst and _is_reported(worst, chosen) else _quoted(chosen)


def what_happened(contract: ContractResult) -> str:
    """Return the most important finding about one contract, with its size and significance."""
    name = code(contract.name, 80)
    quoted = _quoted(contract)
    if quoted:
        failed = " could not be measured" if contract.verdict == "error" else ""
        broke = _broke_at(contract)
        return f"{name}{failed}: {prose_with_code(quoted.text, _REASON_LIMIT)}{broke}"
    contract, label = _as_decided(contract)
    if contract.paired is None or contract.paired.difference is None:
        return f"{name}: {_passed(contract.head) if contract.head else contract.verdict}."
    found = _comparison(contract, contract.paired, label)
    flips = "" if contract.verdict == "fail" else flips_note(contract.paired)
    said = missing_warnings(contract.missing_answers, contract.reasons)
    missing = "".join(f" {text}" for text in said)
    return (
        f"{name} {found}{_seeable(contract.paired)}{_broken(contract)}{flips}{missing}"
        f"{_broke_at(contract)}"
    )


def _broke_at(contract: ContractResult) -> str:
    """Return a sentence that names the step of a chain at which a failing contract broke."""
    found = broke_at(contract, code_step) if contract.verdict == "fail" else ""
    return f" The chain of prompts {found}." if found else ""


def foremost(result: GateResult) -> ContractResult | None:
    """Return the contract that the lead is about: the worst of those with the verdict."""
    return next((c for c in by_severity(result.contracts) if c.verdict == result.verdict), None)


def _quoted(contract: ContractResult) -> Reason | None:
    """Return the worst reason, unless the comparison itself says more."""
    worst = next(iter(worst_reasons(contract)), None)
    if (_is_compared(contract.paired) and contract.verdict == "pass") or (
        worst and _is_reported(worst, contract)
    ):
        return None
    return worst


def _is_reported(reason: Reason, contract: ContractResult) -> bool:
    """Return whether the numbers of the comparison already express the reason."""
    if not REASONS[reason.code].by_comparison:
        return False
    if reason.contract_from == "head":
        return _is_compared(contract.paired)
    before = contract.under_base
    # If there are two evaluations by the base contract, only one is kept.
    kept = before is not None and before.contract_from == reason.contract_from
    return before is not None and kept and _is_compared(before.paired)


def _is_compared(paired: PairedResult | None) -> bool:
    return paired is not None and paired.difference is not None


def _as_decided(contract: ContractResult) -> tuple[ContractResult, str]:
    """Return the contract with the numbers of the evaluation that found the worst reason, and a
    label if that is the base contract's."""
    worst, found = next(iter(worst_reasons(contract)), None), contract.under_base
    if not (worst and found) or worst.contract_from == "head" or not _is_reported(worst, contract):
        return contract, ""
    shown = replace(
        contract, base=found.base, head=found.head, paired=found.paired, fixtures=found.fixtures
    )
    return shown, f" ({base_contract_label(found)})"


def _seeable(paired: PairedResult) -> str:
    if seeable_effect(paired) is None:
        return ""
    return f" This run could only have shown {detectable_sizes(paired)}."


def _comparison(contract: ContractResult, paired: PairedResult, label: str) -> str:
    # By majority a fixture may stay what it was while fewer of its samples pass.
    if not (paired.broke or paired.fixed or paired.unknown or paired.difference):
        early = early_stop(paired)
        on = f"any of {compared_units(paired)}"
        return f"did **not change**{label} on {on}{f'; {early}' if early else ''}."
    found = "shows **no significant change**"
    if is_significant(paired):
        found = "got **worse**"
    elif is_better(paired):
        found = "got **better**"
    elif paired.stopped == "not_worse":
        found = f"is **not worse**{_by_margin(paired)}"
    elif contract.verdict == "inconclusive":
        worse = paired.difference is not None and paired.difference < 0
        found = "**may have got worse**" if worse else "**may have changed**"
    open_ = can_be_chance(paired, contract)
    chance = "" if paired.p_value is None else _chance(paired, open_=open_)
    said = counts(paired)
    if is_significant(paired) and ended_early(paired) and not paired.compared_rounds:
        said = said.partition(", ")[2]  # the size says how many broke
    return f"{found}{label}:{_shares(contract, paired)} {_size(paired)}{chance}. {said}."


def _broken(contract: ContractResult) -> str:
    """Return what must be mentioned even if the suite as a whole shows no regression."""
    broken = "" if contract.verdict == "fail" else significantly_broken(contract.fixtures)
    return (
        f" {prose_with_code(f'But these fixtures broke: {broken}.', _REASON_LIMIT)}"
        if broken
        else ""
    )


def _by_margin(paired: PairedResult) -> str:
    return f" than base by {size_of(paired, paired.margin)} or more" if paired.margin else ""


def _shares(contract: ContractResult, paired: PairedResult) -> str:
    """Return the two shares behind the difference, as the table has them."""
    if not (contract.base and contract.head):
        return ""
    base, head = rates(contract.base, paired), rates(contract.head, paired)
    if paired.scores:
        return f" {mean_scores(paired)},"
    if paired.rounds > 1:
        return f" {base.share} → {head.share} of samples pass,"
    return f" {base.passed:,} of {base.of:,} → {head.passed:,} of {head.of:,} fixtures pass,"


def _size(paired: PairedResult) -> str:
    """Return the size of the difference, and its interval."""
    if ended_early(paired):
        size, *note = early_size(paired).split(", ")
        return f"**{size}**" + "".join(f" ({text})" for text in note)
    interval = likely(paired)
    weighted = f" {WEIGHTED}" if paired.weighted else ""
    label = weighted + (f" (95\u00a0% interval {interval})" if interval else "")
    return f"**{difference(paired)}**{label}"


def _passed(arm: ArmResult) -> str:
    found = rates(arm, None)
    unit = "samples" if in_samples(arm, None) else "fixtures"
    return f"{found.passed:,} of {found.of:,} {unit} pass"


def _chance(paired: PairedResult, *, open_: bool) -> str:
    explained = ", which can be chance" if open_ else ""
    if is_significant(paired):
        explained = ", more than chance explains"
    if is_better(paired):
        return ""  # the test asks whether head is worse: its p-value says nothing of an improvement
    if paired.stopped == "not_worse":
        explained = ""
    return f", p {paired_p_value(paired)}{explained}"


def _subject(result: GateResult) -> str:
    if result.verdict == "error":
        return ""
    concerned = [c for c in by_severity(result.contracts) if c.verdict == result.verdict]
    broken = sum(has_broken(f) for c in result.contracts for f in c.fixtures if c.paired)
    count = numbers.count(broken, "fixture")
    if result.verdict == "inconclusive":
        return f"; {count} broke" if broken else ""
    if result.verdict == "pass":
        waived = [c for c in by_severity(result.contracts) if _gating_was_waived(c)]
        if waived:
            return f": {_and_more(code(waived[0].name, 60), len(waived) - 1)} waived by a person"
        dearer = rise(result.contracts)
        but = f", but {dearer}" if dearer else ""
        if broken:
            more = f", and {dearer}" if dearer else ""
            return f": no significant regression, but {count} broke{more}"
        compared = any(contract.paired for contract in result.contracts)
        return f": no contract got significantly worse{but}" if compared else ""
    if result.verdict == "fail" and not concerned and result.uncovered:
        return ": a changed prompt has no contract"
    if result.verdict != "fail" or not concerned:
        return ""
    return f": {_faults(concerned)}"


def _weakened(result: GateResult) -> str:
    """Name the contracts that were weakened, except those that fail for it: the subject names
    them."""
    found = [
        contract.name
        for contract in by_severity(result.contracts)
        if any((r.code, r.verdict != "fail") == ("weakened", True) for r in contract.reasons)
    ]
    if not found:
        return ""
    verb = "was" if len(found) == 1 else "were"
    return f"; {_and_more(code(found[0], 60), len(found) - 1)} {verb} weakened"


def _faults(contracts: Sequence[ContractResult]) -> str:
    """Describe the faults of the first two contracts, by name, and count the others."""
    found = [(code(contract.name, 60), *_fault(contract)) for contract in contracts[:2]]
    (name, one, several), *others = found
    if not others:
        return f"{name} {one}".rstrip()
    (second, other, _), left = others[0], len(contracts) - 2
    more = f" and {left:,} more" if left else ""
    if one == other:
        names = f"{name}, {second}{more}" if left else f"{name} and {second}"
        return f"{names} {several}".rstrip()
    if more:
        return f"{name} {one}, {second} {other},{more}"
    return f"{name} {one}, and {second} {other}"


def _and_more(first: str, others: int) -> str:
    return f"{first} and {others:,} more" if others else first


def _gating_was_waived(contract: ContractResult) -> bool:
    return any(reason.code == "waived" for reason in contract.reasons)


def _fault(contract: ContractResult) -> tuple[str, str]:
    worst = next((r.code for r in worst_reasons(contract) if r.verdict == "fail"), None)
    if worst == "nothing_passes" and len(contract.fixtures) > 1:
        failed = sum(fixture.head_passed is False for fixture in contract.fixtures)
        whole = failed == len(contract.fixtures)
        which = f"its {failed:,} fixtures" if whole else f"the {failed:,} measured fixtures"
        return f"passes none of {which}", REASONS[worst].fault[1]
    return REASONS[worst].fault if worst else ("fails", "fail")


def _without_contract(result: GateResult) -> str:
    """Return the first sentence if no contract decided the verdict."""
    if result.verdict != "pass":
        if not result.uncovered:
            return "No contract ran. The reasons are below."
        prompts = numbers.count(len(result.uncovered), "changed prompt")
        verb = "has" if len(result.uncovered) == 1 else "have"
        return f"{prompts} {verb} no contract. **What to do:** {REASONS['uncovered'].advice}"
    none = "No prompt contract is"
    if result.unaffected > 1:
        none = f"None of {result.unaffected:,} prompt contracts is"
    # A model may have proposed contracts for prompts without one.
    called = "" if result.calls.made else ", so no model was called"
    return f"{none} affected by this change{called}."
