"""The child's service: compiles and searches regular expressions. See `gatekeeper/sandbox`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

import regex

from gatekeeper.sandbox.process_limits import allow_cpu, cpu_limit

COMPILE_SECONDS = 3.0
"""Seconds of processor time. Ordinary patterns take a millisecond, one with a hundred thousand
words a few seconds."""

# A search looks at the clock now and then, but a repetition of millions does not.
_GRACE_SECONDS = 2.0


def answer(request: Mapping[str, Any]) -> Iterator[Any]:
    """Yield one response: `error` says what is wrong with the pattern, `found` whether it matches,
    `fault` what a search took too much of; `seconds` is processor time. If the request has `most`,
    `matches` are the first ones instead: start, end, and the first group or the whole match."""
    started = time.process_time()
    ignore_case = bool(request["ignore_case"])
    try:
        with cpu_limit(COMPILE_SECONDS):
            compiled = _compiled(request["pattern"], ignore_case)
    except (TimeoutError, MemoryError, RecursionError) as error:
        yield _response(started, error=_too_large(error), overrun=True)
    except (regex.error, ValueError, OverflowError) as error:
        yield _response(started, error=str(error) or type(error).__name__)
    else:
        if "text" in request:
            yield _searched(compiled, request["text"], request["timeout"], request.get("most"))
        else:
            yield _response(started, error=None)


def _searched(
    compiled: regex.Pattern[str], text: str, timeout: float, most: int | None
) -> Mapping[str, Any]:
    allow_cpu(timeout + _GRACE_SECONDS)
    try:
        if most is None:
            return {"found": compiled.search(text, timeout=timeout) is not None}
        group = min(1, compiled.groups)
        matches = islice(compiled.finditer(text, timeout=timeout), most)
        return {"matches": [[m.start(), m.end(), m[group] or ""] for m in matches]}
    except TimeoutError:
        return {"fault": "time"}
    except MemoryError:
        return {"fault": "memory"}


@lru_cache(maxsize=256)
def _compiled(pattern: str, ignore_case: bool) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0, cache_pattern=False)


def _too_large(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "the pattern is nested too deeply"
    return f"compiling takes too much {'memory' if isinstance(error, MemoryError) else 'time'}"


def _response(started: float, **values: Any) -> Mapping[str, Any]:
    return {**values, "seconds": time.process_time() - started}
