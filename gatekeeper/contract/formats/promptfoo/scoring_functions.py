"""Translates the scoring function of a test to the check that calls it with the named scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.contract.formats.foreign_suite import At
from gatekeeper.contract.formats.promptfoo.assertion import Scope
from gatekeeper.contract.formats.promptfoo.assertions import (
    MOST_IN_A_SET,
    Translation,
    distinct_names,
    name_of,
    parts_of_score,
    weight_of,
    weighted,
)
from gatekeeper.contract.formats.promptfoo.nodes import Node
from gatekeeper.contract.formats.promptfoo.python_functions import (
    NoFunctionError,
    named_function,
    takes_two_values,
)
from gatekeeper.contract.formats.promptfoo.sources import FILE, Sources, cannot_run
from gatekeeper.contract.formats.promptfoo.variables import has_template

_KIND = "assertScoringFunction"
_DEFAULT = "func"
"""The function that promptfoo calls if the path names none."""


@dataclass(frozen=True, slots=True)
class _Part:
    """An assertion that counts towards the named score of its metric."""

    metric: str
    node: Node
    weight: float


def scoring_check(
    translation: Translation,
    node: Node,
    assertions: Sequence[Node],
    threshold: float | None,
    scope: Scope,
) -> At:
    """Return the check that calls the scoring function at `node`.

    Raises CannotRunError if gatekeeper cannot call the function with all named scores.
    """
    reference = _function(node, scope.sources)
    parts = [part for item in assertions for part in _parts(translation, item)]
    if not parts:
        raise cannot_run(node, _KIND, "no assertion has a `metric`, so the function gets no scores")
    if len(parts) > MOST_IN_A_SET:
        why = f"gatekeeper passes at most {MOST_IN_A_SET} assertions to a scoring function"
        raise cannot_run(node, _KIND, why)
    checks = distinct_names([_check(translation, part, scope) for part in parts])
    made: dict[str, Any] = {"type": "scoring_function", "function": reference, "checks": checks}
    metrics = [part.metric for part in parts]
    if metrics != [check["name"] for check in checks]:
        made["metrics"] = metrics
    if threshold is not None:
        made["context"] = {"threshold": threshold}
    return node.at(made)


def _function(node: Node, sources: Sources) -> str:
    value = node.value
    if not isinstance(value, str) or not value.startswith(FILE):
        fix = "write `file://score.py:function`"
        raise node.problem("the scoring function is not a path", fix)
    if not value.removeprefix(FILE).partition(":")[0].endswith(".py"):
        why = "gatekeeper runs only scoring functions in Python; write the function in Python"
        raise cannot_run(node, _KIND, why)
    try:
        reference, function = named_function(sources, node, value, _DEFAULT)
    except NoFunctionError as error:
        raise cannot_run(node, _KIND, str(error)) from None
    if not takes_two_values(function):
        why = f"`{function.name}` must take two values: the named scores and the context"
        raise cannot_run(node, _KIND, why)
    return reference


def _parts(translation: Translation, node: Node, factor: float = 1) -> Iterator[_Part]:
    """Yield the assertion for its metric, or those of a set for their metrics and that of the set,
    which is the weighted mean of the whole set."""
    weight = factor * _weight(node)
    metric = _metric(node)
    if node.get("type") != "assert-set":
        if metric is not None:
            yield _Part(metric, node, weight)
        else:
            why = "the assertion has no `metric`, so the scoring function does not read its result"
            translation.notes.add(node.not_run(str(node.get("type")), why))
        return
    for item, share in parts_of_score(node):
        if metric is not None:
            yield _Part(metric, item, share)
        if metric is None or _metric(item) not in (None, metric):
            yield from _parts(translation, item, weight)


def _weight(node: Node) -> float:
    weight = weight_of(node)
    if weight > 0:
        return weight
    why = f"gatekeeper does not pass an assertion with `weight: {weight:g}` to a scoring function"
    raise cannot_run(node, str(node.get("type")), why)


def _metric(node: Node) -> str | None:
    metric = node.get("metric")
    if not isinstance(metric, str) or not metric.strip():
        return None
    if has_template(metric):
        why = "gatekeeper does not fill in a `metric` for a scoring function"
        raise cannot_run(node, str(node.get("type")), why)
    return metric


def _check(translation: Translation, part: _Part, scope: Scope) -> dict[str, Any]:
    check = {**translation.part(part.node, scope).value, "name": name_of(part.metric)}
    return weighted(part.node, check, part.weight)
