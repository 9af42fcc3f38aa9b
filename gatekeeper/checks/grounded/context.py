"""Reads the context of a fixture: the documents that an answer may cite and quote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatekeeper.checks.check import ParameterError, Parameters

CONTEXT: Parameters = {
    "type": ["array", "object", "string"],
    "description": (
        'The documents to cite or quote, usually `"{{ documents }}"`: a text, a '
        "list of texts or mappings, or a mapping from ids to texts."
    ),
}


def context_ids(context: Any, id_key: str) -> frozenset[str]:
    """Return the ids of the documents: the keys of a mapping, the `id_key` of each mapping in a
    list, or the numbers from 1 of a list of texts. Raises ParameterError."""
    if isinstance(context, Mapping):
        return frozenset(map(str, context))
    if isinstance(context, list):
        if all(isinstance(document, str) for document in context):
            return frozenset(str(number) for number in range(1, len(context) + 1))
        if all(isinstance(document, Mapping) and id_key in document for document in context):
            return frozenset(str(document[id_key]) for document in context)
    raise ParameterError(
        f"the documents of `context` have no `{id_key}`",
        "set `id_key` to the key that holds the id of each document, or remove `context` and "
        "list the ids in `ids`",
    )
