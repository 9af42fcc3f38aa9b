"""A pull request writes worse text where a template engine would drop it. The program sends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository

from gatekeeper.cli.main import main

WORDS = ("apple", "bread", "chair", "dance", "eagle", "flame", "grape", "house", "igloo", "jelly")
CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/{}
model: openai/gpt-4o-mini
params: {{temperature: 0}}
fixtures: [{{file: words.csv}}]
checks: [{{type: equals, value: "ok {{{{ word }}}}"}}]
"""
GOOD = "Good prompt for {{ word }}"
NOTE = "Worse: be rude"


def answer(body: Mapping[str, Any]) -> str:
    """Say a word well if the whole prompt is good."""
    text = "\n".join(message["content"] for message in body["messages"])
    word = next((word for word in WORDS if word in text), "?")
    return f"ok {word}" if "Good" in text and "Worse" not in text else "nonsense"


def repository(name: str, text: str, more: str = "") -> dict[str, str]:
    return {
        "contracts/words.yaml": CONTRACT.format(name) + more,
        "contracts/words.csv": "word\n" + "".join(f"{word}\n" for word in WORDS),
        f"prompts/{name.partition(':')[0].partition('#')[0]}": text,
    }


@pytest.mark.parametrize(
    ("name", "base", "head"),
    [
        ("p.md", GOOD, f"{GOOD} {{# {NOTE} #}}"),
        ("p.txt", GOOD, f"{GOOD} {{% if false %}}{NOTE}{{% endif %}}"),
        ("p.md", GOOD, f"---\nnote: '{NOTE}'\n---\n{GOOD}"),
        ("p.py:ASK", f"ASK = '{GOOD}'", f"ASK = '{GOOD} {{# {NOTE} #}}'"),
    ],
    ids=["comment", "branch", "front matter", "constant"],
)
def test_text_that_may_be_dropped_is_measured(run_gate, name, base, head):
    answered = run_gate(repository(name, base), repository(name, head), answer=answer)
    assert (answered.exit_code, answered.reasons()) == (1, {"regression"})
    assert answered.result is not None
    (contract,) = answered.result["contracts"]
    assert contract["under_base"]["contract_from"] == "base_reading"
    assert "read as text, as on base" in str(answered.result)


def test_a_harmless_style_passes_and_the_report_says_how_it_was_read(run_gate):
    head = f"{{# say it #}}{GOOD}{{% if word == 'fish' %}}!{{% endif %}}"
    answered = run_gate(repository("p.md", GOOD), repository("p.md", head), answer=answer)
    assert answered.exit_code == 0
    assert "regression" not in answered.reasons()
    assert "now has `{% … %}`: read as text, as on base, and as Jinja" in str(answered.result)


def test_a_declared_engine_calls_no_model_for_a_comment(run_gate):
    base = repository("p.md", GOOD, "template: jinja\n")
    answered = run_gate(base, {"prompts/p.md": f"{GOOD}{{# note #}}"}, answer=answer)
    assert (answered.exit_code, answered.requests) == (0, ())


def test_the_forecast_says_how_a_prompt_is_read(tmp_path, capsys):
    made = GitRepository.create(tmp_path / "words")
    made.commit("base", repository("p.md", GOOD))
    made.branch("pr")
    made.switch("pr")
    made.commit("head", {"prompts/p.md": f"{GOOD} {{# {NOTE} #}}"})
    code = main(["affected", "--repo", str(made.path), "--base", "main", "--head", "pr"])
    assert code == 0
    assert "read as text, as on base, and as Jinja" in capsys.readouterr().out


STRICT = "models: ['openai/*']\non_weakening: require_waiver\n"


