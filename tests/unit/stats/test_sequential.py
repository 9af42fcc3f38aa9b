"""The sequential test: what it finds, when it looks, and that it has one answer however asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sequential_designs import LEVELS, ROUNDS, drawn, plan, run, table

from gatekeeper.stats.paired.noninferiority import not_worse, not_worse_capital
from gatekeeper.stats.paired.sequential import (
    BETTING_SHARE,
    BETWEEN_SHARE,
    WALK_SHARE,
    SequentialResult,
    SequentialTest,
    looks,
)
from gatekeeper.stats.paired.sign_flip import sign_flip_test

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


def test_a_broken_prompt_is_found_by_eight_pairs():
    assert run(plan(100, 10), table([[1] * 10] * 100)) == ("regressed", 0, 8)


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
    assert test.evaluate(differences, differences[:, 0]) == SequentialResult(p <= level, p)


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


@pytest.mark.parametrize("rounds", [3, 4, 10, 60])
def test_the_first_round_the_looks_between_and_the_last_have_their_shares(rounds):
    first, *between, last = (look.spent for look in looks(rounds))
    assert first == WALK_SHARE
    assert between[-1] == pytest.approx(WALK_SHARE + BETWEEN_SHARE)
    steps = np.diff([first, *between])
    assert steps == pytest.approx([BETWEEN_SHARE / len(between)] * len(between))
    assert last == 1


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
    assert found == SequentialResult(False, 1.0)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_no_discordant_pair_is_no_evidence(rounds):
    differences = np.zeros((12, rounds), dtype=np.int8)
    test = plan(12, rounds)
    assert run(test, differences)[0] != "regressed"
    assert test.evaluate(differences, differences[:, 0]) == SequentialResult(False, 1.0)


# --- how near an answer is, for whoever waits ---------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(drawn(), LEVELS)
def test_the_way_to_an_answer_is_at_its_end_exactly_where_there_is_one(differences, level):
    """Pair by pair, until the first answer."""
    test = plan(len(differences), differences.shape[1], level, margin=0.3)
    first = differences[:, 0]
    for pairs in range(len(first) + 1):
        worse, not_worse = test.nearness(first[:pairs], first[:pairs])
        stop = test.after_pairs(first[:pairs], first[:pairs])
        assert 0 <= worse <= 1
        assert 0 <= not_worse <= 1
        assert (worse == 1 or not_worse >= 1 - 1e-12) == (stop is not None)
        if stop:
            break


def test_a_margin_that_cannot_be_bet_on_is_never_near():
    first = np.zeros(50, dtype=np.int8)
    assert plan(50, 1, margin=0.0).nearness(first, first) == (0.0, 0.0)


@pytest.mark.parametrize("fixtures", [2, 40, 1000])
@pytest.mark.parametrize("found", [-1, 0, 1])
def test_the_smallest_alpha_shared_by_a_thousand_comparisons_is_a_level(fixtures, found):
    level = 1e-6 / 1000
    test = SequentialTest(fixtures, 3, level, level, 0.1)
    drawn = np.full((fixtures, 3), found, dtype=np.int8)
    stop = test.after_pairs(drawn[:, 0], drawn[:, 0])
    sure = found == 1 and fixtures > 2
    assert (stop is not None and stop[0] == "regressed") == sure
    for rounds in (2, 3):
        assert (test.after_round(drawn[:, :rounds], drawn[:, :rounds]) == "regressed") == sure
    evaluated = test.evaluate(drawn, drawn[:, 0])
    assert evaluated.regressed == sure
    assert (evaluated.p_value <= level) == sure
