"""Several p-values at once."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gatekeeper.stats.multiple import Adjusted, benjamini_hochberg, holm, holm_levels

CASES = json.loads((Path(__file__).parents[2] / "reference" / "statistics.json").read_text())

METHODS = {"holm": holm, "benjamini_hochberg": benjamini_hochberg}
p_lists = st.lists(st.floats(0, 1), max_size=20)


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in METHODS for case in CASES[name]["cases"]]
)
def test_it_agrees_with_statsmodels(name, case):
    found = METHODS[name](case["p"], 0.05)
    assert found.p_values == pytest.approx(case["adjusted"], rel=1e-12)
    assert list(found.rejected) == case["rejected"]


@pytest.mark.parametrize("method", METHODS.values())
def test_no_test_rejects_nothing(method):
    assert method([]) == Adjusted((), ())


@given(p_lists)
def test_adjusting_raises_p_values_and_keeps_their_order(values):
    for method in METHODS.values():
        adjusted = method(values).p_values
        assert all(p <= q * (1 + 1e-12) and q <= 1 for p, q in zip(values, adjusted, strict=True))
        ranked = [q for _, q in sorted(zip(values, adjusted, strict=True))]
        assert ranked == sorted(ranked)


@given(p_lists)
def test_holm_is_the_stricter_one(values):
    strict, shown = holm(values).p_values, benjamini_hochberg(values).p_values
    assert all(q <= p * (1 + 1e-12) for p, q in zip(strict, shown, strict=True))


@given(p_lists, st.randoms())
def test_order_does_not_matter(values, random):
    order = list(range(len(values)))
    random.shuffle(order)
    for method in METHODS.values():
        plain, shuffled = method(values), method([values[i] for i in order])
        assert shuffled.p_values == tuple(plain.p_values[i] for i in order)
        assert shuffled.rejected == tuple(plain.rejected[i] for i in order)


@given(st.floats(0, 1))
def test_a_single_test_is_left_as_it_is(p):
    assert holm([p], 0.05) == benjamini_hochberg([p], 0.05) == Adjusted((p,), (p <= 0.05,))


# --- the levels of Holm's steps ----------------------------------------------------------------


@given(p_lists, st.floats(0.001, 0.5))
def test_with_equal_alphas_the_levels_reject_what_holm_rejects(values, alpha):
    found = holm(values, alpha)
    assume(all(not math.isclose(p, alpha, rel_tol=1e-12) for p in found.p_values))
    p_values = {str(i): p for i, p in enumerate(values)}
    levels = levels_of(p_values, dict.fromkeys(p_values, alpha))
    assert tuple(p <= levels[name] for name, p in p_values.items()) == found.rejected


def test_the_steps_go_down_until_one_is_not_rejected():
    p_values = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}
    levels = levels_of(p_values, dict.fromkeys(p_values, 0.05))
    assert levels == {"a": 0.05 / 4, "d": 0.05 / 4, "b": 0.05 / 2, "c": 0.05 / 2}


def test_hypotheses_may_differ_in_alpha():
    """The second has the smaller p-value and the larger share of its alpha."""
    levels = levels_of({"a": 0.02, "b": 0.008}, {"a": 0.05, "b": 0.01})
    assert levels == {"a": 0.025, "b": 0.01}


@given(st.dictionaries(st.text(max_size=3), st.tuples(st.floats(0, 1), st.floats(0.001, 0.5))))
def test_a_level_lies_between_bonferronis_and_alpha(family):
    alphas = {name: alpha for name, (_, alpha) in family.items()}
    levels = levels_of({name: p for name, (p, _) in family.items()}, alphas)
    assert levels.keys() == family.keys()
    assert all(alphas[name] / len(family) <= levels[name] <= alphas[name] for name in family)


def test_no_hypothesis_has_no_level():
    assert levels_of({}, {}) == {}


def levels_of(p_values, alphas):
    return holm_levels(alphas, lambda name, level: p_values[name] <= level)
