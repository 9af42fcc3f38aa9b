"""Specifications survive being written and read, and their mistakes are named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.generation.questions import prompt_text
from gatekeeper.author.specification.spec_file import (
    STAGES,
    InputConstraint,
    Metric,
    OpenQuestion,
    Rule,
    Scenario,
    Specification,
    Wishes,
    read_specification,
    write_specification,
)
from gatekeeper.errors import ContractError

NAME = st.from_regex(r"[a-z0-9][a-z0-9-]{0,9}", fullmatch=True)
# What YAML cannot hold is not generated: surrogates and control characters.
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40)
LINES = st.lists(st.integers(1, 500), max_size=3).map(tuple)
CHECK = st.none() | st.builds(lambda values: {"type": "enum", "values": values}, st.lists(TEXT))


WISHES = st.builds(
    Wishes,
    st.lists(
        st.builds(Scenario, NAME.map("s-{}".format), TEXT, st.dictionaries(NAME, TEXT, max_size=2)),
        max_size=1,
    ).map(tuple),
    st.lists(st.builds(Metric, NAME.map("m-{}".format), TEXT), max_size=1).map(tuple),
    st.dictionaries(st.sampled_from(("all", *STAGES)), TEXT, max_size=2),
)


@st.composite
def specifications(draw) -> Specification:
    # The prefix keeps them apart from the ids of scenarios and metrics: an id is used once.
    ids = map("i-{}".format, draw(st.lists(NAME, unique=True, min_size=6, max_size=6)))
    return Specification(
        draw(TEXT),
        draw(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)),
        tuple(InputConstraint(next(ids), draw(TEXT), draw(LINES)) for _ in range(2)),
        tuple(Rule(next(ids), draw(TEXT), draw(TEXT), draw(LINES), draw(CHECK)) for _ in range(2)),
        tuple(OpenQuestion(next(ids), "ambiguity", draw(TEXT), draw(LINES)) for _ in range(2)),
        draw(st.dictionaries(NAME, NAME, max_size=3)),
        draw(WISHES),
    )


@given(specifications())
def test_what_is_written_is_read_again(specification):
    text = write_specification(specification)
    assert read_specification(text, "a.spec.yaml") == specification
    assert write_specification(read_specification(text, "a.spec.yaml")) == text


RULE = "version: 1\nprompt: a.md\nrules:\n"


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("", 1, None),
        ("version: 2\nprompt: a.md\n", 1, "version"),
        ("version: 1\nprompt: a.md\nrule: []\n", 3, "rule"),
        (f"{RULE}  - {{id: a}}\n", 4, "rules[0]"),
        (f"{RULE}  - {{id: a b, text: t}}\n", 4, "rules[0].id"),
        (f"{RULE}  - {{id: a, text: t, lines: [0]}}\n", 4, "rules[0].lines[0]"),
        (f"{RULE}  - {{id: a, text: t}}\n  - {{id: a, text: u}}\n", 5, "rules[1].id"),
        (f"{RULE}  - {{id: a, text: t, check: {{type: x}}, judge: complies}}\n", 4, "rules[0]"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_field(text, line, field):
    with pytest.raises(ContractError) as raised:
        read_specification(text, "prompts/a.spec.yaml")
    problem = raised.value.problems[0]
    assert (problem.path, problem.line, problem.field) == ("prompts/a.spec.yaml", line, field)


def test_every_stage_that_takes_instructions_has_a_prompt():
    assert all(map(prompt_text, STAGES))
