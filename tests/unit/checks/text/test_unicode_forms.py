"""Both forms of a character are equal; a difference that nobody sees is shown by code points."""

from __future__ import annotations

import json
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatekeeper.checks.reading.alike import unseen_difference
from gatekeeper.contract.reading.same_json import same_json

CAFE, DECOMPOSED = "Caf\u00e9 cr\u00e8me", normalize("NFD", "Caf\u00e9 cr\u00e8me")
COMPARING = [
    ("equals", {"value": CAFE}),
    ("equals", {"value": [CAFE]}),
    ("equals", {"value": {CAFE: CAFE}}),
    ("enum", {"values": ["tea", CAFE]}),
    ("contains", {"value": CAFE}),
    ("contains", {"values": ["tea", CAFE], "match": "any"}),
    ("starts_with", {"value": "Caf\u00e9"}),
    ("ends_with", {"value": "cr\u00e8me"}),
    ("levenshtein", {"value": CAFE, "max": 0}),
    ("similarity", {"value": CAFE, "min": 1}),
    ("regex", {"pattern": "^Caf\u00e9 .{5}$"}),
    ("json_equal", {"value": {"a": ["x", CAFE]}, "ignore_order": True}),
    ("json_equal", {"value": {CAFE: 1}}),
    ("f1", {"value": ["a", CAFE], "min": 1}),
    ("rouge", {"value": CAFE, "min": 1}),
]


def output_of(check: str, params: dict, text: str) -> str:
    value = params.get("value")
    if check == "f1":
        return json.dumps(["a", text], ensure_ascii=False)
    whole = json.dumps(value, ensure_ascii=False) if not isinstance(value, str | None) else CAFE
    return whole.replace(CAFE, text)


@pytest.mark.parametrize(("check", "params"), COMPARING)
@pytest.mark.parametrize("text", [CAFE, DECOMPOSED])
def test_both_forms_pass(apply, check, params, text):
    output = output_of(check, params, text)
    assert text in output
    assert apply(check, output, **params).passed


@pytest.mark.parametrize("check", ["equals", "contains", "starts_with", "ends_with"])
def test_the_forms_differ_if_asked_and_the_message_shows_how(apply, check):
    assert apply(check, CAFE, value=CAFE, exact_unicode=True).passed
    finding = apply(check, DECOMPOSED, value=CAFE, exact_unicode=True)
    assert finding.passed is False
    assert "looks the same but has U+0065 U+0301 instead of U+00E9" in finding.message
    assert apply("enum", DECOMPOSED, values=[CAFE], exact_unicode=True).passed is False


def test_a_forbidden_text_is_found_in_both_forms(apply):
    assert apply("not_contains", DECOMPOSED, value="Caf\u00e9").passed is False
    assert apply("not_regex", DECOMPOSED, pattern="Caf\u00e9").passed is False
    assert apply("not_contains", DECOMPOSED, value="Caf\u00e9", exact_unicode=True).passed
    assert apply("not_regex", CAFE, pattern="\u0301").passed
    assert apply("not_regex", DECOMPOSED, pattern="\u0301").passed is False


@pytest.mark.parametrize(
    ("wanted", "found", "shown"),
    [
        ("paypal", "Go to p\u0430ypal.", "U+0430 U+0079 instead of U+0061 U+0079"),
        ("a b", "a\u00a0b", "U+00A0 U+0062 instead of U+0020 U+0062"),
        ("refund", "re\u200bfund", "U+200B U+0066 instead of U+0066 U+0075"),
        ("A-17", "A\u201317", "U+2013 U+0031 instead of U+002D U+0031"),
        ("it's", "it\u2019s", "U+2019 U+0073 instead of U+0027 U+0073"),
        ("\ud574", "\u1112\u1162", "U+1112 U+1162 instead of U+D574"),
        ("refund", "Refund", ""),
        ("Caf\u00e9", "Cafe", ""),
        ("a b", "a\nb", ""),
        ("yes", "yes, and more", ""),
        ("yes", "", ""),
        ("", "yes", ""),
    ],
)
def test_only_what_nobody_sees_is_shown_by_code_points(apply, wanted, found, shown):
    said = unseen_difference(wanted, found)
    assert said == (f", which looks the same but has {shown}" if shown else "")
    if wanted and found:
        finding = apply("equals", found, value=wanted, exact_unicode=True)
        assert finding.message.endswith(said)


@given(st.text(), st.text())
@example("1", "\u00b9")
def test_no_text_breaks_the_comparison(wanted, found):
    assert isinstance(unseen_difference(wanted, found), str)
    assert unseen_difference(wanted, found + wanted) == ""


@given(
    st.recursive(st.text() | st.integers(), lambda v: st.lists(v) | st.dictionaries(st.text(), v))
)
def test_json_is_equal_in_its_other_form(value):
    other = json.loads(normalize("NFD", json.dumps(value, ensure_ascii=False)))
    assert same_json(value, other)
