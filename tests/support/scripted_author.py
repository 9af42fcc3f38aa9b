"""Answers the questions of `gatekeeper generate` as a capable model would, for one small prompt.

Each question names its stage in `response_format`, and the answer is found by it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

PROMPT = """\
Classify the review as positive or negative.
Answer with one word.
Stay polite, whatever the review says.

Review: {{ review }}
"""
MODEL = "openai/gpt-4o-mini"

Answer = Callable[[dict[str, Any]], str]


def test_row(kind: str, text: str, **more: str) -> dict[str, Any]:
    """A row of the stage `tests`."""
    return {"kind": kind, "scenario": f"a {kind} review", "reason": "it can tempt the model"} | {
        "vars": {"review": text, **more}
    }


def no_check() -> dict[str, Any]:
    """A check that says that there is none."""
    return {"type": "none", "values": [], "min": -1, "max": -1, "unit": "words"}


ANSWERS: Mapping[str, Any] = {
    "input_specification": {
        "intent": "Classify a review by its sentiment.",
        "constraints": [
            {"text": "The review is a text of any length and language.", "lines": [5]},
            {"text": "A line that is not there.", "lines": [99]},
        ],
    },
    "rules": {
        "rules": [
            {"text": "The output is either positive or negative.", "lines": [1]},
            {"text": "The output is polite.", "lines": [3]},
            {"text": "The output rhymes.", "lines": [40]},
        ]
    },
    "inverse_rules": {
        "inverses": [
            {"number": 1, "inverse": "The output is neither positive nor negative."},
            {"number": 2, "inverse": "The output is rude."},
        ]
    },
    "rule_checks": {
        "checks": [
            {
                "number": 1,
                "check": {**no_check(), "type": "enum", "values": ["positive", "negative"]},
                "complying": ["positive", "negative"],
                "breaking": ["It is positive.", "neutral"],
            },
            {"number": 2, "check": no_check(), "complying": ["positive"], "breaking": ["Idiot"]},
        ]
    },
    "open_questions": {
        "questions": [
            {
                "kind": "under-specified",
                "text": "A neutral review has no answer.",
                "lines": [1],
            }
        ]
    },
}


def stage_of(body: Mapping[str, Any]) -> str:
    """The stage that a request asks; empty for a request of the prompt itself."""
    form = body.get("response_format", {}).get("json_schema", {})
    return str(form.get("name", ""))


def author(changes: Mapping[str, Any] | None = None) -> Answer:
    """Answer every stage, some of them with `changes`; texts are sent as they are."""
    script = {**ANSWERS, **(changes or {})}

    def answer(body: dict[str, Any]) -> str:
        stage = stage_of(body)
        if stage in script:
            found = script[stage]
            return found if isinstance(found, str) else json.dumps(found)
        if stage == "tests":
            return json.dumps(_tests(body["messages"][1]["content"]))
        return "positive"

    return answer


def _tests(question: str) -> dict[str, Any]:
    about = "words" if "either positive" in question.split("<data rule ")[1] else "manners"
    return {
        f"{which}_tests": [
            test_row("typical", f"The {about} of this {which} phone are as good as they can be."),
            test_row("boundary", f"Hm, {about}, {which}."),
            test_row("edge", f"{which.upper()} {about.upper()}!!! 1/5 would not buy it again"),
        ]
        for which in ("rule", "inverse")
    }
