"""Translates promptfoo's assertions, and sets of them, to checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gatekeeper.contract.formats.foreign_suite import At
from gatekeeper.contract.formats.promptfoo import data_checks, judge_checks, text_checks
from gatekeeper.contract.formats.promptfoo.assertion import (
    Assertion,
    Grading,
    Scope,
    names_program,
)
from gatekeeper.contract.formats.promptfoo.assertion_types import (
    ALL_TYPES,
    IGNORES_NOT,
    NOT_RUN,
    RED_TEAM,
    RED_TEAM_REASON,
)
from gatekeeper.contract.formats.promptfoo.nodes import Node, Notes
from gatekeeper.contract.formats.promptfoo.sources import CannotRunError, cannot_run
from gatekeeper.contract.formats.promptfoo.transforms import read_transform
from gatekeeper.contract.formats.promptfoo.variables import has_template
from gatekeeper.contract.meaning.check_keys import LEAST_WEIGHT, MOST_WEIGHT
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.values.unique_name import take_name

_TRANSLATORS: Mapping[str, Callable[[Assertion], dict[str, Any]]] = {
    **text_checks.TRANSLATORS,
    **data_checks.TRANSLATORS,
    **judge_checks.TRANSLATORS,
}
_LONGEST_NAME = 180
MOST_IN_A_SET = 20

TRANSLATED = frozenset({*_TRANSLATORS, "assert-set"})
"""The types that this module translates. A test compares them with the table."""


@dataclass(frozen=True, slots=True)
class Translation:
    """Translates the assertions of one contract. What cannot be run goes to `notes`."""

    notes: Notes
    grading_of: Callable[[Node, Grading], Grading]
    """Adds the assertion's own `provider` to the settings for grading."""

    def checks(self, assertions: Iterable[Node], scope: Scope) -> list[At]:
        """Return the checks of a test's assertions, without those that cannot be run.

        Raises ContractError, and NeedsVariablesError if one can only be translated for each test.
        """
        made: list[At] = []
        for node in assertions:
            try:
                made.append(node.at(self._one(node, scope)))
            except CannotRunError as error:
                self.notes.add(error.note)
        return made

    def scored(self, node: Node, assertions: Sequence[Node], threshold: float, scope: Scope) -> At:
        """Return one check whose weighted mean has to reach the threshold of a test or a set.

        Raises CannotRunError if a part of it cannot be run: the mean would be another one.
        """
        parts = [(part, weight) for item in assertions for part, weight in parts_of_score(item)]
        checks = [self.part(part, scope).value for part, _ in parts]
        counted = [
            weighted(part, check, weight)
            for (part, weight), check in zip(parts, checks, strict=True)
            if weight
        ]
        if not counted or threshold <= 0:
            raise cannot_run(node, "threshold", "the threshold is so low that every output passes")
        if threshold > 1:
            raise cannot_run(node, "threshold", f"no output can reach a threshold of {threshold:g}")
        if len(counted) > MOST_IN_A_SET:
            why = f"gatekeeper does not apply a threshold to more than {MOST_IN_A_SET} assertions"
            raise cannot_run(node, "threshold", why)
        named = distinct_names(counted)
        return node.at({"type": "mean_of", "min": threshold, "checks": named})

    def part(self, node: Node, scope: Scope) -> At:
        """Return the check of an assertion that counts towards a score of the test.

        Raises CannotRunError if it cannot be run: the score would be another one.
        """
        try:
            return node.at(self._one(node, scope))
        except CannotRunError as error:
            self.notes.add(error.note)
            why = (
                "gatekeeper does not run at least one assertion that counts towards the "
                "score of the test, so the score would differ from promptfoo's score"
            )
            raise cannot_run(node, str(node.get("type")), why) from None

    def _one(self, node: Node, scope: Scope) -> dict[str, Any]:
        kind = node.get("type")
        if not isinstance(kind, str):
            fix = "write the assertion like `{type: contains, value: …}`"
            raise node.problem("an assertion has no type", fix)
        if kind == "assert-set":
            return self._set(node, scope)
        inverse, base = kind.startswith("not-"), kind.removeprefix("not-")
        self._require_runnable(node, kind, base, inverse)
        own = self._scope_of(node, scope)
        grading = self.grading_of(node, scope.grading)
        check = _TRANSLATORS[base](Assertion(node, base, inverse, own, grading))
        if inverse:
            check = {**check, "not": True}
        if node.get("contextTransform") is not None and base != "context-faithfulness":
            raise cannot_run(
                node, kind, "`contextTransform` is JavaScript, which gatekeeper does not run"
            )
        return {**check, **_common(node)}

    def _require_runnable(self, node: Node, kind: str, base: str, inverse: bool) -> None:
        if base.startswith(RED_TEAM):
            raise cannot_run(node, kind, RED_TEAM_REASON)
        if base in NOT_RUN:
            raise cannot_run(node, kind, NOT_RUN[base])
        if base not in ALL_TYPES:
            what = f"promptfoo has no assertion type `{base[:100]}`"
            raise node.child("type").problem(what, nearest(base, ALL_TYPES))
        if inverse and base in IGNORES_NOT:
            why = f"promptfoo ignores the `not-` in `{kind}`; write `{base}`, or another type"
            raise cannot_run(node, kind, why)
        if base != "python" and names_program(node):
            why = "gatekeeper does not run the program that computes the value of this assertion"
            raise cannot_run(node, kind, why)

    def _scope_of(self, node: Node, scope: Scope) -> Scope:
        written = node.get("transform")
        if written is None:
            return scope
        known = read_transform(written) if isinstance(written, str) else None
        if known is None or known.repairs or (known.field and scope.field):
            why = f"gatekeeper does not run the `transform` of this assertion: {str(written)[:100]}"
            raise cannot_run(node, str(node.get("type")), why)
        return replace(scope, field=known.field) if known.field else scope

    def _set(self, node: Node, scope: Scope) -> dict[str, Any]:
        parts = _of_set(node)
        threshold = node.get("threshold")
        if isinstance(threshold, int | float) and not isinstance(threshold, bool):
            check = self.scored(node, parts, float(threshold), scope).value
        else:
            checks = [part.value for part in self.checks(parts, scope)]
            checks = [_without_weight(check) for check in checks if "severity" not in check]
            if not checks:
                raise cannot_run(
                    node, "assert-set", "gatekeeper can run none of the assertions of this set"
                )
            if len(checks) > MOST_IN_A_SET:
                what = f"the set has more than {MOST_IN_A_SET} assertions"
                raise node.problem(what, "split the set")
            check = {"type": "all_of", "checks": distinct_names(checks)}
        return {**check, **_common(node)}


