"""Head sets a model or parameter twice and leaves the old value where only the gate looks."""

from __future__ import annotations

import pytest
from support.proposals import MANY
from support.recorded_repository import csv

BODY = "user:\nSay {{ word }}.\n"
MESSAGES = "messages:\n  - {role: user, content: 'Say {{word}}.'}\nmodel: openai/gpt-4o-mini\n"
GOOD = "{temperature: 0, max_tokens: 10}"
BAD = "{temperature: 2, max_tokens: 1}"


def prompty(model: str, more: str = "") -> str:
    return f"---\nmodel: {{{model}}}\n{more}---\n{BODY}"


ID = "id: openai/gpt-4o-mini"
CASES = {
    "top-level params": (
        "words.prompty",
        prompty(f"{ID}, parameters: {GOOD}"),
        prompty(f"{ID}, parameters: {BAD}", f"params: {GOOD}\n"),
    ),
    "options": (
        "words.prompty",
        prompty(f"{ID}, parameters: {GOOD}"),
        prompty(f"{ID}, parameters: {BAD}, options: {GOOD}"),
    ),
    "GitHub's": (
        "words.prompt.yml",
        f"{MESSAGES}modelParameters: {GOOD}\n",
        f"{MESSAGES}modelParameters: {BAD}\nparams: {GOOD}\n",
    ),
    "two spellings": (
        "words.prompt.yml",
        f"{MESSAGES}modelParameters: {{maxTokens: 10}}\n",
        f"{MESSAGES}modelParameters: {{maxTokens: 1, max_tokens: 10}}\n",
    ),
    "two models": (
        "words.prompty",
        prompty("configuration: {name: openai/gpt-4o-mini}"),
        prompty(f"{ID}, configuration: {{name: openai/gpt-3.5-turbo}}"),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_setting_with_two_values_is_refused(run_gate, case):
    name, before, now = case
    contract = (
        f"contract: 1\nname: words\nprompt: ../prompts/{name}\nfixtures: [{{file: words.csv}}]\n"
        "checks: [{type: regex, pattern: ok}]\n"
    )
    base = {
        "contracts/words.yaml": contract,
        "contracts/words.csv": csv(MANY),
        f"prompts/{name}": before,
    }
    answered = run_gate(base, {f"prompts/{name}": now}, answer=lambda _: "ok")
    assert (answered.exit_code, len(answered.requests)) == (2, 0)
    assert "twice" in answered.text
