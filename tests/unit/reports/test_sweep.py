"""A sweep, and how often settings break the rules of a prompt: Markdown, HTML, terminal, JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO

import pytest
from markdown_it import MarkdownIt
from rich.console import Console
from support.outcomes import contract, outcome, target
from support.plain_spaces import spaced
from support.rule_tests import rule_fixtures, swept

from gatekeeper.contract.values.definition import Target
from gatekeeper.gate.results.result import Calls
from gatekeeper.gate.sweep.compare import SweepResult, summarise_sweep
from gatekeeper.gate.sweep.grid import Setting
from gatekeeper.gate.sweep.measure import Measured
from gatekeeper.reports.described.sweep import describe_suitability, describe_sweep, sweep_document
from gatekeeper.reports.html.render import Html, render_page
from gatekeeper.reports.markdown.render import Markdown, render_markdown
from gatekeeper.reports.terminal.render import Screen

HOSTILE = "**|`<script>alert(1)</script>`| [x](http://evil.example) @octocat ![i](j)\n# h"


def found(rules: int = 8, baseline: int = 2, **models) -> SweepResult:
    fixtures = rule_fixtures(rules, baseline=baseline)
    return swept(fixtures, {name: [complies] * len(fixtures) for name, complies in models.items()})


def render_sweep(result: SweepResult) -> str:
    return render_markdown(describe_sweep(result))


def render_sweep_page(result: SweepResult) -> str:
    return render_page(describe_sweep(result))


def render_suitability(result: SweepResult) -> str:
    found = result.suitability
    return Markdown().blocks(describe_suitability(result, found).blocks) if found else ""


def suitability_document(result: SweepResult):
    return sweep_document(result)["suitability"]


def on_screen(result: SweepResult, width: int = 200) -> str:
    stream = StringIO()
    Screen(Console(file=stream, width=width, markup=False)).show(describe_sweep(result))
    return spaced(stream.getvalue())


def cells(markdown: str) -> list[list[str]]:
    rows = [line for line in spaced(markdown).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def test_the_table_has_a_row_for_each_setting_the_best_first():
    table = cells(render_suitability(found(bad=False, good=True)))
    assert table[0] == [
        "setting",
        "rules (8)",
        "inverse rules (8)",
        "both (16)",
        "baseline (2)",
    ]
    assert table[2][:2] == ["`good`", "0 % (0/8), 0 % – 36.9 %"]
    assert table[3][:2] == ["`bad` (today)", "100 % (8/8), 63.1 % – 100 %"]
    assert table[6] == ["`good`", "`bad`", "100 points", "0.0078", "yes"]


def test_the_first_sentence_names_the_best_and_those_that_are_worse():
    shown = spaced(render_suitability(found(bad=False, good=True, fine=True, lost=None)))
    assert (
        "`good` breaks the fewest rules. On tests of rules and inverse rules, 0 % of its outputs "
        "break a rule." in shown
    )
    assert "Significantly worse on these tests: `bad`. Not significantly worse" in shown
    assert "Not significantly worse on these tests: `fine`. Not measured: `lost`." in shown


@pytest.mark.parametrize("rules", [5, 6])
def test_too_few_clusters_are_named_with_the_number_that_is_needed(rules):
    result = found(rules, bad=False, good=True)
    needed = result.suitability.units_needed
    shown = spaced(render_suitability(result))
    assert (f"needs at least {needed}" in shown) == (rules < needed)
    assert ("Significantly worse on these tests: `bad`." in shown) == (rules >= needed)


def test_unknown_outputs_are_named_in_every_report():
    result = found(good=True, lost=None)
    table = cells(render_suitability(result))
    assert table[3][1] == "unknown (8 outputs), 0 % – 100 %"
    assert "could not be measured: 18." in render_suitability(result)
    assert "unknown (16 outputs)" in on_screen(result)
    page = render_sweep_page(result)
    assert '<td class="none"' in page
    assert spaced(page).count("unknown (8 outputs)") == 2
    rates = sweep_document(result)["suitability"]["settings"][1]["both"]
    assert rates == {
        "non_compliant": 0,
        "measured": 0,
        "planned": 16,
        "share": None,
        "interval": [0.0, 1.0],
    }


def test_nothing_measured_recommends_nobody():
    result = found(one=None, two=None)
    assert "None of the tests has an output that could be measured." in render_suitability(result)
    assert "fewest" not in on_screen(result)


def test_hostile_names_of_models_stay_text():
    result = found(**{HOSTILE: False, "[red]good[/red]": True})
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(render_sweep(result))
    for rendered in (html, render_sweep_page(result)):
        assert {"script", "a", "img"}.isdisjoint(tags(rendered))
    for row in tables(html):
        assert len(set(row)) == 1, "a pipe in a name has split a cell"
    assert "[red]good[/red]" in on_screen(result)


def tags(html: str) -> set[str]:
    class Tags(HTMLParser):
        found: set[str] = set()  # noqa: RUF012

        def handle_starttag(self, tag, attributes):
            self.found.add(tag)

    parser = Tags()
    parser.found = set()
    parser.feed(html)
    return parser.found


def tables(html: str) -> list[list[int]]:
    """How many cells each row of each table has."""
    return [
        [
            row.count("<td") + row.count("<th>") + row.count("<th ")
            for row in table.split("<tr>")[1:]
        ]
        for table in html.split("<table>")[1:]
    ]


def test_many_pairs_are_cut_and_many_names_too():
    models = {f"m{number:02}": number == 0 for number in range(14)}
    shown = render_suitability(found(12, **models))
    assert "`sweep.json` has 61 more pairs." in shown
    assert "and 3 more." in shown
    assert len(suitability_document(found(12, **models))["pairs"]) == 91


def test_one_setting_has_no_pairs():
    result = found(only=False)
    assert "differs" not in render_suitability(result)
    assert "Pairs of settings" not in render_sweep_page(result)
    assert suitability_document(result)["pairs"] == []


@pytest.mark.parametrize(
    ("valid", "says"),
    [
        ([None, None], "No test says in `metadata.valid`"),
        ([False, False], "No test has `metadata: {valid: true}`"),
        ([True, None], "2 of 4 tests do not say in `metadata.valid`"),
    ],
)
def test_what_is_known_of_validity_is_said(valid, says):
    first, second = (rule_fixtures(2, valid=value) for value in valid)
    shown = render_suitability(
        swept([*first[:2], *second[2:]], {"a": [True] * 4, "b": [False] * 4})
    )
    assert says in spaced(shown)


def test_valid_tests_have_a_column_of_their_own():
    result = swept(rule_fixtures(2, valid=True), {"a": [True] * 4, "b": [False] * 4})
    shown = render_suitability(result)
    assert "valid ones (4)" in shown
    assert "valid (" not in shown


def test_a_sweep_without_tests_of_rules_is_reported_as_before():
    result = swept(rule_fixtures(0, baseline=2), {"a": [True] * 2, "b": [False] * 2})
    assert render_suitability(result) == ""
    assert "break a rule" not in render_sweep(result) + render_sweep_page(result) + on_screen(
        result
    )
    assert sweep_document(result)["suitability"] is None


def test_other_categories_are_counted_and_left_out():
    easy = replace(rule_fixtures(0, baseline=1)[0], category="easy")
    result = swept([*rule_fixtures(2), easy], {"a": [True] * 5, "b": [False] * 5})
    shown = render_suitability(result)
    assert "Fixtures of other categories that this table leaves out: 1." in shown
    assert "both (4)" in shown


def test_the_document_is_plain_json():
    result = found(bad=False, good=True)
    document = json.loads(json.dumps(sweep_document(result)))["suitability"]
    assert document["tests"] == {"rule": 8, "inverse_rule": 8, "both": 16, "baseline": 2}
    assert document["settings"][0]["rule"]["share"] == 1
    (pair,) = document["pairs"]
    assert (pair["first"], pair["second"], pair["more_non_compliant"]) == (0, 1, -1)


FIXTURES = tuple(f"f{i}" for i in range(20))


def settings(varied, passed, current=0):
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


def sweep_map(result: SweepResult) -> str:
    (drawn,) = (section for section in describe_sweep(result).sections if section.drawn)
    return Html().section(drawn)


def test_numbers_go_by_size_and_words_as_asked():
    models, temperatures = ("z", "a"), (0.7, 0, 0.3)
    grid = [{"model": m, "temperature": t} for m in models for t in temperatures]
    shown = sweep_map(settings(grid, [20] * 6))
    assert re.findall(r'scope="row">([^<]*)<', shown) == ["model z", "model a"]
    assert re.findall(r'scope="col">([^<]*)<', shown) == [
        "",
        "temperature 0",
        "temperature 0.3",
        "temperature 0.7",
    ]


def test_the_recommended_is_framed_and_the_worst_is_darkest():
    shown = sweep_map(settings([{"temperature": t} for t in (0, 1, 2)], [20, 10, None]))
    cells = re.findall(r'<td class="([^"]*)"', shown)
    assert cells == ["h0 marked", "h6", "none"]


def test_a_failed_setting_and_a_sure_difference_are_told_in_markdown():
    text = render_sweep(settings([{"model": m} for m in "abc"], [20, 0, None]))
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
    found = render_sweep(settings([{"model": "a"}, {"model": "b"}], passed))
    assert said in found
    assert "pair" not in found
