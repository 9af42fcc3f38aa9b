"""The action of a release is action.yml but for the image it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
IMAGE = f"ghcr.io/octo/gatekeeper@sha256:{'0123456789abcdef' * 4}"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    script = ROOT / "scripts" / "release_action.py"
    return subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, check=False
    )


def test_only_the_image_differs() -> None:
    source = (ROOT / "action.yml").read_text()
    done = run(IMAGE)
    assert done.returncode == 0, done.stderr
    changed = [
        pair
        for pair in zip(source.splitlines(), done.stdout.splitlines(), strict=True)
        if pair[0] != pair[1]
    ]
    assert changed == [("  image: Dockerfile", f"  image: docker://{IMAGE}")]
    assert yaml.safe_load(done.stdout)["runs"]["image"] == f"docker://{IMAGE}"


def test_it_is_written_where_asked(tmp_path: Path) -> None:
    assert run(IMAGE, "--out", str(tmp_path / "action.yml")).stdout == ""
    assert (tmp_path / "action.yml").read_text() == run(IMAGE).stdout


@pytest.mark.parametrize(
    "image",
    ["ghcr.io/octo/gatekeeper:v1.0.0", "gatekeeper", f"{IMAGE[:-1]}", f"{IMAGE}\n  entrypoint: sh"],
)
def test_a_name_that_can_come_to_mean_another_image_is_refused(image: str) -> None:
    done = run(image)
    assert (done.returncode, done.stdout) == (2, "")
    assert "sha256" in done.stderr
