"""Front matter that a contract overrides: its change is told, because it has no effect."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited
from support.two_contracts import SHAPES, contract, revision

from gatekeeper.contract.changes.affected import Affected, find_affected
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change

ROWS = {"contracts/a.jsonl": '{"x": 1}', "s.json": "{}"}


def front(settings: str) -> str:
    return f"---\n{settings}\n---\nA {{{{ x }}}}\n"


def between(
    before: str, now: str, params: str = "", head_params: str | None = None, model: str = "model: m"
) -> Affected:
    def files(settings: str, own: str) -> dict[str, str]:
        text = edited(contract("a", extra=f"params: {own}\n" if own else ""), "model: m", model)
        return {**ROWS, "contracts/a.yaml": text, "prompts/a.md": front(settings)}

    head = files(now, params if head_params is None else head_params)
    return find_affected(Change(revision(files(before, params)), revision(head)), Policy(), SHAPES)


@pytest.mark.parametrize(
    ("before", "now", "params", "told"),
    [
        ("model: b", "model: c", "", '`model` changed from "b" to "c"'),
        ("x: 1", "model: c", "", '`model` changed from none to "c"'),
        ("model: b", "x: 1", "", '`model` changed from "b" to none'),
        (
            "params: {temperature: 0}",
            "params: {temperature: 1}",
            "{temperature: 0.5}",
            "`temperature` changed from 0 to 1",
        ),
        ("x: 1", "params: {stop: [a]}", "{stop: []}", '`stop` changed from none to ["a"]'),
        (
            "params: {logprobs: 1}",
            "params: {logprobs: true}",
            "{logprobs: 2}",
            "`logprobs` changed from 1 to true",
        ),
    ],
)
def test_a_change_that_the_contract_overrides_is_told(before, now, params, told):
    found = between(before, now, params)
    (notice,) = found.notices
    assert found.contracts == ()
    assert told in notice
    assert "prompts/a.md" in notice


@pytest.mark.parametrize(
    ("before", "now", "params"),
    [
        ("model: b", "model: b", ""),
        ("author: b", "author: c", ""),
        ("params: {temperature: 0}", "params: {temperature: 1}", ""),
        ("params: {temperature: 0}", "params: {temperature: 1}", "{top_p: 1}"),
        ("params: {top_p: 1, top_k: 2}", "params: {top_k: 2, top_p: 1}", "{top_p: 3}"),
    ],
)
def test_what_has_an_effect_or_did_not_change_is_not_told(before, now, params):
    assert between(before, now, params).notices == ()


def test_a_setting_that_only_one_version_overrides_has_an_effect():
    for before, now in (("", "{temperature: 0}"), ("{temperature: 0}", "")):
        found = between("params: {temperature: 0}", "params: {temperature: 1}", before, now)
        assert found.notices == ()
        assert len(found.contracts) == 1
    assert between("model: b", "model: c", model="description: d").notices == ()


@given(st.text("ab ,:é", min_size=1, max_size=300))
def test_a_long_value_is_cut(value):
    import json

    found = between(
        "params: {stop: x}", "params: " + json.dumps({"stop": f"y{value}"}), "{stop: z}"
    )
    (notice,) = found.notices
    assert len(notice) < 400
