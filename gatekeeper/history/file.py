"""The history file: one JSON line per contract and run on the default branch.

It grows by whole lines only. Reading never fails: what cannot be read is named in a notice
and left out, because a damaged history must not block a pull request, nor go unseen.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.result import ArmResult, ContractResult, GateResult
from gatekeeper.slo.budget import CLOCK_SKEW, Event

SCHEMA = 1
MOST_NOTICES = 10
"""Lines named one by one; the rest are only counted, so that a file of another kind does not
fill the report."""

MOST_EVENTS = 1_000_000_000
"""A larger number was not counted, and would not fit into those that are computed from it."""


class History(NamedTuple):
    """What a history holds, by contract, and what of it could not be read."""

    events: Mapping[str, tuple[Event, ...]]
    notices: tuple[str, ...]


def append_history(path: Path | str, result: GateResult) -> int:
    """Add one line per measured contract of a `run`; returns how many.

    A contract without a judged sample adds nothing: no data is not zero failures. Neither
    does one whose verdict is `error`: the part of a run that came before it was interrupted
    or reached a limit is not a sample of the whole. The lines
    go to the end of the file in one write, which concurrent writers do not tear apart, and
    are on disk when this returns. A last line cut short by an earlier crash is closed first.
    """
    if result.kind != "run":
        raise ValueError(f"result: only a run counts in the history, got a {result.kind}")
    lines = [
        json.dumps(_record(result, contract, contract.head), separators=(",", ":"))
        for contract in result.contracts
        if contract.verdict != "error" and contract.head is not None and contract.head.samples > 0
    ]
    if not lines:
        return 0
    try:
        _append(Path(path), "".join(f"{line}\n" for line in lines).encode())
    except (FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        raise UsageError(
            f"{path}: the history cannot be written ({error.strerror}); name a file that can"
        ) from error
    except OSError as error:
        raise MeasurementError(
            f"{path}: the history could not be written ({error.strerror})"
        ) from error
    return len(lines)


def read_history(path: Path | str, now: datetime | None = None) -> History:
    """The events of every contract, in the order of the file, and notices on what is missing.

    A line that is there twice, as after a merge of two copies, counts once. With `now`, an
    event further ahead than a fast clock explains is left out and named; the error budget
    does not count it either way.
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        return _nothing(f"{path}: there is no history yet; the error budget covers this run alone")
    except OSError as error:
        return _nothing(
            f"{path}: the history cannot be read ({error.strerror}); "
            "the error budget covers this run alone"
        )
    events: dict[str, list[Event]] = {}
    wrong: list[str] = []
    for number, line in _distinct_lines(content.removeprefix(b"\xef\xbb\xbf")):
        try:
            contract, event = _event(line, now)
        except ValueError as error:
            wrong.append(f"{path}:{number}: {error}; this line is left out of the error budget")
        else:
            events.setdefault(contract, []).append(event)
    return History(
        MappingProxyType({name: tuple(found) for name, found in events.items()}),
        tuple(_shortened(wrong, str(path))),
    )


def _record(result: GateResult, contract: ContractResult, head: ArmResult) -> dict[str, Any]:
    cost = head.cost_per_call_usd
    record = {
        "schema": SCHEMA,
        "time": result.started.astimezone(UTC).isoformat(),
        "sha": result.head_sha,
        "contract": contract.name,
        "model": head.model,
        "events": head.samples,
        "failed": head.samples - head.passed,
        "interval": [head.interval.low, head.interval.high] if head.interval else None,
        "calls": head.samples + head.failed_calls,
        "cost_usd": None if cost is None else cost * head.samples,
    }
    return record | ({"waiver": asdict(contract.waiver)} if contract.waiver else {})


def _append(path: Path, lines: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            lines = b"\n" + lines
        if os.write(file, lines) != len(lines):
            raise OSError(None, "only a part of it was taken, the disk may be full")
        os.fsync(file)
    finally:
        os.close(file)


def _nothing(notice: str) -> History:
    return History(MappingProxyType({}), (notice,))


def _distinct_lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    seen: set[bytes] = set()
    for number, line in enumerate(content.split(b"\n"), start=1):
        stripped = line.strip()
        if stripped and stripped not in seen:
            seen.add(stripped)
            yield number, stripped


def _event(line: bytes, now: datetime | None) -> tuple[str, Event]:
    """Raises ValueError that says what is wrong with the line."""
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError:
        raise ValueError("not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise ValueError("not a JSON record, perhaps cut short") from None
    if not isinstance(record, dict):
        raise ValueError("not a JSON record")
    schema = _count(record, "schema")
    if schema > SCHEMA:
        raise ValueError(f"schema {schema} is of a newer gatekeeper than this one ({SCHEMA})")
    contract = record.get("contract")
    if not isinstance(contract, str) or not contract:
        raise ValueError("contract: must be a name")
    time = _time(record.get("time"))
    event = Event(time, _count(record, "events"), _count(record, "failed"))
    if now is not None and event.time > now + CLOCK_SKEW:
        raise ValueError(f"time: {event.time.isoformat()} is in the future")
    return contract, event


def _count(record: Mapping[str, object], field: str) -> int:
    value = record.get(field)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_EVENTS:
        raise ValueError(f"{field}: must be a whole number of zero or more")
    return value


def _time(value: object) -> datetime:
    wrong = ValueError("time: must be a date and time in ISO 8601")
    if not isinstance(value, str):
        raise wrong
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise wrong from None


def _shortened(wrong: list[str], path: str) -> Iterable[str]:
    yield from wrong[:MOST_NOTICES]
    if len(wrong) > MOST_NOTICES:
        yield f"{path}: {len(wrong) - MOST_NOTICES} more lines are left out"
