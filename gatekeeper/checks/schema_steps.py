"""A bound on the work of a JSON Schema: how many keywords may be applied to one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

# Called with the validator, the keyword's value, the instance and the schema around it.
Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Any]

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

# A few lines of references double the work with each line. A large output takes a tenth.
MAX_STEPS = 500_000
_REFERENCE_STEPS = 20
"""Following a reference is about that much slower than any other keyword."""
# What keeps running out of steps holds up the whole run, as a pattern does out of time.
_EXHAUSTED_ALLOWED = 10


class Steps:
    """Counts the keywords that are applied to one value, and ends what never would."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._start = start
        self._left = 0
        self._exhausted = 0

    def counted(self, keyword: str, function: Keyword) -> Keyword:
        """The function of a keyword, counted."""
        cost = _REFERENCE_STEPS if keyword in REFERENCES else 1

        def apply(validator: Any, given: Any, instance: Any, schema: Any) -> Any:
            if schema is self._start:
                self._left = MAX_STEPS if self._exhausted < _EXHAUSTED_ALLOWED else 0
            self._left -= cost
            if self._left < 0:
                self._exhausted += 1
                raise TimeoutError(
                    f"the schema takes too many steps, more than {MAX_STEPS:,}; "
                    "its parts refer to one another again and again"
                )
            return function(validator, given, instance, schema)

        return apply
