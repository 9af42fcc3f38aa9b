"""Every key of the policy is a row of its schema: no key can be there without a direction."""

from __future__ import annotations

from typing import Any

import pytest

from gatekeeper.contract.meaning.schemas import policy_schema
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.policies.policy_keys import (
    ORDERED,
    _keys,
    policy_keys,
    value_of,
    with_value,
)

KEYS = [key for key in policy_keys().values() if key.stricter in ORDERED]


def default_of(name: str) -> Any:
    found: Any = policy_schema()
    for part in name.split("."):
        found = found["properties"][part]
    return found.get("default")


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_the_schema_and_the_policy_have_the_same_defaults(key: Any) -> None:
    wanted = 0 if key.name == "propose.cost_usd" else default_of(key.name)
    assert value_of(Policy(), key.name) == wanted


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_null_is_the_loosest_value_and_a_greater_one_has_a_place(key: Any) -> None:
    low, high = (key.values[0], key.values[-1]) if key.values else (False, True)
    stricter, looser = (high, low) if ORDERED[key.stricter] > 0 else (low, high)
    assert key.rank(stricter) > key.rank(looser) > key.rank(None)
    assert value_of(with_value(Policy(), key.name, stricter), key.name) == stricter


@pytest.mark.parametrize("part", [{"type": "boolean"}, {"type": "boolean", "x-stricter": "up"}])
def test_a_key_without_a_known_direction_is_refused(part: dict[str, str]) -> None:
    with pytest.raises(KeyError):
        [*_keys({"new_switch": part}, "", in_folders=False)]
