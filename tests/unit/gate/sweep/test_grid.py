"""Axes as they are written, and the settings that they span."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.outcomes import contract, target

from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Target
from gatekeeper.errors import UsageError
from gatekeeper.gate.sweep.grid import MOST_SETTINGS, Axis, read_axis, settings_of

NOWHERE = MemoryRevision({}, "a" * 40)


def names(axes, **fields):
    return [s.name for s in settings_of(contract("a", **fields), axes, NOWHERE)]


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("temperature=0,0.3,0.7", Axis("temperature", (0, 0.3, 0.7))),
        (" top_p = 0.5 ", Axis("top_p", (0.5,))),
        ('stop=["\\n", "END"], null', Axis("stop", (["\n", "END"], None))),
        ("style='a,b',c", Axis("style", ("a,b", "c"))),
    ],
)
def test_an_axis_is_a_name_and_yaml_values(text, axis):
    assert read_axis(text) == axis


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("temperature", "write NAME=VALUE"),
        ("=1", "write NAME=VALUE"),
        ("temperature=", "at least one value"),
        ("stop=[1", "not YAML"),
    ],
)
def test_what_is_no_axis_is_explained(text, says):
    with pytest.raises(UsageError, match=says) as caught:
        read_axis(text)
    assert text in str(caught.value)


def test_the_contracts_own_setting_comes_first_and_only_once():
    axes = [Axis("model", ("m1", "m2")), Axis("temperature", (0, 1))]
    own = Target(target().prompt, "m2", {"temperature": 0})
    found = settings_of(contract("a", target=own), axes, NOWHERE)
    assert [s.name for s in found] == [
        "m2, temperature 0",
        "m1, temperature 0",
        "m1, temperature 1",
        "m2, temperature 1",
    ]
    assert [s.current for s in found] == [True, False, False, False]
    assert found[1].target.model == "m1"
    assert found[2].target.params == {"temperature": 1}


def test_what_the_contract_does_not_set_is_said():
    assert names([Axis("temperature", (1,))]) == ["temperature not set", "temperature 1"]


def test_other_parameters_stay():
    own = Target(target().prompt, "m", {"max_tokens": 4, "temperature": 0})
    found = settings_of(contract("a", target=own), [Axis("temperature", (1,))], NOWHERE)
    assert found[1].target.params == {"max_tokens": 4, "temperature": 1}


def test_a_prompt_of_the_revision_takes_the_place_of_the_contracts_own():
    revision = MemoryRevision({"prompts/q.txt": b"Tell {{ word }}."}, "a" * 40)
    found = settings_of(contract("a"), [Axis("prompt", ("prompts/q.txt",))], revision)
    assert [s.target.prompt.path for s in found] == ["prompts/p.txt", "prompts/q.txt"]
    assert found[1].target.prompt.text == "Tell {{ word }}."


@pytest.mark.parametrize(
    ("axes", "says"),
    [
        ([], "nothing to vary"),
        ([Axis("model", ("a",)), Axis("model", ("b",))], "model occurs twice"),
        ([Axis("prompt", ("prompts/none.txt",))], "prompts/none.txt"),
        ([Axis("a", tuple(range(11))), Axis("b", tuple(range(10)))], "110 combinations"),
    ],
)
def test_what_cannot_be_tried_is_explained(axes, says):
    with pytest.raises(UsageError, match=says):
        settings_of(contract("a"), axes, NOWHERE)


@given(
    st.lists(
        st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True), min_size=1, max_size=3
    )
)
def test_every_combination_is_there_exactly_once(values):
    axes = [Axis(f"p{i}", tuple(v)) for i, v in enumerate(values)]
    found = settings_of(contract("a"), axes, NOWHERE)
    count = 1
    for axis in axes:
        count *= len(axis.values)
    assert len(found) == count + 1 <= MOST_SETTINGS + 1
    assert len({s.name for s in found}) == len(found)