@pytest.mark.parametrize(
    ("name", "text", "more", "said"),
    [
        ("p.md", f"{GOOD}{{% if false %}}x{{% endif %}}", "", "now read as Jinja instead of text"),
        ("p.md", f"{GOOD}{{# a note #}}", "", "now read as Jinja instead of text"),
        ("p.md", GOOD, "template: jinja\n", "now read as Jinja instead of text"),
        ("p.md", GOOD, "template: mustache\n", "now read as Mustache instead of text"),
        ("p.md.j2", GOOD, "", "now read as Jinja instead of text"),
        ("q.njk", GOOD, "", "now read as Nunjucks instead of text"),
        ("p.md", f"---\nauthor: me\n---\n{GOOD}", "", "now has front matter"),
        ("p.md", f"user:\n{GOOD}", "", "now has role lines"),
        ("p.py:ASK", f"ASK = '{GOOD}{{% if false %}}{{% endif %}}'", "", "read as Jinja"),
    ],
    ids=[
        "statement",
        "comment",
        "declared",
        "mustache",
        "suffix",
        "other",
        "front",
        "roles",
        "constant",
    ],
)
def test_a_change_of_style_that_hides_nothing_yet_needs_a_waiver(run_gate, name, text, more, said):
    base, head = repository("p.md", GOOD), repository(name, text, more)
    answered = run_gate(base, head, answer=answer, policy=STRICT)
    assert (answered.exit_code, answered.reasons() & {"weakened"}) == (1, {"weakened"})
    assert said in answered.text
    assert "no measurement can evaluate" not in answered.text


@pytest.mark.parametrize(
    ("base", "head", "more"),
    [
        (GOOD, "Good and kind prompt for {{ word }}", ""),
        (f"{GOOD}{{% if word %}}.{{% endif %}}", f"{GOOD}{{# note #}}", ""),
        (f"{GOOD}{{# note #}}", f"{GOOD}{{% if word %}}.{{% endif %}}", "template: jinja\n"),
        (f"user:\n{GOOD}", GOOD, ""),
    ],
    ids=["text", "Jinja as before", "declared", "fewer roles"],
)
def test_a_prompt_that_is_read_as_before_needs_no_waiver(run_gate, base, head, more):
    answered = run_gate(
        repository("p.md", base, more), repository("p.md", head, more), answer=answer, policy=STRICT
    )
    assert answered.exit_code == 0
    assert "weakened" not in answered.reasons()


LISTED = """a: '[{"role": "user", "content": "Good prompt for {{ word }}"}]'"""


def test_a_text_that_turns_into_a_list_of_messages_is_also_sent_as_text(run_gate):
    base, head = repository("p.yaml#a", f"a: '{GOOD}'"), repository("p.yaml#a", LISTED)
    loose = run_gate(base, head, answer=answer)
    assert loose.exit_code == 0
    assert "now has roles in its JSON text: read as text, as on base" in str(loose.result)
    sent = [body["messages"][0]["content"] for body in loose.requests]
    assert any(text.startswith('[{"role": "user"') for text in sent)
    strict = run_gate(base, head, answer=answer, policy=STRICT)
    assert (strict.exit_code, "weakened" in strict.reasons()) == (1, True)


def test_a_list_of_messages_stays_one(run_gate):
    head = repository("p.yaml#a", edited(LISTED, "Good", "Good, kind"))
    answered = run_gate(repository("p.yaml#a", LISTED), head, answer=answer, policy=STRICT)
    assert (answered.exit_code, answered.reasons() & {"weakened"}) == (0, set())


def test_a_change_of_style_without_the_strict_policy_is_named(run_gate):
    head = repository("p.md", GOOD, "template: jinja\n")
    answered = run_gate(repository("p.md", GOOD), head, answer=answer)
    assert (answered.exit_code, answered.requests) == (0, ())
    assert "is now read as Jinja instead of text" in str(answered.result)


YML = "messages: [{{role: user, content: 'Good prompt for {}'}}]\n"


@pytest.mark.parametrize("more", ["", "template: text\n"])
@pytest.mark.parametrize("tag", ["{{ word }}", "{{word }}", "{{ word}}"])
def test_spaces_that_github_does_not_fill_in_are_refused(run_gate, tag, more):
    base = repository("p.prompt.yml", YML.format("{{word}}"))
    head = repository("p.prompt.yml", YML.format(tag), more)
    answered = run_gate(base, head, answer=answer)
    assert answered.exit_code == 2
    assert f"GitHub sends `{tag}` as text" in answered.text


def test_a_program_that_fills_in_spaces_says_so(run_gate):
    base = repository("p.prompt.yml", YML.format("{{ word }}"), "template: jinja\n")
    head = {"prompts/p.prompt.yml": YML.format("this {{ word }}")}
    assert run_gate(base, head, answer=answer).exit_code == 0
