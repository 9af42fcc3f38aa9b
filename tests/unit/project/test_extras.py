"""The extras of pyproject.toml are those of docs/getting-started.md."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_on_installing_lists_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    table = (ROOT / "docs/getting-started.md").read_text("utf-8").partition("## Extras")[2]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == sorted(
        project["optional-dependencies"]
    )
