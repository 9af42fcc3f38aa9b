"""What a change of one step affects, and the ways to leave a prompt without its contract."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.foreign_files import loaded as loaded_from

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import AffectedContract, find_affected
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.templates.structure import is_same_chain
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.weakening.weakening import weakenings
from gatekeeper.gate.samples.outcomes import requests_by_arm
from gatekeeper.sampling.trials import plan_trials

CONTRACT = """\
contract: 1
name: order
model: openai/m
steps:
  - name: extract
    prompt: ../prompts/extract.md
    checks: [{type: contains, value: a}, {type: length, max: 9}]
prompt: ../prompts/answer.md
fixtures: [{id: a, vars: {name: Ann}}]
checks: [{type: contains, value: Ann}]
"""
RULES = "".join(f"Rule {n}: mind the item {n} of the list.\n" for n in range(9))
EXTRACT = f"{RULES}Extract {{{{ name }}}}"
FILES = {
    "contracts/order.yaml": CONTRACT,
    "prompts/extract.md": EXTRACT,
    "prompts/answer.md": "Answer {{ extract }}",
}


def after(
    changes: dict[str, str | None], renames: dict[str, str] | None = None
) -> tuple[AffectedContract, ...]:
    base = MemoryRevision({path: text.encode() for path, text in FILES.items()})
    files = {**FILES, **changes}
    head = MemoryRevision({path: text.encode() for path, text in files.items() if text is not None})
    return find_affected(Change(base, head, renames or {}), Policy(), SHAPES).contracts


def loaded(changes: dict[str, str]) -> Contract:
    return loaded_from({**FILES, **changes}, "contracts/order.yaml")


def only(changes: dict[str, str | None], renames: dict[str, str] | None = None) -> AffectedContract:
    (found,) = after(changes, renames)
    return found


def weaker(found: AffectedContract) -> tuple[str, ...]:
    assert found.base is not None
    assert found.head is not None
    return weakenings(found.base, found.head)


def without_step(text: str = CONTRACT) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[:3] + lines[7:])


@pytest.mark.parametrize("path", ["prompts/extract.md", "prompts/answer.md"])
def test_a_change_of_any_step_affects_the_contract(path: str) -> None:
    found = only({path: f"{FILES[path]} now"})
    assert [cause.path for cause in found.affected_by] == [path]
    assert found.left_prompt is None
    assert found.base is not None
    assert found.head is not None
    assert not is_same_chain(found.base.target, found.head.target, {})
    assert after({"README.md": "x"}) == ()


def test_a_copy_in_the_place_of_a_step_leaves_its_prompt() -> None:
    copied = {
        "contracts/order.yaml": edited(CONTRACT, "extract.md", "copy.md"),
        "prompts/copy.md": EXTRACT,
        "prompts/extract.md": f"{EXTRACT} badly",
    }
    assert only(copied).left_prompt == "prompts/extract.md"


def test_a_copy_under_the_old_name_of_a_step_leaves_its_prompt() -> None:
    """The changed prompt is still a step, but not the one that it was."""
    second = "  - {name: again, prompt: ../prompts/extract.md}\nprompt: ../prompts/answer"
    text = edited(CONTRACT, "prompts/extract.md", "prompts/copy.md")
    head = {
        "contracts/order.yaml": edited(text, "prompt: ../prompts/answer", second),
        "prompts/copy.md": EXTRACT,
        "prompts/extract.md": f"{EXTRACT} badly",
        "prompts/answer.md": "Answer {{ extract }} {{ again }}",
    }
    assert only(head).left_prompt == "prompts/extract.md"


def test_the_last_prompt_may_not_become_a_step_of_another() -> None:
    text = edited(CONTRACT, "prompts/answer.md", "prompts/new.md")
    second = "  - {name: answer, prompt: ../prompts/answer.md}\nprompt: ../prompts/new"
    head = {
        "contracts/order.yaml": edited(text, "prompt: ../prompts/new", second),
        "prompts/new.md": "Repeat {{ answer }}",
    }
    assert only(head).left_prompt == "prompts/answer.md"


def test_a_removed_step_leaves_its_prompt_and_weakens_the_contract() -> None:
    head = {"contracts/order.yaml": without_step(), "prompts/answer.md": "Answer {{ name }}"}
    found = only(head)
    assert found.left_prompt == "prompts/extract.md"
    sentences = weaker(found)
    assert "step `extract` removed" in sentences
    assert "check `extract: length 9` removed" in sentences
    gone = only({**head, "prompts/extract.md": None})
    assert (gone.left_prompt, gone.successors) == (None, ())


def test_a_step_with_a_new_name_keeps_its_prompt() -> None:
    text = edited(CONTRACT, "name: extract", "name: facts")
    found = only({"contracts/order.yaml": text, "prompts/answer.md": "Answer {{ facts }}"})
    assert found.left_prompt is None
    assert "step `extract` removed" in weaker(found)


def test_a_prompt_of_a_step_that_moves_is_followed() -> None:
    text = edited(CONTRACT, "extract.md", "facts.md")
    moved = {"contracts/order.yaml": text, "prompts/extract.md": None, "prompts/facts.md": EXTRACT}
    assert after(moved, {"prompts/facts.md": "prompts/extract.md"}) == ()
    copied = {**moved, "prompts/real.md": f"{EXTRACT} badly"}
    assert only(copied).successors == ("prompts/real.md",)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("max: 9", "max: 99", "`max` weakened"),
        (", {type: length, max: 9}", "", "check `extract: length 9` removed"),
        ("value: a}", "value: a, severity: warn}", "severity lowered"),
    ],
)
def test_a_looser_check_of_a_step_is_a_weakening(old: str, new: str, said: str) -> None:
    found = only({"contracts/order.yaml": CONTRACT.replace(old, new)})
    assert any(said in text for text in weaker(found))


def test_a_check_that_moves_to_the_last_output_is_a_weakening() -> None:
    text = edited(
        CONTRACT,
        ", {type: length, max: 9}",
        "",
        "value: Ann}]",
        "value: Ann}, {type: length, max: 9}]",
    )
    found = only({"contracts/order.yaml": text})
    assert any("`step` changed" in text for text in weaker(found))


def test_a_removed_contract_names_every_prompt_that_stays() -> None:
    found = only({"contracts/order.yaml": None, "prompts/answer.md": None})
    assert found.head is None
    assert found.prompt_still_there


def test_a_new_contract_compares_each_prompt_with_what_it_was() -> None:
    base = MemoryRevision({p: t.encode() for p, t in FILES.items() if p != "contracts/order.yaml"})
    files = {**FILES, "prompts/extract.md": "Extract"}
    head = MemoryRevision({path: text.encode() for path, text in files.items()})
    (found,) = find_affected(Change(base, head, {}), Policy(), SHAPES).contracts
    assert found.base_target is not None
    assert [p.text for p in found.base_target.prompts] == [EXTRACT, FILES["prompts/answer.md"]]


def test_a_step_without_checks_may_be_removed() -> None:
    checked = "    checks: [{type: contains, value: a}, {type: length, max: 9}]\n"
    base = loaded({"contracts/order.yaml": CONTRACT.replace(checked, "")})
    head = loaded(
        {"contracts/order.yaml": without_step(), "prompts/answer.md": "Answer {{ name }}"}
    )
    assert weakenings(base, head) == ()


@pytest.mark.parametrize(
    ("template", "weaker"),
    [
        ("Answer {{ extract }} {{ again }}", False),
        ("Answer {{ again }}{% if never %}{{ extract }}{% endif %}", True),
        ("Answer {{ again }}{% if name %}{{ extract }}{% endif %}", False),
    ],
)
def test_a_step_whose_output_is_no_longer_used_is_a_weakening(template: str, weaker: bool) -> None:
    second = "  - {name: again, prompt: ../prompts/again.md}\nprompt: ../prompts/answer"
    head = loaded(
        {
            "contracts/order.yaml": edited(
                CONTRACT, "prompt: ../prompts/answer", second, "name: Ann", "name: Ann, never: ''"
            ),
            "prompts/again.md": "Extract {{ name }} again",
            "prompts/answer.md": template,
        }
    )
    base = loaded({})
    plan = plan_trials(head, head.target, base.target, {})
    rendered = tuple(requests_by_arm(plan.trials).values())
    found = [text for text in weakenings(base, head, rendered) if "reaches" in text]
    assert len(found) == weaker
