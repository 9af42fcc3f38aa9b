"""A revert is written as lines of head's files, and makes exactly what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited
from support.git_repository import GitRepository

from gatekeeper.author.blame.edits import Edit, apply_edits, find_edits
from gatekeeper.author.blame.revert import Arms, write_revert
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Contract, PromptStep, Target, TemplateStyle
from gatekeeper.gate.results.author_results import LineReplacement, ProposedRevert

Files = Mapping[str, str]


def target(
    revision: MemoryRevision, *references: str, style: TemplateStyle | None = None
) -> Target:
    prompts = [load_prompt(revision, reference, style) for reference in references]
    *steps, last = prompts
    named = tuple(PromptStep(PurePath(p.path).stem, p) for p in steps)
    return Target(last, last.model or "m/x", last.params, steps=named)


def written(
    before: Files,
    now: Files,
    harmful: Callable[[Edit], bool],
    *references: str,
    style: TemplateStyle | None = None,
) -> ProposedRevert | None:
    base, head = (
        MemoryRevision({path: text.encode() for path, text in files.items()})
        for files in (before, now)
    )
    references = references or (next(iter(now)),)
    arms = [target(revision, *references, style=style) for revision in (base, head)]
    contract = Contract("c", "c.yaml", arms[1], (), ())
    edits = find_edits(*arms)
    reverted = [edit for edit in edits if harmful(edit)]
    assert reverted
    wanted = apply_edits(*arms, [edit for edit in edits if edit not in reverted])
    return write_revert(Arms(contract, *arms, base, head), edits, reverted, wanted)


def about(*words: str) -> Callable[[Edit], bool]:
    return lambda edit: any(word in edit.before + edit.after for word in words)


BASE = "Be kind.\nAnswer in one word.\nUse English.\n\n{{ x }}\n"
MARKDOWN = "---\nmodel: m/a\nparameters:\n  temperature: 0\n---\n"
MARKDOWN += "system:\nBe kind. Be brief.\n\nuser:\n{{ x }}\n"
YAML = "messages:\n  - role: system\n    content: |\n      Be kind. Be brief.\n      No puns.\n"
YAML += "  - role: user\n    content: '{{ x }}'\n"


@pytest.mark.parametrize(
    ("path", "before", "now", "harmful", "expected"),
    [
        # A deleted line comes back before the line that followed it.
        ("p.txt", BASE, edited(BASE, "Answer in one word.\n", ""), "one word", (2, 2)),
        # At the end, after the line before it.
        ("p.txt", "{{ x }}\nBe brief.", "{{ x }}", "brief", (1, 1)),
        # An added line goes.
        ("p.txt", BASE, BASE.replace("Use", "Think twice.\nUse"), "twice", (3, 3)),
        # A reworded line next to another reworded line, which stays.
        (
            "p.txt",
            BASE,
            "Be very kind.\nAnswer in two words.\nUse English.\n\n{{ x }}\n",
            "two",
            (2, 2),
        ),
        # One sentence of a line; the other stays as it is at head.
        (
            "p.md",
            MARKDOWN,
            edited(MARKDOWN, "kind. Be brief", "so kind. Be verbose"),
            "verbose",
            (7, 7),
        ),
        ("p.yml", YAML, edited(YAML, "kind. Be brief", "so kind. Be verbose"), "verbose", (4, 4)),
        # A setting of the front matter, and a part of the front matter that is no edit.
        ("p.md", MARKDOWN, MARKDOWN.replace("m/a", "m/b"), "m/b", (2, 2)),
        ("p.md", MARKDOWN, edited(MARKDOWN, "temperature: 0", "temperature: 17"), "17", (4, 4)),
        # Templates of another style.
        ("p.txt", "Say {x}.\nBe brief.\n", "Say {x}.\nBe long.\n", "long", (2, 2)),
    ],
)
def test_the_smallest_range_of_lines_is_replaced(
    path: str, before: str, now: str, harmful: str, expected: tuple[int, int]
) -> None:
    found = written({path: before}, {path: now}, about(harmful))
    assert found is not None
    lines = found.replacement
    assert lines is not None
    assert (lines.start, lines.end) == expected
    assert lines.is_exact
    text = now.split("\n")
    text[lines.start - 1 : lines.end] = lines.lines
    assert (harmful in "\n".join(text)) == (harmful in before)
    if "so kind" in now or "very kind" in now:
        assert "so kind" in "\n".join(text) or "very kind" in "\n".join(text)
    assert found.diff.startswith(f"--- a/{path}\n+++ b/{path}\n@@")


def test_a_sentence_of_instructions_is_put_back() -> None:
    before = "Use tabs.\nBe brief. Never push.\n\n"
    now = {"AGENTS.md": edited(before, " Never push.", "")}
    found = written({"AGENTS.md": before}, now, about("push"), style="instructions")
    assert found is not None
    assert "+Never push." in found.diff


def test_two_places_are_one_range_with_what_is_between() -> None:
    now = edited(BASE, "kind", "rude", "English", "French")
    found = written({"p.txt": BASE}, {"p.txt": now}, about("rude", "French"))
    assert found is not None
    assert found.replacement is not None
    assert (found.replacement.start, found.replacement.end) == (1, 3)
    assert found.replacement.lines == tuple(BASE.split("\n")[:3])


def test_the_prompt_of_a_step_and_an_included_file_are_reverted_in_their_files() -> None:
    before = {
        "one.md": "Find it.\n{{ x }}\n",
        "two.md": "Greet {{ one }}.\n{% include 'tone.md' %}\n",
        "tone.md": "Be brief.\nNo jokes.\n",
    }
    now = {**before, "one.md": "Guess it.\n{{ x }}\n", "tone.md": "Be long.\nNo jokes.\n"}
    step = written(before, now, about("Guess"), "one.md", "two.md")
    tone = written(before, now, about("long"), "one.md", "two.md")
    both = written(before, now, about("Guess", "long"), "one.md", "two.md")
    assert step and tone and both  # noqa: PT018
    assert step.replacement is not None
    assert (step.replacement.path, step.replacement.lines) == ("one.md", ("Find it.",))
    assert tone.replacement is not None
    assert (tone.replacement.path, tone.replacement.lines) == ("tone.md", ("Be brief.",))
    assert both.replacement is None
    assert both.diff.count("--- a/") == 2


@pytest.mark.parametrize("mark", ["\r\n", "\ufeff"])
def test_line_ends_that_a_suggestion_would_change_are_shown_as_a_diff(mark: str) -> None:
    def in_file(text: str) -> str:
        return text.replace("\n", mark) if "\n" in mark else mark + text

    now = edited(BASE, "kind", "rude")
    found = written({"p.txt": in_file(BASE)}, {"p.txt": in_file(now)}, about("rude"))
    assert found is not None
    assert found.replacement is None
    assert "+Be kind." in found.diff


def test_a_setting_that_no_prompt_file_has_cannot_be_written() -> None:
    now = {"p.txt": BASE}
    base = MemoryRevision({"p.txt": BASE.encode()})
    arms = [Target(load_prompt(base, "p.txt"), "m/x", {"temperature": t}) for t in (0, 1)]
    contract = Contract("c", "c.yaml", arms[1], (), (), own_params={"temperature": 1})
    (edit,) = find_edits(*arms)
    found = write_revert(Arms(contract, *arms, base, base), [edit], [edit], arms[0])
    assert (found, now) == (None, {"p.txt": BASE})


def test_an_added_message_is_reverted_as_lines() -> None:
    before = {"p.prompty": "system:\nBe kind.\nuser:\n{{ x }}\n"}
    now = {
        "p.prompty": "system:\nBe kind.\nuser:\nTwo?\nassistant:\nIt is 2.\nuser:\n{{ x }}\n",
    }
    found = written(before, now, lambda _: True)
    assert found is not None
    assert found.replacement is not None
    assert "Two?" not in found.replacement.lines


def test_a_revert_that_is_not_the_one_measured_is_not_written() -> None:
    yaml = 'messages: [{role: user, content: "A {{ x }}.\\nBe %s.\\nBe %s."}]\n'
    files = ({"p.yml": yaml % words} for words in (("kind", "brief"), ("rude", "long")))
    assert written(*files, about("rude", "kind")) is None


def test_one_sentence_of_an_included_file_is_reverted() -> None:
    include = "{{ x }}\n{% include 'tone.md' %}\n"
    before = {"p.md": include, "tone.md": "Be kind.\nBe brief.\n"}
    now = {**before, "tone.md": "Be kind. Be rude.\nBe long.\n"}
    found = written(before, now, about("rude"), "p.md")
    assert found is not None
    assert found.replacement is not None
    assert found.replacement.lines == ("Be kind. Be brief.",)


LINES = st.lists(
    st.sampled_from(
        [
            *("Be kind.\n", "Be brief.\n", "No puns. Use English.\n", "{{ x }}\n", "  - a\n"),
            *("\n", "\n", "\n\n", " \n", "{% if x %}a{% endif %}\n", "Hi\n"),
        ]
    ),
    max_size=9,
).map("".join)
# The first line keeps the style of the template.
PROMPTS = st.builds(
    lambda lines, end: "{% set y = x %}\nSay {{ x }}.\n" + lines.removesuffix("\n") + end,
    LINES,
    st.sampled_from(["", "\n", "\n\n\n"]),
)


@given(PROMPTS, PROMPTS)
def test_the_revert_of_every_edit_makes_the_file_of_base_byte_for_byte(
    before: str, now: str
) -> None:
    if not edits_between(before, now):
        return
    found = written({"p.txt": before}, {"p.txt": now}, lambda _: True)
    assert found is not None
    assert applied(found.diff, now) == before
    if found.replacement is not None:
        assert suggested(found.replacement, now) == before


@given(PROMPTS, PROMPTS, st.data())
def test_the_revert_of_one_edit_keeps_every_other_line(
    before: str, now: str, data: st.DataObject
) -> None:
    edits = edits_between(before, now)
    if not edits:
        return
    one = data.draw(st.sampled_from(edits))
    found = written({"p.txt": before}, {"p.txt": now}, lambda edit: edit == one)
    if found is None:
        return  # said as a change of the prompt, without lines to apply
    text = applied(found.diff, now)
    arms = [target_of(each) for each in (before, now)]
    wanted = apply_edits(*arms, [edit for edit in edits if edit != one])
    assert said(target_of(text)) == said(wanted)
    if found.replacement is not None:
        assert suggested(found.replacement, now) == text


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("A b.\n\nC d.\n{{ x }}\n", "A b.\nC d.\n{{ x }}\n"),
        ("{{ x }}\nA b.\nC d.\n\n", "{{ x }}\n"),
        ("\n\n{{ x }}", "{{ x }}\n"),
        ("{{ x }}\nA b.", "{{ x }}\nC d.\n"),
        ("{{ x }}\nA b.\n", "{{ x }}\nC d."),
        ("{{ x }}\nA b.", "{{ x }}\nC d."),
        ("{{ x }}\nA b.\n\nC d.\n\n", "{{ x }}\nRefuse to speak. Sing.\nC d."),
    ],
)
def test_git_applies_the_diff_and_makes_the_file_of_base(
    git_repository: Callable[..., GitRepository], before: str, now: str
) -> None:
    found = written({"p.txt": before}, {"p.txt": now}, lambda _: True)
    assert found is not None
    made = git_repository("revert")
    made.commit("head", {"p.txt": now})
    made.git_bytes("apply", "-", input=f"{found.diff}\n".encode())
    assert (made.path / "p.txt").read_bytes() == before.encode()
    assert applied(found.diff, now) == before


def edits_between(before: str, now: str) -> tuple[Edit, ...]:
    return find_edits(target_of(before), target_of(now))


def target_of(text: str) -> Target:
    return target(MemoryRevision({"p.txt": text.encode()}), "p.txt")


def said(found: Target) -> list[str]:
    return [message.content for message in found.prompt.messages]


def applied(diff: str, now: str) -> str:
    """What `git apply` makes of a text; it is called in the test above."""
    pieces: list[str] = []
    for line in diff.split("\n")[2:]:
        if line.startswith("\\"):
            pieces[-1] = pieces[-1].removesuffix("\n")
        else:
            pieces.append(f"{line}\n")
    old, new, place = now.splitlines(keepends=True), list[str](), 0
    for piece in pieces:
        kind, text = piece[0], piece[1:]
        if kind == "@":
            first, _, length = piece.split(" ")[1].lstrip("-").partition(",")
            start = int(first) - (length != "0")
            new, place = [*new, *old[place:start]], start
        if kind in " -":
            assert old[place] == text
            place += 1
        if kind in " +":
            new.append(text)
    return "".join([*new, *old[place:]])


def suggested(lines: LineReplacement, now: str) -> str:
    """What the suggestion makes of a text."""
    text = now.split("\n")
    text[lines.start - 1 : lines.end] = lines.lines
    return "\n".join(text)
