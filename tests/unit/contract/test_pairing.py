"""Which contract of base a contract of head continues, whatever suites of other tools call it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.foreign_files import changed

from gatekeeper.contract.changes.affected import Affected

PATH = "evals/promptfooconfig.yaml"
GOOD, OTHER, WORSE = "Good {{word}}", "Other {{word}}", "Worse {{word}}"
TESTS = [{"vars": {"word": "a"}, "assert": [{"type": "contains", "value": "a"}]}]


def suite(*prompts: Any, models: Any = ("gpt-4o-mini",), **others: Any) -> dict[str, str]:
    data = {
        "prompts": [*prompts],
        "providers": [m if isinstance(m, dict) else f"openai:{m}" for m in models],
        "tests": TESTS,
        **others,
    }
    return {PATH: yaml.safe_dump(data, sort_keys=False)}


def labelled(**texts: str) -> list[dict[str, str]]:
    return [{"label": label, "raw": text} for label, text in texts.items()]


def native(name: str, prompt: str, model: str = "openai/gpt-4o-mini") -> str:
    return yaml.safe_dump(
        {
            "contract": 1,
            "name": name,
            "prompt": prompt,
            "template": "nunjucks",
            "model": model,
            "params": {"temperature": 0, "max_tokens": 1024},
            "fixtures": [{"vars": {"word": "a"}}],
            "checks": [{"type": "contains", "value": "a"}],
        }
    )


def removed(found: Affected) -> list[str]:
    """The contracts that count as removed, or as no longer testing their prompt."""
    return sorted(c.name for c in found.contracts if c.head is None or c.left_prompt)


def compared(found: Affected) -> dict[str, str | None]:
    """What each affected contract of head is compared with: the first word of base's prompt."""
    return {
        c.name: c.base_target.prompt.messages[0].content.split()[0] if c.base_target else None
        for c in found.contracts
        if c.head
    }


@pytest.mark.parametrize(
    ("base", "head"),
    [
        pytest.param(suite(GOOD), suite(GOOD, OTHER), id="a second prompt"),
        pytest.param(suite(GOOD), suite(OTHER, GOOD), id="a second prompt before the first"),
        pytest.param(suite(GOOD), suite(*labelled(a=GOOD)), id="a label"),
        pytest.param(suite(*labelled(a=GOOD)), suite(*labelled(b=GOOD)), id="another label"),
        pytest.param(
            suite(*labelled(a=GOOD, b=OTHER)),
            suite(*labelled(c="New {{word}}", a=GOOD, b=OTHER)),
            id="a third label before the others",
        ),
        pytest.param(suite(GOOD), suite(GOOD, models=["gpt-4o-mini", "gpt-4o"]), id="a model"),
        pytest.param(
            suite(GOOD), suite(GOOD, models=["gpt-4o", "gpt-4o-mini"]), id="a model before it"
        ),
        pytest.param(
            suite(GOOD, models=["gpt-4o-mini", "gpt-4o"]),
            suite(GOOD, models=["gpt-4o-mini", "gpt-4.1"]),
            id="a newer model in place of one of two",
        ),
        pytest.param(
            suite(GOOD, models=["gpt-4o-mini", "gpt-4o"]),
            suite(GOOD, OTHER, models=["gpt-4o", "gpt-4o-mini"]),
            id="models in another order and a second prompt",
        ),
        pytest.param(
            suite(GOOD, models=[{"id": "openai:gpt-4o", "label": "big"}]),
            suite(GOOD, models=[{"id": "openai:gpt-4o", "label": "large"}, "gpt-4o-mini"]),
            id="another label of a model, and a second model",
        ),
    ],
)
def test_an_honest_change_of_a_suite_removes_nothing(
    base: dict[str, str], head: dict[str, str]
) -> None:
    assert removed(changed(base, head)) == []


def harness(**versions: str) -> dict[str, str]:
    data = {
        "name": "words",
        "model": "gpt-4o-mini",
        "cases": [{"id": "a", "word": "a"}],
        "invariants": [{"type": "contains", "spec": "a"}],
        **(
            {"versions": {name: {"prompt_template": text} for name, text in versions.items()}}
            if len(versions) > 1
            else {"prompt_template": next(iter(versions.values()))}
        ),
    }
    return {"evals/words.yaml": yaml.safe_dump(data, sort_keys=False)}


