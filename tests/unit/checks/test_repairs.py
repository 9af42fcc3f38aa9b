"""Repairs: each idempotent, each recorded only where it changed the text."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.repairs.steps import NAMES, STEPS, Repaired, compare_meaning, repair
from gatekeeper.contract.meaning.schemas import contract_schema
from gatekeeper.contract.values.definition import RepairPolicy


def digest(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


PIECES = (
    *("```", "````", "~~~", "```json", "\n", "\r\n", " ", "{", "}", "[", "]", '"', "\\", ",", ":"),
    *("<think>", "</think>", "<thinking>", '{"a": 1}', "prose", "1", "'", "é", "İ", "Σ", "null"),
)
OUTPUTS = st.text() | st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


@pytest.mark.parametrize("name", STEPS)
@given(text=OUTPUTS)
def test_every_step_is_idempotent(name, text):
    once = STEPS[name](text)
    assert STEPS[name](once) == once


@given(
    text=OUTPUTS,
    steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=5),
    most=st.integers(min_value=0, max_value=4),
)
def test_the_ledger_tells_exactly_what_happened(text, steps, most):
    found = repair(text, RepairPolicy(tuple(steps), most), "repair")
    assert len(found.ledger) <= most
    replayed = text
    for before, applied in zip(found.texts, found.ledger, strict=True):
        assert before == replayed
        assert applied.before == digest(replayed)
        replayed = STEPS[applied.step](replayed)
        assert applied.after == digest(replayed) != applied.before
    assert replayed == found.output


@given(text=OUTPUTS)
def test_observe_repairs_nothing(text):
    assert repair(text, RepairPolicy(NAMES, 9, ("a",)), "observe") == Repaired(text)


@pytest.mark.parametrize("mode", ["repair", "enforce"])
def test_the_other_modes_apply_the_steps_in_order(mode):
    policy = RepairPolicy(("strip_markdown_fences", "extract_json", "lowercase"), 2)
    text = '```\nHere: {"A": 1}\n```'
    found = repair(text, policy, mode)
    assert (found.output, found.names) == ('{"A": 1}', ("strip_markdown_fences", "extract_json"))


def test_a_step_that_changes_nothing_is_not_counted():
    policy = RepairPolicy(("strip_markdown_fences", "strip_whitespace"), 1)
    found = repair(" NN\n", policy, "repair")
    assert (found.output, found.names) == ("NN", ("strip_whitespace",))


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("```json\n{}\n```", "{}"),
        ("\n```\na\n\nb\n```  \n", "a\n\nb"),
        ("```\r\na\r\n```\r\n", "a"),
        ("~~~\na\n~~~", "a"),
        ("````\n```\na\n```\n````", "a"),
        ("```\n```", ""),
        ("```\n  indented\n ````", "  indented"),
        ("```\na", "```\na"),
        ("```", "```"),
        ("```a```", "```a```"),
        ("text\n```\na\n```", "text\n```\na\n```"),
        ("```\na\n```\ntext", "```\na\n```\ntext"),
        ("```\na\n```\n```\nb\n```", "```\na\n```\n```\nb\n```"),
        ("~~~\na\n```", "~~~\na\n```"),
        (" plain \n", " plain \n"),
    ],
)
def test_strip_markdown_fences(text, stripped):
    assert STEPS["strip_markdown_fences"](text) == stripped


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ('<think>a {"b": 1}</think>\n\n{"a": 1}', '{"a": 1}'),
        (" <thinking>a\nb</thinking> Hi ", "Hi "),
        ("<think>a</think><think>b</think>Hi", "Hi"),
        ("<budget:thinking>a</budget:thinking>", ""),
        ("<think>a", "<think>a"),
        ("<think>a</thinking>Hi", "<think>a</thinking>Hi"),
        ("Hi <think>a</think>", "Hi <think>a</think>"),
        ("<Think>a</Think>Hi", "<Think>a</Think>Hi"),
        ("a</think>Hi", "a</think>Hi"),
        (" Hi", " Hi"),
    ],
)
def test_strip_thoughts(text, stripped):
    assert STEPS["strip_thoughts"](text) == stripped


def test_thoughts_are_no_part_of_the_meaning():
    policy = RepairPolicy(("strip_thoughts",), 1)
    found = repair('<think>{"a": 2}</think>{"a": 1}', policy, "repair")
    assert (found.output, [step.meaning for step in found.ledger]) == ('{"a": 1}', ["same"])


@pytest.mark.parametrize(
    ("text", "extracted"),
    [
        ('Sure! {"a": [1, {"b": "}"}]} Done.', '{"a": [1, {"b": "}"}]}'),
        ("```json\n[1]\n```", "[1]"),
        ('The set {x, y} and [note]: {"a": 1}', '{"a": 1}'),
        ('Open with { and write: {"a": 1}', '{"a": 1}'),
        ('It says: {"a": "\\"}"}!', '{"a": "\\"}"}'),
        (' {"a": 1}\n', ' {"a": 1}\n'),
        ('"a string with {} in it"', '"a string with {} in it"'),
        ("no json", "no json"),
        ("", ""),
        # Never a piece from inside what is cut off or is not JSON.
        ('{"a": {"b": 1}', '{"a": {"b": 1}'),
        ('Here: [{"a": 1}, {"a":', 'Here: [{"a": 1}, {"a":'),
        ("{'ids': [1, 2]}", "{'ids': [1, 2]}"),
        ("{ids: [1, 2]}", "{ids: [1, 2]}"),
        ('{"a": "line\n[1]"}', '{"a": "line\n[1]"}'),
        ("{", "{"),
    ],
)
def test_extract_json(text, extracted):
    assert STEPS["extract_json"](text) == extracted


@given(
    value=st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.text())),
    before=st.text(st.characters(exclude_characters='[]{}"')),
    after=st.text(),
)
def test_extract_json_finds_a_value_in_prose(value, before, after):
    written = json.dumps(value, indent=1)
    text = f"Answer: {before}{written}\nThat is all. {after}"
    assert STEPS["extract_json"](text) == written


@pytest.mark.parametrize("unit", ["{", "[", "[x", '{"', '\\"', '"\\', "[]", "{}x", '{"a":[', "`"])
def test_hostile_outputs_come_out_of_every_step(unit):
    """Going through the text again for each beginning would not end."""
    text = unit * 50_000
    short = {"[]": "[]", "{}x": "{}"}.get(unit)
    for name, step in STEPS.items():
        expected = short if short and name == "extract_json" else text
        assert step(text) == expected
        assert step(text + "\\") == expected + ("\\" if expected == text else "")


def test_the_contract_schema_names_exactly_these_steps():
    steps = contract_schema()["properties"]["repair"]["properties"]["steps"]
    assert set(steps["items"]["enum"]) == set(NAMES)


@pytest.mark.parametrize(
    ("before", "after", "meaning"),
    [
        ('{"a": 1}', ' {"a": 1.0}', "same"),
        ('```json\n{"a": 1}\n```', '{"a": 1}', "same"),
        ('Here: {"a": 1}', '{"a": 1}', "same"),
        ("{'a': 1,}", '{"a": 1}', "same"),
        ('{"a": "X"}', '{"a": "x"}', "changed"),
        ('{"a": 1}', '{"a": true}', "changed"),
        ("NN \r\n", "NN", "same"),
        ("NN", "nn", "unknown"),
        ("```\nprose\n```", "prose", "unknown"),
        ('{"a": "x  y"}', '{"a": "x y"}', "changed"),
        ("[" * 5_000, "]", "unknown"),
        ("", "x", "unknown"),
    ],
)
def test_whether_the_meaning_changed(before, after, meaning):
    assert compare_meaning(before, after) == meaning


@given(text=OUTPUTS)
def test_only_case_and_numbers_of_json_change_meaning(text):
    """Every step but those of upper and lower case keeps what JSON says, outside of thoughts."""
    for name in set(STEPS) - {"lowercase", "strip_thoughts"}:
        assert compare_meaning(text, STEPS[name](text)) != "changed"
