from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gatekeeper.contract.values.definition import (
    CheckSpec,
    Contract,
    Fixture,
    Message,
    MessageTemplate,
    Prompt,
    SamplingPolicy,
    Target,
)
from gatekeeper.contract.values.trial import Arm, Trial
from gatekeeper.errors import ContractError
from gatekeeper.gate.plan.plan import as_sent
from gatekeeper.sampling.trials import Plan, plan_trials

SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}}


def target(text: str, model: str = "openai/m", **params: Any) -> Target:
    return Target(Prompt("prompts/p.txt", (MessageTemplate("user", text, 1),), text), model, params)


def contract(fixtures: list[Fixture], text: str = "Head {{ word }}", **changes: Any) -> Contract:
    plain = Contract("tags", "contracts/tags.yaml", target(text), tuple(fixtures), ())
    return replace(plain, **changes)


def words(count: int) -> list[Fixture]:
    return [Fixture(f"f{number}", {"word": f"w{number}"}) for number in range(count)]


def planned(
    subject: Contract, base: Target | None, lent: Mapping[str, Fixture], contract_from: Arm = "head"
) -> Plan:
    """The plan of a contract on its own target, against `base`."""
    return plan_trials(subject, as_sent(subject), base, lent, contract_from)


def pairs(plan: Plan) -> list[tuple[Trial, Trial]]:
    return list(zip(plan.trials[::2], plan.trials[1::2], strict=True))


def by_arm(plan: Plan) -> list[Trial]:
    """The trials of a plan with one pair, base's first."""
    return sorted(plan.trials, key=lambda trial: trial.arm)


def test_repetitions_are_outermost_and_the_arms_next_to_each_other() -> None:
    policy = SamplingPolicy(samples=2, seed=7)
    plan = planned(contract(words(3), sampling=policy), target("Base {{ word }}"), {})
    assert [t.repetition for t in plan.trials] == [0] * 6 + [1] * 6
    assert all(first.fixture == second.fixture for first, second in pairs(plan))
    assert all({first.arm, second.arm} == {"base", "head"} for first, second in pairs(plan))
    assert Counter(t.fixture for t in plan.trials) == {"f0": 4, "f1": 4, "f2": 4}


def test_the_order_is_drawn_from_its_own_seed_and_not_from_the_contract_s() -> None:
    def order(order_seed: str, seed: int | None = 42) -> list[str]:
        subject = contract(words(30), sampling=SamplingPolicy(seed=seed))
        plan = plan_trials(subject, as_sent(subject), None, {}, order_seed=order_seed)
        return [trial.fixture for trial in plan.trials]

    in_file = [fixture.id for fixture in words(30)]
    assert order("1") == order("1", seed=7) == order("1", seed=None)
    assert order("1") != order("2") != in_file
    assert sorted(order("1")) == sorted(in_file)


def test_a_repetition_has_the_same_seed_on_both_arms() -> None:
    policy = SamplingPolicy(samples=2, seed=40)
    plan = planned(contract(words(1), sampling=policy), target("Base {{ word }}"), {})
    assert [sorted((t.arm, t.request.seed) for t in both) for both in pairs(plan)] == [
        [("base", 40), ("head", 40)],
        [("base", 41), ("head", 41)],
    ]


def test_without_a_seed_none_is_sent() -> None:
    plan = planned(contract(words(1), sampling=SamplingPolicy(seed=None)), None, {})
    assert [trial.request.seed for trial in plan.trials] == [None]


def test_each_arm_runs_its_own_prompt_model_and_params() -> None:
    base = target("Base {{ word }}", "openai/old", temperature=1)
    first, second = by_arm(planned(contract(words(1)), base, {}))
    assert first.request.messages == (Message("user", "Base w0"),)
    assert (first.request.model, first.request.params) == ("openai/old", {"temperature": 1})
    assert second.request.messages == (Message("user", "Head w0"),)
    assert (second.request.model, second.request.params) == ("openai/m", {})


@pytest.mark.parametrize("more", ["x", "w0"])
def test_what_the_base_fixture_had_besides_is_borrowed_for_the_base_prompt(more) -> None:
    """Base is trusted, and its prompt may need what the change drops."""
    older = {"f0": Fixture("f0", {"old": "w0", "more": more})}
    plan = planned(contract(words(1)), target("Base {{ old }} {{ more }}"), older)
    assert plan.unpaired == ()
    assert by_arm(plan)[0].request.messages == (Message("user", f"Base w0 {more}"),)


@pytest.mark.parametrize("older", [{"old": "w0"}, {"old": "w0", "word": "w0"}])
def test_a_renamed_variable_borrows_its_value_from_the_base_fixture(older) -> None:
    own = Fixture("f0", {"word": "w0"} if len(older) == 1 else {"word": "w0", "new": "w0"})
    lent = {"f0": Fixture("f0", older)}
    plan = planned(contract([own]), target("Base {{ old }}"), lent)
    assert by_arm(plan)[0].request.messages == (Message("user", "Base w0"),)
    assert plan.unpaired == ()


