"""Replaces personal data and secrets in logged inputs, by the detectors of the checks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gatekeeper.checks.safety.personal_data import KINDS, TooManyCandidatesError
from gatekeeper.checks.safety.secret_forms import FORMS, find_secrets
from gatekeeper.contract.values.unique_name import take_name

_SEPARATOR = re.compile(r"[\s\-]")


_MOST_PIECES = 200
"""Different pieces of personal data in one text; replacing more takes long, and such a text is no
typical input."""
_FEWEST_DIGITS = 8
"""Of a number that can be that of a telephone, a card or a person."""
_ESCAPE = "\\u"


class TooMuchPersonalDataError(Exception):
    """The text has too many candidates to look at all of them."""


def without_personal_data(value: Any, countries: Sequence[str] = ()) -> tuple[Any, int]:
    """Return the value with `<email>`, `<phone>` and the like in place of personal data and
    secrets, also in keys and in numbers, and how many were replaced.

    `countries` are those whose national identifiers and telephone numbers are looked for. Raises
    TooMuchPersonalDataError.
    """
    if isinstance(value, str):
        return _clean_json(value, tuple(countries)) or _clean(value, tuple(countries))
    if isinstance(value, list):
        cleaned = [without_personal_data(item, countries) for item in value]
        return [item for item, _ in cleaned], sum(count for _, count in cleaned)
    if isinstance(value, dict):
        return _clean_mapping(value, tuple(countries))
    if isinstance(value, int | float) and len(str(value)) >= _FEWEST_DIGITS:
        text, count = _clean(str(value), tuple(countries))
        return (text, count) if count else (value, 0)
    return value, 0


def _clean_mapping(
    values: Mapping[str, Any], countries: tuple[str, ...]
) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    taken: set[str] = set()
    replaced = 0
    for key, item in values.items():
        name, in_key = _clean(key, countries)
        clean, inside = without_personal_data(item, countries)
        replaced += in_key + inside
        found[take_name(name, taken, "{name} {number}")] = clean
    return found, replaced


def _clean_json(text: str, countries: tuple[str, ...]) -> tuple[str, int] | None:
    """Clean a text that is JSON and hides letters as `\\u0040`; None if it is not."""
    if _ESCAPE not in text:
        return None
    try:
        cleaned, count = without_personal_data(json.loads(text), countries)
    except (ValueError, RecursionError):
        return None
    return (json.dumps(cleaned, ensure_ascii=False), count) if count else None


def _clean(text: str, countries: tuple[str, ...]) -> tuple[str, int]:
    replaced = 0
    try:
        found = sorted(set(_found(text, countries)), key=lambda one: -len(one[1]))
    except TooManyCandidatesError as error:
        raise TooMuchPersonalDataError(str(error)) from error
    if len(found) > _MOST_PIECES:
        raise TooMuchPersonalDataError(f"more than {_MOST_PIECES} pieces of personal data")
    for kind, item in found:
        text, count = _as_written(item).subn(f"<{kind}>", text)
        replaced += count
    return text, replaced


def _as_written(item: str) -> re.Pattern[str]:
    """Return a pattern of the text as it may stand there: a detector leaves out the spaces and
    hyphens in a number."""
    if not any(character.isdigit() for character in item):
        return re.compile(re.escape(item))
    parts = [re.escape(character) for character in item if not _SEPARATOR.match(character)]
    return re.compile(f"{_SEPARATOR.pattern}{{0,3}}".join(parts), re.IGNORECASE)


def _found(text: str, countries: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for kind, find in KINDS.items():
        if kind != "national_id" or countries:
            yield from ((kind, item) for item in find(text, countries))
    yield from (("secret", item) for _, item in find_secrets(text, tuple(FORMS)))
