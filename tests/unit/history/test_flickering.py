"""Fixtures that go back and forth although nothing changed."""

from support.nightly_records import night

from gatekeeper.history.flickering import LEAST_CHANGES, MOST_RUNS, flickering_fixtures
from gatekeeper.history.record import fixture_key


def history(states: str, samples: int = 1, **fields):
    """One run for each letter: p passed, f failed, m failed one of its samples, - not measured."""
    failed = {"p": 0, "f": samples, "m": 1}
    return [
        night(at, {"other": 0} | ({} if s == "-" else {"word": failed[s]}), samples, **fields)
        for at, s in enumerate(states)
    ]


def test_back_and_forth_flickers_and_a_break_with_its_repair_does_not():
    found = flickering_fixtures(history("ppfpfpp"))
    assert [fixture.key for fixture in found] == [fixture_key("word")]
    assert found[0].changes == 4
    assert (found[0].failed, found[0].samples) == (2, 7)
    assert found[0].states[2:5] == ("failed", "passed", "failed")
    assert flickering_fixtures(history("pppfffppp")) == ()
    assert flickering_fixtures(history("pppffffff")) == ()


def test_samples_that_disagree_count_as_a_change_each():
    (found,) = flickering_fixtures(history("mpmpmpm", samples=2))
    assert found.changes == LEAST_CHANGES == found.states.count("mixed")


def test_a_run_that_did_not_measure_it_is_no_change():
    (found,) = flickering_fixtures(history("p-f-p-f-p"))
    assert found.changes == 4
    assert found.states[1] is None


def test_another_prompt_or_a_long_time_ago_does_not_count():
    before = history("pfpfpfpf", prompt_digest="old")
    after = [night(at, {"word": 0, "other": 0}) for at in range(20, 20 + MOST_RUNS)]
    assert flickering_fixtures([*before, *after]) == ()
    assert flickering_fixtures([*history("pfpfpfpf"), *after]) == ()
    assert flickering_fixtures([]) == ()
