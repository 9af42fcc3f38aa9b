"""Where a contract compares texts by their embeddings outside its checks: the key `similar` of an
objective on consistency, and of `repair`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper.contract.definition import Contract
from gatekeeper.contract.objectives import CATEGORIES
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.errors import Problem

_EMBEDDED = "local/"


def embedding_models(contract: Contract) -> tuple[str, ...]:
    """Return the embedding models that the contract may ask, apart from those of its checks."""
    found = [objective.similar for objective in contract.slo]
    if contract.mode != "observe" and contract.repair.steps:
        found.append(contract.repair.similar)
    return tuple(dict.fromkeys(similar.model for similar in found if similar))


def similar_problems(document: Document, data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each embedding model that is the embedded model, whose vectors do not
    separate texts of different meaning."""
    for key in _places(data):
        written: Any = data
        for part in key:
            written = written.get(part) if isinstance(written, Mapping) else None
        if isinstance(written, str) and written.startswith(_EMBEDDED):
            what = "the embedded model cannot tell similar texts from different ones well enough"
            fix = "use a model of a provider, such as openai/text-embedding-3-small"
            yield document.problem(key, what, fix)


def _places(data: Mapping[str, Any]) -> Iterator[KeyPath]:
    yield ("repair", "similar", "model")
    own = ("consistency", "similar", "model")
    yield ("slo", *own)
    slo = data.get("slo")
    categories = slo.get(CATEGORIES) if isinstance(slo, Mapping) else None
    for name in categories if isinstance(categories, Mapping) else ():
        yield ("slo", CATEGORIES, name, *own)
