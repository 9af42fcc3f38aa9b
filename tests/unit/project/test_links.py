"""Every link of a page, and of a text that a page is written from, leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
_FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)


def links(text: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the anchor of each link that is no address."""
    for target in re.findall(r"\]\(([^)\s]+)\)", _FENCED.sub("", text)):
        path, _, anchor = target.partition("#")
        if not re.match(r"[a-z]+:", target) and not path.startswith("../../.."):
            yield path, anchor


@cache
def anchors(page: Path) -> frozenset[str]:
    text = _FENCED.sub("", page.read_text("utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).strip().lower() for title in titles)
    named = {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}
    return frozenset(named | set(re.findall(r'<a id="([^"]+)"', text)))


def broken(text: str, source: Path, folder: Path) -> list[str]:
    found = []
    for path, anchor in links(text):
        target = (folder / path).resolve() if path else source
        is_page = target.suffix == ".md" and target.exists()
        if not target.exists() or (anchor and is_page and anchor not in anchors(target)):
            found.append(f"{path}#{anchor}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert broken(page.read_text("utf-8"), page, page.parent) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](checks.md#json_valid) [b](https://example.org/none.md)", []),
        ("[a](none.md)", ["none.md#"]),
        ("[a](checks.md#none)", ["checks.md#none"]),
        ("```\n[a](none.md)\n```", []),
        (
            "[two\nlines](contracts.md#nunjucks) [an anchor](contracts.md#nunjucs)",
            ["contracts.md#nunjucs"],
        ),
    ],
)
def test_a_link_that_leads_nowhere_is_found(text: str, found: list[str]) -> None:
    assert broken(text, DOCS / "checks.md", DOCS) == found


def test_a_page_that_a_message_or_a_comment_names_exists() -> None:
    named = set()
    for file in (ROOT / "gatekeeper").rglob("*"):
        if file.suffix in {".py", ".yml", ".yaml"}:
            named |= set(re.findall(r"(?<!/)\bdocs/([a-z-]+\.md)", file.read_text("utf-8")))
    assert [page for page in sorted(named) if not (DOCS / page).exists()] == []
