"""Writes docs/llms.txt, the index of the documentation for agents, from the pages.

    python -m scripts.publish_llms

The form is that of llmstxt.org: a title, a summary, and lists of links with what is behind each;
what an agent can leave out is under `Optional`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "docs" / "llms.txt"
_OPTIONAL = ("architecture.md", "error-rates.md", "statistics.md")
_NO_PROSE = re.compile(r"^```.*?^```|^[|#!<].*?$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)", re.DOTALL)


def index(pages: Mapping[str, str], summary: str) -> str:
    """Return the index of pages, which are given by their names."""
    lines = ["# Gatekeeper", "", f"> {summary}", ""]
    for title, optional in (("Pages", False), ("Optional", True)):
        found = [name for name in sorted(pages) if (name in _OPTIONAL) == optional]
        lines += [f"## {title}", "", *(_entry(name, pages[name]) for name in found), ""]
    return "\n".join(lines[:-1]) + "\n"


def _entry(name: str, page: str) -> str:
    heading, _, rest = page.partition("\n")
    prose = _LINK.sub(r"\1", _NO_PROSE.sub("", rest)).split()
    sentence = re.split(r"(?<=[.?:])\s", " ".join(prose).replace("*", ""))[0]
    return f"- [{heading.removeprefix('# ')}]({name}): {sentence.rstrip(':.')}"


def published() -> str:
    """Return the index of the pages as they are."""
    pages = {path.name: path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return index(pages, project["description"])


if __name__ == "__main__":
    INDEX.write_text(published(), "utf-8")
