"""Where a contract compares texts by their embeddings outside its checks: the key `similar` of an
objective on consistency, and of `repair`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.objectives import CATEGORIES
from gatekeeper.errors import Problem

_EMBEDDED = "local/"


def embedding_models(contract: Contract) -> tuple[str, ...]:
    """Return the embedding models that the contract may ask, apart from those of its checks."""
    found = [objective.similar for objective in contract.slo]
    if contract.mode != "observe" and contract.repair.steps:
        found.append(contract.repair.similar)
    return tuple(dict.fromkeys(similar.model for similar in found if similar))


def embedding_models_in(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the embedding models that a contract file names outside its checks; it need not be
    valid."""
    for _, model in _named_models(data):
        yield model


def similar_problems(document: Document, data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each embedding model that is the embedded model, whose vectors do not
    separate texts of different meaning."""
    for key, model in _named_models(data):
        if model.startswith(_EMBEDDED):
            what = "the model that comes with gatekeeper cannot distinguish meanings well enough"
            fix = "use a model of a provider, such as openai/text-embedding-3-small"
            yield document.problem(key, what, fix)


def _named_models(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yield each model with its key in the file."""
    yield from _model_of(("repair",), data.get("repair"))
    slo = _value_of(data, "slo")
    yield from _model_of(("slo", "consistency"), _value_of(slo, "consistency"))
    categories = _value_of(slo, CATEGORIES)
    for name, objectives in categories.items() if isinstance(categories, dict) else ():
        found = _value_of(objectives, "consistency")
        yield from _model_of(("slo", CATEGORIES, name, "consistency"), found)


def _model_of(key: KeyPath, holder: Any) -> Iterator[tuple[KeyPath, str]]:
    model = _value_of(_value_of(holder, "similar"), "model")
    if isinstance(model, str):
        yield (*key, "similar", "model"), model


def _value_of(holder: Any, key: str) -> Any:
    """Return the value at a key of a mapping; None for any other holder, in a file that is not
    valid."""
    return holder.get(key) if isinstance(holder, dict) else None
