"""The simulation of visible drops notices a promise that is broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import detectable_drops as bench
from gatekeeper.stats.paired.power import regression_power

PAGE = Path(__file__).parents[3] / "benchmarks" / "error-rates.md"


def test_the_promise_holds_and_its_table_stands_on_the_page() -> None:
    text, broken = bench.table(1, 100)
    assert broken == []
    assert text.count("\n| ") == len(bench.DROPS) + 2 + len(bench.GRADED) + 2
    page = PAGE.read_text("utf-8")
    assert page.count(bench.BEGIN) == page.count(bench.END) == 1


def test_without_flicker_the_simulation_agrees_with_the_exact_power() -> None:
    found = bench._found(np.random.default_rng(2), 4000, 30, 0, 0.2)
    exact = regression_power(30, 0.2, bench.LEVEL, 0.0)
    assert found / 4000 == pytest.approx(exact, abs=0.025)


def test_a_promise_that_is_not_kept_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "visible_drop", lambda *_: 0.01)
    _, broken = bench.table(1, 50)
    assert len(broken) == len(bench.DROPS)
