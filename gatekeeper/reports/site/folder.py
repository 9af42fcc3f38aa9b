"""Writes the site into a folder, and overwrites only what an earlier site wrote there."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from gatekeeper.errors import UsageError
from gatekeeper.reports.site.contract_page import render_contract
from gatekeeper.reports.site.frame import (
    COSTS,
    HEALTH,
    INDEX,
    RUNS,
    Site,
    page_path,
    site_assets,
)
from gatekeeper.reports.site.pages import render_costs, render_health, render_index, render_runs
from gatekeeper.reports.write import Content, named, require_own_place, write_files

MANIFEST = ".gatekeeper-site.json"
"""The file that names what the site wrote."""
_FOLDERS = ("assets", "contracts", "runs")
_OWN_FILE = re.compile(
    rf"(?:(?:{'|'.join(_FOLDERS)})/)?[A-Za-z0-9][A-Za-z0-9._-]{{0,150}}\.(?:html|css|js)"
)
_MOST_NAMED = 3


def write_site(site: Site, out: Path) -> dict[str, Path]:
    """Write all pages and return path in the site -> file. Removes pages of an earlier site that
    this one does not have.

    Raises UsageError, before anything is written, if a file of another origin is in the place of a
    page, and WriteError if a page cannot be written.
    """
    require_own_place(out)
    pages = _pages(site)
    before = _written_before(out)
    _require_own(out, pages, before)
    with named(out):
        for name in pages:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
    # Written first, so that a site which was interrupted still counts as written by this program.
    _write_manifest(out, {*before, *pages})
    written = write_files(pages, out)
    for name in before - pages.keys():
        with contextlib.suppress(OSError):
            (out / name).unlink()
    _write_manifest(out, pages)
    return written


def _pages(site: Site) -> dict[str, Callable[[], Content]]:
    """Return how each page is made. The first page comes last: it shows that the others exist."""
    pages: dict[str, Callable[[], Content]] = {run.page: run.report.read_bytes for run in site.kept}
    for name, text in site_assets().items():
        pages[name] = partial(str, text)
    for history in site.histories:
        pages[page_path(history.name)] = partial(render_contract, site, history)
    if site.kept:
        pages[RUNS] = partial(render_runs, site)
    pages[HEALTH] = partial(render_health, site)
    pages[COSTS] = partial(render_costs, site)
    pages[INDEX] = partial(render_index, site)
    return pages


def _written_before(out: Path) -> set[str]:
    """Return the pages that an earlier site wrote. What is no path of a page is not believed."""
    try:
        document = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    names = document.get("files") if isinstance(document, dict) else None
    if not isinstance(names, list):
        return set()
    return {name for name in names if isinstance(name, str) and _OWN_FILE.fullmatch(name)}


def _require_own(out: Path, pages: Iterable[str], before: set[str]) -> None:
    """Raise UsageError if a page would replace something that the site did not write."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out}: this is a file; give the name of a folder")
    links = [out / name for name in _FOLDERS if (out / name).is_symlink()]
    if links:
        raise UsageError(
            f"{links[0]}: this is a link; remove the link or choose another folder with --out"
        )
    foreign = [
        name
        for name in pages
        if ((out / name).exists() or (out / name).is_symlink()) and name not in before
    ]
    if foreign:
        shown = ", ".join(foreign[:_MOST_NAMED])
        rest = f" and {len(foreign) - _MOST_NAMED} more" if len(foreign) > _MOST_NAMED else ""
        raise UsageError(
            f"--out {out}: {shown}{rest} exist, but `gatekeeper site` did not "
            "write these files; choose another folder"
        )


def _write_manifest(out: Path, names: Iterable[str]) -> None:
    text = json.dumps({"schema": 1, "files": sorted(names)}, indent=1) + "\n"
    write_files({MANIFEST: lambda: text}, out)
