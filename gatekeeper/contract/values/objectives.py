"""Objectives: the targets of a contract for all of its samples, or for those of a category.

The name of an objective is the same everywhere: `success_rate`, `latency_p95_ms`, `checks.NAME`,
`success_all_of.5`, `categories.CATEGORY.repair_rate`, `categories.CATEGORY.checks.NAME`. A category
in a name has no dot, so that a name can be split; the name of a check may have any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, get_args

from gatekeeper.numbers import Unit

DEFAULT_WINDOW = "28d"


@dataclass(frozen=True, slots=True)
class Measure:
    """The measured quantity, its unit, and which direction is better.

    `quantile` is the one of an objective on a time, and `first_token` says that the time is that to
    the first token of the answer, not to its last.
    """

    label: str
    unit: Unit
    better: Literal["higher", "lower"]
    quantile: float | None = None
    first_token: bool = False


CHECKS, CATEGORIES = "checks", "categories"
ALL_OF, ANY_OF = "success_all_of", "success_any_of"

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "success_rate": Measure("success rate", "share", "higher"),
        CHECKS: Measure("pass rate", "share", "higher"),
        ALL_OF: Measure("all-of-{} pass rate", "agreement", "higher"),
        ANY_OF: Measure("any-of-{} pass rate", "agreement", "higher"),
        **{
            f"latency_p{n}_ms": Measure(f"latency p{n}", "ms", "lower", n / 100)
            for n in (50, 90, 95, 99)
        },
        **{
            f"ttft_p{n}_ms": Measure(f"time to first token p{n}", "ms", "lower", n / 100, True)
            for n in (50, 90, 95, 99)
        },
        "cost_per_call_usd": Measure("cost per call", "usd", "lower"),
        "tokens_per_call": Measure("tokens per call", "tokens", "lower"),
        "repair_rate": Measure("repair rate", "share", "lower"),
        "judge_score": Measure("judge score", "score", "higher"),
        "consistency": Measure("consistency", "agreement", "higher"),
    }
)
"""By the key of the contract format, in the order in which objectives are shown."""


@dataclass(frozen=True, slots=True)
class Objective:
    """One promise: the measure that `name` names shall not be worse than `target`, and its error
    budget is counted over `window`."""

    name: str
    target: float
    window: str = DEFAULT_WINDOW
    default: bool = False
    """Whether the target is the policy's default, because the contract has no `success_rate`.
    It applies to one run and has no error budget, because it has no window."""
    by_policy: bool = False
    """Whether the policy sets the target, because the new contract has a lower one."""
    similar: SimilarTexts | None = None
    """How answers in other words are compared, for `consistency`; None: they do not agree."""

    @property
    def measure(self) -> Measure:
        return measure_of(self.name)

    @property
    def check(self) -> str | None:
        """Return the check whose pass rate the objective is about; None for the others."""
        own = _own_part(self.name)
        return own.removeprefix(f"{CHECKS}.") if own.startswith(f"{CHECKS}.") else None

    @property
    def attempts(self) -> int | None:
        """Return how many samples of a fixture must all pass, or of how many one must pass; None
        for objectives on something else."""
        key, _, number = _own_part(self.name).partition(".")
        return int(number) if key in (ALL_OF, ANY_OF) else None

    @property
    def samples_needed(self) -> int:
        """Return how many samples of a fixture give it a value."""
        return self.attempts or (2 if self.measure.unit == "agreement" else 1)

    @property
    def needs_all(self) -> bool:
        """Whether all of its `attempts` must pass."""
        return _own_part(self.name).startswith(f"{ALL_OF}.")

    @property
    def counts_passes(self) -> bool:
        """Whether it counts the samples that pass all checks that gate."""
        return _own_part(self.name) == "success_rate" or self.attempts is not None

    @property
    def category(self) -> str | None:
        """Return the category of the fixtures that the objective is about; None if it is about
        all."""
        if not self.name.startswith(f"{CATEGORIES}."):
            return None
        return self.name.split(".", 2)[1]

    @property
    def good_share(self) -> Decimal | None:
        """The share of events that must be good: samples that pass, that need no repair, calls no
        slower than a latency. None if nothing is counted, as for a mean: it has no budget.
        As the author wrote it: in binary 1 - 0.95 is more than 0.05."""
        measure = self.measure
        if self.default:
            return None
        if measure.quantile is not None:
            return Decimal(str(measure.quantile))
        if measure.unit != "share":
            return None
        target = Decimal(str(self.target))
        return target if measure.better == "higher" else 1 - target


def measure_of(name: str) -> Measure:
    """Return what the objective of that name measures. Raises KeyError for an unknown name."""
    return MEASURES[_own_part(name).split(".", 1)[0]]


def label_of(name: str) -> str:
    """Return the name of the objective for people, as plain text that is not escaped."""
    objective = Objective(name, 0)
    label = objective.measure.label.format(objective.attempts)
    named = f"{objective.check} " if objective.check else ""
    where = f"{objective.category}: " if objective.category else ""
    return f"{where}{named}{label}"


def read_objectives(written: Mapping[str, Any]) -> tuple[Objective, ...]:
    """Return the objectives in the `slo` of a contract that conforms to the schema, in the order of
    `MEASURES`, those of categories last; the order in the file does not matter."""
    window = written.get("window") or DEFAULT_WINDOW
    found = list(_objectives("", written, window))
    for category, own in sorted((written.get(CATEGORIES) or {}).items()):
        found += _objectives(f"{CATEGORIES}.{category}.", own, window)
    return tuple(found)


def _objectives(where: str, written: Mapping[str, Any], window: str) -> Iterator[Objective]:
    for key in MEASURES:
        value = written.get(key)
        if value is None:
            continue
        several = key in (CHECKS, ALL_OF, ANY_OF)
        order = sorted if key == CHECKS else partial(sorted, key=int)
        named = {f"{key}.{n}": value[n] for n in order(value)} if several else {key: value}
        for name, target in named.items():
            if isinstance(target, Mapping):
                own_window, similar = target.get("window") or window, read_similar(target)
                yield Objective(where + name, target["target"], own_window, similar=similar)
            elif target is not None:
                yield Objective(where + name, target, window)


def _own_part(name: str) -> str:
    return name.split(".", 2)[2] if name.startswith(f"{CATEGORIES}.") else name


@dataclass(frozen=True, slots=True)
class SimilarTexts:
    """The embedding `model`, and the lowest cosine, from 0 to 1, of two texts that mean the
    same."""

    model: str
    min: float


def read_similar(written: Any) -> SimilarTexts | None:
    """Return the `similar` of a mapping that conforms to the schema; None if it has none."""
    found = written.get("similar") if isinstance(written, Mapping) else None
    return SimilarTexts(found["model"], found["min"]) if found else None


def similar_weakening(before: SimilarTexts | None, now: SimilarTexts | None) -> str | None:
    """Return how more texts may count as the same than before; None if no more do."""
    if now is None or now == before:
        return None
    if before is None:
        return "`similar` added"
    if now.model != before.model:
        return f"similar.model changed from {before.model} to {now.model}"
    return f"similar.min lowered from {before.min} to {now.min}" if now.min < before.min else None


LimitName = Literal["cost", "tokens", "latency_p50", "latency_p95"]
"""The keys of the contract format. Reports show the limits in this order."""


@dataclass(frozen=True, slots=True)
class ResourceLimit:
    """`most` is the share by which the resource may rise: 0.2 for `+20%`."""

    name: LimitName
    most: float

    def __str__(self) -> str:
        return f"+{self.most * 100:g}%"


def read_limits(gate: Mapping[str, Any]) -> tuple[ResourceLimit, ...]:
    """Return the limits in the `gate` of a contract that conforms to the schema."""
    names: tuple[LimitName, ...] = get_args(LimitName)
    written = ((name, gate.get(name)) for name in names)
    return tuple(ResourceLimit(name, _share(text)) for name, text in written if text is not None)


def _share(text: str) -> float:
    """Parse `+20%` as 0.2; divided as a decimal, so that `+10%` is the nearest number to a
    tenth."""
    return float(Decimal(text.strip().removeprefix("+").removesuffix("%")) / 100)
