"""What a change affects if a contract's prompt is a part of a file."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from support.edited_text import edited
from support.two_contracts import FILES, SHAPES, contract, revision

from gatekeeper.contract.changes.affected import AffectedContract, find_affected
from gatekeeper.contract.changes.new_contracts import hold_new_contracts
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.values.change import Change
from gatekeeper.contract.weakening.weakening import setting_changes

LONG = "Sort each ticket by its urgency and name the team that has to reply to {{ x }} today"
OTHER = "Write a short poem about the sea in autumn for a friend who is called {{ x }}"
BASE = {
    **FILES,
    "contracts/a.yaml": contract("a", "/p.yaml#one"),
    "p.yaml": f"one: {LONG}\ntwo: {OTHER}\n",
}


def between(
    head: Mapping[str, str | None],
    base: Mapping[str, str] = BASE,
    renames: Mapping[str, str] | None = None,
) -> dict[str, AffectedContract]:
    files = {path: text for path, text in {**base, **head}.items() if text is not None}
    change = Change(revision(dict(base)), revision(files), renames or {})
    found = find_affected(change, Policy(), SHAPES)
    return {c.name: c for c in hold_new_contracts(found, change, Policy()).contracts}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"one: {LONG}\ntwo: changed\nthree: new\n", set()),
        (f"# a note\ntwo: {OTHER}\none: '{LONG}'\n", set()),
        (f"one: {LONG}!\ntwo: {OTHER}\n", {"a"}),
    ],
)
def test_only_the_part_itself_counts(text: str, expected: set[str]) -> None:
    found = between({"p.yaml": text})
    assert found.keys() == expected
    for result in found.values():
        assert [cause.path for cause in result.affected_by] == ["p.yaml"]
        assert result.base_target is not None
        assert result.base_target.prompt.text == LONG


def test_a_part_that_is_moved_is_compared_with_what_it_was() -> None:
    moved = {
        "contracts/a.yaml": contract("a", "/q.json#here[0]"),
        "p.yaml": f"two: {OTHER}\n",
        "q.json": f'{{"here": ["{LONG} again"]}}',
    }
    result = between(moved)["a"]
    assert (result.left_prompt, result.successors, result.is_new) == (None, (), False)
    assert result.base_target is not None
    assert result.base_target.prompt.reference == "p.yaml#one"
    within = {"contracts/a.yaml": contract("a", "/p.yaml#uno"), "p.yaml": f"uno: {LONG} again\n"}
    assert between(within)["a"].left_prompt is None


def test_a_part_that_stays_is_left_behind() -> None:
    copied = {
        "contracts/a.yaml": contract("a", "/q.yaml#one"),
        "p.yaml": "one: worse {{ x }}\n",
        "q.yaml": f"one: {LONG}\n",
    }
    assert between(copied)["a"].left_prompt == "p.yaml#one"
    assert between({**copied, "p.yaml": "one: {x"})["a"].left_prompt == "p.yaml#one"
    gone = {**copied, "p.yaml": None, "r.yaml": "one: worse {{ x }}\n"}
    assert between(gone, renames={"p.yaml": "r.yaml"})["a"].left_prompt == "r.yaml#one"
    assert between(gone, renames={"p.yaml": "q.yaml"}) == {}  # it only moved


def test_a_part_under_another_name_in_its_file_may_replace_it() -> None:
    """The contract names a copy elsewhere, and the program's own file has the changed text."""
    hidden = {
        "contracts/a.yaml": contract("a", "/q.yaml#one"),
        "p.yaml": f"uno: Please {LONG} soon\ntwo: {OTHER}\n",
        "q.yaml": f"one: {LONG}\n",
    }
    assert between(hidden)["a"].successors == ("p.yaml",)
    assert between({**hidden, "p.yaml": f"two: {OTHER}\nthree: 3\n"}) == {}  # it only moved


