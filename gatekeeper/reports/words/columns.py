"""One row a contract: the same figures for the comment, the summary and the terminal.

A cell is a few short lines of plain text, which each report joins and escapes in its own way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import label_of, measure_of
from gatekeeper.contract.values.trial import Arm
from gatekeeper.gate.decision.unit_words import likely, paired_p_value, size_of
from gatekeeper.gate.results.result import (
    WEIGHTED,
    ArmResult,
    ContractResult,
    GateResult,
    PairedResult,
    SloResult,
)
from gatekeeper.reports.words.comparison_text import (
    difference,
    early_size,
    ended_early,
    is_better,
    is_significant,
    rates,
    seeable_effect,
)
from gatekeeper.reports.words.evidence import cell_lines, changed
from gatekeeper.stats.objectives.error_budget import ErrorBudget

_UNKNOWN = (numbers.NONE,)

ColumnName = Literal["base", "head", "difference", "p", "slo", "resources", "budget"]
"""What a column holds, for programs; its title is for people."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A few short lines of one contract: the first says it, the others say more."""

    lines: tuple[str, ...]
    strong: bool = False
    """Whether the eye should fall on it."""
    sort_key: float | None = None
    """What its row is sorted by; None if it is not known, which sorts last."""
    bracketed: bool = False
    """Whether the second line has brackets of its own, as an interval has."""

    def on_one_line(self) -> str:
        """Return the first line, with the second in brackets."""
        first, *others = self.lines
        if not others:
            return first
        return f"{first} {others[0] if self.bracketed else f'({others[0]})'}"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table, with a cell for each contract."""

    name: ColumnName
    title: str
    cells: Sequence[Cell]
    is_right: bool = True


def columns(result: GateResult, contracts: Sequence[ContractResult]) -> tuple[Column, ...]:
    """Return the columns between the contract's name and its verdict, without those that are empty
    for all contracts."""
    found: list[Column] = []
    differences = [difference_cell(contract) for contract in contracts]
    if result.kind != "run":
        interval = any(cell.bracketed and len(cell.lines) > 1 for cell in differences)
        found += [
            Column("base", "Base", [rate_cell(c.base, c.paired, "base") for c in contracts]),
            Column("head", "Head", [rate_cell(c.head, c.paired, "head") for c in contracts]),
            Column("difference", "Difference" + " [95\u00a0%]" * interval, differences),
            Column("p", "p", [_chance(c.paired) for c in contracts]),
        ]
    else:
        found.append(Column("head", "Passed", [rate_cell(c.head, None) for c in contracts]))
    if any(contract.slo for contract in contracts):
        found.append(Column("slo", "SLO", [_objectives(c) for c in contracts], is_right=False))
    resources = [_resources(contract) for contract in contracts]
    if any(resources):
        cells = [cell or Cell(_UNKNOWN) for cell in resources]
        found.append(Column("resources", "Cost and latency [99\u00a0%]", cells, is_right=False))
    if any(contract.error_budget and contract.error_budget.events for contract in contracts):
        found.append(Column("budget", "Budget left", [_budget_left(c) for c in contracts]))
    return tuple(found)


def objective_value(slo: SloResult, value: float | None) -> str:
    """Write an amount of an objective in its unit."""
    return numbers.amount(value, measure_of(slo.objective).unit)


def observed_value(slo: SloResult) -> str:
    """Write the observed amount of an objective, with the judge's own if it is corrected, and
    whether it rests on judges and is not."""
    text = objective_value(slo, slo.observed)
    if slo.outdated:
        return f"{text} (the judge drifted)"
    if slo.as_judged and slo.observed is not None:
        return f"{text} (as judged, not corrected)"
    if slo.similar:
        return f"{text} (by embedding)"
    return text if slo.judged is None else f"{text} (as judged {objective_value(slo, slo.judged)})"


def target(slo: SloResult) -> str:
    """Write the target of an objective, with its direction."""
    sign = "≥" if measure_of(slo.objective).better == "higher" else "≤"
    default = " (default)" if slo.default else ""
    return f"{sign} {objective_value(slo, slo.target)}{default}"


def status_text(slo: SloResult, contract: ContractResult) -> str:
    """Return `met`, `missed`, or the reason why it is open."""
    if slo.met is not None:
        return "met" if slo.met else "missed"
    if slo.unmeasured:
        return "open: samples missing"
    if slo.observed is None:
        return "open: not measured"
    if contract.paired and ended_early(contract.paired):
        return "open: stopped early"
    needed = slo.inputs_needed
    if needed is not None and slo.inputs < needed:
        units = "clusters" if slo.clustered else "inputs"
        return f"open: needs {needed:,} {units}, has {slo.inputs:,}"
    return "open: the interval includes the target"


def shown_objectives(contract: ContractResult) -> tuple[list[SloResult], list[str]]:
    """Return the objective to show by name, if any, and all others in a few words: `8 met`.

    That is one that is missed, else the one that is most in doubt, else the only one. If the
    comparison decided, open objectives do not matter.
    """
    if len(contract.slo) == 1 and contract.slo[0].met:
        return list(contract.slo), []
    unmet = sorted((slo for slo in contract.slo if slo.met is not True), key=_urgency)
    first = [slo for slo in unmet if slo.met is False][:1]
    decided = not first and contract.paired is not None and is_significant(contract.paired)
    if not first and not decided and (len(unmet) == 1 or any(_urgency(slo) < 2 for slo in unmet)):
        first = unmet[:1]
    rest = sorted((slo for slo in contract.slo if slo not in first), key=_urgency)
    counted = Counter(_in_short(slo, contract, decided=decided) for slo in rest)
    return first, [f"{number:,} {words}" for words, number in counted.items()]


def _in_short(slo: SloResult, contract: ContractResult, *, decided: bool) -> str:
    if slo.met is None and decided:
        return "not evaluated"
    return "more missed" if slo.met is False else status_text(slo, contract).partition(":")[0]


def _urgency(slo: SloResult) -> int:
    """Return the order of an objective: 0 missed, 1 in doubt, 2 open but on the right side, 3
    met."""
    if slo.met is not None:
        return 3 if slo.met else 0
    if slo.unmeasured or slo.observed is None:
        return 1
    higher = measure_of(slo.objective).better == "higher"
    short = slo.observed < slo.target if higher else slo.observed > slo.target
    return 1 if short else 2


def _budget_left(contract: ContractResult) -> Cell:
    budget = contract.error_budget
    if budget is None:
        return Cell(_UNKNOWN)
    left = budget.left / budget.budget if budget.budget > 0 else None
    return Cell((share_left(budget),), sort_key=left)


def share_left(budget: ErrorBudget) -> str:
    """Return the share of an error budget that is left."""
    if budget.events == 0:
        return "no history yet"
    if budget.budget <= 0:
        return "none" if budget.left >= 0 else "overspent"
    return numbers.percent(budget.left / budget.budget)


def rate_cell(arm: ArmResult | None, paired: PairedResult | None, side: Arm = "head") -> Cell:
    """Return what an arm passed, or its mean score, and of how many."""
    if arm is None:
        return Cell(_UNKNOWN)
    found = rates(arm, paired)
    if found.value is None:
        return Cell(_UNKNOWN, sort_key=arm.success_rate)
    several = paired is not None and paired.rounds > 1
    counted = f"{found.passed:,}/{found.of:,}"
    lines = (found.share, f"{counted}\u00a0samples" if several else counted)
    if paired is not None and paired.scores:
        mean = paired.scores[side == "head"]
        lines = (f"score\u00a0{numbers.score(mean)}", f"{found.share} pass")
    return Cell(lines, sort_key=arm.success_rate)


def difference_cell(contract: ContractResult) -> Cell:
    """Return head minus base; unknown without the two rates, which a run that was cut short may
    lack although it compared some samples. What judges prefer has a line of its own: it does not
    change the rates."""
    paired, arms = contract.paired, (contract.base, contract.head)
    if paired is None or paired.difference is None:
        return Cell(_UNKNOWN)
    if any(arm is not None and rates(arm, paired).value is None for arm in arms):
        return Cell(_UNKNOWN)
    early = ended_early(paired)
    if early:
        size, *note = early_size(paired).split(", ")
        lines = [size, *(["early estimate"] if note else [])]
    else:
        lines = [*filter(None, (difference(paired), likely(paired)))]
        lines += [WEIGHTED] if paired.weighted else []
    lines += [
        f"judges: {found.base_preferred:,} for base, {found.head_preferred:,} for head"
        for found in contract.preferences
    ]
    return Cell(tuple(lines), is_significant(paired), paired.difference, bracketed=not early)


def _chance(paired: PairedResult | None) -> Cell:
    """Return the p-value of being worse; if it is not significant, also how large a drop was
    detectable. A change for the better has none."""
    if paired is None:
        return Cell(_UNKNOWN)
    if is_better(paired):
        return Cell(_UNKNOWN, sort_key=paired.p_value)
    p = paired_p_value(paired, equals="")
    effect = seeable_effect(paired)
    detectable = [] if effect is None else [f"shows ≥\u00a0{size_of(paired, effect)}"]
    return Cell((p, *detectable), sort_key=paired.p_value)


def _objectives(contract: ContractResult) -> Cell:
    """Name the objective that matters most, and count the others, on one line."""
    if not contract.slo:
        return Cell(_UNKNOWN)
    missed = sum(slo.met is False for slo in contract.slo)
    # A missed objective is worse than any number of open ones.
    key = missed + 0.01 * sum(slo.met is None for slo in contract.slo)
    shown, rest = shown_objectives(contract)
    if not key:
        rest = [f"✅ {text}" for text in rest]
    return Cell(("; ".join([*map(_objective, shown), *rest]),), sort_key=key)


def _resources(contract: ContractResult) -> Cell | None:
    """Say what a call takes more or less; None if nothing changed and no limit is exceeded."""
    lines = cell_lines(contract)
    if not lines:
        return None
    most = max((change.relative or 0.0 for change in changed(contract)), default=None)
    return Cell(lines, sort_key=most)


def _objective(slo: SloResult) -> str:
    observed = f"{label_of(slo.objective)} {objective_value(slo, slo.observed)}"
    if slo.met:
        return f"✅ {observed}"
    text = f"{observed}, wanted {target(slo)}"
    return f"{text}, open" if slo.met is None else f"❌ {text}"
