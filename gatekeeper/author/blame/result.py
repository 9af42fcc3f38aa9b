"""What the search for the harmful edits of one contract found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gatekeeper.author.blame.edits import Edit
from gatekeeper.author.blame.revert import WrittenRevert
from gatekeeper.gate.results.call_result import Calls

Outcome = Literal["explained", "partly", "unclear"]
"""`explained`: without the causes the prompt is as good as base. `partly`: something else breaks it
too. `unclear`: no cause was found."""


STEPS_CHANGED = "the change adds, removes or reorders steps"
NOT_CONFIRMED = "fresh samples of the fixtures that broke do not show that head is worse"


@dataclass(frozen=True, slots=True)
class Cause:
    """Edits that break the prompt by themselves. If there are several, each alone is harmless and
    only together they break it. `broke` of the `measured` fixtures that the whole change broke
    fail with these edits alone."""

    edits: tuple[Edit, ...]
    broke: int
    measured: int


@dataclass(frozen=True, slots=True)
class Revert:
    """The fewest edits without which the change is as good as base. With the revert, `passed` of
    the `measured` fixtures that the whole change broke pass; None if the revert makes the prompt
    that of base. `written` is None if it is not known how to write it as a change of lines."""

    edits: tuple[Edit, ...]
    passed: int | None
    measured: int | None
    written: WrittenRevert | None = None


@dataclass(frozen=True, slots=True)
class BlameResult:
    """The causes of one contract's regression among `edits` edits. `fixtures` broke with the whole
    change. `ended` says why the search ended early; None if it did not. `revert` is None unless the
    change is explained and the revert was measured to be as good as base."""

    contract: str
    prompt_path: str
    edits: tuple[Edit, ...]
    causes: tuple[Cause, ...]
    outcome: Outcome
    fixtures: tuple[str, ...]
    calls: Calls
    cost_usd: float | None
    ended: str | None = None
    revert: Revert | None = None

    @property
    def harmless(self) -> tuple[Edit, ...]:
        """Return the edits that are no part of a cause; none unless the change is explained."""
        if self.outcome != "explained":
            return ()
        blamed = {edit for cause in self.causes for edit in cause.edits}
        return tuple(edit for edit in self.edits if edit not in blamed)
