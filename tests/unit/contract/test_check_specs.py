"""What checks are called without a name of their own, and what is said of wrong parameters."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from support.foreign_files import loaded as loaded_from

from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError


def loaded(check: dict[str, Any]) -> Contract:
    written = {
        "contract": 1,
        "name": "c",
        "prompt": "p.md",
        "model": "openai/x",
        "fixtures": [{"id": "a", "vars": {"x": "1"}}],
        "checks": [check],
    }
    return loaded_from({"c.yaml": yaml.safe_dump(written), "p.md": "Say {{ x }}."}, "c.yaml")


@pytest.mark.parametrize(
    ("check", "name"),
    [
        ({"type": "markdown", "table": True}, "markdown table"),
        ({"type": "markdown", "heading": 2}, "markdown 2"),
        ({"type": "tool_call", "none": True}, "tool_call none"),
        ({"type": "equals", "value": True}, "equals true"),
    ],
)
def test_a_check_is_named_by_its_main_parameter(check: dict[str, Any], name: str) -> None:
    (spec,) = loaded(check).checks
    assert spec.name == name


RUBRIC = {"judge": "rubric", "criteria": "x", "model": "openai/y"}


@pytest.mark.parametrize(
    ("check", "said", "not_said"),
    [
        ({**RUBRIC, "choices": {"good": 1}}, "fewer than 2 entries", "empty"),
        ({**RUBRIC, "models": []}, "is empty", "fewer"),
        ({**RUBRIC, "decide": "most"}, "not one of majority, unanimous", "use one of"),
        ({**RUBRIC, "decide": "majorty"}, "did you mean `majority`?", "write one of"),
    ],
)
def test_a_wrong_parameter_is_explained_once(
    check: dict[str, Any], said: str, not_said: str
) -> None:
    with pytest.raises(ContractError) as caught:
        loaded(check)
    (problem,) = caught.value.problems
    assert said in str(problem)
    assert not_said not in str(problem)


def test_levels_of_a_scale_may_be_numbers() -> None:
    (spec,) = loaded({**RUBRIC, "scale": {1: "useless", 2: "helps"}, "pass": 2}).checks
    assert spec.params["scale"] == {"1": "useless", "2": "helps"}
