"""docs/llms.txt, the index for agents, is that of the pages."""

from __future__ import annotations

import re

from scripts.publish_llms import INDEX, index, published

TEXT = INDEX.read_text("utf-8")


def test_the_index_is_what_the_generator_writes() -> None:
    assert published() == TEXT, "run `make docs`"


def test_it_links_every_page_once_and_each_is_there() -> None:
    linked = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S", TEXT, re.MULTILINE)
    assert sorted(linked) == sorted(path.name for path in INDEX.parent.glob("*.md"))


def test_an_entry_has_the_first_sentence_without_markup() -> None:
    page = "# Judges\n\nA *judge* grades\n[outputs](a.md). More.\n"
    code = "# Models\n\n```yaml\na: 1. b\n```\n\n| a. | b |\n\n## Names\nEach has a name:\n- x\n"
    assert index({"judges.md": page, "models.md": code, "statistics.md": page}, "It decides.") == (
        "# Gatekeeper\n\n> It decides.\n\n## Pages\n\n"
        "- [Judges](judges.md): A judge grades outputs\n"
        "- [Models](models.md): Each has a name\n\n"
        "## Optional\n\n"
        "- [Judges](statistics.md): A judge grades outputs\n"
    )
