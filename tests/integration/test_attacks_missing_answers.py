"""Answers that are empty, cut off or refused: they pass every check that only forbids something."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from support.openai_server import Reply
from support.pull_request import CONTRACT, FEW, HARMLESS, PROMPT, files
from support.ways_in import Answered, RunGate

FILES = files(FEW)
CONTRACT_FILE = "contracts/sentiment.yaml"
BEFORE_CHECKS, _, SAMPLING = CONTRACT.partition('  - {type: equals, value: "{{ expected }}"}\n')
assert SAMPLING


def contract(*checks: str) -> dict[str, str]:
    lines = "".join(f"  - {check}\n" for check in checks)
    return {**FILES, CONTRACT_FILE: f"{BEFORE_CHECKS}{lines}{SAMPLING}"}


NEGATIVE = contract("{type: not_contains, value: password}")
MISSING = {
    "null, length": Reply(None, finish_reason="length"),
    "empty, stop": Reply("", finish_reason="stop"),
    "white space": Reply(" \n\t", finish_reason="stop"),
    "invisible": Reply("\u200b\ufeff", finish_reason="stop"),
    "cut off": Reply("I would sa", finish_reason="length"),
    "filtered": Reply("", finish_reason="content_filter"),
    "filtered after a word": Reply("I", finish_reason="content_filter"),
    "refused": Reply(None, finish_reason="stop", refusal="I cannot help with that."),
    "a call of nothing": Reply(None, finish_reason="tool_calls"),
    "longer than the context": Reply("I would sa", finish_reason="model_length"),
    "thoughts alone": Reply("<think>It is fine.</think>\n", finish_reason="stop"),
    "refused in English": Reply("I'm sorry, but I can't help with that.", finish_reason="stop"),
}


def model(
    head: Reply, base: Reply | str = "It is fine.", at: str = ""
) -> Callable[[Mapping[str, Any]], Any]:
    """A model that answers head's prompt with `head` where it has the text `at`, else as at
    base."""

    def answers(body: Mapping[str, Any]) -> Any:
        text = body["messages"][-1]["content"]
        return head if HARMLESS[:20] in text and at in text else base

    return answers


def missing(found: Answered) -> Any:
    assert found.result is not None
    return found.result["contracts"][0]["missing_answers"]


@pytest.mark.parametrize("reply", MISSING.values(), ids=MISSING)
def test_answers_that_went_missing_fail(run_gate: RunGate, reply: Reply) -> None:
    found = run_gate(NEGATIVE, {PROMPT: HARMLESS}, answer=model(reply))
    assert (found.exit_code, found.reasons()) == (1, {"missing_answers"})
    assert sum(missing(found)["head"]["ways"].values()) == FEW
    assert missing(found)["base"] == {"answered": FEW, "ways": {}}
    comment = (found.out / "comment.md").read_text("utf-8")
    (way,) = missing(found)["head"]["ways"]
    assert f"{FEW} of {FEW} answers on head are {way}, and 0 of {FEW} on base" in comment


@pytest.mark.parametrize("fixtures", [1, 2, 5])
def test_a_few_fixtures_are_enough_if_every_answer_went_missing(
    run_gate: RunGate, fixtures: int
) -> None:
    rows = FILES["contracts/sentiment.fixtures.jsonl"].splitlines(keepends=True)
    base = {**NEGATIVE, "contracts/sentiment.fixtures.jsonl": "".join(rows[:fixtures])}
    found = run_gate(base, {PROMPT: HARMLESS}, answer=model(MISSING["empty, stop"]))
    assert found.exit_code == 1
    assert "missing_answers" in found.reasons()


@pytest.mark.parametrize("reply", MISSING.values(), ids=MISSING)
def test_what_is_missing_on_both_arms_changes_nothing(run_gate: RunGate, reply: Reply) -> None:
    found = run_gate(NEGATIVE, {PROMPT: HARMLESS}, answer=model(reply, base=reply))
    assert (found.exit_code, found.verdict) == (0, "pass")
    assert missing(found)["base"] == missing(found)["head"]
    assert found.result is not None
    assert found.result["contracts"][0]["warnings"] == []


def test_one_missing_answer_of_a_few_can_be_chance_but_is_said(run_gate: RunGate) -> None:
    answers = model(MISSING["cut off"], at="item 3.")
    found = run_gate(NEGATIVE, {PROMPT: HARMLESS}, answer=answers)
    assert (found.exit_code, found.verdict) == (0, "inconclusive")
    assert found.reasons("inconclusive") == {"missing_answers"}
    comment = (found.out / "comment.md").read_text("utf-8")
    assert f"1 of {FEW} answers on head is cut off" in comment


def test_a_missing_answer_within_the_margin_is_said_in_the_headline(run_gate: RunGate) -> None:
    base = {**NEGATIVE, **{k: v for k, v in files(24).items() if k.endswith(".jsonl")}}
    answers = model(MISSING["empty, stop"], at="item 3.")
    found = run_gate(base, {PROMPT: HARMLESS}, answer=answers)
    assert (found.exit_code, found.verdict) == (0, "pass")
    said = "1 of 24 answers on head is empty, and 0 of 24 on base."
    comment = (found.out / "comment.md").read_text("utf-8")
    assert said in comment.split("\n\n")[1]
    assert found.result is not None
    assert found.result["contracts"][0]["warnings"] == [said]


@pytest.mark.parametrize("way", ["empty, stop", "thoughts alone"])
def test_answers_that_are_cut_off_on_base_do_not_excuse_lost_ones(
    run_gate: RunGate, way: str
) -> None:
    answers = model(MISSING[way], base=MISSING["cut off"])
    found = run_gate(NEGATIVE, {PROMPT: HARMLESS}, answer=answers)
    assert (found.exit_code, found.reasons()) == (1, {"missing_answers"})
    comment = (found.out / "comment.md").read_text("utf-8")
    assert f"and {FEW} of {FEW} on base ({FEW} cut off)" in comment


ASKS_FOR_NOTHING = (
    "{type: equals, value: ''}",
    "{type: length, max: 0}",
    "{type: regex, pattern: '^$'}",
    "{type: enum, values: ['', none]}",
)


@pytest.mark.parametrize("check", ASKS_FOR_NOTHING)
def test_a_contract_that_asks_for_no_answer_gets_none(run_gate: RunGate, check: str) -> None:
    """Base answered where it should not, and head no longer does."""
    found = run_gate(contract(check), {PROMPT: HARMLESS}, answer=model(MISSING["empty, stop"]))
    assert (found.exit_code, found.reasons(), missing(found)) == (0, set(), None)


@pytest.mark.parametrize(
    ("check", "text"),
    [
        ("{type: equals, value: positive}", "positive"),
        ("{type: enum, values: [positive, negative]}", "positive"),
        ("{type: json_valid}", json.dumps({"label": "positive"})),
    ],
)
def test_a_label_that_ends_at_the_limit_is_whole(run_gate: RunGate, check: str, text: str) -> None:
    cut = Reply(text, finish_reason="length")
    found = run_gate(contract(check), {PROMPT: HARMLESS}, answer=model(cut, base=text))
    assert (found.exit_code, found.verdict, missing(found)) == (0, "pass", None)


def test_a_check_of_the_beginning_does_not_see_that_an_answer_is_cut(run_gate: RunGate) -> None:
    base = contract("{type: starts_with, value: It}")
    found = run_gate(base, {PROMPT: HARMLESS}, answer=model(Reply("It", finish_reason="length")))
    assert (found.exit_code, found.reasons()) == (1, {"missing_answers"})


def test_an_answer_of_nothing_but_thoughts_is_empty(run_gate: RunGate) -> None:
    negative = NEGATIVE[CONTRACT_FILE] + "repair: {steps: [strip_thoughts]}\n"
    thoughts = Reply("<think>All is said here.</think>\n", finish_reason="stop")
    base = {**NEGATIVE, CONTRACT_FILE: negative}
    found = run_gate(base, {PROMPT: HARMLESS}, answer=model(thoughts))
    assert (found.exit_code, found.reasons()) == (1, {"missing_answers"})


def test_a_conversation_with_a_silent_turn_misses_an_answer(run_gate: RunGate) -> None:
    """The last answer is there, and an earlier one is not."""
    before, _, after = NEGATIVE[CONTRACT_FILE].partition("  - file: sentiment.fixtures.jsonl\n")
    assert after
    talks = "".join(
        f"  - {{id: talk-{n}, vars: {{review: I love item {n}.}}, turns: [And now?]}}\n"
        for n in range(FEW)
    )

    def answers(body: Mapping[str, Any]) -> Any:
        messages = body["messages"]
        silent = HARMLESS[:20] in messages[0]["content"] and len(messages) == 1
        return MISSING["empty, stop"] if silent else "It is fine."

    base = {**NEGATIVE, CONTRACT_FILE: f"{before}{talks}{after}"}
    found = run_gate(base, {PROMPT: HARMLESS}, answer=answers)
    assert (found.exit_code, found.reasons()) == (1, {"missing_answers"})


def test_head_cannot_ask_for_no_answer(run_gate: RunGate) -> None:
    change = {
        PROMPT: HARMLESS,
        CONTRACT_FILE: contract("{type: length, max: 0}")[CONTRACT_FILE],
    }
    found = run_gate(NEGATIVE, change, answer=model(MISSING["empty, stop"]))
    assert found.exit_code == 1
    assert "missing_answers" in found.reasons()
