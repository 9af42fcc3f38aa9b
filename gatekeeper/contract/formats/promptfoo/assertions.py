"""Translates promptfoo's assertions to checks: by their rows, and sets and scores of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gatekeeper.contract.formats.foreign_suite import At
from gatekeeper.contract.formats.promptfoo.assertion import Assertion, Scope
from gatekeeper.contract.formats.promptfoo.assertion_types import (
    IGNORES_NOT,
    RED_TEAM,
    RED_TEAM_REASON,
    ROWS,
    SET,
    WHOLE,
    has,
)
from gatekeeper.contract.formats.promptfoo.javascript import read_transform
from gatekeeper.contract.formats.promptfoo.providers import grading_of
from gatekeeper.contract.formats.promptfoo.sources import (
    FILE,
    Sources,
    is_program,
    takes_two_values,
)
from gatekeeper.contract.formats.promptfoo.variables import has_template
from gatekeeper.contract.formats.reader import CannotRunError, Node, Notes
from gatekeeper.contract.formats.rows import Check
from gatekeeper.contract.meaning.schemas import LEAST_WEIGHT, MOST_WEIGHT
from gatekeeper.contract.values.unique_name import take_name

_LONGEST_NAME = 180
_MOST_IN_A_SET = 20
_SCORING = "assertScoringFunction"
_DEFAULT_FUNCTION = "func"
"""The scoring function that promptfoo calls if the path names none."""


@dataclass(frozen=True, slots=True)
class Translation:
    """Translates the assertions of one contract. What cannot be run goes to `notes`."""

    notes: Notes

    def checks(self, assertions: Iterable[Node], scope: Scope) -> list[At]:
        """Return the checks of a test's assertions, without those that cannot be run.

        Raises ContractError, and NeedsVariablesError if one can only be translated for each test.
        """
        made: list[At] = []
        for node in assertions:
            try:
                made.append(node.at(self._one(node, scope)))
            except CannotRunError as error:
                self.notes.add(*error.notes)
        return made

    def scored(self, node: Node, assertions: Sequence[Node], threshold: float, scope: Scope) -> At:
        """Return one check whose weighted mean has to reach the threshold of a test or a set.

        Raises CannotRunError if a part of it cannot be run: the mean would be another one.
        """
        parts = [(part, weight) for item in assertions for part, weight in _parts_of_score(item)]
        checks = [self._part(part, scope) for part, _ in parts]
        counted = [
            _weighted(part, check, weight)
            for (part, weight), check in zip(parts, checks, strict=True)
            if weight
        ]
        why = None
        if not counted or threshold <= 0:
            why = "the threshold is so low that every output passes"
        elif threshold > 1:
            why = f"no output can reach a threshold of {threshold:g}"
        elif len(counted) > _MOST_IN_A_SET:
            why = f"gatekeeper does not apply a threshold to more than {_MOST_IN_A_SET} assertions"
        if why:
            raise node.cannot_run("threshold", why)
        named = distinct_names(counted)
        return node.at({"type": "mean_of", "min": threshold, "checks": named})

    def scoring_check(
        self, node: Node, assertions: Sequence[Node], threshold: float | None, scope: Scope
    ) -> At:
        """Return the check that calls the scoring function at `node` with the named scores.

        Raises CannotRunError if gatekeeper cannot call the function with all of them.
        """
        reference = _scoring_function(node, scope.sources)
        parts = [part for item in assertions for part in self._parts_of_metrics(item)]
        if not parts:
            why = "no assertion has a `metric`, so the function gets no scores"
            raise node.cannot_run(_SCORING, why)
        if len(parts) > _MOST_IN_A_SET:
            why = f"gatekeeper passes at most {_MOST_IN_A_SET} assertions to a scoring function"
            raise node.cannot_run(_SCORING, why)
        metrics = [metric for metric, _, _ in parts]
        checks = distinct_names(
            [
                _weighted(part, {**self._part(part, scope), "name": _name_of(metric)}, weight)
                for metric, part, weight in parts
            ]
        )
        made: Check = {"type": "scoring_function", "function": reference, "checks": checks}
        if metrics != [check["name"] for check in checks]:
            made["metrics"] = metrics
        if threshold is not None:
            made["context"] = {"threshold": threshold}
        return node.at(made)

    def _part(self, node: Node, scope: Scope) -> Check:
        """Return the check of an assertion that counts towards a score of the test.

        Raises CannotRunError if it cannot be run: the score would be another one.
        """
        try:
            return self._one(node, scope)
        except CannotRunError as error:
            self.notes.add(*error.notes)
            why = "without all its assertions, the score would differ from promptfoo's"
            raise _cannot(node, why) from None

    def _one(self, node: Node, scope: Scope) -> Check:
        kind = node.get("type")
        if not isinstance(kind, str):
            fix = "write the assertion like `{type: contains, value: …}`"
            raise node.problem("an assertion has no type", fix)
        if kind == SET:
            return self._set(node, scope)
        base = kind.removeprefix("not-")
        _require_runnable(node, kind, base)
        grading = grading_of(node.child("provider"), scope.grading)
        row, assertion = ROWS[base], Assertion(node, base, _scope_of(node, scope), grading)
        check = row.make(assertion)
        if not callable(row.check):
            whole = WHOLE in row.marks
            check = assertion.of_whole(check) if whole else assertion.of_part(check)
        if kind != base:
            check = {**check, "not": True}
        if node.get("contextTransform") is not None and base != "context-faithfulness":
            raise _cannot(node, "`contextTransform` is JavaScript, which gatekeeper does not run")
        return {**check, **_common(node)}

    def _set(self, node: Node, scope: Scope) -> Check:
        parts = _of_set(node)
        threshold = node.get("threshold")
        if isinstance(threshold, int | float) and not isinstance(threshold, bool):
            check = self.scored(node, parts, float(threshold), scope).value
        else:
            checks = [part.value for part in self.checks(parts, scope)]
            checks = [_without_weight(check) for check in checks if "severity" not in check]
            if not checks:
                why = "gatekeeper can run none of the assertions of this set"
                raise node.cannot_run(SET, why)
            if len(checks) > _MOST_IN_A_SET:
                what = f"the set has more than {_MOST_IN_A_SET} assertions"
                raise node.problem(what, "split the set")
            check = {"type": "all_of", "checks": distinct_names(checks)}
        return {**check, **_common(node)}

    def _parts_of_metrics(self, node: Node, factor: float = 1) -> Iterator[tuple[str, Node, float]]:
        """Yield the metric of an assertion, the assertion and its weight, or those of a set for
        their metrics and that of the set, which is the weighted mean of the whole set."""
        own = _weight_of(node)
        if own <= 0:
            why = f"an assertion with `weight: {own:g}` cannot be passed to a scoring function"
            raise _cannot(node, why)
        weight, metric = factor * own, _metric(node)
        if node.get("type") != SET:
            if metric is not None:
                yield metric, node, weight
            else:
                why = "the assertion has no `metric`, so the scoring function does not see it"
                self.notes.add(node.not_run(str(node.get("type")), why))
            return
        for item, share in _parts_of_score(node):
            if metric is not None:
                yield metric, item, share
            if metric is None or _metric(item) not in (None, metric):
                yield from self._parts_of_metrics(item, weight)


def _cannot(node: Node, why: str) -> CannotRunError:
    return node.cannot_run(str(node.get("type")), why)


def _require_runnable(node: Node, kind: str, base: str) -> None:
    """Raise CannotRunError for a type that gatekeeper does not run. A misspelt one is an error as
    soon as the tests are read."""
    why = None
    if base.startswith(RED_TEAM):
        why = RED_TEAM_REASON
    elif base not in ROWS:
        why = "gatekeeper does not know this assertion type"
    elif ROWS[base].why:
        why = ROWS[base].why
    elif kind != base and has(base, IGNORES_NOT):
        why = f"promptfoo ignores the `not-` in `{kind}`; write `{base}`, or another type"
    elif base != "python" and _names_program(node):
        why = "gatekeeper does not run the program that computes the value of this assertion"
    if why:
        raise _cannot(node, why)


def _names_program(node: Node) -> bool:
    """Return whether the assertion's value is a file with a program."""
    value = node.get("value")
    return isinstance(value, str) and value.startswith(FILE) and is_program(value)


