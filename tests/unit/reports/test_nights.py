"""The pass rates of the last nights as a line of text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.gate.results.result import PastRun
from gatekeeper.reports.words.nights import NIGHTS, last_nights

NOW = datetime(2026, 3, 2, 10, 31, tzinfo=UTC)


def nights(*runs: tuple[int, int], samples: int = 100) -> list[PastRun]:
    """Return runs, each as the days ago and the samples that failed."""
    return [
        PastRun("c", NOW - timedelta(days=ago), "a" * 40, samples, failed, None)
        for ago, failed in runs
    ]


def shown(*runs: tuple[int, int]) -> str:
    return last_nights(nights(*runs), NOW).replace("\u00a0", " ")


def test_a_night_is_a_bar_and_one_without_a_run_a_dot() -> None:
    assert shown((4, 0), (3, 5), (1, 10), (0, 20)) == ("`█▆·▅▁` 80 % to 100 % passed, 80 % at last")


def test_what_chance_moves_stays_high() -> None:
    bars = shown(*((ago, ago % 3) for ago in range(10))).split("`")[1]
    assert set(bars) <= set("▆▇█")
    assert shown((1, 0), (0, 0)) == "`██` 100 % to 100 % passed, 100 % at last"
    assert shown((1, 100), (0, 100)) == "`▁▁` 0 % to 0 % passed, 0 % at last"


@pytest.mark.parametrize("runs", [[], [(0, 3)], [(NIGHTS, 3), (0, 3)], [(-1, 3), (0, 3)]])
def test_one_night_is_no_trend(runs: list[tuple[int, int]]) -> None:
    assert shown(*runs) == ""
    assert last_nights(nights((1, 0), samples=0), NOW) == ""


def test_runs_of_one_day_count_together() -> None:
    assert shown((1, 0), (1, 20), (0, 0)) == "`▁█` 90 % to 100 % passed, 100 % at last"


@given(st.lists(st.tuples(st.integers(-3, 60), st.integers(0, 100)), max_size=80))
def test_there_are_never_more_bars_than_nights(runs: list[tuple[int, int]]) -> None:
    text = shown(*runs)
    assert text == "" or 2 <= len(text.split("`")[1]) <= NIGHTS
