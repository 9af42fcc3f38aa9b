"""A check `goal_reached` without a simulated user is refused before any call."""

from __future__ import annotations

import pytest
from support.edited_text import edited

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import ContractError

GOAL = "user: {model: openai/m, goal: Leave.}\n"
CONTRACT = """\
contract: 1
name: shop
prompt: shop.md
model: openai/m
fixtures:
  - {id: a, vars: {x: 1}, category: talk}
  - {id: b, vars: {x: 2}, category: talk, user: {goal: Stay.}}
  - {id: c, vars: {x: 3}, category: plain}
checks:
  - {type: contains, value: Hello}
  - {type: goal_reached}
"""
NO_USER = edited(CONTRACT, ", user: {goal: Stay.}", "")


def load(contract: str) -> None:
    files = {"shop.md": b"Say {{ x }}", "shop.yaml": contract.encode()}
    load_contract(MemoryRevision(files), "shop.yaml", SHAPES)


@pytest.mark.parametrize(
    ("contract", "line"),
    [
        (NO_USER, 11),
        (NO_USER + "user: {model: openai/m}\n", 11),
        (
            edited(
                NO_USER, "{type: goal_reached}", "{type: any_of, checks: [{type: goal_reached}]}"
            ),
            11,
        ),
        (edited(CONTRACT, "reached}", "reached, when: x == 3}") + "user: {model: openai/m}\n", 11),
        (
            edited(NO_USER, "  - {type: goal_reached}\n", "")
            + "groups:\n  talk:\n    checks: [{type: goal_reached}]\n",
            13,
        ),
    ],
)
def test_a_goal_that_no_user_can_reach_is_refused_with_its_line(contract: str, line: int) -> None:
    with pytest.raises(ContractError) as caught:
        load(contract)
    (problem,) = caught.value.problems
    assert (problem.path, problem.line, problem.field) == ("shop.yaml", line, "goal_reached")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "contract",
    [
        NO_USER + GOAL,
        CONTRACT + "user: {model: openai/m}\n",
        edited(CONTRACT, "reached}", "reached, when: x == 2}") + "user: {model: openai/m}\n",
    ],
)
def test_one_fixture_with_a_user_is_enough(contract: str) -> None:
    load(contract)


def test_a_check_of_one_fixture_needs_that_fixtures_user() -> None:
    own = "- {id: c, vars: {x: 3}, checks: [{type: goal_reached}], category: plain}"
    text = edited(CONTRACT, "- {id: c, vars: {x: 3}, category: plain}", own)
    with pytest.raises(ContractError) as caught:
        load(text + "user: {model: openai/m}\n")
    assert [problem.line for problem in caught.value.problems] == [8]