def _scope_of(node: Node, scope: Scope) -> Scope:
    """Return the scope with the `transform` of the assertion. Raises CannotRunError."""
    written = node.get("transform")
    if written is None:
        return scope
    known = read_transform(written)
    if known is None or known.repairs or (known.field and scope.field):
        why = f"gatekeeper does not run the `transform` of this assertion: {str(written)[:100]}"
        raise _cannot(node, why)
    return replace(scope, field=known.field) if known.field else scope


def _common(node: Node) -> Check:
    """Return the keys that every check has: the metric is the name, and a weight of 0 reports."""
    common: Check = {}
    metric = node.get("metric")
    if isinstance(metric, str) and metric.strip() and not has_template(metric):
        common["name"] = _name_of(metric)
    weight = _weight_of(node)
    if weight == 0:
        return common | {"severity": "warn"}
    if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        raise node.child("weight").problem(_weight_fault(weight), "write a number such as 2")
    return common | ({"weight": weight} if weight != 1 else {})


def _name_of(metric: str) -> str:
    """Return the name of the check for a metric."""
    return " ".join(metric.split())[:_LONGEST_NAME]


def _metric(node: Node) -> str | None:
    metric = node.get("metric")
    if not isinstance(metric, str) or not metric.strip():
        return None
    if has_template(metric):
        raise _cannot(node, "gatekeeper does not fill in a `metric` for a scoring function")
    return metric


