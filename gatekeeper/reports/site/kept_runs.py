"""Finds the reports of earlier runs in folders, such as downloaded artifacts.

A run is kept if `result.json` and `report.html` are in one folder. Nothing is executed and no link
is followed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gatekeeper.errors import UsageError
from gatekeeper.reports.formats.result_json import SCHEMA_VERSION
from gatekeeper.reports.html.report import LIMIT
from gatekeeper.reports.markers import page_of

_LARGEST_RESULT = 64 * 2**20
_OWN_POLICY = b"default-src 'none'; style-src 'sha256-"
"""The first bytes of every page that gatekeeper writes. Other HTML is not published."""
_VERDICTS = ("pass", "fail", "inconclusive", "error")


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run whose report is kept. `page` is its path in the site, `report` the file.

    `judges` are the documents of `judge_agreement` in result.json, by contract.
    """

    started: datetime
    sha: str
    verdict: str
    contracts: tuple[str, ...]
    page: str
    report: Path
    judges: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


def find_kept_runs(
    folders: Sequence[Path],
) -> tuple[tuple[KeptRun, ...], tuple[str, ...]]:
    """Return the kept runs, the latest first, and notices of what could not be used.

    Raises UsageError for a folder that does not exist.
    """
    found: dict[str, KeptRun] = {}
    notices: list[str] = []
    others = 0
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"--reports {folder}: this folder does not exist")
        for path in _results(folder):
            try:
                run = _kept_run(path)
            except (OSError, ValueError) as error:
                notices.append(f"{path}: {error}; this run is left out")
                continue
            if run is None:
                others += 1
            else:
                found.setdefault(run.page, run)
    if others:
        notices.append(
            f"{others} results of pull requests are left out, because the site shows only runs "
            "of the full suite"
        )
    return tuple(sorted(found.values(), key=lambda r: r.started, reverse=True)), tuple(notices)


def _results(folder: Path) -> Iterator[Path]:
    for root, names, files in os.walk(folder):
        names.sort()
        if "result.json" in files:
            yield Path(root, "result.json")


def _kept_run(path: Path) -> KeptRun | None:
    """Read one result; None if it is not that of a run. Raises OSError and ValueError."""
    document = json.loads(_read(path, _LARGEST_RESULT))
    if not isinstance(document, dict) or document.get("schema") != SCHEMA_VERSION:
        raise ValueError("another version of gatekeeper, or another tool, wrote this file")
    if document.get("kind") != "run":
        return None
    report = path.with_name("report.html")
    if _OWN_POLICY not in _read(report, 2 * LIMIT)[:1024]:
        raise ValueError("gatekeeper did not write the `report.html` in the same folder")
    try:
        started = datetime.fromisoformat(document["started"]).astimezone(UTC)
        sha, verdict = str(document["head"]["sha"]), document["verdict"]
        contracts = tuple(str(contract["name"]) for contract in document["contracts"])
        judges: dict[str, list[Mapping[str, Any]]] = {}
        for agreement in document.get("judge_agreement", []):
            judges.setdefault(str(agreement["contract"]), []).append(agreement)
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError("the file is incomplete or damaged") from error
    if verdict not in _VERDICTS:
        raise ValueError("its verdict is unknown")
    return KeptRun(started, sha, verdict, contracts, page_of(started, sha), report, judges)


def _read(path: Path, most: int) -> bytes:
    if path.is_symlink():
        raise ValueError(f"{path.name} is a link")
    if path.stat().st_size > most:
        raise ValueError(f"{path.name} is larger than {most:,} bytes")
    return path.read_bytes()
