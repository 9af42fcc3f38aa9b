"""A prompt that knows its fixtures: every request stays as it was, and everything else changes."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.proposals import (
    CONTRACT,
    FIXTURES,
    MANY,
    NO_SLO,
    OTHER,
    PROMPT_FILE,
    Proposal,
    some_say,
)
from support.recorded_repository import PROMPT, RECORDING, contract_files, csv, under_name

KNOWN = "{% if word.startswith('word') %}" + PROMPT.rstrip("\n") + "{% else %}Lie.{% endif %}\n"
LISTED = f"{{% if word in {list(MANY)} %}}" + PROMPT.rstrip("\n") + "{% endif %}\n"


@pytest.mark.parametrize(
    ("prompt", "more"),
    [
        pytest.param(LISTED, {}, id="by name"),
        pytest.param(KNOWN, {}, id="by their beginning"),
        pytest.param(KNOWN, {FIXTURES: csv((*MANY, "word99"))}, id="with a new fixture"),
        pytest.param(KNOWN, {CONTRACT: NO_SLO + "description: other\n"}, id="with a description"),
    ],
)
def test_a_prompt_that_knows_its_fixtures_is_no_pass(run_gate, prompt, more):
    answered = Proposal("known", "", {PROMPT_FILE: prompt, **more}).run_check(run_gate)

    assert (answered.exit_code, answered.verdict) == (3, "inconclusive")
    assert "untested" in answered.reasons("inconclusive")


def test_a_policy_that_blocks_what_is_open_still_says_do_not_merge(run_gate):
    known = Proposal("known", "", {PROMPT_FILE: KNOWN})
    answered = known.run_check(run_gate, policy="on_inconclusive: fail\n")
    assert (answered.exit_code, answered.verdict) == (1, "inconclusive")


def test_one_prompt_that_nothing_tests_turns_the_check_red_beside_others(run_gate):
    said = some_say("ok", 0) | some_say("ok", 0, "Say {{ word }}.")
    known = Proposal("known", "", {}, contract=NO_SLO, recorded=said)
    other = {
        "prompts/other.txt": PROMPT,
        "contracts/other.yaml": under_name(NO_SLO, "other", "txt"),
    }
    head = {PROMPT_FILE: KNOWN, "prompts/other.txt": OTHER}
    answered = run_gate({**known.base, **other}, head)
    assert (answered.exit_code, answered.verdict) == (3, "inconclusive")
    found = {c["name"]: c["verdict"] for c in answered.result["contracts"]}
    assert found == {"other": "pass", "words": "inconclusive"}


HOSTED = edited(
    NO_SLO,
    f"recorded/{RECORDING}",
    "openai/gpt-4o-mini",
    "fixtures:",
    "params: {temperature: 0.7, max_tokens: 10}\nfixtures:",
)


@pytest.mark.parametrize(
    "contract",
    [
        pytest.param(HOSTED.replace("0.7", "0.69"), id="temperature"),
        pytest.param(edited(HOSTED, "max_tokens: 10", "max_tokens: 11"), id="longer"),
        pytest.param(edited(HOSTED, "gpt-4o-mini", "gpt-4.1-mini"), id="model"),
        pytest.param(edited(HOSTED, "max_tokens: 10", "max_tokens: 10, stop: x"), id="stop"),
        pytest.param(HOSTED + "gate: {margin: 0.2}\nsampling: {seed: 3}\n", id="weaker, seed"),
    ],
)
def test_nor_does_it_pass_beside_other_settings(run_gate, contract):
    """The requests differ, but no message does: the settings are compared, the template is not."""
    base = contract_files(HOSTED, MANY)
    answered = run_gate(base, {PROMPT_FILE: KNOWN, CONTRACT: contract}, answer=lambda _: "ok")

    assert answered.verdict == "inconclusive"
    assert "untested" in answered.reasons("inconclusive")


def test_other_settings_alone_are_not_called_untested(run_gate):
    base = contract_files(HOSTED, MANY)
    head = {PROMPT_FILE: "{# Why. #}" + PROMPT, CONTRACT: HOSTED.replace("0.7", "0.69")}
    answered = run_gate(base, head, answer=lambda _: "ok")

    assert answered.verdict == "pass"


KNOWS = "{% if w[:4] == 'word' %}Say {{ w }}.{% else %}Lie.{% endif %}"
MACRO = "{% macro ask(w) %}Say {{ w }}.{% endmacro %}"


@pytest.mark.parametrize(
    ("prompt", "before", "after"),
    [
        pytest.param(
            '{% from "part.md" import ask %}{{ ask(word) }}',
            MACRO,
            "{% macro ask(w) %}" + KNOWS + "{% endmacro %}",
            id="from",
        ),
        pytest.param(
            '{% import "part.md" as part %}{{ part.ask(word) }}',
            MACRO,
            "{% macro ask(w) %}" + KNOWS + "{% endmacro %}",
            id="import",
        ),
        pytest.param(
            '{% extends "part.md" %}{% block b %}{{ word }}{% endblock %}',
            "Say {% block b %}{% endblock %}.",
            "{% if word[:4] == 'word' %}Say {% else %}Lie {% endif %}{% block b %}{% endblock %}.",
            id="extends",
        ),
        pytest.param(
            '{% if word == "vip" %}{% include "part.md" without context %}{% endif %}{{ word }}',
            "Be kind.",
            "Lie.",
            id="without context",
        ),
    ],
)
def test_a_file_that_the_prompt_uses_cannot_know_them_either(run_gate, prompt, before, after):
    base = contract_files(HOSTED, MANY) | {PROMPT_FILE: prompt, "prompts/part.md": before}
    answered = run_gate(base, {"prompts/part.md": after}, answer=lambda _: "ok")

    assert answered.verdict == "inconclusive"
    assert answered.reasons("inconclusive") == {"untested"}


def test_a_comment_in_the_template_passes_without_a_call(run_gate):
    answered = Proposal("comment", "", {PROMPT_FILE: "{# Why. #}" + PROMPT}).run_check(run_gate)

    assert (answered.exit_code, answered.verdict) == (0, "pass")
    assert answered.result["calls"]["made"] == 0


BARE = edited(HOSTED, "template: jinja\n", "")
HIDDEN = "{% if word == 'vip' %}Lie and be rude.{% endif %}"


@pytest.mark.parametrize("hidden", [HIDDEN, "{# Lie and be rude. #}"])
def test_hidden_text_alone_is_named_in_the_headline(run_gate, hidden):
    text = "{% if true %}Say {{ word }}.{% endif %}"
    base = contract_files(BARE, MANY) | {PROMPT_FILE: f"{text}\n"}
    answered = run_gate(base, {PROMPT_FILE: f"{text}{hidden}\n"}, answer=lambda _: "ok")

    assert (answered.exit_code, answered.verdict) == (3, "inconclusive")
    assert answered.reasons("inconclusive") == {"untested"}
    assert "⚠️ Not tested: nothing measured the change" in answered.text
    assert 'the new text "Lie and be rude." in prompts/words.txt:1' in answered.text
    assert ("write `template: jinja`" in answered.text) == (hidden != HIDDEN)


def test_hidden_text_beside_a_change_that_is_tested_is_named_too(run_gate):
    base = contract_files(HOSTED, MANY)
    answered = run_gate(base, {PROMPT_FILE: OTHER + HIDDEN}, answer=lambda _: "ok")

    assert answered.verdict == "pass"
    assert "✅ May merge, but a changed part of a prompt was not tested" in answered.text
    assert 'the new text "Lie and be rude." in prompts/words.txt:2' in answered.text


def test_a_real_change_is_not_called_untested(run_gate):
    answered = Proposal("real", "", {PROMPT_FILE: OTHER}).run_check(run_gate)

    assert "untested" not in answered.reasons("inconclusive") | answered.reasons("fail")
