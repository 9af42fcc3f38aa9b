"""What makes a mean of scores easier to reach: checks that count in it, and their weights."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatekeeper.contract.values.definition import (
    CheckShape,
    CheckSpec,
    Contract,
    Fixture,
    Prompt,
    Target,
)
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.contract.weakening.weakening import check_weakenings, score_weakenings

SCORED = CheckShape({}, scores=True)
ONE = CheckSpec("contains", "one", {"value": "a"}, shape=SCORED)
TWO = CheckSpec("contains", "two", {"value": "b"}, shape=SCORED)
EASY = CheckSpec("length", "easy", {"min": 0})
OWN = CheckSpec("equals", "own", {"value": 1})
ROWS = (Fixture("a", {}, checks=(OWN,)), Fixture("b", {}))
BASE = Contract("n", "c.yaml", Target(Prompt("p", (), ""), "m", {}), ROWS, (ONE,), pass_score=0.8)


def found(base: Contract, head: Contract) -> list[str]:
    return list(score_weakenings(base, head))


def names(said: list[str]) -> set[str]:
    """The checks that the sentences name."""
    return {check for check in ("one", "two", "easy", "own") if f"check `{check}`" in str(said)}


def test_the_same_contract_weakens_nothing() -> None:
    assert found(BASE, BASE) == []


@pytest.mark.parametrize(
    ("before", "now", "count"),
    [(0.8, 0.7, 1), (0.8, 0.9, 0), (0.8, None, 1), (None, 0.8, 1), (None, 1, 0), (None, None, 0)],
)
def test_a_lower_pass_score_is_weaker(before: float | None, now: float | None, count: int) -> None:
    assert len(found(replace(BASE, pass_score=before), replace(BASE, pass_score=now))) == count


def test_a_check_that_is_added_makes_the_others_count_less() -> None:
    head = replace(BASE, checks=(ONE, EASY))
    assert names(found(BASE, head)) == {"easy"}
    assert found(head, BASE) == []
    assert found(BASE, replace(BASE, checks=(EASY,))) == [], "one for another is told of elsewhere"
    assert found(BASE, replace(BASE, checks=(ONE, replace(EASY, severity="warn")))) == []


def test_a_check_of_a_fixture_counts_too_but_not_that_of_a_new_one() -> None:
    more = replace(ROWS[1], checks=(EASY,))
    assert names(found(BASE, replace(BASE, fixtures=(ROWS[0], more)))) == {"easy"}
    new = Fixture("c", {}, checks=(EASY,))
    assert found(BASE, replace(BASE, fixtures=(*ROWS, new))) == []


def test_a_check_that_applies_to_more_fixtures_counts_in_them() -> None:
    base = replace(BASE, fixtures=(replace(ROWS[0], left_out=frozenset({"one"})), ROWS[1]))
    said = found(base, BASE)
    assert names(said) == {"one"}
    assert "`a`" in said[0]
    assert "`b`" not in said[0]
    assert found(base, base) == found(BASE, base) == []
    assert found(base, replace(base, fixtures=ROWS[1:])) == []
    warns = replace(base, checks=(replace(ONE, severity="warn"),))
    assert found(warns, replace(warns, fixtures=ROWS)) == []


def test_another_weight_of_any_check_is_named() -> None:
    heavy = replace(BASE, checks=(replace(ONE, weight=2.0),))
    assert names(found(BASE, heavy)) == {"one"}
    fixture = replace(ROWS[0], checks=(replace(OWN, weight=3.0),))
    said = found(BASE, replace(BASE, fixtures=(fixture, ROWS[1])))
    assert names(said) == {"own"}
    assert said[0].startswith("fixture `a`")
    plain, other = (replace(contract, pass_score=None) for contract in (BASE, heavy))
    assert found(plain, other) == [], "without a mean of scores a weight means nothing"


def test_an_objective_of_scores_counts_as_a_pass_score_does() -> None:
    slo = read_objectives({"judge_score": 0.7})
    base = replace(BASE, pass_score=None, slo=slo)
    assert names(found(base, replace(base, checks=(ONE, TWO)))) == {"two"}
    assert found(base, replace(base, checks=(ONE, EASY))) == [], "it gives no score"
    assert names(found(base, replace(base, checks=(replace(ONE, weight=2.0),)))) == {"one"}


def test_checks_that_change_places_stay_what_they_are() -> None:
    assert list(check_weakenings("", (ONE, TWO), (TWO, ONE))) == []
    renamed = replace(ONE, name="two"), replace(TWO, name="one")
    assert list(check_weakenings("", (ONE, TWO), renamed)) == []


def test_what_no_longer_must_pass_is_weaker() -> None:
    must = replace(ONE, must_pass=True)
    assert len(list(check_weakenings("", (must,), (ONE,)))) == 1
    assert list(check_weakenings("", (ONE,), (must,))) == []
    warns = replace(must, severity="warn")
    assert len(list(check_weakenings("", (must,), (warns,)))) == 1


def test_checks_of_one_name_are_compared_before_others_of_their_type() -> None:
    same, stricter = replace(ONE, severity="warn"), replace(TWO, severity="error")
    base = (replace(ONE, params={"value": "x"}), replace(TWO, params={"value": "y"}))
    (lowered,) = (
        said for said in check_weakenings("", base, (stricter, same)) if "severity" in said
    )
    assert names([lowered]) == {"one"}
