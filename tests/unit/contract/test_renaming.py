"""Variables that are renamed, and names that would tell a prompt what to answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.changes.renaming import find_renaming, is_renamed, lent_values
from gatekeeper.contract.values.definition import Fixture

NAMES = st.sampled_from("abcd")
VALUES = st.one_of(st.integers(0, 3), st.text("xy", max_size=2), st.lists(st.integers(0, 1)))


def fixtures(*variables):
    return [Fixture(f"f{number}", values) for number, values in enumerate(variables)]


def lent(old, new):
    return {
        fixture.id: dict(fixture.vars)
        for fixture in lent_values(old, {f.id: f for f in new}, find_renaming(old, new))
    }


def test_a_new_name_with_the_same_values_is_a_renaming():
    old, new = (
        fixtures({"w": 1, "x": 2}, {"w": 3, "x": 4}),
        fixtures({"t": 1, "x": 2}, {"t": 3, "x": 4}),
    )

    assert find_renaming(old, new) == {"w": "t", "x": "x"}
    assert lent(old, new) == {"f0": {"t": 1, "x": 2}, "f1": {"t": 3, "x": 4}}


def test_a_name_for_each_class_of_fixtures_is_no_renaming():
    """The name alone would say what to answer."""
    old = fixtures(*({"w": n} for n in range(4)))
    new = fixtures({"p": 0}, {"n": 1}, {"p": 2}, {"n": 3})

    assert find_renaming(old, new) == {}
    assert lent(old, new) == {}


def test_positions_that_are_swapped_in_some_fixtures_are_not_lent():
    old = fixtures(*({"a": n, "b": -n - 1} for n in range(5)))
    swapped = fixtures(
        *({"x": n, "y": -n - 1} if n % 2 else {"x": -n - 1, "y": n} for n in range(5))
    )

    assert set(lent(old, swapped)) == {"f0", "f2", "f4"}


def test_the_values_are_the_fixtures_own():
    """Equal mappings may list their keys in another order, which a template can see."""
    old, new = fixtures({"w": {"a": 1, "b": 2}}), fixtures({"t": {"b": 2, "a": 1}})
    (found,) = lent_values(old, {"f0": new[0]}, find_renaming(old, new))

    assert list(found.vars["t"]) == ["a", "b"]


def test_more_values_than_before_are_not_lent():
    assert lent(fixtures({"w": 1}), fixtures({"t": 1, "hint": "easy"})) == {}


def test_two_variables_with_the_same_values_both_find_a_name():
    old, new = fixtures({"a": 1, "b": 1}), fixtures({"x": 1, "y": 1})
    assert sorted(find_renaming(old, new).values()) == ["x", "y"]


@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=3), max_size=5), st.permutations("abcd"))
def test_every_renaming_of_all_fixtures_is_found(variables, order):
    names = dict(zip("abcd", (name.upper() for name in order), strict=True))
    old = fixtures(*variables)
    new = fixtures(*({names[n]: value for n, value in values.items()} for values in variables))
    found = find_renaming(old, new)

    assert len(set(found.values())) == len(found)
    if variables and all(values.keys() == variables[0].keys() for values in variables):
        assert all(is_renamed(f, g, found) for f, g in zip(old, new, strict=True))
