"""A variable that is new in the prompt and in the fixtures: both arms run, or no call is paid."""

from __future__ import annotations

import json

import pytest
from support.edited_text import edited

WORDS = tuple(f"word{number}" for number in range(12))
CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/words.md
model: openai/gpt-4o-mini
params: {temperature: 0}
fixtures: [{file: words.jsonl}]
checks: [{type: equals, value: ok}]
sampling: {samples: 1, mode: fixed}
"""
PATH, PROMPT, FIXTURES = "contracts/words.yaml", "prompts/words.md", "contracts/words.jsonl"
SAY, TONE = "Say {{ word }}.\n", "Say {{ word }} in a {{ tone }} tone.\n"


def rows(*extra: str, each=lambda name, word: "kind", words=WORDS) -> str:
    made = [{"id": w, "vars": {"word": w} | {n: each(n, w) for n in extra}} for w in words]
    return "".join(json.dumps(row) + "\n" for row in made)


def files(prompt: str, fixtures: str) -> dict[str, str]:
    return {PATH: CONTRACT, PROMPT: prompt, FIXTURES: fixtures}


def answer(body):
    text = body["messages"][-1]["content"]
    return "no" if text.startswith("Worse") else "ok"


def own(name, word):
    return f"a tone for {word}"


BOTH_RUN = {
    "a new variable of one value": (SAY, rows(), TONE, rows("tone")),
    "with a default": (SAY, rows(), edited(TONE, "tone }}", "tone | default('calm') }}"), rows()),
    "with a default, values of their own": (
        SAY,
        rows(),
        edited(TONE, "tone }}", "tone | default('calm') }}"),
        rows("tone", each=own),
    ),
    "a variable that is gone": (TONE, rows("tone", each=own), SAY, rows()),
    "another one in its place": (
        TONE,
        rows("tone", each=own),
        "Say {{ word }} in {{ style }} style.\n",
        rows("style"),
    ),
    "a new variable and a new name": (
        SAY,
        rows(),
        "Say {{ term }} in a {{ tone }} tone.\n",
        edited(rows("tone"), '"word"', '"term"'),
    ),
    "a fixture more": (SAY, rows(), TONE, rows("tone", words=(*WORDS, "more"))),
}


# The value comes from head's fixtures alone, so it proves nothing about the program's own value.
LENT = {
    "a new variable of one value",
    "another one in its place",
    "a new variable and a new name",
    "a fixture more",
}


@pytest.mark.parametrize(
    ("way", "lent"),
    [(way, name in LENT) for name, way in BOTH_RUN.items()],
    ids=BOTH_RUN.keys(),
)
@pytest.mark.parametrize("worse", [False, True], ids=["harmless", "worse"])
def test_both_arms_run(run_gate, way, lent, worse):
    base_prompt, base_fixtures, prompt, fixtures = way
    head = {PROMPT: prompt.replace("Say", "Worse: say") if worse else prompt, FIXTURES: fixtures}
    answered = run_gate(files(base_prompt, base_fixtures), head, answer=answer)
    assert answered.exit_code == (1 if worse else 0)
    [contract] = answered.result["contracts"]
    assert contract["paired"]["fixtures"] >= 12
    verdicts = {reason["code"]: reason["verdict"] for reason in contract["reasons"]}
    assert "error" not in verdicts.values()
    assert verdicts.get("untested") == ("inconclusive" if lent else None)


NOT_ANSWERED = {
    "values of their own": (TONE, rows("tone", each=own)),
    "the answer in a variable": (TONE, rows("tone", each=lambda _, word: f"ok {word}")),
    "one fixture differs": (
        TONE,
        rows("tone", each=lambda _, w: "mild" if w == "word3" else "kind"),
    ),
    "two variables": (TONE + "{{ hint }}\n", rows("tone", "hint", each=own)),
}


@pytest.mark.parametrize(("prompt", "fixtures"), NOT_ANSWERED.values(), ids=NOT_ANSWERED.keys())
@pytest.mark.parametrize("worse", [False, True], ids=["harmless", "worse"])
def test_what_base_fixtures_cannot_answer_is_said_before_any_call(
    run_gate, prompt, fixtures, worse
):
    """Values of their own could tell the prompt what to answer to each fixture."""
    head = {PROMPT: prompt.replace("Say", "Worse: say") if worse else prompt, FIXTURES: fixtures}
    answered = run_gate(files(SAY, rows()), head, answer=answer)
    assert (answered.exit_code, answered.requests) == (3, ())
    [contract] = answered.result["contracts"]
    [reason] = contract["reasons"]
    assert (reason["code"], reason["verdict"]) == ("error", "error")
    assert "`tone`" in reason["text"]
    assert "default(" in reason["text"]


@pytest.mark.parametrize("base_fixtures", [rows("tone", each=own)], ids=["merged first"])
def test_the_advice_works(run_gate, base_fixtures):
    """The variable is merged with the fixtures first; then the prompt may use it."""
    answered = run_gate(files(SAY, base_fixtures), {PROMPT: TONE}, answer=answer)
    assert answered.exit_code == 0
    assert answered.result["contracts"][0]["paired"]["fixtures"] == 12


def test_fixtures_alone_may_get_the_variable_first(run_gate):
    answered = run_gate(files(SAY, rows()), {FIXTURES: rows("tone", each=own)}, answer=answer)
    assert answered.exit_code == 0
