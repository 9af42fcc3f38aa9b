"""When a model retires, by the dates of litellm's price list, and which model may follow it.

A name without a date, such as `gpt-4o-mini`, means one of its dated versions. If the list dates the
end of each of them, the name ends with the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

from gatekeeper.providers.models.price_list import price_entry, price_list

SOON = 90
"""How many days before its end a model is named in reports."""
STAGES = (7, 30, 90)
"""The days before the end at which a nightly run opens an issue."""
_NEXT_LASTS = timedelta(days=180)
_SNAPSHOT = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|20\d{6})(?=$|-v\d)")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)[a-z]?")


@dataclass(frozen=True, slots=True)
class Retirement:
    """The day on which a model retires, and the next model of its family that the list has; None if
    it has none."""

    model: str
    day: date
    successor: str | None

    @property
    def days_left(self) -> int:
        """The days until the end; negative after it."""
        return (self.day - today()).days

    @property
    def is_soon(self) -> bool:
        """Whether it ends within `SOON`, or has ended."""
        return self.days_left <= SOON

    @property
    def text(self) -> str:
        """Say when it retires."""
        left = self.days_left
        if left < 0:
            return f"`{self.model}` retired on {self.day}, by litellm's price list"
        days = "today" if left == 0 else f"in {left} day{'s' * (left > 1)}"
        return f"`{self.model}` retires on {self.day} ({days}), by litellm's price list"

    @property
    def advice(self) -> str:
        """Say what to do."""
        if self.successor is None:
            return "measure another model with `gatekeeper migrate --to MODEL`"
        return (
            "measure the next model of its family with "
            f"`gatekeeper migrate --to {self.successor}`, or name another model"
        )


def today() -> date:
    """Return the present day in UTC."""
    return datetime.now(UTC).date()


def retires_soon(model: str) -> Retirement | None:
    """Return the retirement of a model that ends within `SOON`, or has ended; else None."""
    found = find_retirement(model)
    return found if found and found.is_soon else None


@lru_cache(maxsize=256)
def find_retirement(model: str) -> Retirement | None:
    """Return when the model retires; None if the list does not say."""
    entry = price_entry(model)
    if entry is None or not _is_of_this_name(model, str(entry["key"])):
        return None
    day = _day(entry) or _last_of_snapshots(str(entry["key"]))
    return Retirement(model, day, _successor(model, entry, day)) if day else None


def _is_of_this_name(model: str, key: str) -> bool:
    """Return whether the entry is not that of another version of the model, by whose price it is
    billed."""
    provider, _, name = model.rpartition("/")
    names = (model, name, model.partition("/")[2], name[: len(key)] if "ft:" in name else name)
    return "bedrock" in provider or key.lower() in map(str.lower, names)


def _day(entry: Mapping[str, Any]) -> date | None:
    try:
        return date.fromisoformat(entry["deprecation_date"])
    except (KeyError, TypeError, ValueError):
        return None


def _last_of_snapshots(key: str) -> date | None:
    days = [
        _day(entry)
        for name, entry in price_list().items()
        if name.startswith(key) and _SNAPSHOT.sub("", name) == key != name
    ]
    known = [day for day in days if day]
    return max(known) if known and len(known) == len(days) else None


def _successor(model: str, entry: Mapping[str, Any], day: date) -> str | None:
    """Return the model of the same family with the next version that lasts longer."""
    key = str(entry["key"])
    family, version = _family(key)
    found: list[tuple[tuple[int, ...], str]] = []
    for name in _relatives(entry):
        other, later = _family(name)
        if other == family and later > version and not _SNAPSHOT.search(name):
            ends = _day(price_list()[name]) or _last_of_snapshots(name)
            if ends is None or ends >= day + _NEXT_LASTS:
                found.append((later, name))
    if not found:
        return None
    name = min(found)[1]
    provider = model.partition("/")[0] if "/" in model else ""
    return name if not provider or name.startswith(f"{provider}/") else f"{provider}/{name}"


def _relatives(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the same provider's models of the same kind."""
    for name, other in price_list().items():
        if all(other.get(key) == entry.get(key) for key in ("litellm_provider", "mode")):
            yield name


def _family(name: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the words of a name, and the numbers of its version: `(gpt, mini)` and `(4, 1)` of
    `gpt-4.1-mini`."""
    words: list[str] = []
    version: list[int] = []
    for part in _SNAPSHOT.sub("", name).split("-"):
        number = _VERSION.fullmatch(part)
        if number:
            version += map(int, number[1].split("."))
        else:
            words.append(part)
    return tuple(words), tuple(version)
