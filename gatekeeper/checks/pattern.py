"""Regular expressions that cannot hang the gate: each search has a time limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.output import shorten

if TYPE_CHECKING:
    import regex

# Real patterns take microseconds on a model's output.
DEFAULT_TIMEOUT_MS = 250

# Each timeout holds up the whole run, so a pattern that keeps running out of time is given up.
# What it leaves undetermined ends in the verdict `error` either way.
TIMEOUTS_ALLOWED = 10


class TimedPattern:
    """A compiled pattern whose searches raise TimeoutError rather than go on for ever."""

    def __init__(
        self, pattern: str, *, ignore_case: bool = False, timeout_ms: float = DEFAULT_TIMEOUT_MS
    ) -> None:
        """Raises ParameterError where the pattern does not compile."""
        self._compiled = _compile(pattern, ignore_case)
        self._timeout_ms = timeout_ms
        self._timeouts = 0

    def search(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the text."""
        if self._timeouts >= TIMEOUTS_ALLOWED:
            raise TimeoutError(
                f"{self._name()} ran out of time {self._timeouts} times and is not tried again"
            )
        try:
            return self._compiled.search(text, timeout=self._timeout_ms / 1000) is not None
        except TimeoutError:
            self._timeouts += 1
            raise TimeoutError(
                f"{self._name()} found no answer within {self._timeout_ms:g} ms; "
                "rewrite it without nested or overlapping repetitions"
            ) from None

    def _name(self) -> str:
        return f"the pattern `{shorten(self._compiled.pattern)}`"


def _compile(pattern: str, ignore_case: bool) -> regex.Pattern[str]:
    import regex

    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise ParameterError(
            f"the pattern `{shorten(pattern)}` does not compile: {error}",
            "correct it; a character with a meaning of its own is taken literally after a `\\`",
        ) from None
