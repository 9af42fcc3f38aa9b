"""A worse file that a prompt includes is evaluated, however the prompt names it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.ways_in import RunGate

CONTRACT = """\
contract: 1
name: words
prompt: ../{path}
model: openai/gpt-4o-mini
fixtures: [{{file: words.csv}}]
checks: [{{type: equals, value: "ok"}}]
"""
WORDS = "id,word\n" + "".join(f"{n},word{n}\n" for n in range(24))
TONE = "{% include 'tone.md' %}"


def as_messages(text: str) -> str:
    return json.dumps([{"role": "user", "content": text}])


def answer(body: Mapping[str, Any]) -> str:
    return "no" if "Be rude" in json.dumps(body["messages"]) else "ok"


CASES = {
    "a template of JSON": (
        "p.json.jinja2",
        as_messages(TONE + " {{ word }}").replace("{%", "\\u007b\\u0025"),
        {},
    ),
    "a template of YAML": (
        "p.yml.jinja",
        as_messages(TONE + "{{ word }}").replace("{%", "\\x7b\\x25"),
        {},
    ),
    "a name in two pieces": (
        "p.md",
        "{% include 'to' \"ne.md\" %} {{ word }}",
        {"prompts/to": "", "prompts/ne.md": ""},
    ),
    "a broken word": (
        "p.yml",
        "- role: user\n  content: \"{% inc\\\n    lude 'tone.md' %} {{ word }}\"\n",
        {},
    ),
    "a comment of an included file": (
        "p.txt",
        "{% include 'mid.yaml' %} {{ word }}",
        {"prompts/mid.yaml": f"# {TONE}\na: 1\n"},
    ),
    "a key of an included file": (
        "p.txt",
        "{% include 'mid.json' %} {{ word }}",
        {"prompts/mid.json": json.dumps({TONE: 1})},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_worse_include_is_checked(case: str, run_gate: RunGate) -> None:
    path, text, more = CASES[case]
    base = {
        f"prompts/{path}": text,
        "prompts/tone.md": "Be kind.",
        "contracts/words.yaml": CONTRACT.format(path=f"prompts/{path}"),
        "contracts/words.csv": WORDS,
        **more,
    }
    answered = run_gate(base, {"prompts/tone.md": "Be rude."}, answer=answer)
    assert (answered.exit_code, answered.verdict) == (1, "fail")
    assert "regression" in answered.reasons()
