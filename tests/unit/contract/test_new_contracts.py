"""What new contracts are held to, and what may have replaced a contract that is gone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited
from support.two_contracts import FILES, SHAPES, contract, revision

from gatekeeper.contract.changes.affected import AffectedContract, find_affected
from gatekeeper.contract.changes.new_contracts import held_to, hold_new_contracts
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import NewContracts, Policy
from gatekeeper.contract.values.change import Change

GONE: dict[str, str | None] = {"contracts/a.yaml": None, "prompts/a.md": None}
NEW = {
    "contracts/n.yaml": contract("n", "/prompts/n.md"),
    "contracts/n.jsonl": '{"x": 1}',
    "prompts/n.md": "N {{ x }}",
}
FLOOR = Policy(new_contracts=NewContracts(20, 0.9))


def between(
    base: dict[str, str],
    changes: dict[str, str | None],
    renames: dict[str, str] | None = None,
    policy: Policy = FLOOR,
) -> dict[str, AffectedContract]:
    head = {path: text for path, text in {**base, **changes}.items() if text is not None}
    change = Change(revision(base), revision(head), renames or {})
    held = hold_new_contracts(find_affected(change, policy, SHAPES), change, policy)
    return {found.name: found for found in held.contracts}


def test_what_a_contract_that_went_with_its_prompt_may_be_replaced_by():
    found = between(FILES, {**GONE, **NEW})
    assert found["a"].successors == ("n (prompts/n.md)",)
    assert found["n"].is_new
    assert between(FILES, GONE)["a"].successors == ()


@pytest.mark.parametrize(
    "changes",
    [
        # a prompt that was there without a contract
        {**GONE, **NEW},
        {**GONE, **NEW, "contracts/n.yaml": contract("n", "/prompts/n.md", "slo: {}\n")},
    ],
)
def test_a_new_contract_on_a_prompt_that_was_there_replaces_too(changes):
    base = {**FILES, "prompts/n.md": "N {{ x }}"}
    assert between(base, changes)["a"].successors == ("n (prompts/n.md)",)


def test_a_contract_that_turns_to_a_new_prompt_replaces_too():
    turned = {
        **GONE,
        "prompts/b.md": None,
        "prompts/n.md": "N {{ x }}",
        "contracts/deep/b.yaml": contract("b", "/prompts/n.md"),
    }
    found = between(FILES, turned)
    assert found["a"].successors == ("b (prompts/n.md)",)
    assert not found["b"].is_new
    renamed = between(FILES, turned, {"prompts/b.md": "prompts/n.md"})
    assert renamed["a"].successors == ()


def test_a_prompt_without_a_contract_replaces_too():
    assert between(FILES, {**GONE, "prompts/n.md": "N"})["a"].successors == ("prompts/n.md",)
    there = {**FILES, "prompts/n.md": "N"}
    assert between(there, {**GONE, "prompts/n.md": "changed"})["a"].successors == ()


def test_a_contract_whose_prompt_stays_is_not_replaced_but_removed():
    found = between(FILES, {"contracts/a.yaml": None, **NEW})
    assert found["a"].prompt_still_there
    assert found["a"].successors == ()


def test_a_contract_is_new_if_it_has_no_base_version():
    text = contract("a", extra="params: {seed: 1}\n")
    assert between({**FILES, "contracts/a.yaml": text + "oops: 1\n"}, FILES)["a"].is_new
    assert not between(FILES, {"contracts/a.yaml": text})["a"].is_new
    renamed = {"contracts/a.yaml": edited(text, "name: a", "name: z")}
    assert not between(FILES, renamed)["z"].is_new
    away = {**NEW, **GONE}
    away["contracts/z.yaml"] = edited(contract("z", "/prompts/n.md"), "z.jsonl", "n.jsonl")
    away["contracts/n.yaml"] = None
    assert between(FILES, away)["z"].is_new


def test_only_new_contracts_are_held_to_the_floor():
    found = between(FILES, {**NEW, "prompts/a.md": "changed {{ x }}"})
    assert [(o.name, o.target) for o in found["n"].head.slo] == [("success_rate", 0.9)]
    assert found["a"].head.slo == ()
    (plain,) = between(FILES, NEW, policy=Policy()).values()
    assert [(o.name, o.target, o.default) for o in plain.head.slo] == [("success_rate", 0.5, True)]
    assert plain.head.slo[0].good_share is None


def test_a_prompt_is_lost_if_the_base_contract_cannot_be_loaded_and_it_is_gone():
    base = {**FILES, "contracts/a.yaml": contract("a", extra="oops: 1\n")}
    moved = {
        "contracts/a.yaml": contract("a", "/prompts/n.md"),
        "prompts/n.md": "N {{ x }}",
    }
    gone = {**moved, "prompts/a.md": None}
    assert between(base, gone)["a"].lost_prompt == "prompts/a.md"
    assert between(base, gone, {"prompts/a.md": "prompts/n.md"})["a"].lost_prompt is None
    assert between(base, moved)["a"].lost_prompt is None
    assert between(base, moved)["a"].left_prompt == "prompts/a.md"
    assert between(FILES, gone)["a"].lost_prompt is None


objectives = st.one_of(st.none(), st.integers(1, 100).map(lambda percent: percent / 100))


@given(objectives, objectives)
def test_the_stricter_of_both_objectives_counts(own, asked):
    text = contract("a", extra=f"slo: {{success_rate: {own}, window: 7d}}\n" if own else "")
    written = load_contract(
        revision({**FILES, "contracts/a.yaml": text}), "contracts/a.yaml", SHAPES
    )
    held = held_to(NewContracts(success_rate=asked, floor=True), written)
    targets = [o.target for o in held.slo if o.name == "success_rate"]
    assert any(o.by_policy for o in held.slo) == (asked is not None and asked > (own or 0))
    assert targets == ([max(own or 0, asked or 0)] if own or asked else [])
    if own:
        assert [o.window for o in held.slo] == ["7d"]
