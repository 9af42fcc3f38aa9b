"""Converts a completion to JSON and back, to keep it between runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from gatekeeper.contract.trial import Completion

_LATER = ("ttft_ms", "cached_tokens", "cache_write_tokens")
"""Fields that answers kept by earlier versions do not have, and that most answers do not need."""

_MOST = 1e15
"""Tokens, milliseconds or dollars; the sum of many such is still a number."""

_OF_THE_CALL = ("replayed", "cut", "pause")
_KEPT = tuple(
    field.name for field in fields(Completion) if field.name not in (*_OF_THE_CALL, *_LATER)
)


def completion_record(completion: Completion) -> dict[str, Any]:
    """Return the completion's fields by name, without those that say how it was obtained."""
    kept = {name: value for name, value in asdict(completion).items() if name in _KEPT}
    later = {name: getattr(completion, name) for name in _LATER}
    return {**kept, **{name: value for name, value in later.items() if value is not None}}


def read_completion(record: Mapping[str, Any]) -> Completion:
    """Read what `completion_record` returned. Raises TypeError or KeyError for anything else."""
    kept = {name: record[name] for name in _KEPT}
    later: dict[str, Any] = {name: record.get(name) for name in _LATER}
    found = Completion(**kept, **later)
    read_text(found.text)
    for text in (found.fingerprint, found.finish_reason):
        if text is not None:
            read_text(text)
    amounts = found.latency_ms, found.prompt_tokens, found.completion_tokens, found.cost_usd
    for amount in (*amounts, *later.values()):
        if amount is not None and (isinstance(amount, bool) or not 0 <= amount <= _MOST):
            raise TypeError("not an amount")
    return found


def read_text(value: object) -> str:
    """Return a text. Raises TypeError for any other value."""
    if not isinstance(value, str):
        raise TypeError("not text")
    return value
