"""Reads which models judge: the contract's `judge`, and what a check sets for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper.contract.meaning.similar_settings import embedding_models_in
from gatekeeper.contract.values.definition import CheckSpec

ASKING = ("judge", "similar")
"""The types of checks that ask a model."""
ENOUGH = 0.75
"""The lowest score that passes if a check does not say which. For claims, all are to be supported.
"""

_MODELS = ("model", "models")


def with_contract_judge(judge: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a check with the contract's judge, as far as it sets none of its
    own.

    The settings become parameters of the check. So a change of the contract's judge is a change of
    every check that uses it.
    """
    own_models = any(name in params for name in _MODELS)
    defaults = {
        name: value
        for name, value in judge.items()
        if name not in params and not (own_models and name in _MODELS)
    }
    sent = {**judge.get("params", {}), **params.get("params", {})}
    return {**defaults, **params, **({"params": sent} if sent else {})}


def judges_of(spec: CheckSpec) -> Iterator[str]:
    """Yield the models that a check and its inner checks name as judges."""
    if spec.type in ASKING:
        yield from _models(spec.params)
    for part in spec.parts:
        yield from judges_of(part)


def judges_named_in(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the models that a contract file names as judges, simulated user or for embeddings, as
    far as they are written in the file itself; it need not be valid."""
    yield from embedding_models_in(data)
    yield from _models(data.get("judge"))
    yield from _models(data.get("user"))
    yield from _in_checks(data.get("checks"), 0)
    groups = data.get("groups")
    of_groups = list(groups.values()) if isinstance(groups, dict) else []
    of_steps = _mappings(data.get("steps"))
    for holder in (*_mappings(data.get("fixtures")), *_mappings(of_groups), *of_steps):
        yield from _in_checks(holder.get("checks"), 0)


def _in_checks(checks: Any, level: int) -> Iterator[str]:
    for item in _mappings(checks):
        if "judge" in item or item.get("type") in ASKING:
            yield from _models(item)
        if level < _DEEPEST:
            yield from _in_checks(item.get("checks"), level + 1)


_DEEPEST = 5


def _models(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        several = value.get("models")
        listed = several if isinstance(several, list) else []
        yield from (model for model in (value.get("model"), *listed) if isinstance(model, str))


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))
