"""A history on a branch of the repository that holds nothing else.

`runs/2026/11/03T101500Z-0a1b2c3d4e5f.jsonl` are the records of one run. Writers never change the
same file, so after a lost race a run only has to try again on the new tip. The first run of a new
month merges the files of each past month into one, `runs/2026-10.jsonl`, in the same commit.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.contract.meaning.digests import short_digest
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.history.record import Record
from gatekeeper.history.stores.lines import LARGEST_FILE, read_past, to_lines
from gatekeeper.history.stores.store import Past

if TYPE_CHECKING:
    from tenacity.wait import wait_base

    from gatekeeper.git.data_branch import DataBranch, StoredFile

MOST_ATTEMPTS = 30
LONGEST_SECONDS = 300.0

_FOLDER = "runs/"
_README = "README.md"
_ABOUT = b"""# Past runs of Gatekeeper
Written by the program, one JSON line a record; no code and no output of a model.
"""
_RUN = re.compile(r"runs/([0-9]{4})/([0-9]{2})/[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.jsonl")
_MONTH = re.compile(r"runs/([0-9]{4})-([0-9]{2})\.jsonl")


class _Edit(NamedTuple):
    """What a commit changes, and how many records it adds."""

    put: Mapping[str, bytes]
    gone: Sequence[str]
    added: int


class BranchHistory:
    """Implements `HistoryStore`. `open_branch` gives the branch of that name; `now` tells which
    months are past, and `wait` how long a lost race is slept over."""

    def __init__(
        self,
        name: str,
        open_branch: Callable[[], AbstractContextManager[DataBranch]],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        wait: wait_base | None = None,
    ) -> None:
        self._name = name
        self._open = open_branch
        self._now = now
        self._wait = wait

    def read(self) -> Past:
        """Return the branch's history; a branch that does not exist yet is an empty history."""
        try:
            with self._open() as branch:
                tip = branch.fetch()
                return self._past(branch, branch.files(tip)) if tip else Past()
        except MeasurementError as error:
            return Past(faults=(f"The history cannot be read: {error}",), unread=True)

    def append(self, records: Sequence[Record]) -> int:
        """Add the records, and try again on the new tip if another run pushed first."""
        if not records:
            return 0
        from tenacity import RetryError, Retrying, retry_if_result
        from tenacity.stop import stop_after_attempt, stop_after_delay
        from tenacity.wait import wait_random_exponential

        attempts = Retrying(
            retry=retry_if_result(lambda added: added is None),
            stop=stop_after_attempt(MOST_ATTEMPTS) | stop_after_delay(LONGEST_SECONDS),
            wait=self._wait or wait_random_exponential(multiplier=0.2, max=10),
        )
        # A push whose answer was lost is found done when it is tried again.
        pushed = 0
        with self._open() as branch:

            def attempt() -> int | None:
                nonlocal pushed
                tip = branch.fetch()
                edit = self._edit(branch, tip, records)
                if not edit.added:
                    return pushed
                pushed = edit.added
                noun = "record" if edit.added == 1 else "records"
                message = f"{edit.added} {noun} of {records[0].sha[:10]}"
                done = branch.push(tip, edit.put, edit.gone, message)
                return edit.added if done else None

            try:
                added: int | None = attempts(attempt)
            except RetryError:
                raise MeasurementError(
                    f"{self._name}: {attempts.statistics['attempt_number']} pushes in a row "
                    "failed, because other pushes changed the branch at the same time; the records "
                    "were not written"
                ) from None
        return added or 0

    def _past(self, branch: DataBranch, files: Mapping[str, StoredFile]) -> Past:
        faults = [
            f"{self._name}:{path}: {fault}; this file is left out of the history"
            for path, stored in files.items()
            if path.startswith(_FOLDER) and (fault := _fault(path, stored))
        ]
        sound = {path: stored.object for path, stored in files.items() if not _fault(path, stored)}
        contents = branch.contents(list(sound.values()))
        found = ((f"{self._name}:{path}", contents[name]) for path, name in sorted(sound.items()))
        return read_past(found, faults)

    def _edit(self, branch: DataBranch, tip: str | None, records: Sequence[Record]) -> _Edit:
        files = branch.files(tip) if tip else {}
        strange = next((p for p in files if not p.startswith(_FOLDER) and p != _README), None)
        if strange:
            raise UsageError(
                f"{self._name}: the branch holds {strange!r}, so the branch is not a history; "
                "choose another branch"
            )
        by_month: dict[str, list[Record]] = defaultdict(list)
        for record in records:
            by_month[_month(record.time)].append(record)
        sound = {p: s.object for p, s in files.items() if not _fault(p, s)}
        current = _month(self._now())
        # What is merged, and what may hold a record already.
        read = [p for p in sound if _month_of(p) in by_month or _loose_before(p, current)]
        read += [p for p in sound if p in {_merged(_month_of(p)) for p in read} and p not in read]
        contents = branch.contents([sound[path] for path in read])
        found = {path: contents[sound[path]] for path in read}
        known = {record.id for record in read_past(found.items()).records}
        put = {} if _README in files else {_README: _ABOUT}
        added = 0
        for own in by_month.values():
            new = [record for record in own if record.id not in known]
            if new:
                put[_path(new)] = to_lines(new)
            added += len(new)
        return _compacted(put, found, current, added)


def _compacted(
    put: dict[str, bytes], found: Mapping[str, bytes], current: str, added: int
) -> _Edit:
    """Return the files with those of each past month merged into one.

    Unreadable lines are kept, because a newer version may read them.
    """
    every = {**found, **put}
    parts: dict[str, list[str]] = defaultdict(list)
    for path in sorted(every):
        if _loose_before(path, current):
            parts[_month_of(path)].append(path)
    gone: list[str] = []
    for month, loose in parts.items():
        target = _merged(month)
        lines = [every.get(target, b""), *(every[path] for path in loose)]
        whole = b"".join(_distinct(lines))
        if len(whole) > LARGEST_FILE:
            continue
        put[target] = whole
        for path in loose:
            put.pop(path, None)
            if path in found:
                gone.append(path)
    return _Edit(put, gone, added)


def _distinct(contents: Iterable[bytes]) -> Iterable[bytes]:
    lines = (line for content in contents for line in content.split(b"\n") if line.strip())
    return (line + b"\n" for line in dict.fromkeys(lines))


def _fault(path: str, stored: StoredFile) -> str | None:
    """Return why a file of the branch is not read."""
    if not _month_of(path):
        return "gatekeeper does not write files with this name"
    if stored.size is None:
        return "this is a link, not a file"
    if stored.size > LARGEST_FILE:
        return f"the file has more than {LARGEST_FILE:,} bytes"
    return None


def _month_of(path: str) -> str:
    """Return the month such as `2026-10`; empty for a path with an unexpected name."""
    match = _RUN.fullmatch(path) or _MONTH.fullmatch(path)
    return f"{match[1]}-{match[2]}" if match else ""


def _loose_before(path: str, month: str) -> bool:
    return _RUN.fullmatch(path) is not None and _month_of(path) < month


def _merged(month: str) -> str:
    return f"{_FOLDER}{month}.jsonl"


def _month(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m}"


def _path(records: Sequence[Record]) -> str:
    """Return a new, unique name for the file of one run."""
    ids = "\n".join(record.id for record in records)
    time = records[0].time.astimezone(UTC)
    return f"{_FOLDER}{time:%Y/%m/%dT%H%M%SZ}-{short_digest(ids)}.jsonl"
