"""Variables under other names: a name must not carry the answer, and a renaming must not fail."""

from __future__ import annotations

import json

import pytest
from support.edited_text import edited
from support.proposals import CONTRACT, FIXTURES, MANY, NO_SLO, PROMPT_FILE, Proposal, rows
from support.recorded_repository import PROMPT

JSONL = "contracts/rows.jsonl"
OTHER_FILE = {CONTRACT: edited(NO_SLO, "words.csv", "rows.jsonl"), FIXTURES: None}
STRICT = "on_inconclusive: fail\n"
INSIDE = edited(PROMPT, "{{ word }}", "{{ %s }}").rstrip("\n")
BY_NAME = "".join(
    [
        "{% if even is defined %}" + INSIDE % "even",
        "{% elif odd is defined %}" + INSIDE % "odd",
        "{% else %}Lie about {{ term }}.{% endif %}\n",
    ]
)
BY_ORDER = "{% if (term | list)[0] == 'a' %}" + INSIDE % "term.word" + "{% else %}Lie.{% endif %}\n"


def lines(variables) -> str:
    return "".join(
        json.dumps({"id": word, "vars": variables(number, word)}) + "\n"
        for number, word in enumerate(MANY)
    )


def test_a_name_of_its_own_for_each_class_of_fixtures_is_not_lent(run_gate):
    head = {PROMPT_FILE: BY_NAME, **OTHER_FILE}
    head[JSONL] = lines(lambda number, word: {"odd" if number % 2 else "even": word})
    answered = Proposal("by name", "", head).run_check(run_gate)
    assert answered.exit_code != 0
    assert answered.verdict in {"fail", "error"}


def test_the_order_of_keys_in_heads_values_is_not_lent(run_gate):
    before = {
        CONTRACT: OTHER_FILE[CONTRACT],
        FIXTURES: None,
        JSONL: lines(lambda _, word: {"it": {"b": "x", "a": "y", "word": word}}),
        PROMPT_FILE: INSIDE % "it.word",
    }
    head = {
        PROMPT_FILE: BY_ORDER,
        JSONL: lines(lambda _, w: {"term": {"a": "y", "b": "x", "word": w}}),
    }
    answered = Proposal("by order", "", head, before=before).run_check(run_gate)

    assert answered.verdict != "pass"


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(
            {
                PROMPT_FILE: edited(PROMPT, "word", "term"),
                FIXTURES: rows(lambda _, word: word, lambda _, word: word, "id,term"),
            },
            id="a variable under another name",
        ),
        pytest.param(
            {PROMPT_FILE: "{% include 'body.txt' %}", "prompts/body.txt": PROMPT},
            id="the text in an include",
        ),
    ],
)
def test_what_only_moves_or_is_renamed_passes_under_the_strictest_policy(run_gate, changed):
    answered = Proposal("honest", "", changed).run_check(run_gate, policy=STRICT)

    assert (answered.exit_code, answered.verdict) == (0, "pass")
