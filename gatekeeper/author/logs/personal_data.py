"""Replaces personal data and secrets in logged inputs, by the detectors of the checks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from gatekeeper.checks.safety.personal_data import KINDS, TooManyCandidatesError
from gatekeeper.checks.safety.secret_forms import FORMS, find_secrets

_SEPARATOR = re.compile(r"[\s\-]")


class TooMuchPersonalDataError(Exception):
    """The text has too many candidates to look at all of them."""


def without_personal_data(value: Any, countries: Sequence[str] = ()) -> tuple[Any, int]:
    """Return the value with `<email>`, `<phone>` and the like in place of personal data and
    secrets, and how many were replaced.

    `countries` are those whose national identifiers and telephone numbers are looked for. Raises
    TooMuchPersonalDataError.
    """
    if isinstance(value, str):
        return _clean(value, tuple(countries))
    if isinstance(value, list):
        cleaned = [without_personal_data(item, countries) for item in value]
        return [item for item, _ in cleaned], sum(count for _, count in cleaned)
    if isinstance(value, dict):
        parts = {key: without_personal_data(item, countries) for key, item in value.items()}
        return {key: item for key, (item, _) in parts.items()}, sum(n for _, n in parts.values())
    return value, 0


def _clean(text: str, countries: tuple[str, ...]) -> tuple[str, int]:
    replaced = 0
    try:
        found = sorted(set(_found(text, countries)), key=lambda one: -len(one[1]))
    except TooManyCandidatesError as error:
        raise TooMuchPersonalDataError(str(error)) from error
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
