"""Finds the edits that cause a drop by group testing: tests many edits at once, and divides the
groups in which something breaks.

The search is delta debugging (Zeller 1999, *Yesterday, my program worked. Today, it does not.
Why?*, ESEC/FSE) with the rule of QuickXplain for edits that only break together (Junker 2004,
*QuickXplain: preferred explanations and relaxations for over-constrained problems*, AAAI). Each
answer comes from a sequential test, so it can be wrong with a small probability. What is found is
therefore tested once more: each edit of a cause left out, the cause alone, and all edits without
it.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

_MOST_CAUSES = 4
Group = frozenset[int]
Breaks = Callable[[Group], Awaitable[bool | None]]
"""Whether base with only these edits is worse than base; None if this could not be decided."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the search found: `causes`, the smallest groups of edits that each break the prompt by
    themselves (more than one edit in a group only break it together), and whether without them
    everything is `explained`."""

    causes: tuple[Group, ...] = ()
    explained: bool = False


class _UndecidedError(Exception):
    """A test could not be decided, so the search cannot go on."""


async def find_causes(edits: int, breaks: Breaks) -> Found:
    """Return the causes among `edits` edits that together break the prompt.

    Each cause was tested alone at the end.
    """
    tests = _Tests(breaks)
    left: Group = frozenset(range(edits))
    causes: list[Group] = []
    try:
        while left and len(causes) < _MOST_CAUSES:
            # The whole change is known to break the prompt; what remains of it is tested.
            if causes and not await tests.of(left):
                return Found(tuple(causes), explained=True)
            cause = await _without_harmless(tests, await _smallest(tests, left, frozenset()))
            if not await tests.again(cause):
                return Found(tuple(causes))
            causes.append(cause)
            left -= cause
    except _UndecidedError:
        return Found(tuple(causes))
    return Found(tuple(causes), explained=not left)


async def smallest_revert(causes: Iterable[Group], edits: int, breaks: Breaks) -> Group:
    """Return the edits of the causes that must be reverted, so that the rest of the change is
    harmless. The search has shown this for all of them; of edits that only break together, fewer
    can be enough."""
    everything: Group = frozenset(range(edits))
    causes = tuple(causes)
    revert: Group = frozenset().union(*causes)
    for cause in causes:
        for edit in sorted(cause):
            fewer = revert - {edit}
            if cause & fewer and await breaks(everything - fewer) is False:
                revert = fewer
    return revert


async def _smallest(tests: _Tests, group: Group, given: Group) -> Group:
    """Return the smallest part of the group that breaks the prompt together with the `given`
    edits, if the whole group does."""
    if len(group) == 1:
        return group
    ordered = sorted(group)
    first, second = frozenset(ordered[: len(ordered) // 2]), frozenset(ordered[len(ordered) // 2 :])
    if await tests.of(given | first):
        return await _smallest(tests, first, given)
    if await tests.of(given | second):
        return await _smallest(tests, second, given)
    # Each half is harmless by itself: edits of both break the prompt together.
    needed = await _smallest(tests, first, given | second)
    return needed | await _smallest(tests, second, given | needed)


async def _without_harmless(tests: _Tests, cause: Group) -> Group:
    """Return the cause without the edits that it breaks the prompt without.

    If a test takes a half with a harmful edit for harmless, the search adds edits of the other half
    to the cause.
    """
    for edit in sorted(cause):
        if len(cause) > 1 and await tests.again(cause - {edit}):
            cause -= {edit}
    return cause


class _Tests:
    """The tests so far; no group is tested twice, except on purpose."""

    def __init__(self, breaks: Breaks) -> None:
        self._breaks = breaks
        self._known: dict[Group, bool] = {}

    async def of(self, group: Group) -> bool:
        if group not in self._known:
            self._known[group] = await self.again(group)
        return self._known[group]

    async def again(self, group: Group) -> bool:
        answer = await self._breaks(group)
        if answer is None:
            raise _UndecidedError
        return answer


ERROR = 0.01
"""The probability that one test is wrong, in each direction."""
_SUREST = 0.98
"""Rates nearer to 0 or 1 than this are moved to this distance, because a few samples cannot
prove that something always or never happens."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Pass rates on the fixtures that broke: `harmless` as on base, `broken` with half the drop."""

    harmless: float
    broken: float

    def decide(self, outcomes: Sequence[bool]) -> bool | None:
        """Return whether the outcomes show the broken rate (True) or the harmless one (False); None
        while neither is shown."""
        found = self.evidence(outcomes)
        bound = math.log((1 - ERROR) / ERROR)
        return None if abs(found) < bound else found > 0

    def evidence(self, outcomes: Sequence[bool]) -> float:
        """Return the log likelihood ratio of the broken rate to the harmless one."""
        passed = sum(outcomes)
        failed = len(outcomes) - passed
        return passed * math.log(self.broken / self.harmless) + failed * math.log(
            (1 - self.broken) / (1 - self.harmless)
        )


def expected_rates(base: float, head: float, broke: int, fixed: int) -> Rates | None:
    """Return the rates that a test can expect.

    Args:
        base: Base's pass rate over all fixtures, which chance did not select; over those that broke
            if answers do not vary.
        head: Head's pass rate on the fixtures that broke.
        broke: The number of fixtures that broke, some of them by chance.
        fixed: The number that became better: as many as these broke by chance, on average.

    Returns None if chance alone explains what broke.
    """
    if broke <= fixed:
        return None
    truly = (broke - fixed) / broke
    harmless = min(_SUREST, max(0.5, base))
    lowest = truly * head + (1 - truly) * harmless
    broken = max(1 - _SUREST, (harmless + lowest) / 2)
    return Rates(harmless, broken) if broken < harmless else None