def _weight_of(node: Node) -> float:
    """Return the weight of an assertion or a set. Raises ContractError if it is not a number."""
    weight = node.get("weight")
    if weight is None:
        return 1
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise node.child("weight").problem("the weight is not a number", "write a number such as 2")
    return weight


def _weight_fault(weight: float) -> str:
    return f"the weight must be from {LEAST_WEIGHT} to {MOST_WEIGHT}, but is {weight:g}"


def _weighted(node: Node, check: Check, weight: float) -> Check:
    """Return the check with a weight. Raises CannotRunError if no check can have it."""
    if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        raise _cannot(node, _weight_fault(weight))
    return _without_weight(check) | ({"weight": weight} if weight != 1 else {})


def _without_weight(check: Check) -> Check:
    return {name: value for name, value in check.items() if name != "weight"}


def _parts_of_score(node: Node) -> Iterator[tuple[Node, float]]:
    """Yield the assertion with its weight, or the assertions of a set with their shares of the
    weight of the set: its score is their mean, whether it has a threshold or not."""
    if node.get("type") != SET:
        yield node, _weight_of(node)
        return
    inner = _of_set(node)
    total = sum(map(_weight_of, inner))
    for item in inner:
        yield item, _weight_of(node) * _weight_of(item) / total if total else 0


def _of_set(node: Node) -> list[Node]:
    """Return the assertions of a set. Raises ContractError if there are none."""
    parts = list(node.child("assert").each())
    if not parts:
        raise node.problem("the set has no assertions", "write a list as `assert`")
    return parts


def _scoring_function(node: Node, sources: Sources) -> str:
    """Return the reference of the scoring function that the node names."""
    value = node.value
    if not isinstance(value, str) or not value.startswith(FILE):
        fix = "write `file://score.py:function`"
        raise node.problem("the scoring function is not a path", fix)
    if not value.removeprefix(FILE).partition(":")[0].endswith(".py"):
        why = "gatekeeper runs only scoring functions in Python; write the function in Python"
        raise node.cannot_run(_SCORING, why)
    reference, function = sources.function(node, value, _DEFAULT_FUNCTION, _SCORING)
    if not takes_two_values(function):
        why = f"`{function.name}` must take two values: the named scores and the context"
        raise node.cannot_run(_SCORING, why)
    return reference


def distinct_names(checks: Sequence[Check], taken: Iterable[str] = ()) -> list[Check]:
    """Give a number to a name that several checks have: assertions can share a metric."""
    names = set(taken)
    made = []
    for check in checks:
        name = check.get("name")
        if name is not None:
            check = {**check, "name": take_name(name, names, "{name} ({number})")}
        made.append(check)
    return made
