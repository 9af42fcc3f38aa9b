"""Annotations stand on the lines that changed, and say which section and which check."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.results import (
    BASE_PROMPT,
    HEAD_PROMPT,
    arm,
    failing_contract,
    fixture,
    new_contract,
    passing_contract,
    removed_contract,
    unmeasured_contract,
)

from gatekeeper.contract.values.change import AffectedBy
from gatekeeper.gate.results.author_results import ContractBlame, HarmfulCause, HarmfulEdit
from gatekeeper.gate.results.parts import FixtureFailure
from gatekeeper.gate.results.result import ContractResult, Reason, UnderBase
from gatekeeper.reports.formats.annotations import failing_check, places
from gatekeeper.reports.words.prompt_diff import diff_prompts

EDITS = (
    HarmfulEdit('deleting "Answer with the tag only."', "prompts/tag.md", 4, 4),
    HarmfulEdit('adding "Think.", "Twice."', "prompts/tag.md", 7, 9),
    HarmfulEdit("changing temperature from 0 to 1", "prompts/tag.md", None, None),
)
texts = st.lists(st.sampled_from(["# A", "# B", "user:", "a", "b", "c", ""]), max_size=12).map(
    "\n".join
)


def changed(base: str, head: str, contract: ContractResult | None = None) -> ContractResult:
    contract = contract or failing_contract()
    assert contract.base is not None
    assert contract.head is not None
    return replace(
        contract,
        base=replace(contract.base, prompt_text=base),
        head=replace(contract.head, prompt_text=head),
    )


def test_the_changed_line_the_section_and_the_check_are_named() -> None:
    (place,) = places([failing_contract()])
    assert place.path == failing_contract().head.prompt_path
    assert (
        place.line == HEAD_PROMPT.split("\n").index("- Be friendly: answer in a full sentence.") + 1
    )
    assert "Changed: section “system › # Rules” at line 8." in place.message
    assert "The check “is a tag” fails most often: on " in place.message


def test_what_passes_has_no_place() -> None:
    assert places([passing_contract()]) == ()


def test_the_worst_come_first_and_each_has_its_say() -> None:
    many = "\n".join(f"# S{n}\nx{n}" for n in range(9))
    rewritten = changed(many, many.replace("x", "y"))
    found = places([unmeasured_contract(), passing_contract(), rewritten])
    assert [place.contract.verdict for place in found] == ["fail", "error", "fail", "fail", "fail"]
    assert [place.line for place in found if place.contract is rewritten] == [2, 4, 6, 8]
    assert "and 8 more sections" in found[0].message
    assert found[2].message.startswith("section “# S1” at line 4. This change is in the prompt of")


@pytest.mark.parametrize(
    ("base", "head", "line"),
    [
        ("a\nb\nc", "a\nx\nc", 2),
        ("a\nb", "a\nb\nc", 3),
        ("a\nb\nc", "a", 1),
        ("a\n# B\nb\n# C\nc", "a\n# C\nc", 2),
        ("a\n# B\nb", "a", 1),
        ("# A\na", "# A\na\n# B\nb", 3),
        ("# A\na\nb", "# Z\na\nb", 1),
    ],
)
def test_the_line_is_one_of_head(base: str, head: str, line: int) -> None:
    assert diff_prompts(base, head)[0].line == line


@given(texts, texts)
def test_every_line_is_there_at_head(base: str, head: str) -> None:
    lines = head.removesuffix("\n").split("\n")
    for change in diff_prompts(base, head):
        assert 1 <= change.line <= max(1, len(lines))


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ([], "prompts/speech-tag.md"),
        ([("prompts/tone.md", "modified")], "prompts/tone.md"),
        ([("gone.csv", "deleted"), ("new.csv", "added")], "new.csv"),
        (
            [("a.csv", "modified"), ("contracts/speech-tag.yaml", "modified")],
            "contracts/speech-tag.yaml",
        ),
        ([("gone.csv", "deleted")], "prompts/speech-tag.md"),
    ],
)
def test_where_the_prompt_is_the_same_the_changed_file_is_named(
    files: list[tuple[str, str]], path: str
) -> None:
    contract = changed(BASE_PROMPT, BASE_PROMPT)
    affected = tuple(AffectedBy(name, change) for name, change in files)  # type: ignore[arg-type]
    contract = replace(contract, affected_by=affected, path="contracts/speech-tag.yaml")
    contract = replace(contract, head=replace(contract.head, prompt_path="prompts/speech-tag.md"))
    (place,) = places([contract])
    assert (place.path, place.line) == (path, None)


def test_without_a_base_or_a_head_the_file_is_named() -> None:
    (gone,) = places([removed_contract()])
    assert (gone.path, gone.line) == (removed_contract().path, None)
    fresh = replace(new_contract(), verdict="fail")
    assert [place.line for place in places([fresh])] == [None]


def failures(*checks: tuple[str, str]) -> tuple[FixtureFailure, ...]:
    return tuple(FixtureFailure(arm, check, "no", "x") for arm, check in checks)  # type: ignore[arg-type]


def test_of_checks_that_fail_alike_the_newly_failing_one_is_named() -> None:
    both = failures(("head", "old"), ("head", "old"), ("base", "old"), ("head", "new"))
    contract = replace(
        failing_contract(), fixtures=(replace(fixture(1, "broke"), failures=both),) * 2
    )
    assert failing_check(contract) == (
        "The check “new” fails most often: on 2 of 2 fixtures at head and on 0 at base."
    )


def test_the_contract_that_found_it_is_asked() -> None:
    """Head's own contract may see nothing at all."""
    broke = replace(fixture(1, "broke"), failures=failures(("head", "strict")))
    under = UnderBase(arm(9, 10), arm(1, 10), None, (), (broke,))
    contract = replace(
        failing_contract(),
        fixtures=(),
        reasons=(Reason("regression", "worse under the base contract", "fail", "base"),),
        under_base=under,
    )
    assert "“strict” fails most often: on 1 of 1 fixture" in (failing_check(contract) or "")
    assert failing_check(replace(contract, under_base=None)) is None


