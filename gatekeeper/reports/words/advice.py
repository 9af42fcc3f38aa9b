"""Writes what to do about a verdict, in one or two sentences."""

from __future__ import annotations

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import label_of, measure_of
from gatekeeper.gate.results.result import ContractResult, GateResult, ReasonCode
from gatekeeper.reports.escape import code, prose
from gatekeeper.reports.words.catalogue import REASONS
from gatekeeper.reports.words.comparison_text import fixtures_wanted
from gatekeeper.reports.words.ranking import worst_reasons

_BE_SURE_OF_LIMIT = (
    "Find out why calls cost more or take longer. Add fixtures or samples for a clear result."
)
_SAME_PROMPT = (
    "The prompt is the same as in the run before, so the model may have changed: `gatekeeper "
    "drift` says since when. Or agree on another objective in a pull request."
)
_OTHER_PROMPT = "Correct the prompt, or agree on another objective in a pull request."
_MEND_MEASURED = (
    "If the prompt is the same as when it met its objectives, the model may have changed. "
    "Otherwise correct the prompt, or agree on another objective in a pull request."
)
_NOT_THE_PROMPT = (
    "The prompt did not change: look at the changes of the model, its parameters, the fixtures "
    "and the checks, or agree on another objective in a separate pull request."
)
_BASE_APPLIES = (
    "Only the base branch's contract fails, which also applies to this pull request; to apply only "
    "the new contract, set `allow: {weakening: true}` in the base branch's policy."
)
_MEND_NEW = (
    "Look at the failing answers below. If the answers are wrong, correct the new "
    "prompt. If the answers are right, correct the checks or the expected values of "
    "the contract."
)
_MOST_AIMS = 3


def advice(result: GateResult, contract: ContractResult) -> str:
    """Return what to do about the contract's worst reason; empty if there is nothing to do."""
    if result.verdict == "pass" or result.kind == "diff":
        return ""
    codes = [r.code for r in worst_reasons(contract) if r.verdict == result.verdict]
    found = next((code for code in codes if REASONS[code].advice), None)
    if found == "budget":
        return _thaw(contract)
    advice = _advice_on(result, contract, found) if found else ""
    return f"{advice} {_also_frozen(contract)}" if "budget" in codes else advice


def _advice_on(result: GateResult, contract: ContractResult, found: ReasonCode) -> str:
    """Say what to do about one reason."""
    if found == "undecided":
        return _to_be_sure(contract)
    if found == "resource_limit" and result.verdict != "fail":
        return REASONS["error"].advice if result.verdict == "error" else _limit_advice(contract)
    if found == "slo" and contract.base is None and result.kind == "check":
        return _mend_new(contract)
    if found == "slo" and result.kind == "run":
        return _mend_measured(result, contract)
    if found == "slo" and contract.base and _has_prompt_of(contract, contract.base.prompt_digest):
        return _NOT_THE_PROMPT
    entry = REASONS[found]
    if found == "regression" and _only_under_base(contract):
        return f"{entry.advice} {_BASE_APPLIES}"
    if entry.adds_units and _counts_clusters(contract):
        return entry.advice.replace("Add fixtures", "Add clusters")
    return entry.advice


def _only_under_base(contract: ContractResult) -> bool:
    """Return whether the change passes by its own contract, which differs from base's."""
    failing = {r.contract_from for r in contract.reasons if r.verdict == "fail"}
    return failing <= {"base", "base_settings"}


def _mend_measured(result: GateResult, contract: ContractResult) -> str:
    """Advise on a run of the default branch, which may have changed no prompt."""
    before = [run.prompt_digest for run in result.past if run.contract == contract.name]
    if not before or before[-1] is None:
        return _MEND_MEASURED
    return _SAME_PROMPT if _has_prompt_of(contract, before[-1]) else _OTHER_PROMPT


def _has_prompt_of(contract: ContractResult, digest: str | None) -> bool:
    return (
        digest is not None and contract.head is not None and contract.head.prompt_digest == digest
    )


