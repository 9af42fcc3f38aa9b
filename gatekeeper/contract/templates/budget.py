"""The limits on all renderings of one evaluation together."""

from __future__ import annotations

from dataclasses import dataclass
from sys import getsizeof

MAX_WORK_OF_ALL = 10_000_000
"""The most loop turns and calls. Most renderings take a few hundred."""
MAX_BYTES_OF_ALL = 200_000_000
"""The most bytes of finished texts, which stay in memory until they are sent."""
MAX_SECONDS_OF_ALL = 20.0
"""The most seconds of processor time. One rendering takes about a millisecond."""
OVERRUN_SECONDS = 10.0
"""The part of the budget that a rendering uses up if it exceeds its limits."""


@dataclass(slots=True)
class Budget:
    """The rest of the budget for the renderings of one prompt with one set of values.

    Each prompt and each set of values within an evaluation has its own budget, so that head's
    fixtures can use up only the budget of head's renderings.
    """

    work: int = MAX_WORK_OF_ALL
    text_bytes: int = MAX_BYTES_OF_ALL
    seconds: float = MAX_SECONDS_OF_ALL

    def spend(self, work: int = 0, texts: tuple[str, ...] = (), seconds: float = 0.0) -> None:
        """Subtract from the rest of the budget: steps, finished texts, and seconds of processor
        time."""
        self.work -= work
        self.text_bytes -= sum(map(getsizeof, texts))
        self.seconds -= seconds

    def exceeded(self) -> str | None:
        """Return which part of the budget is exceeded; None if none is."""
        if self.work < 0:
            return f"more than {MAX_WORK_OF_ALL:,} loop steps and calls over all fixtures"
        if self.text_bytes < 0:
            return f"more than {MAX_BYTES_OF_ALL // 1_000_000} MB of text over all fixtures"
        return "too much time over all fixtures" if self.seconds < 0 else None