@pytest.mark.parametrize(
    "older",
    [
        {"old": "easier"},
        {"old": ["w0"]},
        {"old": ""},
    ],
)
def test_other_values_are_not_borrowed(older) -> None:
    plan = planned(contract(words(1)), target("Base {{ old }}"), {"f0": Fixture("f0", older)})
    assert plan.unpaired == ("f0",)
    assert [trial.arm for trial in plan.trials] == ["head"]


def test_a_fixture_that_the_base_prompt_cannot_render_has_no_base_trial() -> None:
    names = ("other", "old", "old")
    older = {f"f{i}": Fixture(f"f{i}", {name: f"w{i}"}) for i, name in enumerate(names)}
    plan = planned(contract(words(4)), target("Base {{ old }}"), older)
    assert plan.unpaired == ("f0", "f3")
    assert {t.fixture for t in plan.trials if t.arm == "base"} == {"f1", "f2"}
    assert {t.fixture for t in plan.trials if t.arm == "head"} == {"f0", "f1", "f2", "f3"}


def test_without_a_base_nothing_is_unpaired() -> None:
    plan = planned(contract(words(2)), None, {})
    assert plan.unpaired == ()
    assert {trial.arm for trial in plan.trials} == {"head"}


def test_a_problem_of_many_fixtures_is_told_once_with_their_number() -> None:
    fixtures = [*words(100), Fixture("whole", {"word": "x", "missing": "y"})]
    with pytest.raises(ContractError) as caught:
        planned(contract(fixtures, "{{ word }} {{ missing }}"), None, {})
    (problem,) = caught.value.problems
    assert "100 of 101 fixtures, of which the first is 'f0'" in problem.what
    assert problem.path == "prompts/p.txt"


def test_a_problem_of_one_fixture_names_it() -> None:
    with pytest.raises(ContractError, match="with fixture 'empty'"):
        planned(contract([*words(1), Fixture("empty", {})]), None, {})


def check(schema: Any, **files: str) -> CheckSpec:
    return CheckSpec("json_schema", "schema", {"schema": schema}, files=files)


def response_formats(subject: Contract, base: Target | None = None) -> list[Any]:
    return [t.request.params.get("response_format") for t in planned(subject, base, {}).trials]


def test_enforce_sends_the_first_schema() -> None:
    checks = (CheckSpec("equals", "e", {"value": 1}), check(SCHEMA), check({"type": "array"}))
    subject = contract(words(1), mode="enforce", checks=checks)
    sent = {"type": "json_schema", "json_schema": {"name": "output", "schema": SCHEMA}}
    assert response_formats(subject) == [sent]


def test_enforce_sends_a_schema_file() -> None:
    files = {"contracts/s.json": '{"type": "object"}'}
    subject = contract(words(1), mode="enforce", checks=(check("contracts/s.json", **files),))
    (sent,) = response_formats(subject)
    assert sent["json_schema"]["schema"] == {"type": "object"}


def test_a_response_format_of_the_params_wins() -> None:
    subject = contract(
        words(1),
        mode="enforce",
        checks=(check(SCHEMA),),
        target=target("{{ word }}", response_format={"type": "json_object"}),
    )
    assert response_formats(subject) == [{"type": "json_object"}]


@pytest.mark.parametrize("mode", ["observe", "repair"])
def test_other_modes_send_no_schema(mode: Any) -> None:
    assert response_formats(contract(words(1), mode=mode, checks=(check(SCHEMA),))) == [None]


def test_enforce_without_anything_to_enforce_is_not_possible() -> None:
    with pytest.raises(ContractError, match="no check defines a format"):
        response_formats(contract(words(1), mode="enforce"))


def test_a_schema_that_refers_elsewhere_cannot_be_enforced() -> None:
    schema = {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "other.json"}], "$defs": {"a": {}}}
    with pytest.raises(ContractError, match=r"refers to another document, 'other\.json'"):
        response_formats(contract(words(1), mode="enforce", checks=(check(schema),)))


def test_a_base_contract_lists_what_the_head_prompt_cannot_take() -> None:
    older = contract([Fixture("a", {"word": "x"}), Fixture("b", {"word": "y"})], "{{ renamed }}")
    lent = {"a": Fixture("a", {"renamed": "x"})}
    plan = planned(older, target("{{ word }}"), lent, "base")
    assert plan.unanswerable == ("b",)
    assert plan.unpaired == ()
    assert {t.contract_from for t in plan.trials} == {"base"}
    assert sorted((t.fixture, t.arm) for t in plan.trials) == [("a", "base"), ("a", "head")]