def test_hostile_names_and_sections_stay_on_one_visible_line() -> None:
    prompt = "# x\u202e\u200b ::error::y\na"
    (place, *_) = places([changed(prompt, prompt + "\nz")])
    assert "\u202e" not in place.message
    assert "⟨U+202E⟩" in place.message


@pytest.mark.parametrize(
    "prompt",
    ["# A\n" * 60_000, "a\n" * 60_000, "# A\na\n" * 1_900, "a\nb\n" * 1_900, "[" * 1_000_000],
    ids=["headings", "lines", "fewer headings", "fewer lines", "brackets"],
)
def test_a_difference_takes_bounded_time(prompt: str) -> None:
    """Equal lines make the usual comparison quadratic."""
    changes = diff_prompts(prompt, "# B\n" + prompt.replace("a", "c", 1) + "\nmore")
    assert changes[0].line == 1


def test_known_harmful_edits_are_marked_instead_of_changed_sections() -> None:
    contract = failing_contract()
    blame = ContractBlame(contract.name, (HarmfulCause("They did\u202e it.", EDITS),))
    first, second = places([contract], [blame])
    assert (first.path, first.line, first.end_line) == ("prompts/tag.md", 4, None)
    assert (second.line, second.end_line) == (7, 9)
    assert first.message.startswith("They did⟨U+202E⟩ it.\n")
    assert "fails most often" in first.message
    assert "fails most often" not in second.message


def test_a_setting_alone_has_no_line_so_the_section_is_marked() -> None:
    contract = failing_contract()
    blame = ContractBlame(contract.name, (HarmfulCause("It did it.", EDITS[2:]),))
    assert places([contract], [blame]) == places([contract])