def test_an_honest_second_version_of_a_harness_removes_nothing() -> None:
    base = harness(v1="Good {word}")
    for head in (
        harness(v1="Good {word}", v2="Other {word}"),
        harness(v2="Other {word}", v1="Good {word}"),
    ):
        assert removed(changed(base, head)) == []


@pytest.mark.parametrize("name", ["evals", "words"])
@pytest.mark.parametrize("inline", [True, False])
def test_a_suite_that_becomes_a_native_contract_is_the_same(name: str, inline: bool) -> None:
    text = {"evals/word.txt": GOOD}
    base = suite(GOOD) if inline else {**suite("file://word.txt"), **text}
    contract = native(name, "./word.txt")
    found = changed(base, {PATH: None, "evals/words.yaml": contract, **text})
    assert removed(found) == []
    assert all(one.base for one in found.contracts)


@pytest.mark.parametrize(
    ("base", "head", "name"),
    [
        pytest.param(suite(GOOD), suite(WORSE, OTHER), "evals-prompt-1", id="edited"),
        pytest.param(suite(GOOD), suite(WORSE, GOOD), "evals-prompt-1", id="a copy behind it"),
        pytest.param(
            suite(*labelled(main=GOOD)),
            suite(*labelled(old=GOOD, main=WORSE)),
            "evals-main",
            id="a copy before it with another label",
        ),
        pytest.param(
            suite(GOOD),
            suite(WORSE, models=[{"id": "openai:gpt-4o-mini", "label": "x"}, "gpt-4o"]),
            "evals-x",
            id="with another label of the model",
        ),
        pytest.param(
            suite(*labelled(a=GOOD, b=OTHER)),
            {
                **suite(*labelled(c=WORSE, b=OTHER)),
                "evals/new/promptfooconfig.yaml": suite(*labelled(a=GOOD))[PATH],
            },
            "evals-c",
            id="a copy under the old label in a new suite",
        ),
        pytest.param(
            {**suite("file://a.txt"), "evals/a.txt": GOOD},
            {
                **suite(*labelled(a="file://b.txt", c="file://a.txt")),
                "evals/a.txt": WORSE,
                "evals/b.txt": GOOD,
            },
            "evals-c",
            id="a copy of the file under the old label",
        ),
        pytest.param(
            {**suite("file://a.txt"), "evals/a.txt": GOOD},
            {
                PATH: None,
                "evals/a.txt": WORSE,
                "evals/b.txt": GOOD,
                "evals/new.yaml": native("copy", "./b.txt"),
                "evals/own.yaml": native("own", "./a.txt"),
            },
            "own",
            id="a native contract for a copy of the file",
        ),
    ],
)
def test_a_worse_prompt_keeps_its_baseline(
    base: dict[str, str], head: Mapping[str, str | None], name: str
) -> None:
    assert compared(changed(base, head))[name] == "Good"


def test_a_model_that_a_suite_no_longer_names_is_removed() -> None:
    found = changed(suite(GOOD, models=["gpt-4o-mini", "gpt-4o"]), suite(GOOD))
    assert removed(found) == ["evals-gpt-4o"]


def test_each_contract_of_base_has_one_partner_at_most() -> None:
    base = {
        "evals/a.yaml": native("a", "./word.txt"),
        "evals/b.yaml": native("b", "./word.txt"),
        "evals/word.txt": GOOD,
    }
    found = changed(
        base,
        {"evals/a.yaml": None, "evals/b.yaml": None, "evals/c.yaml": native("c", "./word.txt")},
    )
    assert len(removed(found)) == 1


@given(st.permutations([GOOD, OTHER, WORSE]), st.permutations(["gpt-4o", "gpt-4.1", "gpt-5"]))
def test_the_order_of_prompts_and_models_changes_no_contract(
    prompts: list[str], models: list[str]
) -> None:
    names = dict(zip((GOOD, OTHER, WORSE), ("good", "other", "worse"), strict=True))
    base = suite(
        *labelled(good=GOOD, other=OTHER, worse=WORSE), models=["gpt-4o", "gpt-4.1", "gpt-5"]
    )
    head = suite(*labelled(**{names[text]: text for text in prompts}), models=models)
    found = changed(base, head)
    assert removed(found) == []
    assert all(c.base is not None for c in found.contracts)


