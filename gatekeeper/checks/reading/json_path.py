"""JSONPath queries (RFC 9535), which select any number of values in a JSON output.

A query is applied in a child with limits (`gatekeeper/sandbox`): `$..[?count($..*) > 1]` looks at
every pair of values, and filters may hold regular expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.checks.check import ParameterError
from gatekeeper.sandbox.frames import FrameError
from gatekeeper.sandbox.process import LimitedProcess, Limits

MOST_VALUES = 10_000
"""The most values that a query may select for a check that inspects each value."""
LONGEST_QUERY = 1_000
"""Characters."""

_CHILD = LimitedProcess(
    "gatekeeper.checks.reading.json_path_worker:answer",
    ("jsonpath", "regex"),
    Limits(cpu=2, wall=12),
)
# A query that ran out of time holds up the run, so it is not tried for ever.
_FAULTS_ALLOWED = 10


class QueryError(Exception):
    """The query could not be applied to a value, through no fault of the output."""


@dataclass(frozen=True, slots=True)
class Selected:
    """A value that a query selected, and where it stands, like `$['items'][0]`."""

    value: Any
    path: str


class JsonPath:
    """A JSONPath query that was found to be valid."""

    def __init__(self, text: str) -> None:
        """Check the query. Raises ParameterError if it is not one."""
        fix = "write a JSONPath of RFC 9535 like `$.items[*].id` or `$.items[?@.price > 5]`"
        if len(text) > LONGEST_QUERY:
            raise ParameterError(
                f"the JSONPath has more than {LONGEST_QUERY:,} characters",
                "write a shorter JSONPath",
            )
        try:
            answers = _CHILD.ask({"query": text})
        except FrameError as error:
            raise ParameterError(f"`{text}` cannot be used as a JSONPath: {error}", fix) from None
        wrong = answers.overrun or answers.responses[0]["error"]
        if wrong:
            raise ParameterError(f"`{text}` cannot be used as a JSONPath: {wrong}", fix)
        self.text = text
        self._faults = 0

    def select(self, value: Any) -> Sequence[Selected]:
        """Return the values that the query selects, in order. Raises QueryError."""
        found = self._apply(value, {"most": MOST_VALUES})
        if found["more"]:
            raise QueryError(f"the JSONPath `{self.text}` selects more than {MOST_VALUES:,} values")
        pairs = zip(found["values"], found["paths"], strict=True)
        return [Selected(value, path) for value, path in pairs]

    def count(self, value: Any) -> int:
        """Return how many values the query selects. Raises QueryError."""
        return int(self._apply(value, {})["count"])

    def _apply(self, value: Any, settings: dict[str, Any]) -> Any:
        if self._faults >= _FAULTS_ALLOWED:
            what = f"failed {self._faults} times, so gatekeeper does not try it again"
            raise QueryError(f"the JSONPath `{self.text}` {what}")
        try:
            answers = _CHILD.ask({"query": self.text, "value": value, **settings})
        except FrameError as error:
            raise self._fault(str(error)) from None
        if answers.overrun is not None:
            raise self._fault(answers.overrun)
        (response,) = answers.responses
        if "fault" in response:
            raise self._fault(response["fault"])
        return response

    def _fault(self, why: str) -> QueryError:
        self._faults += 1
        return QueryError(f"the JSONPath `{self.text}` could not be applied: {why}")
