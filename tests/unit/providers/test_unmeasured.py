"""Answers of recordings that a change brings."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.change import Entry, MemoryRevision
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Outcome, Request, Sample, Trial
from gatekeeper.providers.recorded import unmeasured_notices

PATH = "past.jsonl"


def line(text: str, repetition: int = 0, answer: str | None = "ok") -> str:
    digest = request_digest(Request("m", (Message("user", text),), {}, None, 0))
    row = {"request": digest, "repetition": repetition, "model": "m", "output_raw": answer}
    return json.dumps(row | {"error": None if answer else "lost"}) + "\n"


def revision(**files: str) -> MemoryRevision:
    return MemoryRevision({f"{name}.jsonl": text.encode() for name, text in files.items()})


def outcome(
    text: str, repetition: int = 0, model: str = f"recorded/{PATH}", *, answered: bool = True
) -> Outcome:
    request = Request(model, (Message("user", text),), {}, 1, repetition)
    completion = Completion("ok", replayed=True) if answered else None
    return Outcome(Sample(Trial("c", text, "head", repetition, request), completion))


def test_answers_that_head_adds_are_counted():
    base, head = revision(past=line("a")), revision(past=line("a") + line("b") + line("c"))
    found = unmeasured_notices([outcome("a"), outcome("b"), outcome("c"), outcome("c")], base, head)
    (notice,) = found
    assert "2 answers" in notice
    assert PATH in notice


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (revision(past=line("a")), revision(past=line("a"))),
        # the file moved, with the same bytes
        (revision(old=line("a")), revision(past=line("a"))),
        # what is added decides nothing
        (revision(past=line("a")), revision(past=line("a") + line("b"))),
        # base's answer stands, whatever head writes
        (revision(past=line("a")), revision(past=line("a", answer="better"))),
        # head takes its recording away
        (revision(past=line("a")), revision()),
    ],
)
def test_answers_of_base_are_measured(base, head):
    assert unmeasured_notices([outcome("a")], base, head) == []


def test_an_answer_where_base_recorded_a_failure_is_head_s():
    base, head = revision(past=line("a", answer=None)), revision(past=line("a"))
    (notice,) = unmeasured_notices([outcome("a")], base, head)
    assert "1 answer " in notice


def test_what_no_recording_answered_is_not_counted():
    base, head = revision(), revision(past=line("a"))
    asked = [outcome("a", model="openai/m"), outcome("a", answered=False)]
    assert unmeasured_notices(asked, base, head) == []


def test_each_recording_is_named():
    head = revision(past=line("a"), more=line("a"))
    asked = [outcome("a"), outcome("a", model="recorded/more.jsonl")]
    found = unmeasured_notices(asked, revision(), head)
    assert ["more.jsonl" in found[0], PATH in found[1]] == [True, True]


def test_a_link_at_base_has_recorded_nothing():
    class Linked(MemoryRevision):
        entries = {PATH: Entry("1", "symlink")}  # type: ignore[assignment]  # noqa: RUF012

    (notice,) = unmeasured_notices([outcome("a")], Linked({}), revision(past=line("a")))
    assert PATH in notice


@given(st.sets(st.tuples(st.sampled_from("abc"), st.integers(0, 2))), st.data())
def test_exactly_what_base_does_not_have_is_counted(asked, data):
    known = data.draw(st.sets(st.sampled_from(sorted(asked)))) if asked else set()
    text = "".join(line(*key) for key in sorted(known))
    base, head = revision(past=text), revision(past=text + "".join(line(*k) for k in asked) + "\n")
    found = unmeasured_notices([outcome(*key) for key in asked], base, head)
    count = len(asked - known)
    assert len(found) == (count > 0)
    assert all(f"{count} answer" in notice for notice in found)
