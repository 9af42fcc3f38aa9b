"""No lock and no range of pyproject.toml takes a release that is known to be bad."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
AUDIT = ROOT / "scripts" / "audit.py"


def _known_bad() -> set[tuple[str, str]]:
    advisories = json.loads((ROOT / "requirements/advisories.json").read_text("utf-8"))
    return {
        (affected["package"]["name"], version)
        for advisory in advisories
        for affected in advisory["affected"]
        for version in affected["versions"]
    }


def _ranges() -> Iterator[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    named = [project["build-system"]["requires"], project["project"]["dependencies"]]
    named += project["project"]["optional-dependencies"].values()
    named += project["dependency-groups"].values()
    yield from (Requirement(text) for group in named for text in group)


def test_the_releases_of_the_thief_of_keys_are_recorded() -> None:
    assert _known_bad() >= {("litellm", "1.82.7"), ("litellm", "1.82.8")}


@pytest.mark.parametrize(("name", "version"), sorted(_known_bad()))
def test_a_range_takes_no_release_that_is_known_to_be_bad(name: str, version: str) -> None:
    ranges = [found for found in _ranges() if found.name == name]
    assert ranges, f"pyproject.toml names no {name}: remove it from requirements/advisories.json"
    assert not [str(found) for found in ranges if found.specifier.contains(version)]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_a_lock_pins_no_release_that_is_known_to_be_bad(lock: Path) -> None:
    pinned = set(re.findall(r"^([\w.-]+)==([^\s;]+)", lock.read_text("utf-8"), re.MULTILINE))
    assert pinned
    assert not pinned & _known_bad()


@pytest.mark.long
def test_the_audit_finds_a_recorded_release_and_clears_the_next(tmp_path: Path) -> None:
    done = {}
    for version in ("1.82.8", "1.106.2"):
        lock = tmp_path / f"{version}.lock"
        lock.write_text(f"litellm=={version} --hash=sha256:{'0' * 64}\n")
        command = [sys.executable, AUDIT, "--recorded", lock]
        done[version] = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done["1.82.8"].returncode == 1
    assert "PYSEC-2026-2" in done["1.82.8"].stdout
    assert done["1.106.2"].returncode == 0, done["1.106.2"].stderr