NEW = "evals/new/promptfooconfig.yaml"


@pytest.mark.parametrize("noticed", [True, False])
def test_a_suite_that_moves_removes_nothing(noticed: bool) -> None:
    """Whether git notices it or not."""
    renames = {PATH: NEW} if noticed else {}
    head = {PATH: None, NEW: suite(GOOD, OTHER)[PATH]}
    found = changed(suite(GOOD), head, renames)
    assert removed(found) == []
    assert [one.name for one in found.contracts] == ["evals-new-prompt-2"]


def test_a_description_of_a_test_changes_nothing() -> None:
    """It is the id of the fixture."""
    head = suite(GOOD, tests=[{**TESTS[0], "description": "the first letter"}])
    assert changed(suite(GOOD), head).contracts == ()


@pytest.mark.parametrize("named", ["file://word.txt", "word.txt", {"id": "file://word.txt"}])
@pytest.mark.parametrize("text", [GOOD, WORSE])
def test_a_prompt_that_moves_out_of_its_suite_is_the_same(named: Any, text: str) -> None:
    head = suite(named) | {"evals/word.txt": text}
    found = changed(suite(GOOD), head)
    assert removed(found) == []
    assert list(compared(found).values()) == (["Good"] if text == WORSE else [])


def test_a_prompt_that_a_suite_holds_but_no_longer_tests_is_left() -> None:
    filtered = {"id": "openai:gpt-4o-mini", "prompts": ["b"]}
    head = suite(*labelled(a=WORSE, b=GOOD), models=[filtered])
    assert removed(changed(suite(*labelled(a=GOOD)), head)) == ["evals"]


@pytest.mark.parametrize("name", ["evals/old/promptfooconfig.yaml", "evals/more.yaml"])
@pytest.mark.parametrize("text", [GOOD, WORSE])
def test_a_suite_whose_place_another_one_takes_keeps_its_prompt(name: str, text: str) -> None:
    """The folder gives a suite its name, so the new suite gets the name of the old one."""
    base = suite("file:///prompts/a.txt") | {"prompts/a.txt": GOOD, "prompts/b.txt": OTHER}
    head = {name: base[PATH], PATH: suite("file:///prompts/b.txt")[PATH], "prompts/a.txt": text}
    found = changed(base, head)
    assert removed(found) == []
    assert sorted(filter(None, compared(found).values())) == (
        ["Good", "Other"] if text == WORSE else ["Other"]
    )


def test_a_suite_that_becomes_two_removes_nothing() -> None:
    first, second = labelled(a=GOOD, b=OTHER)
    head = {PATH: suite(second)[PATH], NEW: suite(first)[PATH]}
    assert removed(changed(suite(first, second), head)) == []


def pcsl(*models: str) -> dict[str, str]:
    profile = {
        "pcsl": "0.1.0",
        "targets": [{"type": "openai", "model": model} for model in models],
        "fixtures": [{"id": "a", "input": "x"}],
    }
    checks = {"pcsl": "0.1.0", "checks": [{"type": "json_valid"}]}
    parts = {"ep": profile, "es": checks, "pd": {"pcsl": "0.1.0", "id": "a", "prompt": "Do."}}
    return {f"evals/{name}.json": json.dumps(data) for name, data in parts.items()}


@pytest.mark.parametrize(
    "models", [("gpt-4o", "gpt-5"), ("gpt-5", "gpt-4o"), ("gpt-4.1", "gpt-4o")]
)
def test_further_targets_in_any_order_remove_nothing(models: tuple[str, ...]) -> None:
    found = changed(pcsl("gpt-4o"), pcsl(*models))
    assert removed(found) == []
    assert [one.base for one in found.contracts if one.head and one.base] or len(
        found.contracts
    ) == 1


def test_a_contract_of_a_target_that_stays_is_not_compared_with_another_model() -> None:
    found = changed(pcsl("gpt-4o", "gpt-5"), pcsl("gpt-5", "gpt-4o"))
    assert found.contracts == ()
