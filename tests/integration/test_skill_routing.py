"""Which skill a model picks, before and after a change of one description."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest
from support.edited_text import edited
from support.ways_in import RunGate

SKILLS = {
    "pdf": "Extract text from PDF documents, fill in forms, merge pages.",
    "sheets": "Read and edit spreadsheets, formulas and charts in Excel workbooks.",
    "release": "Prepare the release notes and tag the version.",
}
REQUESTS = {
    "Please fill in these forms": "pdf",
    "Merge the pages of these documents": "pdf",
    "Add charts to the Excel budget": "sheets",
    "Write release notes": "release",
    "Sing!": "none",
}
CONTRACT = f"""\
contract: 1
name: routing
skills: ../skills/*/SKILL.md
model: openai/gpt-4o-mini
params: {{max_tokens: 50}}
fixtures: {json.dumps([{"request": r, "expected": s} for r, s in REQUESTS.items()])}
"""


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", text.lower()))


def picks(body: Mapping[str, Any]) -> str:
    """The skill whose description has the most words of the request; it talks before the JSON."""
    listed, request = (body["messages"][n]["content"] for n in (0, -1))
    skills = re.findall(r"<name>(.*)</name>\n<description>(.*)</description>", listed)
    scores = {name: len(words(unescape(said)) & words(request)) for name, said in skills}
    best = max(scores, key=scores.__getitem__)
    return f"I pick ```json\n{json.dumps({'skill': best if scores[best] else 'none'})}\n```"


def files(**descriptions: str) -> dict[str, str]:
    return {
        f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: {said}\n---\nDo it.\n"
        for name, said in descriptions.items()
    }


BASE = files(**SKILLS) | {"contracts/routing.yaml": CONTRACT}


@pytest.mark.parametrize(
    ("head", "verdict", "moved"),
    [
        (files(sheets="Read and edit spreadsheets, formulas, charts, Excel"), "pass", None),
        (files(sheets="Edit spreadsheets; merge pages of these documents"), "fail", "sheets"),
        (files(thief="Fill in any of these forms, merge pages of documents"), "fail", "thief"),
    ],
)
def test_a_description_that_draws_requests_away_fails(run_gate: RunGate, head, verdict, moved):
    answered = run_gate(BASE, head, answer=picks)
    assert (answered.verdict, answered.exit_code) == (verdict, int(verdict == "fail"))
    if moved:
        assert f'expected "pdf"; got "{moved}"' in answered.text


def test_a_changed_text_of_a_skill_calls_no_model(run_gate: RunGate):
    head = {path: text.replace("Do it.", "Do less.") for path, text in files(**SKILLS).items()}
    answered = run_gate(BASE, head, answer=picks)
    assert (answered.exit_code, answered.requests) == (0, ())


LISTED = json.dumps([f"../skills/{name}/SKILL.md" for name in SKILLS])


@pytest.mark.parametrize(
    ("pattern", "skills", "reasons"),
    [
        (LISTED, files(thief="Fill in any of these forms, merge pages of documents"), {"removed"}),
        ("../copies/*/SKILL.md", files(sheets="Merge pages of these documents"), {"removed"}),
        (LISTED, {}, set()),
    ],
    ids=["a new one", "old copies", "the same"],
)
def test_a_skill_cannot_be_kept_out_of_the_contract(run_gate: RunGate, pattern, skills, reasons):
    copies = {path.replace("skills", "copies"): text for path, text in files(**SKILLS).items()}
    contract = edited(CONTRACT, "../skills/*/SKILL.md", pattern)
    head = {**copies, **skills, "contracts/routing.yaml": contract}
    answered = run_gate(BASE, head, answer=picks)
    assert answered.reasons() == reasons
    assert answered.exit_code == int(bool(reasons))
