"""What the base arm runs, prompts that are left behind, recordings that change."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.two_contracts import FILES, SHAPES, after, contract, revision

from gatekeeper.contract.changes.affected import Affected, every_contract, find_affected
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import AffectedBy, Change


def between(base: dict[str, str], head: dict[str, str], **renames: str) -> Affected:
    paths = {f"prompts/{old}.md": f"prompts/{new}.md" for old, new in renames.items()}
    return find_affected(Change(revision(base), revision(head), paths), Policy(), SHAPES)


def without(path: str) -> dict[str, str]:
    return {name: text for name, text in FILES.items() if name != path}


def test_the_base_arm_runs_what_the_base_contract_names() -> None:
    (result,) = after({"contracts/a.yaml": edited(contract("a"), "model: m", "model: n")}).contracts
    assert result.base is not None
    assert result.base_target == result.base.target
    (removed,) = after({"contracts/a.yaml": None}).contracts
    assert removed.base is not None
    assert removed.base_target == removed.base.target


@pytest.mark.parametrize(
    "base",
    [without("contracts/a.yaml"), {**FILES, "contracts/a.yaml": contract("a", extra="oops: 1\n")}],
)
def test_without_a_base_contract_the_base_arm_runs_the_prompt_that_was_there(
    base: dict[str, str],
) -> None:
    text = contract("a", extra="params: {seed: 1}\n")
    head = {**FILES, "contracts/a.yaml": text, "prompts/a.md": "New {{ x }}"}
    (result,) = between(base, head).contracts
    assert result.base is None
    assert result.base_target is not None
    assert result.base_target.prompt.text == FILES["prompts/a.md"]
    assert "prompts/part.md" in result.base_target.prompt.includes
    assert (result.base_target.model, result.base_target.params) == ("m", {"seed": 1})
    assert result.left_prompt is None


def test_a_new_contract_for_a_renamed_prompt_runs_the_one_it_was() -> None:
    head = {**FILES, "contracts/a.yaml": contract("a", "../prompts/n.md")}
    head["prompts/n.md"] = head.pop("prompts/a.md") + "!"
    (result,) = between(without("contracts/a.yaml"), head, a="n").contracts
    assert result.base_target is not None
    assert result.base_target.prompt.path == "prompts/a.md"


@pytest.mark.parametrize("text", [None, "{% include 'gone.md' %}", "{% if x %}"])
def test_no_prompt_at_base_that_can_be_read_is_no_target(text: str | None) -> None:
    base = without("contracts/a.yaml")
    del base["prompts/a.md"]
    base |= {"prompts/a.md": text} if text else {}
    (result,) = between(base, FILES).contracts
    assert (result.base, result.base_target) == (None, None)


def test_every_contract_of_a_suite_has_no_base_target() -> None:
    suite = every_contract(revision(FILES), Policy(), SHAPES)
    assert {(c.base_target, c.left_prompt) for c in suite.contracts} == {(None, None)}


def test_a_contract_that_leaves_its_prompt_for_a_copy_is_affected() -> None:
    away = contract("a", "../prompts/copy.md")
    copied = {"contracts/a.yaml": away, "prompts/copy.md": FILES["prompts/a.md"]}
    (result,) = after({**copied}).contracts
    assert result.left_prompt == "prompts/a.md"
    assert result.affected_by == (AffectedBy("prompts/copy.md", "added"),)
    (broken,) = after({**copied, "prompts/a.md": "Broken"}).contracts
    assert broken.left_prompt == "prompts/a.md"
    assert broken.affected_by == (
        AffectedBy("prompts/a.md", "modified"),
        AffectedBy("prompts/copy.md", "added"),
    )
    there = {**FILES, "prompts/copy.md": FILES["prompts/a.md"]}
    (older,) = between(there, {**there, "contracts/a.yaml": away}).contracts
    assert older.left_prompt == "prompts/a.md"
    assert older.affected_by == (AffectedBy("contracts/a.yaml", "modified"),)


def test_a_prompt_that_is_gone_is_not_left_behind() -> None:
    head = {**FILES, "contracts/a.yaml": contract("a", "../prompts/n.md")}
    head["prompts/n.md"] = head.pop("prompts/a.md") + "!"
    for renames in ({}, {"a": "n"}):
        (result,) = between(FILES, head, **renames).contracts
        assert (result.left_prompt, result.base is None) == (None, False)


@pytest.mark.parametrize("where", ["contract", "prompt", "prompt, escaped"])
def test_a_changed_recording_affects_what_answers_from_it(where: str) -> None:
    base = {**FILES, "past.txt": "one"}
    base["contracts/a.yaml"] = edited(contract("a"), "model: m", "model: recorded/past.txt")
    if where != "contract":
        model = "recorded/past.txt" if where == "prompt" else '"\\x72ecorded/past.txt"'
        base["contracts/a.yaml"] = edited(contract("a"), "model: m\n", "")
        base["prompts/a.md"] = f"---\nmodel: {model}\n---\nuser:\nA {{{{ x }}}}"
    (result,) = between(base, {**base, "past.txt": "two"}).contracts
    assert result.affected_by == (AffectedBy("past.txt", "modified"),)
    gone = {path: text for path, text in base.items() if path != "past.txt"}
    (result,) = between(base, gone).contracts
    assert result.affected_by == (AffectedBy("past.txt", "deleted"),)
    assert between(base, {**base, "past.jsonl": "x"}).contracts == ()
    assert between(gone, {**gone, "README.md": "new"}).contracts == ()
