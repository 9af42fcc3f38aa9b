"""The formats of JSON Schema that are verified, and how."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from gatekeeper.checks.check import ParameterError

if TYPE_CHECKING:
    import jsonschema

# A class that jsonschema makes while running: no static type describes it.
Dialect: TypeAlias = Any

_LONGEST_REGEX = 2_000


def format_checker(dialect: Dialect) -> jsonschema.FormatChecker:
    """Return the checker of a version of JSON Schema, with formats that have no standard bound."""
    from jsonschema import FormatChecker

    checker = FormatChecker(())
    checker.checkers = {
        **dialect.FORMAT_CHECKER.checkers,
        "date-time": (_is_date_time, ValueError),
        "regex": (_is_regex, re.error),
    }
    return checker


def _is_regex(value: object) -> bool:
    """Return whether Python's `re` compiles it, as in the library, within a length."""
    if isinstance(value, str):
        if len(value) > _LONGEST_REGEX:
            raise TimeoutError(
                f"the output has a regular expression of {len(value):,} characters, too long to try"
            )
        re.compile(value)
    return True


def _is_date_time(value: object) -> bool:
    """Return whether the text is a date-time of RFC 3339: a date, a time, and an offset.

    `fromisoformat` alone accepts more than that.
    """
    if not isinstance(value, str):
        return True
    has_time = value[10:11] in ("T", "t", " ") and value.isascii() and value[16:17] == ":"
    return has_time and datetime.fromisoformat(value.upper()).tzinfo is not None


def require_known_formats(formats: set[str], dialect: Dialect) -> None:
    """Raise ParameterError if one of the formats cannot be verified."""
    known = sorted(format_checker(dialect).checkers)
    unknown = sorted(formats.difference(known))
    if unknown:
        raise ParameterError(
            f"gatekeeper cannot verify the format {', '.join(unknown)}",
            f"use `pattern` instead, remove `formats: true`, or use one of {', '.join(known)}",
        )