def _limit_advice(contract: ContractResult) -> str:
    """Say what makes a limit decidable: an amount that is known, more inputs, or more samples."""
    under_base = contract.under_base
    limits = [*contract.limits, *(under_base.limits if under_base else ())]
    if any(limit.found == "unmeasured" for limit in limits):
        if any((limit.name, limit.found) == ("cost", "unmeasured") for limit in limits):
            return "Use `gate.tokens` instead of `gate.cost`, or choose a model with a known price."
        return "Remove the limit, or choose a model that reports this amount."
    few = [
        limit for limit in limits if limit.found == "open" and limit.inputs < limit.inputs_needed
    ]
    if few:
        most = max(few, key=lambda limit: limit.inputs_needed)
        noun = "clusters" if _counts_clusters(contract) else "distinct inputs"
        return (
            f"Find out why calls cost more or take longer. Add {noun}, because the limit needs "
            f"{most.inputs_needed:,} {noun}, and only {most.inputs:,} "
            f"{'was' if most.inputs == 1 else 'were'} measured."
        )
    return _BE_SURE_OF_LIMIT


def _counts_clusters(contract: ContractResult) -> bool:
    """Return whether related fixtures count as one."""
    under_base = contract.under_base
    compared = (contract.paired, under_base.paired if under_base else None)
    if any(paired is not None and paired.clusters is not None for paired in compared):
        return True
    return any(fixture.cluster is not None for fixture in contract.fixtures)


def _mend_new(contract: ContractResult) -> str:
    """Advise on a new contract: nothing was better before, because the prompt, its fixtures and its
    objectives are all new."""
    unmet = (slo.objective for slo in contract.slo if slo.met is not True)
    if any(measure_of(objective).better == "higher" for objective in unmet):
        return _MEND_NEW
    return "Make the new prompt meet its objectives, or set objectives that the prompt can meet."


def _to_be_sure(contract: ContractResult) -> str:
    """Advise on an open comparison: first look at what broke, then add fixtures."""
    broke = sum(fixture.change == "broke" for fixture in contract.fixtures)
    look = f"Look at the {numbers.count(broke, 'broken fixture')} below. " if broke else ""
    units = "clusters" if _counts_clusters(contract) else "fixtures"
    wanted = fixtures_wanted(contract.paired) if contract.paired else ""
    if wanted:
        return f"{look}Add {units} to detect smaller drops: {wanted}."
    return f"{look}Add {units} or samples to detect smaller differences."


def _also_frozen(contract: ContractResult) -> str:
    """Say what a freeze requires beside another reason."""
    return (
        "The error budget is overspent too, so only a significantly better "
        "change may merge. A maintainer can waive the result with the comment "
        f"{_waive(contract)}."
    )


def _waive(contract: ContractResult) -> str:
    return code(f"/gatekeeper waive {contract.name}: REASON")


def _thaw(contract: ContractResult) -> str:
    """Say what ends a freeze: a better change, time, or a person."""
    spent = [budget for budget in contract.error_budgets if budget.overspent]
    aims = [
        f"{'raise' if measure_of(b.objective).better == 'higher' else 'lower'} the "
        f"{prose(label_of(b.objective), 100)}"
        for b in spent[:_MOST_AIMS]
    ]
    more = f" and {len(spent) - len(aims)} more" if len(spent) > len(aims) else ""
    better = f"{', '.join(aims)}{more}" or "improve the objective that has no budget left"
    ends = [budget.frozen_until for budget in spent if budget.frozen_until]
    wait = "wait until the budget recovers"
    if ends:
        wait = (
            f"wait until the freeze ends, by {numbers.moment(max(ends))} at the latest unless more "
            "samples fail"
        )
    return (
        f"To merge now, {better} by more than chance explains. Or {wait}. Or ask a maintainer to "
        f"waive the result with the comment {_waive(contract)}."
    )
