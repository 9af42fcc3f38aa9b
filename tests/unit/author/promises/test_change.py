"""What a change does to the promises of a prompt, from the files of both revisions."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited

from gatekeeper.author.specification.promises import (
    changed_lines,
    compare_items,
    promises_of_change,
)
from gatekeeper.author.specification.spec_file import (
    InputConstraint,
    Rule,
    Specification,
    write_specification,
)
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.gate.results.author_results import Promises, PromptPromises, Reworded

PROMPT = "Tag the word.\nReturn the tag only.\nIf in doubt, say Unknown.\n\n{{ word }}\n"
ONE = Rule("only-tag", "The output is one tag.", lines=(2,))
DOUBT = Rule("unknown", "The output is Unknown for words without a tag.", lines=(3,))
ENGLISH = InputConstraint("english", "The word is English.", (1,))
SPEC, FILE = "prompts/tag.spec.yaml", "prompts/tag.txt"
KNOWN = Specification("tag.txt", "Tag words.", (ENGLISH,), (ONE, DOUBT))

texts = st.text(st.characters(exclude_categories=("Cs", "Cc", "Z")), min_size=1, max_size=8)
rules = st.dictionaries(texts, texts, max_size=5)


def files(specification: Specification | None, prompt: str | None = PROMPT) -> dict[str, bytes]:
    held = {} if prompt is None else {FILE: prompt.encode()}
    if specification is not None:
        held[SPEC] = write_specification(specification).encode()
    return held


def found(before: dict[str, bytes], after: dict[str, bytes]) -> tuple[PromptPromises, ...]:
    promises, notices = promises_of_change(Change(MemoryRevision(before), MemoryRevision(after)))
    assert notices == ()
    return promises


def test_rules_and_input_are_compared():
    reworded = Rule("unknown", "The output is Unknown if in doubt.", lines=(3,))
    short = Rule("short", "The output has at most five characters.", lines=(2,))
    after = Specification("tag.txt", "Tag words.", (), (reworded, short))
    (promises,) = found(files(KNOWN), files(after, PROMPT + "Be short.\n"))
    assert promises == PromptPromises(
        FILE,
        SPEC,
        "changed",
        Promises((short.text,), (ONE.text,), (Reworded(DOUBT.text, reworded.text),)),
        Promises(dropped=(ENGLISH.text,)),
    )


def test_rules_on_changed_lines_have_to_be_checked_again():
    (promises,) = found(files(KNOWN), files(KNOWN, edited(PROMPT, "the tag only", "a tag")))
    assert (promises.state, promises.unsettled) == ("outdated", (ONE.text,))
    assert found(files(KNOWN), files(KNOWN, f"{PROMPT}\nBe kind.\n")) == ()


def test_a_specification_comes_and_goes():
    (new,) = found(files(None), files(KNOWN))
    assert (new.state, new.rules.added) == ("added", (ONE.text, DOUBT.text))
    (gone,) = found(files(KNOWN), files(None))
    assert (gone.state, gone.rules.dropped) == ("removed", (ONE.text, DOUBT.text))
    assert found(files(KNOWN), files(None, None)) == ()


def test_other_changes_say_nothing():
    assert found(files(KNOWN), files(KNOWN) | {"readme.md": b"new"}) == ()
    assert found({}, {"a.md": b"new"}) == ()
    made = Specification("tag.txt", "Tag.", (ENGLISH,), (ONE, DOUBT), made={"unknown": "1"})
    assert found(files(KNOWN), files(made)) == ()


def test_a_broken_specification_is_a_notice():
    broken = files(KNOWN) | {SPEC: b"rules: ["}
    change = Change(MemoryRevision(files(KNOWN)), MemoryRevision(broken))
    promises, (notice,) = promises_of_change(change)
    assert promises == ()
    assert notice.startswith(SPEC)


def test_no_more_than_fifty_are_read():
    many = {f"p/{n:02}.spec.yaml": write_specification(KNOWN).encode() for n in range(52)}
    change = Change(MemoryRevision({}), MemoryRevision(many))
    promises, (notice,) = promises_of_change(change)
    assert len(promises) == 50
    assert "did not compare the promises of 2 more specifications" in notice


@given(rules, rules)
def test_each_promise_is_unchanged_or_named_once(before, after):
    old, new = ([Rule(name, text) for name, text in each.items()] for each in (before, after))
    changed = compare_items(old, new)
    assert set(changed.added) <= set(after.values()) - set(before.values())
    assert set(changed.dropped) <= set(before.values()) - set(after.values())
    pairs = {(before[name], after[name]) for name in before.keys() & after.keys()}
    assert {(p.before, p.after) for p in changed.reworded} == {p for p in pairs if p[0] != p[1]}
    assert compare_items(old, old) == Promises()


@given(st.lists(texts, max_size=8), st.lists(texts, max_size=8))
def test_lines_that_are_not_changed_are_there_in_order(before, after):
    changed = changed_lines(before, after)
    kept = [line for number, line in enumerate(before, start=1) if number not in changed]
    assert not Counter(kept) - Counter(after)
    assert not changed_lines(before, before)
    assert not changed_lines(before, before[::-1])


def test_few_lines_of_texts_that_repeat_themselves_are_changed():
    draw = random.Random(1)  # noqa: S311
    before, after = ([draw.choice("ab") for _ in range(20_000)] for _ in range(2))
    assert len(changed_lines([*before, "c"], ["c", *after])) < 1_000


def test_a_specification_that_takes_too_long_to_read_is_named_and_the_others_are_compared():
    large = files(KNOWN)[SPEC] + b"# x\n" * 60_000
    other = "prompts/z.spec.yaml"
    change = Change(
        MemoryRevision(files(None)),
        MemoryRevision({**files(None), SPEC: large, other: files(KNOWN)[SPEC]}),
    )
    promises, notices = promises_of_change(change)
    assert [one.specification for one in promises] == [other]
    assert len(notices) == 1
    assert SPEC in notices[0]


def test_a_line_number_of_any_size_is_compared():
    huge = edited(files(KNOWN)[SPEC], b"lines: [2]", b"lines: [1" + b"0" * 400 + b"]")
    assert huge != files(KNOWN)[SPEC]
    assert found(files(KNOWN), {**files(KNOWN), SPEC: huge}) == ()
