"""A deterministic check is taken only if it agrees with every output that it is proved on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.generation.rule_checks import (
    Proposal,
    _proposal,
    is_proven,
    prove_checks,
)
from gatekeeper.author.specification.spec_file import Rule
from gatekeeper.contract.prompts.styles.literal import as_parameter

RULE = Rule("tag", "The output is a tag.")


def proposed(kind: str, *values: str, obeys: str, breaks: str, **more) -> Proposal:
    check = {"type": kind, "values": list(values), "min": -1, "max": -1, "unit": "words", **more}
    return _proposal(RULE, {"check": check, "complying": [obeys], "breaking": [breaks]})


@pytest.mark.parametrize(
    ("proposal", "check"),
    [
        (
            proposed("enum", "A", "B", obeys="A", breaks="C"),
            {"type": "enum", "values": ["A", "B"]},
        ),
        (
            proposed("regex", r"^\d{{2}}$", obeys="{{2}}", breaks="1"),
            None,
        ),
        (
            proposed("not_regex", "!", obeys="ok", breaks="ok!"),
            {"type": "not_regex", "pattern": "!"},
        ),
        (
            proposed("not_contains", "{{", obeys="Dear Ann", breaks="Dear {{ name }}"),
            {"type": "not_contains", "values": ['{{ "{{" }}']},
        ),
        (
            proposed("length", max=2, obeys="very good", breaks="one two three"),
            {"type": "length", "max": 2, "unit": "words"},
        ),
        (proposed("json_valid", obeys="{}", breaks="{"), {"type": "json_valid"}),
        (
            proposed("json_schema", '{"type": "array"}', obeys="[]", breaks="{}"),
            {"type": "json_schema", "schema": {"type": "array"}},
        ),
        # What cannot be prepared, or does not agree, is left to a judge.
        (proposed("regex", "(", obeys="a", breaks="b"), None),
        (proposed("json_schema", "no JSON", obeys="a", breaks="b"), None),
        (proposed("json_schema", "[1]", obeys="a", breaks="b"), None),
        (proposed("json_schema", '{"not":' * 900 + "{}" + "}" * 900, obeys="1", breaks="2"), None),
        (proposed("length", obeys="a", breaks="b"), None),
        (proposed("enum", obeys="a", breaks="b"), None),
        (proposed("enum", "A", obeys="B", breaks="C"), None),
        (proposed("enum", "A", obeys="A", breaks="A"), None),
        (proposed("none", obeys="A", breaks="B"), None),
        (_proposal(RULE, None), None),
        (Proposal(RULE, {"type": "json_valid"}, ("{}",), ()), None),
    ],
)
def test_a_proven_check_is_taken_and_no_other(proposal, check):
    (rule,) = prove_checks([proposal])
    assert rule.check == check


def test_languages_are_named_by_their_codes():
    assert proposed("language", "de", obeys="", breaks="").check == {
        "type": "language",
        "value": ["de"],
    }


def test_a_check_that_fails_on_a_sample_is_not_taken():
    proposal = proposed("enum", "A", "B", obeys="A", breaks="C")
    assert is_proven(proposal, ["A", "B"])
    assert not is_proven(proposal, ["A", "D"])


@given(st.text("ab{}%# raw", max_size=12))
def test_a_text_with_marks_of_a_template_means_itself(text):
    check = {"type": "contains", "values": as_parameter([f"x{text}"])}
    assert is_proven(Proposal(RULE, check, (f"x{text}",), ("",)))
