"""A fixture that must pass holds up a change by itself; no report passes over one that broke."""

from __future__ import annotations

from typing import Any

import pytest
from support.edited_text import edited
from support.proposals import (
    CONTRACT,
    FIXTURES,
    MANY,
    NO_SLO,
    OTHER,
    PROMPT_FILE,
    all_say,
    answers,
    only_head_passes,
)
from support.recorded_repository import PROMPT, contract_files, csv

POLICY = ".github/gatekeeper.yml"


def must(fixtures: int = 1, words: tuple[str, ...] = MANY) -> str:
    rows = [f"{w},{w},{'TRUE' if i < fixtures else ''}\n" for i, w in enumerate(words)]
    return "id,word,must_pass\n" + "".join(rows)


def base(fixtures: str, samples: int = 1, contract: str = NO_SLO, **said: Any) -> dict[str, str]:
    """The first word has `said` under the new prompt, all others `ok`."""
    first = {MANY[0]: said.get("first", "no")}
    known = all_say(["ok"] * samples, PROMPT) | all_say(["ok"] * samples) | answers(OTHER, first)
    if "before" in said:
        known |= answers(PROMPT, {MANY[0]: said["before"]})
    text = contract + f"sampling: {{samples: {samples}}}\n"
    return contract_files(text, MANY, known) | {FIXTURES: fixtures}


def test_one_broken_fixture_that_must_pass_holds_up_the_change(run_gate: Any) -> None:
    answered = run_gate(base(must()), {PROMPT_FILE: OTHER})
    assert (answered.exit_code, answered.verdict) == (1, "fail")
    assert answered.reasons() == {"must_pass"}
    [found] = answered.result["contracts"][0]["must_pass"]
    assert (found["fixture"], found["base"], found["head"]) == (MANY[0], "1/1", "0/1")


def test_one_that_failed_before_does_not_hold_up_a_harmless_change(run_gate: Any) -> None:
    answered = run_gate(base(must(), before="no"), {PROMPT_FILE: OTHER})
    assert (answered.exit_code, answered.verdict) == (0, "pass")
    assert "also fail on base" in answered.text


SURELY, MAYBE = ["no"] * 10, ["ok"] * 9 + ["no"]
MOSTLY = ["ok"] * 3 + ["no"] * 7


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"first": SURELY}, ("fail", "broke")),
        ({"first": MAYBE}, ("pass", "kept")),
        # The recording shows that the answers differ, and has no fresh ones to confirm with.
        ({"first": MOSTLY}, ("error", "unknown")),
        ({"first": MOSTLY, "before": MOSTLY}, ("pass", "open")),
        ({"first": ["ok"] * 10}, ("pass", "kept")),
    ],
)
def test_some_failed_samples_are_compared_with_base(check_of, said, wanted) -> None:
    checked = check_of(base(must(), 10, **said), {PROMPT_FILE: OTHER})
    [found] = checked.contract["must_pass"]
    assert (checked.contract["verdict"], found["found"]) == wanted
    assert checked.code == {"fail": 1, "error": 3, "pass": 0}[wanted[0]]


def test_a_check_that_must_pass_holds_up_the_change(check_of) -> None:
    contract = edited(NO_SLO, "pattern: ok}", "pattern: ok, must_pass: true}")
    checked = check_of(base(csv(MANY), contract=contract), {PROMPT_FILE: OTHER})
    assert checked.code == 1
    assert [m["fixture"] for m in checked.contract["must_pass"] if m["found"] == "broke"] == [
        MANY[0]
    ]


LOOSER = {
    "the fixture's": (base(must()), {FIXTURES: must(0)}),
    "the check's": (
        base(csv(MANY), contract=NO_SLO.replace("ok}", "ok, must_pass: true}")),
        {CONTRACT: NO_SLO + "sampling: {samples: 1}\n"},
    ),
}


@pytest.mark.parametrize(("before", "head"), LOOSER.values(), ids=LOOSER)
def test_taking_it_away_is_a_weakening_and_the_base_contract_still_asks(check_of, before, head):
    checked = check_of(before, {PROMPT_FILE: OTHER} | head)
    assert checked.code == 1
    assert any("must_pass" in text for text in checked.contract["weakened"])
    fails = [r for r in checked.contract["reasons"] if r["verdict"] == "fail"]
    assert ("must_pass", "base") in {(r["code"], r["contract_from"]) for r in fails}


def test_a_removed_fixture_still_must_pass(check_of) -> None:
    checked = check_of(base(must()), {PROMPT_FILE: OTHER, FIXTURES: must(0, MANY[1:])})
    assert checked.code == 1
    assert checked.contract["under_base"]["must_pass"][0]["found"] == "broke"


def test_what_broke_is_named_beside_no_regression(check_of) -> None:
    checked = check_of(base(csv(MANY), 10, first=["no"] * 10), {PROMPT_FILE: OTHER})
    reasons = {r["code"]: r["text"] for r in checked.contract["reasons"]}
    assert (checked.code, checked.contract["paired"]["broke"]) == (0, 1)
    assert checked.contract["verdict"] == "inconclusive"
    assert "No regression found" not in "".join(reasons.values())
    assert reasons["broke"].startswith(f"1 fixture broke: `{MANY[0]}` passed ")
    assert MANY[0] in checked.comment.split("<details>")[0]
    assert "no contract got significantly worse" not in checked.comment


def test_a_contract_that_asks_it_of_a_warning_is_refused(check_of) -> None:
    contract = NO_SLO.replace("ok}", "ok, severity: warn, must_pass: true}")
    checked = check_of(base(csv(MANY)), {CONTRACT: contract})
    assert (checked.code, checked.result) == (2, None)


def test_nothing_is_lent_to_what_must_pass(check_of) -> None:
    """Fixtures that only the new prompt can pass do not make up for one that must."""
    head = {
        PROMPT_FILE: OTHER,
        CONTRACT: edited(NO_SLO, "words.csv", "new.jsonl"),
        "contracts/new.jsonl": only_head_passes(MANY),
    }
    checked = check_of(base(must()), head)
    assert checked.code == 1
    assert "must_pass" in checked.codes()
