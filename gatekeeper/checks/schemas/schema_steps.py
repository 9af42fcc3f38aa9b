"""Limits the work of a JSON Schema: how many keywords may be applied to one value, each counted
with the items that it visits and the messages of its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sized
from typing import Any, TypeAlias

# Called with the validator, the keyword's value, the instance and the schema around it.
Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Any]

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

# A few lines of references double the work with each line. A large output takes a tenth.
MAX_STEPS = 500_000
_REFERENCE_STEPS = 20
"""Following a reference takes as long as this number of other keywords."""
_ITEMS_A_STEP = 20
"""A keyword that visits this many names or items takes about twice as long as one that visits
none."""
_CHARACTERS_A_STEP = 200
"""The most characters of an error's message. The message shows the value, which can be ten
megabytes if the whole output is the value."""
_SEARCH_STEPS = 5
# What keeps running out of steps holds up the whole run, as a pattern does out of time.
_EXHAUSTED_ALLOWED = 10


class Steps:
    """Counts the keywords that are applied to one value, and stops at the limit."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._start = start
        self._left = 0
        self._exhausted = 0

    def counted(self, keyword: str, function: Keyword) -> Keyword:
        """Return the function of a keyword with its steps counted."""
        cost = _REFERENCE_STEPS if keyword in REFERENCES else 1

        def apply(validator: Any, given: Any, instance: Any, schema: Any) -> Any:
            if schema is self._start:
                self._left = MAX_STEPS if self._exhausted < _EXHAUSTED_ALLOWED else 0
            items = _length(given) + _length(instance)
            self._spend(cost + items // _ITEMS_A_STEP + _searches(keyword, instance, schema))
            return self._charged(function(validator, given, instance, schema))

        return apply

    def _charged(self, errors: Any) -> Iterator[Any]:
        """Count each error once: errors of the parts pass through all keywords around them."""
        for error in errors or ():
            if not hasattr(error, "charged"):
                error.charged = True
                self._spend(len(error.message) // _CHARACTERS_A_STEP)
            yield error

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            self._exhausted += 1
            raise TimeoutError(
                f"validating takes more than {MAX_STEPS:,} steps; the parts of "
                "the schema refer to one another too often, or the output is too "
                "large for this schema"
            )


def _length(value: Any) -> int:
    return len(value) if isinstance(value, Sized) and not isinstance(value, str) else 0


def _searches(keyword: str, instance: Any, schema: Any) -> int:
    """Count the steps of searching patterns: each name of an object is searched for each of
    them."""
    if keyword == "pattern":
        return _SEARCH_STEPS
    if keyword not in ("patternProperties", "additionalProperties"):
        return 0
    names = len(instance) if isinstance(instance, Mapping) else 0
    return _SEARCH_STEPS * names * _length(schema.get("patternProperties"))
