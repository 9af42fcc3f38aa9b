"""Who plays the user of a fixture, and which changes make that user easier to satisfy."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.edited_text import edited
from support.two_contracts import FILES, SHAPES, revision

from gatekeeper.contract.fixtures.unused_variables import unused_variables
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.simulated_user.settings import user_weakenings
from gatekeeper.contract.values.definition import Contract, Fixture, SimulatedUser
from gatekeeper.errors import ContractError
from gatekeeper.sampling.trials import plan_trials

USER = 'user: {model: openai/gpt-4o, goal: "Get {{ x }}.", params: {temperature: 1}}\n'


def load(row: dict[str, object], user: str = USER, **files: str) -> Contract:
    made = {**FILES, **{name.replace("_", "."): text for name, text in files.items()}}
    made["contracts/a.yaml"] += user
    made["contracts/a.jsonl"] = json.dumps(row) + "\n"
    return load_contract(revision(made), "contracts/a.yaml", SHAPES)


def test_a_fixture_may_set_its_own_goal_and_number_of_messages() -> None:
    own = {"goal": "Leave.", "max_turns": 2}
    (fixture,) = load({"vars": {"x": "tea"}, "user": own}).fixtures
    expected = SimulatedUser("openai/gpt-4o", "Leave.", 2, "", {"temperature": 1})
    assert fixture.user == expected
    (plain,) = load({"x": "tea"}).fixtures
    assert plain.user == replace(expected, goal="Get {{ x }}.", max_turns=5)


def test_goals_are_rendered_and_part_of_the_request() -> None:
    contract = load({"x": "tea"})
    (trial,) = plan_trials(contract, contract.target, None, {}).trials
    call = trial.request.call
    assert isinstance(call, SimulatedUser)
    assert call.goal == "Get tea."


def test_a_variable_of_the_goal_is_used() -> None:
    row: dict[str, object] = {"vars": {"x": "tea", "y": "milk"}}
    assert len(list(unused_variables(load(row)))) == 1
    assert not list(unused_variables(load(row, USER.replace("{{ x }}", "{{ y }}"))))


def test_a_variable_named_user_stays_a_variable() -> None:
    (fixture,) = load({"x": "a", "user": {"name": "Ann"}}, "").fixtures
    assert (fixture.user, fixture.vars["user"]) == (None, {"name": "Ann"})


@pytest.mark.parametrize(
    ("row", "user"),
    [
        ({"vars": {"x": "a"}, "user": {"model": "openai/gpt-4o"}}, USER),
        ({"vars": {"x": "a"}, "user": {"goal": ""}}, USER),
        ({"vars": {"x": "a"}, "user": {"max_turns": 21}}, USER),
        ({"vars": {"x": "a"}, "user": {"goal": "b"}, "turns": ["c"]}, USER),
        ({"vars": {"x": "a"}, "user": {"goal": "b"}}, ""),
        ({"vars": {"x": "a"}, "user": {"max_turns": 2}}, "user: {model: openai/gpt-4o}\n"),
        ({"x": "a"}, "user: {goal: b}\n"),
        ({"x": "a"}, edited(USER, "temperature: 1", "tools: []")),
        ({"x": "a"}, edited(USER, "{model", "{prompt: missing.md, model")),
        ({"x": "a"}, f"user: {{model: openai/gpt-4o, goal: {'b' * 10_001}}}\n"),
    ],
)
def test_what_is_no_user_is_refused(row: dict[str, object], user: str) -> None:
    with pytest.raises(ContractError):
        load(row, user)


STRICT = SimulatedUser("m", "goal", 5, "Ann", {"temperature": 0})


def fixture(user: SimulatedUser | None) -> list[Fixture]:
    return [Fixture("a", {}, user=user), Fixture("b", {}, user=user)]


@pytest.mark.parametrize(
    ("head", "count"),
    [
        (STRICT, 0),
        (replace(STRICT, max_turns=9), 0),
        (replace(STRICT, max_turns=1), 2),
        (replace(STRICT, goal="less"), 2),
        (replace(STRICT, persona=""), 2),
        (replace(STRICT, model="n"), 1),
        (replace(STRICT, prompt="Say done. {{ goal }}"), 1),
        (replace(STRICT, params={}), 1),
        (None, 2),
    ],
)
def test_what_may_be_easier_is_named(head: SimulatedUser | None, count: int) -> None:
    assert len(list(user_weakenings(fixture(STRICT), fixture(head)))) == count
    assert len(list(user_weakenings(fixture(head), fixture(head)))) == 0
