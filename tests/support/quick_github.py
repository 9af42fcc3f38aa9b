"""GitHub's client without its pauses between writes: nobody here has a rate limit."""

from __future__ import annotations

from functools import partial

import pytest

from gatekeeper.action import main as action
from gatekeeper.action.github.repository import RepositoryApi


def leave_out_pauses(patch: pytest.MonkeyPatch) -> None:
    """Let the action write to GitHub at once, and retry at once."""
    quick = partial(RepositoryApi, seconds_between_writes=0, sleep=lambda _: None)
    patch.setattr(action, "RepositoryApi", quick)
