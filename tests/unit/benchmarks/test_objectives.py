"""The simulation behind "Are objectives evaluated rightly?" draws what it says it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import objectives as bench

PAGE = Path(__file__).parents[3] / "benchmarks" / "error-rates.md"


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("suite", bench.SUITES, ids=lambda suite: suite.name)
def test_the_inputs_of_a_suite_are_at_its_target(suite):
    source = rng()
    rates = []
    for _ in range(400):
        passed, samples = suite.draw(source)
        assert ((passed >= 0) & (passed <= samples)).all()
        rates.append(float((passed / samples).mean()))
    error = float(np.std(rates)) / 20
    assert np.mean(rates) == pytest.approx(suite.target, abs=4 * error + 1e-9)


@pytest.mark.parametrize("amounts", bench.AMOUNTS, ids=lambda amounts: amounts.name)
def test_amounts_have_the_mean_that_is_said(amounts):
    drawn = amounts.draw(rng(), 400_000)
    error = float(np.std(drawn)) / 400_000**0.5
    assert drawn.mean() == pytest.approx(amounts.mean, abs=4 * error)


def test_a_prompt_that_never_fails_is_never_frozen_and_one_that_always_fails_is_at_once():
    samples = np.full((3, bench.WINDOW), 20)
    assert not bench.frozen_nights(0 * samples, samples, 0.05).any()
    assert bench.frozen_nights(samples, samples, 0.05).all()
    assert bench.overspent_nights(samples, samples, 0.05).all()


@pytest.mark.parametrize("case", bench.NIGHTS, ids=lambda case: case.name)
def test_nights_fail_as_often_as_is_said(case):
    failed, samples = case.draw(rng(), 300, bench.WINDOW)
    assert ((failed >= 0) & (failed <= samples)).all()
    shares = failed / samples
    error = float(shares.std()) / shares.size**0.5
    more = 0.001 if (samples != samples[0, 0]).any() else 0.0  # a night that ends early is bad
    assert shares.mean() == pytest.approx(case.rate, abs=4 * error + more)


@pytest.mark.long
def test_what_is_promised_is_held_against_what_is_found():
    broken: list[str] = []
    fewer = iter([("above", None)] * 50 + [(None, "above")] * 50)
    row = bench._verdict_row("x", "95 %", lambda: next(fewer), 100, broken, "above")
    assert row[2] == "50.0"
    assert len(broken) == 1
    late = replace(bench.NIGHTS[2], allowed=0.05, rate=0.1)
    broken.clear()
    bench._freeze_row(late, rng(), 300, broken)
    assert broken == []


def test_the_page_has_the_tables_of_a_run_that_kept_its_promises():
    _, _, rest = PAGE.read_text("utf-8").partition(bench.BEGIN)
    text, found, _ = rest.partition(bench.END)
    assert found
    for suite in bench.SUITES:
        assert f"| {suite.name} |" in text
    for case in bench.NIGHTS:
        assert f"| {case.name} |" in text
