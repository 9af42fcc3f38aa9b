"""Decides from each contract's history whether a judge drifted.

Every nightly run compares the judge's verdicts on the anchors of its calibration with those at
calibration (gate/calibration/anchors.py). A difference on one night can be chance; a judge counts
as drifted once two nights in a row show it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Literal

from gatekeeper.contract.meaning.digests import short_digest
from gatekeeper.history.record import JudgeAnchors, Record

NIGHTS = 2
"""How many nights in a row show a drift before it is reported as certain."""

JudgeStatus = Literal["drifted", "watch", "steady"]


@dataclass(frozen=True, slots=True)
class JudgeDrift:
    """The state of the judges of one check since their calibration. `status` is `drifted` if the
    last two nights differ from it by more than chance explains, and `watch` if the last one does.
    `last` is the latest night and `found` what it says; `since` is the first of the nights in a row
    that differ, None if the last one does not."""

    contract: str
    check: str
    nights: int
    last: datetime
    found: JudgeAnchors
    status: JudgeStatus
    since: datetime | None
    detected: datetime | None

    @property
    def id(self) -> str:
        """Return the same text every night for one drift."""
        known = f"{self.contract}|{self.check}|{self.found.calibration}|{self.since}"
        return short_digest(known)


def judge_drifts(records: Iterable[Record], names: Sequence[str] = ()) -> tuple[JudgeDrift, ...]:
    """Return the judges of each contract that has graded anchors, by contract and check; only of
    the contracts of `names` if any is given. A new calibration starts anew."""
    nights: dict[tuple[str, str], list[tuple[datetime, JudgeAnchors]]] = defaultdict(list)
    latest: dict[str, Record] = {}
    graded = [record for record in records if record.judges]
    for record in sorted(graded, key=lambda record: record.time):
        for check, found in record.judges.items():
            nights[record.contract, check].append((record.time, found))
        latest[record.contract] = record
    return tuple(
        _of_check(contract, check, mine)
        for (contract, check), mine in sorted(nights.items())
        # A check that the last graded night did not have is gone.
        if (not names or contract in names) and check in latest[contract].judges
    )


def _of_check(
    contract: str, check: str, nights: Sequence[tuple[datetime, JudgeAnchors]]
) -> JudgeDrift:
    last, found = nights[-1]
    mine = [night for night in nights if night[1].calibration == found.calibration]
    row = list(takewhile(lambda night: night[1].differs, reversed(mine)))[::-1]
    status: JudgeStatus = "steady"
    if row:
        status = "drifted" if len(row) >= NIGHTS else "watch"
    return JudgeDrift(
        contract=contract,
        check=check,
        nights=len(mine),
        last=last,
        found=found,
        status=status,
        since=row[0][0] if row else None,
        detected=row[NIGHTS - 1][0] if status == "drifted" else None,
    )
