"""The simulation behind "How often is a limit exceeded by chance?" draws what it says it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import limits as bench

PAGE = Path(__file__).parents[3] / "benchmarks" / "error-rates.md"


@pytest.mark.parametrize("world", bench.WORLDS, ids=str)
def test_head_takes_exactly_so_much_more(world: bench.World) -> None:
    many = replace(world, inputs=200_000)
    base, head = many.draw(np.random.default_rng(3), 0.6)
    if world.quantile is None:
        rise = head.mean() / base.mean()
    else:
        rise = np.quantile(head, world.quantile) / np.quantile(base, world.quantile)
    assert rise == pytest.approx(1.6, rel=0.03)


def test_the_table_is_made_and_stands_on_the_page() -> None:
    text, broken = bench.table(1, 1, bench.WORLDS[:2])
    assert broken == []
    assert text.count("\n|") == 3 + 1
    page = PAGE.read_text("utf-8")
    assert page.count(bench.BEGIN) == page.count(bench.END) == 1


def test_a_level_that_is_not_held_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "LIMIT", 0.0)
    monkeypatch.setattr(bench, "_exceeded", lambda world, rise, rng, runs: runs)
    _, broken = bench.table(1, 5, bench.WORLDS[:1])
    assert len(broken) == 1
