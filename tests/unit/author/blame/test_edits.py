"""The edits of a prompt, and the prompt with some of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.blame.edits import apply_edits, find_edits
from gatekeeper.contract.meaning.digests import target_digest
from gatekeeper.contract.prompts.load import parse_prompt
from gatekeeper.contract.values.definition import MessageTemplate, Prompt, PromptStep, Target


def target(text: str, model: str = "m/x", path: str = "prompt.txt", **params: object) -> Target:
    return Target(parse_prompt(text, path), model, params)


def said(found: Target) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in found.prompt.messages]


def test_sentences_and_settings_are_edits_with_their_lines():
    base = target("Be kind. Answer in one word.\nUse English.\n\n{{ x }}", temperature=0, top_p=1)
    head = target("Be very kind. Use English.\nNever guess.\n\n{{ x }}", "m/y", temperature=1)
    edits = find_edits(base, head)
    assert [(edit.text, edit.line) for edit in edits[:3]] == [
        ("changing model from m/x to m/y", None),
        ("changing temperature from 0 to 1", None),
        ("changing top_p from 1 to none", None),
    ]
    assert any('"Answer in one word.' in edit.before or edit.before for edit in edits[3:])
    assert said(apply_edits(base, head, edits)) == said(head)
    only_model = apply_edits(base, head, edits[:1])
    assert (only_model.model, said(only_model)) == ("m/y", said(base))


def test_inserted_and_deleted_sentences_are_edits_of_their_own():
    base = target("One rule.\nTwo rules.\nThree rules.\n{{ x }}")
    deleted = find_edits(base, target("One rule.\n{{ x }}"))
    assert [(edit.text, edit.base_line) for edit in deleted] == [
        ('deleting "Two rules."', 2),
        ('deleting "Three rules."', 3),
    ]
    inserted = find_edits(target("{{ x }}"), target("Be brief.\nBe kind.\n{{ x }}"))
    assert [(edit.text, edit.line) for edit in inserted] == [
        ('adding "Be brief."', 1),
        ('adding "Be kind."', 2),
    ]


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        ("A b.\n\nC d.\n{{ x }}", "A b.\nC d.\n{{ x }}", ["deleting a blank line"]),
        ("A b.\nC d.\n{{ x }}", "A b.\n\n\nC d.\n{{ x }}", ["adding a blank line"] * 2),
        # A blank line is not reworded to a short sentence, nor the other way round.
        ("A b.\n\n{{ x }}", "A b.\nHi\n{{ x }}", ['adding "Hi"', "deleting a blank line"]),
        ("A b.\nB\n{{ x }}", "A b.\n\n{{ x }}", ["adding a blank line", 'deleting "B"']),
        ("{{ x }}\n\n\n", "{{ x }}\n", ["deleting a blank line"] * 2),
        ("\n{{ x }}\n", "{{ x }}\n", ["deleting a blank line"]),
    ],
)
def test_a_blank_line_is_an_edit_of_its_own(before, after, texts):
    edits = find_edits(target(before), target(after))
    assert [edit.text for edit in edits] == texts


def test_statements_of_the_template_are_one_edit():
    base = target("{{ x }}\nBe kind.\n")
    head = target("{% if x %}\n{{ x }}\n{% endif %}\nBe kind.\n")
    (edit,) = find_edits(base, head)
    assert said(apply_edits(base, head, [edit])) == said(head)


def test_an_added_message_is_one_edit():
    text = "system:\nBe kind.\nuser:\n{{ x }}\n"
    longer = "system:\nBe kind.\nuser:\nTwo?\nassistant:\n2. It is 2.\nuser:\n{{ x }}\n"
    base, head = (target(t, path="p.prompty") for t in (text, longer))
    edits = find_edits(base, head)
    assert len(edits) == 1
    assert said(apply_edits(base, head, edits)) == said(head)
    assert said(apply_edits(base, head, ())) == said(base)


def test_edits_in_steps_and_included_files_have_their_own_lines():
    def chain(first: str, last: str, shared: str) -> Target:
        step = PromptStep("extract", parse_prompt(first, "one.txt"))
        prompt = replace(parse_prompt(last, "two.txt"), includes={"tone.txt": shared})
        return Target(prompt, "m/x", {}, steps=(step,))

    base = chain("Find it.\n{{ x }}", "Greet {{ extract }}.\nBe kind.", "Be brief.\nNo jokes.\n")
    head = chain("Guess.\n{{ x }}", "Greet {{ extract }}.", "Be brief.\nMany puns.\n")
    edits = find_edits(base, head)
    assert [(edit.path, edit.line, edit.end_line, edit.base_line) for edit in edits] == [
        ("one.txt", 1, 1, 1),
        ("one.txt", 2, 2, 1),
        ("two.txt", 1, 1, 2),
        ("tone.txt", 2, 2, 2),
        ("tone.txt", 2, 2, 2),
    ]
    assert target_digest(apply_edits(base, head, edits)) == target_digest(head)
    assert target_digest(apply_edits(base, head, ())) == target_digest(base)
    only = apply_edits(base, head, [edit for edit in edits if edit.path == "tone.txt"])
    assert only.prompt.includes == {"tone.txt": "Be brief.\nMany puns.\n"}
    assert only.prompt_of("extract").messages == base.prompt_of("extract").messages


TEXTS = st.lists(
    st.sampled_from(["A b. ", "C d.\n", "{{ x }}\n", "{% if x %}", "{% endif %}", "\n", "e ", "ü"]),
    max_size=10,
).map("".join)
MESSAGES = st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), TEXTS), max_size=4)


@given(MESSAGES, MESSAGES)
def test_all_edits_make_head_and_none_make_base(before, after):
    base, head = (
        Target(Prompt("p.txt", tuple(MessageTemplate(r, t, 1) for r, t in one), ""), "m/x", {})
        for one in (before, after)
    )
    edits = find_edits(base, head)
    assert said(apply_edits(base, head, edits)) == kept(head)
    assert said(apply_edits(base, head, ())) == kept(base)
    assert not find_edits(base, replace(base))


def kept(found: Target) -> list[tuple[str, str]]:
    """The messages without those that are empty."""
    return [(role, text) for role, text in said(found) if text.strip()]


def test_a_prompt_of_equal_lines_is_one_edit_and_takes_no_minutes():
    base = target("x\n{{ a }}\n" + "a\n" * 2_000)
    head = target("y\n{{ a }}\n" + "a\nb\n" * 2_000)
    (edit,) = find_edits(base, head)
    assert said(apply_edits(base, head, [edit])) == said(head)
    assert find_edits(base, base) == ()


def test_a_long_line_is_compared_by_its_words():
    words = [f"word{number}" for number in range(20_000)]
    old, new = " ".join(words), " ".join([*words[:500], "other", *words[501:]])
    (edit,) = find_edits(target(f"{old}\n{{{{ x }}}}"), target(f"{new}\n{{{{ x }}}}"))
    assert (edit.before, edit.after) == (f"{old}\n", f"{new}\n")
    other = " ".join(reversed(words))
    assert len(find_edits(target(f"{old}\n{{{{ x }}}}"), target(f"{other}\n{{{{ x }}}}"))) == 2


def test_a_long_line_without_spaces_is_compared_by_its_letters():
    old = "".join(chr(0x4E00 + number) for number in range(5_000))
    new = f"{old[:2_000]}一二{old[2_001:]}"
    (edit,) = find_edits(target(f"{old}\n{{{{ x }}}}"), target(f"{new}\n{{{{ x }}}}"))
    assert (edit.before, edit.after) == (f"{old}\n", f"{new}\n")


def test_pairs_of_sentences_are_compared_up_to_a_number():
    parts = [[f"Rule {part} {number} of {number * 7}.\n" for number in range(40)] for part in "abc"]
    text = "".join(f"# Part\n{''.join(rows)}" for rows in parts)
    base, head = target(f"{text}{{{{ x }}}}"), target(f"{text.replace('of', 'from')}{{{{ x }}}}")
    edits = find_edits(base, head)
    assert said(apply_edits(base, head, edits)) == said(head)
    assert len(edits) == 40 + 1 + 1
