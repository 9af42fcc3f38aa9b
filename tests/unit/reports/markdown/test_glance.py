"""What a failure shows without a click: the edit, and the fixture that says most."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import results as examples
from support.ticket_run import gate_result

from gatekeeper.gate.results.parts import (
    FixtureFailure,
    FixtureResult,
    MustPassResult,
    Tally,
)
from gatekeeper.gate.results.result import (
    ContractResult,
    GateResult,
    Reason,
    ReasonCode,
    SloResult,
    UnderBase,
)
from gatekeeper.reports.html import render_html
from gatekeeper.reports.markdown.comment import COMMENT_LIMIT, render_comment
from gatekeeper.reports.markdown.glance import at_a_glance


def _open_part(result: GateResult) -> str:
    return render_comment(result).replace("\u00a0", " ").partition("<details>")[0]


def _of(*fixtures: FixtureResult) -> ContractResult:
    return replace(examples.failing_contract(), fixtures=fixtures)


def _broken(name: str, after: str, **other: object) -> FixtureResult:
    made = replace(
        examples.fixture(0, "broke", head_output=after),
        id=name,
        base_output="NN",
        input="The quick brown fox jumps.",
        wanted="NN",
    )
    return replace(made, **other)  # type: ignore[arg-type]


def test_the_open_part_shows_the_edit_and_one_broken_fixture() -> None:
    shown = _open_part(examples.result(_of(_broken("nn-000", "a noun"))))
    assert "-- Never explain.\n+- Be friendly: answer in a full sentence." in shown
    for row in (
        "| **Input** | `The quick brown fox jumps.` |",
        "| **Answer before** | `NN` |",
        "| **Answer after** | `a noun` |",
        "| **Wanted** | `NN` |",
    ):
        assert row in shown
    assert "`nn-000` (5/5 → 1/5 pass), `is a tag` fails" in shown


def test_the_gate_itself_keeps_what_the_example_needs() -> None:
    result = gate_result(30, 1)
    found = at_a_glance(result)
    assert found
    assert found.edit
    assert tuple(map(str, found.edit.lines)) == (
        "-- Answer with nothing else.",
        "+- Be polite, and explain your choice in a short sentence.",
    )
    assert found.example
    rows = dict(found.example.rows)
    assert rows["Wanted"] in ("billing", "delivery", "account")
    assert "Please help!" in rows["Input"]
    assert rows["Answer before"] != rows["Answer after"]
    page = render_html(result)
    head = page.partition("<header")[2].partition("</header>")[0]
    assert "Be polite, and explain your choice" in head
    assert "Answer before" in head


def test_the_fixture_that_lost_most_and_is_short_is_chosen() -> None:
    little = _broken("little", "x", head=Tally(2, 5))
    long = _broken("long", "word " * 100)
    short = _broken("short", "a noun")
    proven = _broken("proven", "word " * 90, p_value=0.01)

    def chosen(*fixtures: FixtureResult) -> str:
        found = at_a_glance(examples.result(_of(*fixtures)))
        assert found
        assert found.example
        return found.example.fixture.id

    assert chosen(little, long, short) == "short"
    assert chosen(little, long) == "long"
    assert chosen(short, proven) == "proven"


def test_long_texts_are_cut_about_the_place_where_they_differ() -> None:
    same = "the same words again and again " * 30
    fixture = _broken("nn", f"{same}AFTER{same}", base_output=f"{same}BEFORE{same}")
    failure = FixtureFailure("head", "is a tag", "", f"{same}AFTER{same}")
    found = at_a_glance(examples.result(_of(replace(fixture, failures=(failure,)))))
    assert found
    assert found.example
    assert found.example.before
    assert found.example.after
    assert "BEFORE" in found.example.before
    assert "AFTER" in found.example.after
    assert max(len(found.example.before), len(found.example.after)) <= 280


def test_a_long_text_is_cut_between_two_words() -> None:
    words = " ".join(f"[doc-{n}] filler" for n in range(60))
    found = at_a_glance(examples.result(_of(_broken("nn", "a noun", input=words))))
    assert found
    assert found.example
    assert found.example.input
    shown = found.example.input
    assert shown.endswith("…")
    assert words.startswith(f"{shown[:-1]} ")
    assert 210 <= len(shown) <= 280


@pytest.mark.parametrize("tail", ["", " and more" * 3, " and more" * 90])
def test_a_cut_between_words_leaves_the_difference(tail: str) -> None:
    same = "the same words again and again " * 20
    fixture = _broken("nn", f"{same}AFTER{tail}", base_output=f"{same}BEFORE{tail}")
    failure = FixtureFailure("head", "is a tag", "", f"{same}AFTER{tail}")
    found = at_a_glance(examples.result(_of(replace(fixture, failures=(failure,)))))
    assert found
    assert found.example
    assert "BEFORE" in (found.example.before or "")
    assert "AFTER" in (found.example.after or "")
    assert max(len(text) for _, text in found.example.rows) <= 280


def test_of_a_new_contract_one_failing_fixture_is_shown() -> None:
    fixture = replace(_broken("nn", "a noun"), base=None, base_output=None, change=None)
    contract = replace(_of(fixture), base=None, paired=None)
    shown = _open_part(examples.result(contract))
    assert "Edited in the prompt" not in shown
    assert "| **Answer** | `a noun` |" in shown
    assert "Answer before" not in shown


def test_where_the_base_contract_decides_its_fixture_is_shown() -> None:
    contract = _of(_broken("of-head", "x"))
    assert contract.head
    before = UnderBase(
        contract.base, contract.head, contract.paired, (), (_broken("of-base", "y"),)
    )
    reason = replace(contract.reasons[0], contract_from="base")
    contract = replace(contract, reasons=(reason,), under_base=before)
    found = at_a_glance(examples.result(contract))
    assert found
    assert found.example
    assert found.example.fixture.id == "of-base"


def _because(code: ReasonCode, *fixtures: FixtureResult) -> ContractResult:
    return replace(_of(*fixtures), reasons=(Reason(code, "Found.", "fail"),))


def test_a_fixture_that_must_pass_is_shown_before_one_that_broke() -> None:
    other = FixtureFailure("head", "is a tag", "", "a noun")
    refund = FixtureFailure("head", "no refund", "", "take it")
    must = _broken("refund", "take it", head=Tally(3, 5), change="same", failures=(other, refund))
    found = MustPassResult("refund", "no refund", Tally(5, 5), Tally(0, 5), "broke")
    contract = _because("must_pass", _broken("short", "x", p_value=0.001), must)
    shown = at_a_glance(examples.result(replace(contract, must_pass=(found,))))
    assert shown
    assert shown.example
    assert (shown.example.fixture.id, shown.example.check) == ("refund", "no refund")
    assert shown.example.after == "take it"


def test_the_base_contracts_must_pass_is_shown_from_its_own_fixtures() -> None:
    contract = _because("must_pass", _broken("of-head", "x"))
    assert contract.head
    kept = _broken("kept", "z", p_value=0.001)
    must = MustPassResult("refund", None, Tally(5, 5), Tally(0, 5), "broke")
    fixtures = (kept, _broken("refund", "take it"))
    before = UnderBase(contract.base, contract.head, None, (), fixtures, must_pass=(must,))
    reason = replace(contract.reasons[0], contract_from="base")
    contract = replace(contract, reasons=(reason,), under_base=before)
    found = at_a_glance(examples.result(contract))
    assert found
    assert found.example
    assert found.example.fixture.id == "refund"


@pytest.mark.parametrize("code", ["resource_limit", "weakened", "budget", "policy_weakened"])
def test_what_is_not_about_answers_has_no_example(code: ReasonCode) -> None:
    same = _broken("same", "NN", base=Tally(0, 5), head=Tally(0, 5), change="same", failures=())
    found = at_a_glance(examples.result(_because(code, same)))
    assert found
    assert found.example is None


def test_what_failed_before_is_no_example_of_a_regression() -> None:
    same = _broken("same", "NN", base=Tally(0, 5), head=Tally(0, 5), change="same", failures=())
    found = at_a_glance(examples.result(_because("regression", same)))
    assert found
    assert found.example is None


def test_an_objective_is_shown_by_what_fails_and_the_same_answer_is_given_once() -> None:
    same = _broken("same", "NN", base=Tally(0, 5), head=Tally(0, 5), change="same", failures=())
    contract = _because("slo", same)
    slo = SloResult("success_rate", 0.9, 0.1, None, False)
    shown = _open_part(examples.result(replace(contract, slo=(slo,))))
    assert "**For example** `same` (0/5 pass, as before)" in shown
    assert "| **Answer** | `NN` |" in shown
    assert "Answer before" not in shown
    slow = replace(slo, objective="latency_p95_ms")
    assert "For example" not in _open_part(examples.result(replace(contract, slo=(slow,))))


@pytest.mark.parametrize("name", ["pass", "error", "quiet", "uncovered", "removed"])
def test_there_is_none_without_a_failure_to_show(name: str) -> None:
    assert at_a_glance(examples.EVERY[name]) is None


def test_a_small_limit_keeps_the_table_and_drops_the_example() -> None:
    fixture = _broken("nn", "a noun " * 60)
    shown = render_comment(examples.result(_of(fixture)), limit=1900)
    assert "**Answer after**" not in shown
    assert "| `speech-tag` |" in shown
    assert len(shown) <= 1900


@given(text=st.text(max_size=2000), other=st.text(max_size=2000))
def test_hostile_texts_stay_inside_their_cells(text: str, other: str) -> None:
    fixture = _broken("nn", text, base_output=other, input=text, wanted=other)
    failure = FixtureFailure("head", "is a tag", text, text)
    result = examples.result(_of(replace(fixture, failures=(failure,))))
    comment = render_comment(result)
    assert len(comment) <= COMMENT_LIMIT
    rows = [line for line in comment.split("\n") if line.startswith("| **")]
    assert len(rows) == 4
    assert all(row.count("|") == 3 for row in rows)
