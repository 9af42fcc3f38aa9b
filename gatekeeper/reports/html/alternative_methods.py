"""Renders the results of other methods on the same samples for the HTML report; they decide
nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gatekeeper import numbers
from gatekeeper.gate.result import ContractResult, Difference, PairedResult
from gatekeeper.reports.escape import code_cell
from gatekeeper.stats.interval import ConfidenceInterval

_Unit = Callable[[float], str]
OVERSTATED = (
    " These methods ignore that sampling stopped early, so they overstate significance. "
    "The deciding test takes early stopping into account."
)
_METHODS = {
    "wilson": "Wilson",
    "jeffreys": "Jeffreys",
    "clustered": "Korn and Graubard (by fixture)",
    "bootstrap": "bootstrap",
    "bootstrap_fixtures": "bootstrap by fixture",
    "bootstrap_blocks": "block bootstrap",
    "newcombe": "Newcombe",
}
_P_VALUES: Mapping[str, Sequence[tuple[str, str]]] = {
    "exact McNemar test": (
        ("mcnemar_exact", ""),
        ("mcnemar_exact_two_sided", " two-sided"),
        ("mcnemar_mid_p", " mid-p"),
    ),
    "McNemar's chi-square, two-sided": (
        ("mcnemar_chi_square_two_sided", " corrected"),
        ("mcnemar_chi_square_uncorrected_two_sided", " uncorrected"),
    ),
    "sign-flip test": (("sign_flip", ""),),
    "Durkalski's clustered McNemar": (("durkalski_two_sided", " two-sided"),),
    "paired t-test": (("paired_t", ""),),
}
_EFFECTS = (("cohen_d", "Cohen's d"), ("cohen_h", "Cohen's h"))
_WORSE = "probability_worse"
_KNOWN = {
    *(name for names in _P_VALUES.values() for name, _ in names),
    *(name for name, _ in _EFFECTS),
    _WORSE,
}


def alternative_method_rows(contract: ContractResult, *, adjusted: bool) -> list[str]:
    """Return rows of a Markdown table: a method, and its result for the samples."""
    found: list[tuple[str, str]] = []
    paired = contract.paired
    if paired:
        found += _of_tests(paired, adjusted=adjusted)
        found += [
            (f"difference in points, {_method(name)}", numbers.points_interval(interval))
            for name, interval in paired.intervals.items()
            if has_width(interval)
        ]
        found += [
            ("latency, head minus base", _amount(paired.latency_difference_ms, _milliseconds)),
            ("cost of a call, head minus base", _amount(paired.cost_difference_usd, _dollars)),
        ]
    found += _of_arms(contract)
    return [f"| {label} | {value.replace('<', '&lt;')} |" for label, value in found if value]


def has_width(interval: ConfidenceInterval) -> bool:
    """Return whether the interval means anything: one without width comes from data without
    variance."""
    return interval.high > interval.low


def _of_tests(paired: PairedResult, *, adjusted: bool) -> list[tuple[str, str]]:
    values = paired.alternative_methods
    found = []
    if adjusted and paired.adjusted_p_value is not None:
        shown = f"p {_p(paired.adjusted_p_value)}"
        found.append(("the deciding test, with the Benjamini-Hochberg adjustment", shown))
    for label, names in _P_VALUES.items():
        shown_values = [f"{_p(values[name])}{kind}" for name, kind in names if name in values]
        found.append((label, f"p {', '.join(shown_values)}" if shown_values else ""))
    effects = [f"{label} {_effect(values[name])}" for name, label in _EFFECTS if name in values]
    found.append(("effect size", ", ".join(effects)))
    if _WORSE in values:
        found.append(("probability that head is worse (Bayes)", numbers.percent(values[_WORSE])))
    others = {name: value for name, value in values.items() if name not in _KNOWN}
    return found + [(code_cell(name, 60), f"{value:.3g}") for name, value in others.items()]


def _of_arms(contract: ContractResult) -> list[tuple[str, str]]:
    arms = {"base": contract.base, "head": contract.head}
    there = {label: arm for label, arm in arms.items() if arm}
    names = dict.fromkeys(name for arm in there.values() for name in arm.intervals)
    rows = [
        (
            f"success rate, {_method(name)}",
            _each(
                {label: arm.intervals.get(name) for label, arm in there.items()}, numbers.percent
            ),
        )
        for name in names
    ]
    latency = {label: arm.latency_interval for label, arm in there.items()}
    cost = {label: arm.cost_interval for label, arm in there.items()}
    return [
        *rows,
        ("latency p95", _each(latency, numbers.milliseconds)),
        ("cost of a call", _each(cost, numbers.dollars)),
    ]


def _each(intervals: Mapping[str, ConfidenceInterval | None], unit: _Unit) -> str:
    return ", ".join(
        f"{arm} {unit(interval.low)} to {unit(interval.high)}"
        for arm, interval in intervals.items()
        if interval and has_width(interval)
    )


def _amount(difference: Difference | None, unit: _Unit) -> str:
    if difference is None:
        return ""
    interval = difference.interval
    around = ""
    if interval and has_width(interval):
        around = f" [{unit(interval.low)}, {unit(interval.high)}]"
    return f"{unit(difference.value)}{around}"


def _method(name: str) -> str:
    return _METHODS.get(name) or code_cell(name, 60)


def _p(value: float) -> str:
    return numbers.p_value(value, equals="")


def _effect(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _milliseconds(value: float) -> str:
    return _sign(value) + numbers.milliseconds(abs(value))


def _dollars(value: float) -> str:
    return _sign(value) + numbers.dollars(abs(value))


def _sign(value: float) -> str:
    return "−" if value < 0 else "+" if value > 0 else ""
