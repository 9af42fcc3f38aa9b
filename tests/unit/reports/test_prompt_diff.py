"""What changed in a prompt, section by section."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import results as examples
from support.results import BASE_PROMPT, HEAD_PROMPT

from gatekeeper.reports.words.prompt_diff import diff_prompts, prompt_changes, split_sections
from gatekeeper.reports.write import write_reports

lines = st.lists(
    st.sampled_from(
        ["---", "system:", "user:", "# A", "## B", "text", "```", "- role: user", "", "===", "\r"]
    ),
    max_size=15,
)


def _titles(text: str) -> list[str]:
    return [section.title for section in split_sections(text)]


def test_front_matter_roles_and_headings_begin_sections() -> None:
    assert _titles(BASE_PROMPT) == [
        "front matter",
        "system",
        "system › # Rules",
        "system › # Examples",
        "user",
    ]


def test_text_between_front_matter_and_the_first_heading() -> None:
    assert _titles("---\nmodel: x\n---\nHello\n# A") == ["front matter", "beginning", "# A"]
    assert _titles("---\nmodel: x\n---") == ["front matter"]
    assert _titles("---\nno end") == ["beginning"]
    assert _titles("plain") == ["beginning"]
    assert _titles("") == []


def test_what_is_code_or_a_list_is_no_section() -> None:
    assert _titles("# A\n```\nuser:\n# no\n```\n- # nested") == ["# A"]
    assert _titles("One message\n---\nmore") == ["beginning"]


def test_messages_in_yaml_are_sections() -> None:
    text = "messages:\n  - role: system\n    content: x\n  - role: user\n    content: y\n"
    assert _titles(text) == ["beginning", "system", "user"]


@given(lines)
def test_sections_make_up_the_whole_text(parts: list[str]) -> None:
    text = "\n".join(parts)
    sections = split_sections(text)
    together = [line for section in sections for line in section.lines]
    assert together == (text.removesuffix("\n").split("\n") if text else [])
    assert [s.line for s in sections] == sorted({s.line for s in sections})


@given(lines, lines)
def test_a_diff_tells_every_changed_line(base: list[str], head: list[str]) -> None:
    before, after = "\n".join(base), "\n".join(head)
    changes = diff_prompts(before, after)
    shown = [line for change in changes for line in change.diff.split("\n")]
    gained = sum(line.startswith("+") for line in shown)
    lost = sum(line.startswith("-") for line in shown)
    lengths = [sum(len(s.lines) for s in split_sections(text)) for text in (before, after)]
    assert gained - lost == lengths[1] - lengths[0]


@pytest.mark.parametrize(
    ("base", "head", "title"),
    [
        ("One\n# A\nx", "Two\n# A\nx", "before the first heading"),
        ("name: a\nuser:\nx", "name: b\nuser:\nx", "before the first message"),
        ("One", "Two", "the text"),
        ("---\na: 1\n---\nOne", "---\na: 1\n---\nTwo", "the text"),
        ("One\n# A\nx", "# A\nx", "before the first heading"),
        ("# A\nx", "One\n# A\nx", "before the first heading"),
    ],
)
def test_text_without_a_heading_is_named_by_what_follows_it(
    base: str, head: str, title: str
) -> None:
    (change,) = diff_prompts(base, head)
    assert change.title == title


def test_only_the_changed_section_is_shown() -> None:
    (change,) = diff_prompts(BASE_PROMPT, HEAD_PROMPT)
    assert (change.title, change.change) == ("system › # Rules", "changed")
    assert change.diff.startswith("@@ -7,4 +7,4 @@\n # Rules\n-- Answer with")
    assert "Examples" not in change.diff


def test_added_removed_and_renamed_sections() -> None:
    base = "# A\na\n# B\nb1\nb2\n# C\nc"
    assert [(c.title, c.change) for c in diff_prompts(base, base + "\n# D\nd")] == [
        ("# D", "added")
    ]
    assert [(c.title, c.change) for c in diff_prompts(base, "# A\na\n# C\nc")] == [
        ("# B", "removed")
    ]
    (renamed,) = diff_prompts(base, base.replace("# B", "# Bee"))
    assert (renamed.title, renamed.change) == ("# B → # Bee", "changed")
    assert "-# B\n+# Bee" in renamed.diff


def test_another_section_in_its_place_is_one_gone_and_one_new() -> None:
    changes = diff_prompts("# A\none\ntwo\nthree", "# Z\nfour\nfive\nsix")
    assert [(c.change, c.diff.split("\n")[0]) for c in changes] == [
        ("removed", "-# A"),
        ("added", "+# Z"),
    ]


def test_equal_prompts_have_no_difference() -> None:
    assert diff_prompts(BASE_PROMPT, BASE_PROMPT) == ()
    assert diff_prompts("", "") == ()


def test_a_prompt_out_of_nothing() -> None:
    assert [c.change for c in diff_prompts("", "# A")] == ["added"]
    assert [c.change for c in diff_prompts("# A", "")] == ["removed"]


def test_changed_line_ends_are_a_difference() -> None:
    (change,) = diff_prompts("# A\r\nb\r\n", "# A\nb\n")
    assert change.diff.endswith("-# A\r\n-b\r\n+# A\n+b")


def test_the_reports_of_a_run_compare_a_prompt_once(tmp_path: Path) -> None:
    diff_prompts.cache_clear()
    write_reports(examples.FAIL, tmp_path / "out", ("sarif",))
    pairs = {
        (c.base.prompt_text, c.head.prompt_text)
        for c in examples.FAIL.contracts
        if c.base and c.head
    }
    found = diff_prompts.cache_info()
    assert found.misses == len(pairs)
    assert found.hits > found.misses


def test_a_change_in_a_part_of_a_file_has_its_line_there() -> None:
    whole = examples.failing_contract()
    assert whole.base is not None
    assert whole.head is not None
    (change, *_) = prompt_changes(whole)
    count = whole.head.prompt_text.count("\n") + 1
    placed = replace(whole.head, prompt_lines=tuple(range(101, 101 + count)))
    (moved, *_) = prompt_changes(replace(whole, head=placed))
    assert (moved.line, moved.diff) == (change.line + 100, change.diff)
