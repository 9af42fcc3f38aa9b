"""The sequential test. What it promises is a theorem about ways to choose the signs, so it is
held against all of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gatekeeper.stats import sequential
from gatekeeper.stats.betting import not_worse_capital
from gatekeeper.stats.not_worse import not_worse
from gatekeeper.stats.sequential import (
    BETTING_SHARE,
    Evaluation,
    SequentialTest,
    looks,
)
from gatekeeper.stats.sign_flip import sign_flip_test

ROUNDS = [1, 2, 3, 5]
LEVELS = st.sampled_from([0.02, 0.05, 0.1, 0.2, 0.35])
CELLS = st.sampled_from([-1, 0, 1, 1])


def plan(fixtures, rounds, level=0.05, margin=0.05, early=True):
    return SequentialTest(fixtures, rounds, level, level, margin, early)


def table(rows):
    return np.array(rows, dtype=np.int8)


@st.composite
def drawn(draw, rounds=None, fewest=0, most=7):
    """Differences of shape (fixtures, rounds): a few that flicker, break or stay, any signs."""
    rounds = draw(st.sampled_from(ROUNDS)) if rounds is None else rounds
    same = st.sampled_from([-1, 0, 1]).map(lambda d: [d] * rounds)
    flickers = st.lists(CELLS, min_size=rounds, max_size=rounds)
    rows = draw(st.lists(st.one_of(same, flickers), min_size=fewest, max_size=most))
    return table(rows).reshape(len(rows), rounds)


def run(test, kindest, harshest=None):
    """The stop, and how many complete rounds and pairs of the first the decision rests on."""
    harshest = kindest if harshest is None else harshest
    early = test.after_pairs(kindest[:, 0], harshest[:, 0])
    if early:
        return early[0], 0, early[1]
    for done in range(1, test.rounds + 1):
        stop = test.after_round(kindest[:, :done], harshest[:, :done])
        if stop:
            return stop, done, len(kindest)
    raise AssertionError("it must end when all is drawn")


def every_sign(differences):
    """What a harmless change would be as likely to have given: each fixture as it is or the
    other way round."""
    for signs in product([1, -1], repeat=len(differences)):
        yield differences * np.array(signs, dtype=np.int8)[:, None]


# --- the false alarm ----------------------------------------------------------------------------


def keeps_its_level(differences, level, margin):
    test = plan(len(differences), differences.shape[1], level, margin)
    ways = list(every_sign(differences))
    stops = [run(test, way)[0] for way in ways]
    assert stops.count("regressed") <= level * len(ways) + 1e-9
    found = [test.evaluate(way, way[:, 0]) for way in ways]
    assert sum(f.regressed for f in found) <= level * len(ways) + 1e-9
    # Where it alarms the p-value is one: no value is reached more often than it says.
    for p in {f.p_value for f in found if f.regressed}:
        assert sum(f.p_value <= p for f in found) <= p * len(ways) * (1 + 1e-9)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_of_all_ways_to_choose_the_signs_no_more_than_the_level_regress(rounds):
    @settings(max_examples=15, deadline=None)
    @given(drawn(rounds), LEVELS, st.sampled_from([0.0, 0.3]))
    def check(differences, level, margin):
        keeps_its_level(differences, level, margin)

    check()


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 1, 1, 1, 1]] * 7,
        [[1, 0, 1, 0, 1]] * 7,
        [[0, 1, 1, 1, 1]] * 7,
        [[1, 0, 0, 0, 0]] * 4 + [[0, 0, 0, 0, 1]] * 3,
        [[1, 1, 1, 1, 1]] * 3 + [[0, 1, 0, 1, 0]] * 4,
        [[1, 1, 0, 1, 1], [1, 1, 1, -1, -1], [0, 0, 1, 1, 1], [1, 1, 1, 1, 0], [0, 0, 0, 1, 1]],
        [[1, -1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 1, 0, 0, 1], [1, 0, 1, 1, -1], [1, 1, 0, 0, 1]],
    ],
)
@pytest.mark.parametrize("level", [0.05, 0.2])
def test_neither_do_they_for_these_sizes(rows, level):
    for rounds in (2, 5):
        keeps_its_level(table(rows)[:, :rounds], level, margin=0.3)


HOLMS = [4, 3, 2, 1]
"""By what alpha is divided while four, three, two comparisons and one are not rejected yet."""


@settings(max_examples=15, deadline=None)
@given(drawn(fewest=4), st.sampled_from([0.05, 0.1, 0.2, 0.4]))
@example(table([[1, 1, 0, 1, 1]] * 3 + [[0, 1, 1, -1, 1]] * 3), 0.05)
def test_asked_at_every_level_of_holms_no_level_is_exceeded(differences, alpha):
    """Who is not rejected at alpha/4 is asked at alpha/3 when another comparison is, and so on:
    that is no second chance where all that a stricter level rejects a looser one does."""
    test = plan(len(differences), differences.shape[1], alpha / HOLMS[0])
    alarms = dict.fromkeys(HOLMS, 0)
    ways = list(every_sign(differences))
    for way in ways:
        found = [test.evaluate(way, way[:, 0], alpha / m) for m in HOLMS]
        rejected = [f.regressed for f in found]
        assert rejected == sorted(rejected)
        assert rejected == [f.p_value <= alpha / m for f, m in zip(found, HOLMS, strict=True)]
        for m, regressed in zip(HOLMS, rejected, strict=True):
            alarms[m] += regressed
    assert all(alarms[m] <= alpha / m * len(ways) + 1e-9 for m in HOLMS)


def test_a_looser_level_is_spent_at_the_last_look():
    differences = table([[1, 0, 1]] * 5 + [[0, 0, 0]] * 5)
    test = plan(10, 3, 0.0125, margin=0.0)
    assert run(test, differences)[0] == "exhausted"
    assert not test.evaluate(differences, differences[:, 0]).regressed
    assert test.evaluate(differences, differences[:, 0], 0.05).regressed
    assert not test.evaluate(differences[:, :1], differences[:, 0], 0.05).regressed


@settings(max_examples=10, deadline=None)
@given(drawn(fewest=3, most=6), LEVELS, st.randoms())
def test_calls_that_fail_do_not_make_a_false_alarm_likelier(differences, level, random):
    """What could not be measured speaks for head in the kindest reading."""
    missing = np.array([random.random() < 0.2 for _ in range(differences.size)])
    missing = missing.reshape(differences.shape)
    test = plan(len(differences), differences.shape[1], level, margin=0.0)
    alarms = ways = 0
    for way in every_sign(differences):
        kindest, harshest = (np.where(missing, d, way).astype(np.int8) for d in (-1, 1))
        alarms += run(test, kindest, harshest)[0] == "regressed"
        ways += 1
    assert alarms <= level * ways + 1e-9


# --- one answer, however it is asked ------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(drawn(), LEVELS, st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.booleans())
def test_the_stop_and_the_evaluation_agree(differences, level, margin, early):
    test = plan(len(differences), differences.shape[1], level, margin, early)
    stop, rounds, pairs = run(test, differences)
    found = test.evaluate(differences[:, :rounds], differences[:pairs, 0])
    assert found.regressed == (stop == "regressed")
    assert found.regressed == (found.p_value <= level)
    assert 0 < found.p_value <= 1


@settings(max_examples=40, deadline=None)
@given(drawn(), LEVELS)
def test_at_every_round_the_p_value_is_at_most_the_level_exactly_where_it_regressed(d, level):
    test = plan(len(d), d.shape[1], level)
    for rounds in range(d.shape[1] + 1):
        found = test.evaluate(d[:, :rounds], d[:, 0])
        assert found.regressed == (found.p_value <= level)
        assert 0 < found.p_value <= 1


@settings(max_examples=40, deadline=None)
@given(drawn(rounds=3, most=30), LEVELS)
def test_looking_after_each_pair_decides_at_the_pair_it_names(differences, level):
    test = plan(len(differences), 3, level, margin=0.4)
    first = differences[:, 0]
    answers = [test.after_pairs(first[:k], first[:k]) for k in range(len(first) + 1)]
    decided = [k for k, answer in enumerate(answers) if answer]
    whole = test.after_pairs(first, first)
    assert (decided[0] if decided else None) == (whole[1] if whole else None)
    assert all(answers[k] == whole for k in decided)


@settings(max_examples=40, deadline=None)
@given(drawn(fewest=1), LEVELS, st.randoms())
def test_looking_once_the_order_of_fixtures_does_not_matter(d, level, random):
    """Looking early it does, a little: what the first round has spent depends on it."""
    test = plan(len(d), d.shape[1], level, early=False)
    order = random.sample(range(len(d)), len(d))
    assert test.after_round(d[order], d[order]) == test.after_round(d, d)


@settings(max_examples=40, deadline=None)
@given(drawn(), LEVELS)
def test_only_one_arm_can_be_the_worse(differences, level):
    test = plan(len(differences), differences.shape[1], level)
    worse, better = (test.evaluate(d, d[:0, 0]) for d in (differences, -differences))
    assert not (worse.regressed and better.regressed)


def test_what_was_drawn_after_the_last_look_is_not_asked_again():
    """Five fixtures that flicker little: more rounds could not sharpen it, all of the level was
    spent, and the later rounds, had they been drawn, would be a second chance."""
    differences = table([[1, 1, 1, 1, 1]] * 4 + [[-1, -1, 1, 1, 1]])
    test = plan(5, 5, 0.1, margin=0.0)
    stop, rounds, _ = run(test, differences)
    assert (stop, rounds) == ("exhausted", 2)
    whole = test.evaluate(differences, differences[:, 0])
    assert whole == test.evaluate(differences[:, :2], differences[:, 0])
    assert not whole.regressed
    assert sign_flip_test(differences.sum(axis=1, dtype=int).tolist()) <= 0.1


# --- what it finds, and when --------------------------------------------------------------------


def test_a_broken_prompt_is_found_by_seven_pairs():
    assert run(plan(100, 10), table([[1] * 10] * 100)) == ("regressed", 0, 7)


def test_a_prompt_that_changes_nothing_is_not_worse_before_the_first_round_is_done():
    assert run(plan(300, 10), table([[0] * 10] * 300))[:2] == ("not_worse", 0)


def test_a_drop_that_needs_repeated_samples_is_found_at_a_later_round():
    """Each of forty fixtures fails a little more often on head; one sample shows five of them."""
    rows = [[int((i + r) % 8 == 0) for r in range(10)] for i in range(40)]
    stop, rounds, _ = run(plan(40, 10), table(rows))
    assert (stop, rounds) == ("regressed", 2)


def test_at_temperature_zero_a_second_round_is_enough_to_see_that_more_say_nothing():
    rows = [[1] * 10] * 4 + [[-1] * 10] * 2 + [[0] * 10] * 44
    stop, rounds, _ = run(plan(50, 10), table(rows))
    assert (stop, rounds) == ("exhausted", 2)
    found = plan(50, 10).evaluate(table(rows)[:, :2], table(rows)[:, 0])
    assert found.p_value >= sign_flip_test([1] * 4 + [-1] * 2)


def test_fixtures_that_flicker_are_drawn_to_the_end():
    rng = np.random.default_rng(3)
    rows = rng.choice([-1, 0, 1], size=(30, 10), p=[0.25, 0.5, 0.25]).astype(np.int8)
    assert run(plan(30, 10, margin=0.01), rows) == ("exhausted", 10, 30)


def test_between_the_looks_nothing_is_decided():
    broken = table([[1] * 10] * 50)
    test = plan(50, 10)
    decided = [r for r in range(1, 11) if test.after_round(broken[:, :r], broken[:, :r])]
    assert set(decided) <= {look.rounds for look in test.looks}


@settings(max_examples=40, deadline=None)
@given(drawn(), LEVELS)
def test_not_worse_is_said_by_the_bet_or_by_the_look(differences, level):
    test = plan(len(differences), differences.shape[1], level, margin=0.45)
    stop, rounds, pairs = run(test, differences)
    if stop != "not_worse":
        return
    if rounds == 0:
        capital = not_worse_capital(differences[:pairs, 0], 0.45)
        assert capital[-1] >= 1 / (BETTING_SHARE * level)
        assert (capital[:-1] < 1 / (BETTING_SHARE * level)).all()
        return
    own = next(look.own for look in test.looks if look.rounds == rounds)
    drops = differences[:, :rounds].mean(axis=1)
    assert not_worse(drops, 0.45, (1 - BETTING_SHARE) * own * level, level)


def test_a_suite_that_cannot_show_its_margin_never_stops_for_it():
    """Of 20 fixtures nothing can be said of one in twenty, however often each is drawn."""
    same = table([[0] * 10] * 20)
    assert run(plan(20, 10), same)[0] == "exhausted"
    assert run(plan(20, 10, margin=0.3), same)[0] == "not_worse"


def test_the_margins_claim_does_not_share_the_level():
    """Eight contracts share what a false alarm may take; each claims its own margin."""
    same = table([[0] * 5] * 100)
    shared = SequentialTest(100, 5, 0.05 / 8, 0.05, 0.05)
    assert run(shared, same) == run(plan(100, 5), same)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_without_a_margin_inside_nobody_bets(margin):
    test = plan(500, 3, margin=margin)
    same = np.zeros(500, dtype=np.int8)
    assert test.after_pairs(same, same) is None


# --- what could not be measured -----------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(drawn(fewest=1), LEVELS, st.randoms())
def test_head_is_worse_only_by_the_kindest_reading_and_not_worse_only_by_the_harshest(
    differences, level, random
):
    missing = np.array([random.random() < 0.3 for _ in range(differences.size)])
    missing = missing.reshape(differences.shape)
    kindest, harshest = (np.where(missing, d, differences).astype(np.int8) for d in (-1, 1))
    test = plan(len(differences), differences.shape[1], level, margin=0.45)
    stop, rounds, pairs = run(test, kindest, harshest)
    kind, harsh = (
        test.evaluate(d[:, :rounds], d[:pairs, 0]).regressed for d in (kindest, harshest)
    )
    assert (stop == "regressed") == kind
    if stop == "not_worse" and rounds == 0:
        assert test.after_pairs(harshest[:, 0], harshest[:, 0]) is not None
    if stop == "not_worse" and rounds > 0 and not harsh:
        assert test.after_round(harshest[:, :rounds], harshest[:, :rounds]) == "not_worse"


def test_nothing_measured_is_no_answer_either_way():
    for_head, against = np.full((200, 5), -1, np.int8), np.full((200, 5), 1, np.int8)
    assert run(plan(200, 5), for_head, against)[0] == "exhausted"


def test_the_earlier_of_two_answers_counts_and_worse_of_two_at_once():
    test = plan(400, 3, margin=0.05)
    lost = table([[-1]] * 400)[:, 0]
    broken, same = np.ones(400, np.int8), np.zeros(400, np.int8)
    assert test.after_pairs(broken, same) == ("regressed", test.after_pairs(broken, broken)[1])
    late = np.concatenate([same[:300], broken[:100]])
    early = test.after_pairs(same, same)
    assert early[0] == "not_worse"
    assert test.after_pairs(late, same) == early
    assert test.after_pairs(lost, lost)[0] == "not_worse"


# --- looking once, at the end -------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(drawn(most=25), LEVELS)
def test_not_early_it_is_the_fixed_sign_flip_test(differences, level):
    test = plan(len(differences), differences.shape[1], level, margin=0.3, early=False)
    assert test.after_pairs(differences[:, 0], differences[:, 0]) is None
    *before, last = [
        test.after_round(differences[:, :r], differences[:, :r])
        for r in range(1, differences.shape[1] + 1)
    ]
    p = sign_flip_test(differences.sum(axis=1, dtype=int).tolist())
    assert before == [None] * len(before)
    assert last == ("regressed" if p <= level and differences.sum() > 0 else "exhausted")
    assert test.evaluate(differences, differences[:, 0]) == Evaluation(p <= level, p)


# --- when it looks ------------------------------------------------------------------------------


def test_it_looks_often_at_first_and_then_less():
    assert [look.rounds for look in looks(10)] == [1, 2, 3, 5, 10]
    assert [look.rounds for look in looks(7)] == [1, 2, 3, 5, 7]
    assert [look.rounds for look in looks(60)] == [1, 2, 3, 5, 10, 20, 50, 60]
    assert [look.rounds for look in looks(1)] == [1]


@given(st.integers(1, 3000))
def test_the_looks_share_alpha(rounds):
    found = looks(rounds)
    assert found[-1].rounds == rounds
    assert found[-1].spent == 1
    assert sum(look.own for look in found) == pytest.approx(1)
    assert sorted({look.spent for look in found}) == pytest.approx([look.spent for look in found])


def test_not_early_there_is_one_look():
    assert [(look.rounds, look.spent, look.own) for look in looks(10, early=False)] == [(10, 1, 1)]


# --- little or nothing ---------------------------------------------------------------------------


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("fixtures", [0, 1])
def test_no_fixture_and_one_end_undecided(fixtures, rounds, early):
    differences = np.ones((fixtures, rounds), dtype=np.int8)
    test = plan(fixtures, rounds, early=early)
    assert run(test, differences)[0] == "exhausted"
    found = test.evaluate(differences, differences[:, 0])
    assert not found.regressed
    assert 0.5 <= found.p_value <= 1


@pytest.mark.parametrize("early", [True, False])
def test_before_anything_was_drawn_there_is_no_evidence(early):
    nothing = np.zeros((9, 0), dtype=np.int8)
    found = plan(9, 3, early=early).evaluate(nothing, np.zeros(0, dtype=np.int8))
    assert found == Evaluation(False, 1.0)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_no_discordant_pair_is_no_evidence(rounds):
    differences = np.zeros((12, rounds), dtype=np.int8)
    test = plan(12, rounds)
    assert run(test, differences)[0] != "regressed"
    assert test.evaluate(differences, differences[:, 0]) == Evaluation(False, 1.0)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, float("nan")])
@pytest.mark.parametrize("name", ["level", "alpha"])
def test_a_level_of_zero_or_one_is_named(name, value):
    arguments = {"level": 0.05, "alpha": 0.05, name: value}
    with pytest.raises(ValueError, match=rf"^{name}: "):
        SequentialTest(fixtures=10, rounds=3, margin=0.05, **arguments)


# --- many changed fixtures: signs drawn at random ------------------------------------------------


def many(fixtures, seed):
    rng = np.random.default_rng(seed)
    return rng.choice([-1, 0, 1], size=(fixtures, 3), p=[0.2, 0.25, 0.55]).astype(np.int8)


@pytest.mark.parametrize("fixtures", [15, 16])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_drawn_signs_come_close_to_all_of_them(fixtures, seed, monkeypatch):
    differences = many(fixtures, seed)
    test = plan(fixtures, 3)
    by_drawing = test._joint_p_value(differences[:, :2])
    monkeypatch.setattr(sequential, "_ENUMERATED", fixtures)
    assert by_drawing == pytest.approx(test._joint_p_value(differences[:, :2]), abs=0.005)


@pytest.mark.parametrize("seed", range(6))
def test_by_drawn_signs_too_it_is_the_last_look_and_what_was_spent_before(seed):
    differences = many(40, seed)
    test = plan(40, 3)
    alone = sign_flip_test(differences.sum(axis=1, dtype=int).tolist())
    spent = 0.05 * test.looks[1].spent
    assert alone - 0.005 <= test._joint_p_value(differences) <= alone + spent + 0.005


def test_drawn_signs_give_the_same_answer_twice():
    differences = many(60, 7)
    test = plan(60, 3)
    found = test.evaluate(differences, differences[:0, 0])
    sequential._drawn_signs.cache_clear()
    assert test.evaluate(differences, differences[:0, 0]) == found


def test_the_observed_signs_are_among_those_drawn():
    """So that no p-value is zero, however clear the case."""
    differences = np.ones((200, 2), dtype=np.int8)
    assert plan(200, 2)._joint_p_value(differences) >= 1 / (1 << 14)
