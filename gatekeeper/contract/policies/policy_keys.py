"""The keys of the policy, read from its schema: which value of each is stricter, and whether the
policy of a folder may set it.

A key is added as one row of `policy.v1.json`. `x-stricter` says which change asks more of a pull
request: `true`, `false`, the `last` value of an enum, a `higher` or `lower` number (null is the
loosest), `wider` patterns of files that are gated, or `fewer` items of what is allowed; `same` if
any other value is weaker, `neither` if no value is. `x-folder` lets folders set the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from gatekeeper.contract.meaning.schemas import policy_schema

ORDERED = {"true": 1, "false": -1, "last": 1, "higher": 1, "lower": -1}
"""The directions of keys with an order of values: 1 if the greater value is stricter."""

_DIRECTIONS = {*ORDERED, "wider", "fewer", "fewer patterns", "fewer models", "same", "neither"}


class PolicyKey(NamedTuple):
    """A key by its full name, such as `limits.calls`. `added` says what the policy does with more
    items, for a list of what is allowed."""

    name: str
    stricter: str
    in_folders: bool
    values: tuple[str, ...] = ()
    added: str = ""

    def rank(self, value: Any) -> float:
        """Return the place of a value in the order of strictness; the strictest is highest."""
        if value is None:
            return float("-inf")
        return ORDERED[self.stricter] * (self.values.index(value) if self.values else value)


@cache
def policy_keys() -> Mapping[str, PolicyKey]:
    """Return every key by its full name. Raises KeyError for one without a direction."""
    return {key.name: key for key in _keys(policy_schema()["properties"], "", in_folders=False)}


@cache
def folder_keys() -> tuple[str, ...]:
    """Return the keys at the top of the policy that folders may set."""
    schema = policy_schema()["properties"]
    return tuple(name for name, part in schema.items() if part.get("x-folder"))


def value_of(policy: Any, name: str) -> Any:
    """Return what a policy has for a key."""
    section, _, key = name.partition(".")
    found = getattr(policy, section)
    if not key:
        return found
    return found.get(key) if isinstance(found, Mapping) else value_of(found, key)


def with_value(policy: Any, name: str, value: Any) -> Any:
    """Return the policy with another value for a key."""
    section, _, key = name.partition(".")
    if isinstance(policy, Mapping):
        return {**policy, section: value}
    new = with_value(getattr(policy, section), key, value) if key else value
    return replace(policy, **{section: new})


def _keys(properties: Mapping[str, Any], section: str, *, in_folders: bool) -> Iterator[PolicyKey]:
    for name, part in properties.items():
        full, folder = section + name, in_folders or part.get("x-folder", False)
        if "properties" in part and "x-stricter" not in part:
            yield from _keys(part["properties"], f"{full}.", in_folders=folder)
            continue
        direction = part["x-stricter"]
        if direction not in _DIRECTIONS:
            raise KeyError(f"the policy's key `{full}` has an unknown direction: {direction}")
        yield PolicyKey(
            full, direction, folder, tuple(part.get("enum", ())), part.get("x-added", "")
        )
