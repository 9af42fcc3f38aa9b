"""Warns of a simulated user that the embedded model plays."""

from __future__ import annotations

from collections.abc import Iterator

from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import Problem

_EMBEDDED = "local/"


def small_user(contract: Contract) -> Iterator[Problem]:
    """Yield a problem if the embedded model plays a user of the contract, once."""
    for fixture in contract.fixtures:
        if fixture.user and fixture.user.model.startswith(_EMBEDDED):
            model = fixture.user.model
            what = f"{model} plays the simulated user, but is too small to pursue a goal"
            fix = "use a larger model in `user`, or write the user's messages as `turns`"
            yield Problem(contract.path, what, fix)
            return
