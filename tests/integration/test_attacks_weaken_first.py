"""Weaken first, break after: a contract that asks less of the pull request that comes next."""

from __future__ import annotations

import json

import pytest
from support.edited_text import edited
from support.proposals import (
    CONTRACT,
    FIXTURES,
    MANY,
    NO_SLO,
    OTHER,
    POLICY,
    PROMPT_FILE,
    all_say,
    some_say,
)
from support.recorded_repository import contract_files, csv

STRICT = "on_weakening: require_waiver\n"
MORE = "contracts/new.jsonl"
TWO = edited(NO_SLO, "  - file: words.csv\n", "  - file: words.csv\n  - file: new.jsonl\n")
BASE = contract_files(NO_SLO, MANY, all_say("ok") | some_say("no", 20))


def rows(cluster: str, **more: str) -> str:
    """New fixtures that repeat the inputs of the old ones and share a cluster."""
    return "".join(
        json.dumps({"id": f"n-{word}", "vars": {"word": word, **more}, "cluster": cluster}) + "\n"
        for word in MANY
    )


@pytest.mark.parametrize(
    "added",
    [
        pytest.param(rows("all", note="1"), id="a variable that no prompt uses"),
        pytest.param(rows("all"), id="the same variables"),
        pytest.param(rows("all", a="1") + rows("all", b="2").replace("n-", "m-"), id="twice"),
    ],
)
def test_new_fixtures_cannot_join_the_old_ones_unnoticed(run_gate, added):
    answered = run_gate(BASE, {MORE: added, CONTRACT: TWO}, policy=STRICT)

    assert (answered.exit_code, answered.verdict) == (1, "fail")
    assert answered.reasons() == {"weakened"}
    assert "count as one case instead of 40" in answered.text


def test_new_fixtures_with_clusters_of_their_own_weaken_nothing(run_gate):
    others = edited(rows("all", note="1"), '"word": "', '"word": "other ')
    base = BASE | contract_files(
        NO_SLO, (*MANY, *(f"other {word}" for word in MANY)), some_say("no", 20)
    )
    base[FIXTURES] = csv(MANY)
    answered = run_gate(base, {MORE: others, CONTRACT: TWO}, policy=STRICT)

    assert answered.exit_code == 0
    assert answered.reasons() == set()


SAYS = "  - {type: regex, pattern: ok}\n"
NEVER = """  - {type: equals, value: "{{ 'ok' if word == 'word0' else 'never' }}"}\n"""


@pytest.mark.parametrize(
    ("contract", "blind"),
    [
        pytest.param(NO_SLO.replace(SAYS, SAYS + NEVER), 39, id="another check"),
        pytest.param(NO_SLO.replace(SAYS, SAYS + "  - {type: length, max: 1}\n"), 40, id="a limit"),
        pytest.param(
            NO_SLO.replace(SAYS, SAYS + "  - {type: not_contains, value: ok}\n"), 40, id="opposite"
        ),
    ],
)
def test_a_check_that_nothing_passes_needs_a_waiver(run_gate, contract, blind):
    answered = run_gate(BASE, {CONTRACT: contract}, policy=STRICT)

    assert (answered.exit_code, answered.verdict) == (1, "fail")
    assert "weakened" in answered.reasons()
    assert f"{blind} fixtures can no longer show a regression" in answered.text


def test_without_that_policy_it_is_named(check_of):
    added = {CONTRACT: NO_SLO.replace(SAYS, SAYS + NEVER)}
    checked = check_of(BASE, added)

    [contract] = checked.result["contracts"]
    assert checked.code == 0
    assert any("39 fixtures can no longer" in text for text in contract["weakened"])


def test_a_check_that_the_answers_pass_needs_none(check_of):
    stricter = NO_SLO.replace(SAYS, SAYS + "  - {type: equals, value: ok}\n")
    checked = check_of(BASE | {POLICY: STRICT}, {CONTRACT: stricter})

    [contract] = checked.result["contracts"]
    assert (checked.code, contract["weakened"]) == (0, [])


def test_nor_does_a_check_that_the_new_prompt_meets(check_of):
    base = contract_files(NO_SLO, MANY, all_say("okay"))
    stricter = NO_SLO.replace(SAYS, SAYS + "  - {type: equals, value: okay}\n")
    checked = check_of(base | {POLICY: STRICT}, {CONTRACT: stricter, PROMPT_FILE: OTHER})

    [contract] = checked.result["contracts"]
    assert (checked.code, contract["weakened"]) == (0, [])
