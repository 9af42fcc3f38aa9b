"""No repair, alone or with others, makes a passing document of one that lacks data."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.check import Files
from gatekeeper.checks.registry import CHECKS
from gatekeeper.checks.repairs.steps import NAMES, repair
from gatekeeper.contract.values.definition import RepairPolicy
from tests.unit.checks.conftest import sample_of

REQUIRED = ("amount", "customer", "lines")
SCHEMA = {
    "type": "object",
    "required": list(REQUIRED),
    "properties": {"amount": {}, "customer": {"type": "string"}, "lines": {"type": "array"}},
}
WRAPPINGS = (
    ("", ""),
    ("```json\n", "\n```"),
    ("```\n", ""),
    ("Here it is:\n", "\nAnything else?"),
    (" \r\n", "\r\n "),
)
QUOTES = ('"', "'")
VALUES = {
    "amount": st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans(),
    "customer": st.text("aZé 9,:", max_size=6),
    "lines": st.lists(st.sampled_from([1, "x", None, {"id": 2}, []]), max_size=3),
}
LOSSES = ("member", "value", "name", "closing quotation mark", "end")


def passes(text: str, steps: list[str]) -> bool | None:
    """Whether the text passes after the steps."""
    policy = RepairPolicy(tuple(steps), len(steps), ("customer",))
    check = CHECKS["json_schema"].prepare({"schema": SCHEMA}, Files({}, "c.yaml"))
    return check(sample_of(repair(text, policy, "repair").output)).passed


def member(name: str, value: object, quote: str, lost: str) -> str | None:
    """One member as text, without what is lost."""
    if lost == "member":
        return None
    written = json.dumps(value, ensure_ascii=False)
    key = f"{quote}{name}{quote}"
    if lost == "closing quotation mark":
        key = f"{quote}{name}"
    return {"value": f"{key}: ", "name": f": {written}"}.get(lost, f"{key}: {written}")


@st.composite
def broken_documents(draw: st.DrawFn) -> str:
    """A document as a model may write it, from which something is missing."""
    lost, incomplete = draw(st.sampled_from(LOSSES)), draw(st.sampled_from(REQUIRED))
    quote = draw(st.sampled_from(QUOTES))
    members = [
        member(name, draw(VALUES[name]), quote, lost if name == incomplete else "")
        for name in draw(st.permutations(REQUIRED))
    ]
    text = "{" + draw(st.sampled_from([", ", ",\n", " "])).join(filter(None, members)) + "}"
    if lost == "end":
        text = text[: draw(st.integers(0, len(text) - 1))]
    before, after = draw(st.sampled_from(WRAPPINGS))
    return before + text + after


@given(broken_documents(), st.lists(st.sampled_from(NAMES), max_size=7))
def test_a_document_that_lacks_data_never_passes(text, steps):
    assert passes(text, steps) is False


@pytest.mark.parametrize(("before", "after"), WRAPPINGS)
@pytest.mark.parametrize("quote", QUOTES)
def test_the_same_document_passes_if_it_is_whole(before, after, quote):
    values = {"amount": 1, "customer": "Ada", "lines": [1]}
    members = (member(name, value, quote, "end") for name, value in values.items())
    text = before + "{" + ", ".join(filter(None, members)) + "}" + after
    steps = ["strip_whitespace", "strip_markdown_fences", "json_loose_parse", "extract_json"]
    # What is in prose or in an open block is only found if it is JSON already.
    whole = quote == '"' or before in ("", "```json\n", " \r\n")
    assert passes(text, steps) is whole
