"""How long to wait once a provider says that nothing remains of a rate limit.

OpenAI and the servers that follow it send `x-ratelimit-remaining-requests` with a duration in
`x-ratelimit-reset-requests`, and the same of tokens:
https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers. Anthropic sends a moment
instead: https://docs.anthropic.com/en/api/rate-limits#response-headers. Anything that is written in
another way is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

LONGEST_PAUSE = 3600.0
"""The longest pause in seconds; callers have lower limits of their own."""

_LONGEST_TEXT = 40
_NOTHING = re.compile(r"0{1,20}")
_DURATION = re.compile(
    r"(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m)?"
    r"(?:([0-9]{1,9}(?:\.[0-9]{1,9})?)s)?(?:([0-9]{1,9}(?:\.[0-9]{1,9})?)ms)?"
)
_SECONDS = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
    r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_OPENAI = ("requests", "tokens")
_ANTHROPIC = ("requests", "tokens", "input-tokens", "output-tokens")


def pause_until_reset(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds until each used-up limit is reset, at most `LONGEST_PAUSE`; None if
    something remains of every limit, or the provider does not say.

    The mapping of headers ignores case.
    """
    found = [
        read_duration(headers.get(f"x-ratelimit-reset-{kind}"))
        for kind in _OPENAI
        if _is_used_up(headers.get(f"x-ratelimit-remaining-{kind}"))
    ]
    for kind in _ANTHROPIC:
        if _is_used_up(headers.get(f"anthropic-ratelimit-{kind}-remaining")):
            reset = headers.get(f"anthropic-ratelimit-{kind}-reset")
            found.append(seconds_until(reset, now or datetime.now(UTC)))
    return max((seconds for seconds in found if seconds), default=None)


def read_duration(text: str | None) -> float | None:
    """Return the seconds of a duration such as `6m0s`, `1s` or `12ms`; None for any other text."""
    if text is None or not text or len(text) > _LONGEST_TEXT:
        return None
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    parts = zip(match.groups(), _SECONDS, strict=True)
    return min(sum(float(n) * unit for n, unit in parts if n is not None), LONGEST_PAUSE)


def seconds_until(text: str | None, now: datetime) -> float | None:
    """Return the seconds until a moment by RFC 3339, 0 if it is past; None for any other text."""
    if text is None or len(text) > _LONGEST_TEXT or not _MOMENT.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        return min(max(0.0, (moment - now).total_seconds()), LONGEST_PAUSE)
    except (ValueError, OverflowError):
        return None


def _is_used_up(remaining: str | None) -> bool:
    return remaining is not None and _NOTHING.fullmatch(remaining) is not None
