"""Regular expressions that cannot hang the gate or take its memory.

A pattern without groups and with small counts is compiled and searched in this process, with a
time limit: its memory is in proportion to its text. All others are compiled and searched in a
child with limits (`gatekeeper/sandbox`): `((a{1000}){1000}){1000}` takes gigabytes to compile, and
a group's repetition keeps each of its turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.reading.output import shorten
from gatekeeper.sandbox.frames import FrameError
from gatekeeper.sandbox.process import LimitedProcess, Limits

if TYPE_CHECKING:
    import regex

# Real patterns take microseconds on a model's output.
DEFAULT_TIMEOUT_MS = 250

# Each timeout holds up the whole run, so a pattern that keeps running out of time is given up.
TIMEOUTS_ALLOWED = 10
# A search that had to be killed took some seconds, and not milliseconds.
_KILL_COUNTS_AS = 5

_SEARCHED_HERE = 100_000
"""Characters of a text that is searched in this process."""

_CHILD = LimitedProcess(
    "gatekeeper.checks.reading.pattern_worker:answer", ("regex",), Limits(cpu=6)
)
# What a compilation that had to be killed is taken to have used, in seconds.
_KILLED_SECONDS = 6.0

_CLASS = r"\[\^?(?:[A-Za-z0-9 _.,:;<>=\"'!?@#%/*+$(){}-]|\\[dDwWsSnrt]|\\[^A-Za-z0-9\s])++\]"
_ATOM = rf"(?:[^\\\[\](){{}}*+?]|\\[dDwWsSbBnrt]|\\[^A-Za-z0-9]|{_CLASS})"
_SIMPLE = re.compile(
    rf"(?:{_ATOM}(?:(?:[*+?]|\{{\d{{1,3}}(?:,\d{{0,3}})?\}})[?+]?)?+)*+", re.DOTALL
)
_SIMPLE_LENGTH = 200


Found = TypeVar("Found")


class _Spent:
    """Seconds of processor time that compiling took in the child so far."""

    seconds = 0.0


def compile_seconds() -> float:
    """Return how much processor time the child has taken to compile patterns, in all."""
    return _Spent.seconds


@lru_cache(maxsize=2048)
def is_simple(pattern: str) -> bool:
    """Return whether the pattern is short and has neither groups nor large counts."""
    return (
        len(pattern) <= _SIMPLE_LENGTH
        and "--" not in pattern
        and _SIMPLE.fullmatch(pattern) is not None
    )


class Match(NamedTuple):
    """Where a pattern matches. `text` is that of its first group, or the whole match if it has
    none."""

    start: int
    end: int
    text: str


class TimedPattern:
    """A compiled pattern whose searches raise TimeoutError rather than go on for ever.

    A search that runs out of time is tried once more: when the machine stalls for a moment, an
    ordinary search runs out of time too.
    """

    def __init__(
        self, pattern: str, *, ignore_case: bool = False, timeout_ms: float = DEFAULT_TIMEOUT_MS
    ) -> None:
        """Compile the pattern. Raises ParameterError if it does not compile."""
        self._pattern = pattern
        self._ignore_case = ignore_case
        self._compiled = _compile(pattern, ignore_case) if is_simple(pattern) else None
        if self._compiled is None:
            _require_compiles(pattern, ignore_case)
        self._timeout_ms = timeout_ms
        self._timeouts = 0

    def search(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in the text."""
        return self._within_time(lambda: self._search(text))

    def find_all(self, text: str, most: int) -> list[Match]:
        """Return the first matches of the pattern in the text. Raises TimeoutError."""
        found = self._within_time(lambda: self._ask(text, most=most)["matches"])
        return [Match(*match) for match in found]

    def _within_time(self, attempt: Callable[[], Found]) -> Found:
        if self._timeouts >= TIMEOUTS_ALLOWED:
            raise TimeoutError(
                f"{self._name()} reached the time limit {self._timeouts} times, "
                "so gatekeeper does not try the pattern again"
            )
        before = self._timeouts
        with suppress(TimeoutError):
            return attempt()
        found = attempt()
        self._timeouts = before  # the machine stalled, and the pattern is sound
        return found

    def _search(self, text: str) -> bool:
        if self._compiled is None or len(text) > _SEARCHED_HERE:
            return bool(self._ask(text)["found"])
        try:
            return self._compiled.search(text, timeout=self._timeout_ms / 1000) is not None
        except TimeoutError:
            raise self._out_of_time(1) from None

    def _ask(self, text: str, **settings: Any) -> Mapping[str, Any]:
        """Search in the child."""
        request = {
            **settings,
            "pattern": self._pattern,
            "ignore_case": self._ignore_case,
            "text": text,
            "timeout": self._timeout_ms / 1000,
        }
        try:
            answers = _CHILD.ask(request)
        except FrameError as error:
            raise TimeoutError(f"{self._name()} cannot be applied to the text: {error}") from None
        if answers.overrun is not None:
            raise self._out_of_time(_KILL_COUNTS_AS)
        response: Mapping[str, Any] = answers.responses[0]
        if "found" not in response and "matches" not in response:
            raise self._out_of_time(1, response.get("fault", "time"))
        return response

    def _out_of_time(self, count: int, what: str = "time") -> TimeoutError:
        self._timeouts += count
        said = f"within {self._timeout_ms:g} ms" if what == "time" else "within its memory limit"
        return TimeoutError(
            f"{self._name()} did not finish {said}; "
            "rewrite the pattern without nested or overlapping repetitions"
        )

    def _name(self) -> str:
        return f"the pattern `{shorten(self._pattern)}`"


def _compile(pattern: str, ignore_case: bool) -> regex.Pattern[str]:
    import regex

    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise _does_not_compile(pattern, str(error)) from None


def _require_compiles(pattern: str, ignore_case: bool) -> None:
    try:
        answers = _CHILD.ask({"pattern": pattern, "ignore_case": ignore_case})
    except FrameError as error:
        raise _too_large(pattern, str(error)) from None
    if answers.overrun is not None:
        _Spent.seconds += _KILLED_SECONDS
        raise _too_large(pattern, answers.overrun)
    response: dict[str, Any] = answers.responses[0]
    _Spent.seconds += response["seconds"]
    if response.get("overrun"):
        raise _too_large(pattern, response["error"])
    if response["error"] is not None:
        raise _does_not_compile(pattern, response["error"])


def _does_not_compile(pattern: str, message: str) -> ParameterError:
    return ParameterError(
        f"the pattern `{shorten(pattern)}` does not compile: {message}",
        "correct the pattern; to match a special character itself, write `\\` before the character",
    )


def _too_large(pattern: str, message: str) -> ParameterError:
    return ParameterError(
        f"the pattern `{shorten(pattern)}` cannot be compiled: {message}",
        "write lower repetition counts and fewer alternatives",
    )
