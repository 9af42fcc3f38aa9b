"""A sweep as Markdown and as JSON: the one setting to take, all of them, every two compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatekeeper import numbers
from gatekeeper.gate.sweep.compare import Cell, PairOfSettings, SweepResult
from gatekeeper.reports.escape import code, code_cell, prose
from gatekeeper.reports.markdown.suitability import render_suitability, suitability_document

_MOST_PAIRS = 30
_MOST_NAMED = 5


def sweep_document(result: SweepResult) -> dict[str, Any]:
    """Return the sweep as plain data. Rates are shares; latencies milliseconds; costs USD."""
    return {
        "sweep": 1,
        "contract": result.contract,
        "inputs": result.inputs,
        "samples": result.samples,
        "alpha": result.alpha,
        "visible_drop": result.visible,
        "recommended": result.recommendation.setting,
        "reason": result.recommendation.reason,
        "settings": [_setting(cell) for cell in result.cells],
        "pairs": [_pair(pair) for pair in result.pairs],
        "calls": {
            "made": result.measured.calls.made,
            "cached": result.measured.calls.cached,
            "failed": result.measured.calls.failed,
        },
        "cost_usd": result.measured.cost_usd,
        "ended": result.measured.ended,
        "suitability": suitability_document(result),
    }


def render_sweep(result: SweepResult) -> str:
    """Render Markdown: the recommendation, the settings, the pairs that differ, then how often each
    setting breaks the prompt's rules."""
    parts = (
        f"## Sweep of {code(result.contract, 80)}",
        f"{recommendation(result)} {visible_drop(result)}",
        settings_table(result),
        prose(seeds_sent(result)),
        significant_differences(result),
        render_suitability(result),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def recommendation(result: SweepResult) -> str:
    """Return the recommended setting, the reason, and what this sweep could not have detected."""
    found = result.recommendation
    if found.setting is None:
        return f"**No recommendation:** {prose(found.reason)}."
    cell = result.cells[found.setting]
    today = " (as it is today)" if cell.setting.current else ""
    name = code(cell.setting.name, 200)
    return f"**Recommended:** {name}{today}: {prose(found.reason, 600)}."


def axes_of(result: SweepResult) -> tuple[str, ...]:
    """Return the varied axes, in the order of the command line."""
    return tuple(result.cells[0].setting.varied)


def by_rate(result: SweepResult) -> list[int]:
    """Return the settings' numbers, the best pass rate first; unmeasured ones last."""
    rates = [cell.arm.success_rate for cell in result.cells]
    return sorted(range(len(rates)), key=lambda i: (rates[i] is None, -(rates[i] or 0.0)))


def pass_rate(cell: Cell) -> str:
    """Write `92 % (46/50)`, and how many calls had no answer."""
    arm = cell.arm
    lost = f", {numbers.count(arm.failed_calls, 'call')} failed" if arm.failed_calls else ""
    return f"{numbers.percent(arm.success_rate)} ({arm.passed:,}/{arm.samples:,}{lost})"


def said_of_pairs(result: SweepResult) -> str:
    """Write in a sentence how many pairs differ."""
    pairs = numbers.count(len(result.pairs), "pair")
    significant = sum(pair.adjusted <= result.alpha for pair in result.pairs)
    if len(result.pairs) == 1:
        if not significant:
            return "The two settings do not differ significantly."
        return "The two settings differ significantly (exact sign-flip test, two-sided)."
    if not significant:
        return f"None of {pairs} of settings differs significantly."
    return (
        f"{significant:,} of {pairs} of settings "
        f"{'differs' if significant == 1 else 'differ'} significantly "
        "(exact sign-flip test, two-sided, with Holm's correction over all pairs)."
    )


def visible_drop(result: SweepResult) -> str:
    """Write what this sweep could not have detected."""
    on = numbers.count(result.inputs, "cluster" if result.clustered else "distinct input")
    if result.visible is None:
        return f"With {on}, no difference between two settings could have been detected."
    return (
        f"With {on}, a sweep has a probability of 80 % or more to detect a drop of at least "
        f"{numbers.size_in_points(result.visible)} between two settings. Smaller drops may go "
        "undetected."
    )


def seeds_sent(result: SweepResult) -> str:
    """Write in a sentence which seeds the models got, and for which settings if these differ."""
    names: dict[tuple[int, ...], list[str]] = {}
    for cell in result.cells:
        names.setdefault(cell.seeds, []).append(cell.setting.name)
    if len(names) == 1:
        return f"Seeds sent: {_seeds(*names)}."
    parts = (
        f"{_seeds(seeds)} ({'; '.join(of[:_MOST_NAMED])}{'; …' if len(of) > _MOST_NAMED else ''})"
        for seeds, of in names.items()
    )
    return f"Seeds sent: {', '.join(parts)}."


def _seeds(seeds: tuple[int, ...]) -> str:
    if not seeds:
        return "none"
    return (
        str(seeds[0])
        if len(seeds) == 1
        else f"{seeds[0]} to {seeds[-1]}, one for each sample of a fixture"
    )


def settings_table(result: SweepResult) -> str:
    """Render a Markdown table of every setting, the best first."""
    head = "| | setting | pass rate | 95 % interval | p95 latency | tokens a call | cost a call |"
    rule = "| --- | --- | --- | --- | --- | --- | --- |"
    return "\n".join([head, rule, *(_row(result, number) for number in by_rate(result))])


def _row(result: SweepResult, number: int) -> str:
    cell = result.cells[number]
    arm = cell.arm
    mark = "→" if number == result.recommendation.setting else ""
    today = " (today)" if cell.setting.current else ""
    tokens = numbers.tokens(cell.tokens_per_call)
    cells = (
        mark,
        f"{code_cell(cell.setting.name, 120)}{today}",
        pass_rate(cell),
        numbers.percent_interval(arm.interval),
        numbers.milliseconds(arm.latency_p95_ms),
        tokens,
        numbers.dollars(arm.cost_per_call_usd),
    )
    return f"| {' | '.join(cells)} |"


def significant_differences(result: SweepResult) -> str:
    """Render Markdown with the pairs that differ, the most significant first."""
    significant = sorted(
        (pair for pair in result.pairs if pair.adjusted <= result.alpha),
        key=lambda pair: pair.adjusted,
    )
    lines = [said_of_pairs(result)]
    if not significant:
        return lines[0]
    lines += [
        "",
        "| better | worse | difference | p, adjusted |",
        "| --- | --- | --- | --- |",
        *(_difference_row(result, pair) for pair in significant[:_MOST_PAIRS]),
    ]
    if len(significant) > _MOST_PAIRS:
        more = numbers.count(len(significant) - _MOST_PAIRS, "more pair")
        lines += ["", f"`sweep.json` has {more}."]
    return "\n".join(lines)


def _difference_row(result: SweepResult, pair: PairOfSettings) -> str:
    difference = pair.difference or 0.0
    better, worse = (pair.second, pair.first) if difference > 0 else (pair.first, pair.second)
    names = [code_cell(result.cells[i].setting.name, 120) for i in (better, worse)]
    size, p = (
        numbers.size_in_points(difference),
        numbers.p_value(pair.adjusted, result.alpha, equals=""),
    )
    return f"| {names[0]} | {names[1]} | {size} | {p} |"


def _setting(cell: Cell) -> dict[str, Any]:
    arm = cell.arm
    return {
        "varied": dict(cell.setting.varied),
        "current": cell.setting.current,
        "model": cell.setting.target.model,
        "prompt": cell.setting.target.prompt.reference,
        "params": dict(cell.setting.target.params),
        "seeds": list(cell.seeds),
        "passed": arm.passed,
        "samples": arm.samples,
        "failed_calls": arm.failed_calls,
        "success_rate": arm.success_rate,
        "interval": [arm.interval.low, arm.interval.high] if arm.interval else None,
        "latency_p95_ms": arm.latency_p95_ms,
        "tokens_per_call": cell.tokens_per_call,
        "cost_per_call_usd": arm.cost_per_call_usd,
    }


def _pair(pair: PairOfSettings) -> Mapping[str, Any]:
    return {
        "first": pair.first,
        "second": pair.second,
        "inputs": pair.inputs,
        "difference": pair.difference,
        "p_value": pair.p_value,
        "adjusted_p_value": pair.adjusted,
    }