def _common(node: Node) -> dict[str, Any]:
    """Return the keys that every check has: the metric is the name, and a weight of 0 reports."""
    common: dict[str, Any] = {}
    metric = node.get("metric")
    if isinstance(metric, str) and metric.strip() and not has_template(metric):
        common["name"] = name_of(metric)
    weight = weight_of(node)
    if weight == 0:
        return common | {"severity": "warn"}
    if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        what = f"the weight must be from {LEAST_WEIGHT} to {MOST_WEIGHT}, but is {weight:g}"
        raise node.child("weight").problem(what, "write a number such as 2")
    return common | ({"weight": weight} if weight != 1 else {})


def name_of(metric: str) -> str:
    """Return the name of the check for a metric."""
    return " ".join(metric.split())[:_LONGEST_NAME]


def weight_of(node: Node) -> float:
    """Return the weight of an assertion or a set. Raises ContractError if it is not a number."""
    weight = node.get("weight")
    if weight is None:
        return 1
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise node.child("weight").problem("the weight is not a number", "write a number such as 2")
    return weight


def parts_of_score(node: Node) -> Iterator[tuple[Node, float]]:
    """Yield the assertion with its weight, or the assertions of a set with their shares of the
    weight of the set: its score is their mean, whether it has a threshold or not."""
    if node.get("type") != "assert-set":
        yield node, weight_of(node)
        return
    inner = _of_set(node)
    total = sum(map(weight_of, inner))
    for item in inner:
        yield item, weight_of(node) * weight_of(item) / total if total else 0


def _of_set(node: Node) -> list[Node]:
    """Return the assertions of a set. Raises ContractError if there are none."""
    parts = list(node.child("assert").list())
    if not parts:
        raise node.problem("the set has no assertions", "write a list as `assert`")
    return parts


def weighted(node: Node, check: dict[str, Any], weight: float) -> dict[str, Any]:
    """Return the check with a weight. Raises CannotRunError if no check can have it."""
    if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        why = f"the weight must be from {LEAST_WEIGHT} to {MOST_WEIGHT}, but is {weight:g}"
        raise cannot_run(node, str(node.get("type")), why)
    return _without_weight(check) | ({"weight": weight} if weight != 1 else {})


def _without_weight(check: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in check.items() if name != "weight"}


def distinct_names(
    checks: Sequence[dict[str, Any]], taken: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """Give a number to a name that several checks have: assertions can share a metric."""
    names = set(taken)
    made = []
    for check in checks:
        name = check.get("name")
        if name is not None:
            check = {**check, "name": take_name(name, names, "{name} ({number})")}
        made.append(check)
    return made
