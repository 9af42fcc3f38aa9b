"""What a model can do to the rules of a prompt whose lines changed, whatever it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.generation.items import (
    OPEN_QUESTIONS,
    RULES,
    Updated,
    carry_over,
    update_items,
)
from gatekeeper.author.generation.numbered_prompt import number_prompt
from gatekeeper.author.specification.merge import content_digest
from gatekeeper.author.specification.prompt_lines import LineChanges
from gatekeeper.author.specification.spec_file import (
    OpenQuestion,
    Rule,
    Specification,
    read_specification,
    write_specification,
)
from gatekeeper.contract.values.change import MemoryRevision

PROMPT = number_prompt(MemoryRevision({"p.txt": b"One.\nTwo.\nThree.\n\n{{ x }}\n"}), "p.txt")
# Line 1 moved to 3, 2 was reworded, and what was 3 is gone.
CHANGES = LineChanges({1: 3, 5: 5}, (1, 2), frozenset({2, 3}))
STANDS, CHANGED, MINE, GONE = "stands", "changed", "mine", "gone"
BEFORE = (
    Rule(STANDS, "The output is one.", "The output is none.", (1,)),
    Rule(CHANGED, "The output is two.", "The output is not two.", (2, 1)),
    Rule(MINE, "The output is mine.", "", (3,)),
)
MADE = {r.id: content_digest(r) for r in BEFORE if r.id != MINE} | {GONE: "0" * 12}

texts = st.one_of(
    st.sampled_from(
        [*(rule.text for rule in BEFORE), "Gone", "prompt", "", " ", "input-x", "\ud800"]
    ),
    st.text(max_size=12),
)
lines = st.lists(st.integers(-1, 9), max_size=3)
verdicts = st.sampled_from(["keep", "reword", "obsolete"])
known = st.fixed_dictionaries(
    {"number": st.integers(-1, 4), "verdict": verdicts, "text": texts, "lines": lines}
)
new = st.fixed_dictionaries({"text": texts, "lines": lines})
answers = st.fixed_dictionaries(
    {"known": st.lists(known, max_size=4), "new": st.lists(new, max_size=4)}
)


def updated(answer: Mapping[str, Any], before: Specification, kind: Any) -> Updated[Any]:
    """The items of a kind after the change, of which a model says this."""

    class Scripted:
        async def ask(self, *_: Any) -> Mapping[str, Any]:
            return answer

    asker: Any = Scripted()
    carried = carry_over(before, kind, CHANGES)
    return asyncio.run(update_items(asker, PROMPT, CHANGES, before, kind, carried))


@given(answers)
def test_rules_on_other_lines_and_of_people_stay(answer: Mapping[str, Any]) -> None:
    found = updated(answer, Specification("p.txt", rules=BEFORE, made=MADE), RULES)
    rules = {rule.id: rule for rule in found.items}
    assert len(rules) == len(found.items)
    assert rules[STANDS] == Rule(STANDS, "The output is one.", "The output is none.", (3,))
    assert rules[MINE] == Rule(MINE, "The output is mine.", "", ())
    assert GONE not in rules
    for rule in found.items:
        if rule.id not in (STANDS, MINE):
            assert rule.lines
            assert set(rule.lines) <= {1, 2, 3, 5}
            assert found.made[rule.id] == content_digest(rule)
    assert found.made[GONE] == MADE[GONE]
    assert (CHANGED in rules) is (CHANGED not in found.retired)
    written = write_specification(Specification("p.txt", rules=found.items, made=found.made))
    assert read_specification(written, "p.spec.yaml").rules == found.items


@given(answers)
def test_a_change_can_settle_any_generated_question(answer: Mapping[str, Any]) -> None:
    kind = {"kind": "ambiguity"}
    answer = {part: [row | kind for row in rows] for part, rows in answer.items()}
    before = [
        OpenQuestion(f"question-{rule.id}", "ambiguity", rule.text, rule.lines) for rule in BEFORE
    ]
    made = {q.id: content_digest(q) for q in before if q.id != f"question-{MINE}"}
    found = updated(
        answer, Specification("p.txt", questions=tuple(before), made=made), OPEN_QUESTIONS
    )
    now = {question.id: question for question in found.items}
    assert f"question-{MINE}" in now
    settled = [row for row in answer["known"] if row["number"] == 1]
    if not settled or settled[-1]["verdict"] != "obsolete":
        assert now[f"question-{STANDS}"].text == before[0].text
    else:
        assert f"question-{STANDS}" in found.retired
