"""The map of a sweep, as HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from support.outcomes import contract, outcome, target

from gatekeeper.contract.values.definition import Target
from gatekeeper.gate.results.result import Calls
from gatekeeper.gate.sweep.compare import summarise_sweep
from gatekeeper.gate.sweep.grid import Setting
from gatekeeper.gate.sweep.measure import Measured
from gatekeeper.reports.html.sweep import render_sweep_page, sweep_map
from gatekeeper.reports.markdown.sweep import render_sweep

FIXTURES = tuple(f"f{i}" for i in range(20))


def swept(varied, passed, current=0):
    """`varied` is one mapping a setting, `passed` how many of 20 fixtures pass under it."""
    tried = [
        Setting(v, Target(target().prompt, f"m{n}", {}), current=n == current)
        for n, v in enumerate(varied)
    ]
    outcomes = tuple(
        tuple(
            outcome(f, "head", 0, None if p is None else i < p, cost=0.5, name=str(n))
            for i, f in enumerate(FIXTURES)
        )
        for n, p in enumerate(passed)
    )
    return summarise_sweep(contract(*FIXTURES), tried, Measured(outcomes, Calls(), None))


def test_numbers_go_by_size_and_words_as_asked():
    models, temperatures = ("z", "a"), (0.7, 0, 0.3)
    grid = [{"model": m, "temperature": t} for m in models for t in temperatures]
    shown = sweep_map(swept(grid, [20] * 6))
    assert re.findall(r'scope="row">([^<]*)<', shown) == ["model z", "model a"]
    assert re.findall(r'scope="col">([^<]*)<', shown) == [
        "",
        "temperature 0",
        "temperature 0.3",
        "temperature 0.7",
    ]


def test_the_recommended_is_framed_and_the_worst_is_darkest():
    shown = sweep_map(swept([{"temperature": t} for t in (0, 1, 2)], [20, 10, None]))
    cells = re.findall(r'<td class="([^"]*)"', shown)
    assert cells == ["h0 marked", "h6", "none"]


def test_hostile_values_stay_text():
    evil = '<script>alert(1)</script>" onload="x'
    page = render_sweep_page(swept([{"model": evil}, {"model": "b"}], [20, 0]))

    class Tags(HTMLParser):
        found: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag, attributes):
            self.found.append(tag)
            assert not [name for name, _ in attributes if name.startswith("on")]

    Tags().feed(page)
    assert "script" not in Tags.found
    assert "default-src 'none'" in page


def test_a_failed_setting_and_a_sure_difference_are_told_in_markdown():
    text = render_sweep(swept([{"model": m} for m in "abc"], [20, 0, None]))
    assert "1 of 3 pairs of settings differs significantly" in text
    assert "| `a` | `b` | 100\u00a0points |" in text
    assert "20 calls failed" in text


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        ([20, 20], "The two settings do not differ significantly."),
        ([20, 0], "The two settings differ significantly (exact sign-flip test, two-sided)."),
    ],
)
def test_two_settings_are_one_pair_and_are_told_as_two(passed: list[int], said: str) -> None:
    found = render_sweep(swept([{"model": "a"}, {"model": "b"}], passed))
    assert said in found
    assert "pair" not in found