def test_a_removed_contract_names_where_its_part_went() -> None:
    still = between({"contracts/a.yaml": None})["a"]
    assert still.prompt_still_there
    gone = between({"contracts/a.yaml": None, "p.yaml": f"uno: {LONG}\n"})["a"]
    assert not gone.prompt_still_there
    assert gone.successors == ("p.yaml",)


def test_a_part_is_lost_if_its_base_contract_cannot_be_loaded() -> None:
    base = {**BASE, "contracts/a.yaml": contract("a", "/p.yaml#one", extra="oops: 1\n")}
    moved = {"contracts/a.yaml": contract("a", "/p.yaml#two"), "p.yaml": f"two: {OTHER}\n"}
    assert between(moved, base)["a"].lost_prompt == "p.yaml#one"
    assert between({**moved, "p.yaml": BASE["p.yaml"]}, base)["a"].left_prompt == "p.yaml#one"


def test_a_contract_may_stand_in_the_file_of_its_prompt() -> None:
    text = contract("a", "/contracts/a.yaml#description", extra=f"description: {LONG}\n")
    base = {**BASE, "contracts/a.yaml": text}
    found = between({"contracts/a.yaml": edited(text, "Sort", "Rank")}, base)
    assert [cause.path for cause in found["a"].affected_by] == ["contracts/a.yaml"]
    assert between({"contracts/a.yaml": f"# note\n{text}"}, base) == {}


def test_head_is_also_read_in_the_style_of_base() -> None:
    """The program still fills in format strings, whatever the contract says."""
    plain = contract("a", "/p.yaml#one")
    base = {**BASE, "contracts/a.yaml": plain, "p.yaml": "one: Read {x}\n"}
    turned = {"contracts/a.yaml": f"{plain}template: jinja\n", "p.yaml": "one: Read {{x}}\n"}
    result = between(turned, base)["a"]
    assert result.base is not None
    assert result.head is not None
    assert result.base.target.prompt.style == "fstring"
    alone = result.base.target_for(result.head.target).prompt
    assert render_messages(alone, {"x": "1"})[0].content == "Read {x}"
    assert setting_changes(result.base, result.head) == ("template changed from fstring to jinja",)
    crashes = between({**turned, "p.yaml": "one: '{ {{x}}'\n"}, base)["a"]
    assert crashes.head is not None
    alone = result.base.target_for(crashes.head.target).prompt
    assert render_messages(alone, {"x": "1"})[0].content == "{ {{x}}"


def test_other_keys_of_a_prompt_file_are_uncovered() -> None:
    base = {
        **FILES,
        "contracts/a.yaml": contract("a", "/prompts/all.yaml#one"),
        "prompts/all.yaml": f"one: {LONG}\ntwo: {OTHER}\nversion: v1\n",
    }
    files = {**base, "prompts/all.yaml": f"one: {LONG}\ntwo: [a, new text]\nversion: v2\n"}
    found = find_affected(Change(revision(base), revision(files)), Policy(), SHAPES)
    assert (found.contracts, found.uncovered) == ((), ("prompts/all.yaml#two[1]",))
    files = {**base, "prompts/all.yaml": f"one: {LONG} now\ntwo: {OTHER}\nversion: v2\n"}
    found = find_affected(Change(revision(base), revision(files)), Policy(), SHAPES)
    assert ([c.name for c in found.contracts], found.uncovered) == (["a"], ())


def test_a_file_whose_name_looks_like_a_reference_is_a_file() -> None:
    """It neither replaces the part that it is called after, nor stops the gate."""
    moved = {"contracts/a.yaml": contract("a", "/q.yaml#one"), "p.yaml": f"two: {OTHER}\n"}
    moved |= {"q.yaml": f"one: {LONG} again\n", "q.yaml#one": "decoy", "q.yaml#[": LONG}
    result = between(moved)["a"]
    assert result.head is not None
    assert result.head.target.prompt.text == f"{LONG} again"
    assert result.successors == ("q.yaml#[",)
