"""What a reader must not take from a result who reads its headline, its table and nothing else."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console
from support import early_results
from support import results as examples

from gatekeeper.gate.decision.reasons import paired_reasons, slo_reasons
from gatekeeper.gate.results.parts import (
    Confirmation,
    ConfirmedChange,
    FixtureResult,
    ResourceChange,
    Tally,
)
from gatekeeper.gate.results.result import (
    ContractFrom,
    ContractResult,
    GateResult,
    Reason,
    SloResult,
)
from gatekeeper.reports.html import render_html
from gatekeeper.reports.markdown.explanation import render_explanation
from gatekeeper.reports.terminal.console import print_result
from gatekeeper.reports.words.advice import advice
from gatekeeper.reports.words.columns import columns
from gatekeeper.reports.words.headline import headline_text, lead
from gatekeeper.reports.words.ranking import by_severity, worst_reasons
from gatekeeper.stats.interval import ConfidenceInterval

OPEN = ConfidenceInterval(-0.2, 0.04)
CHANCE = ("can be chance", "could be chance")
WEAKENING = "allow: {weakening: true}"


def _confirmed(found: ConfirmedChange) -> FixtureResult:
    again = Confirmation(Tally(4, 4), Tally(0, 4), found)
    return replace(examples.fixture(0, "broke"), head=Tally(0, 5), confirmation=again)


def _undecided(*fixtures: FixtureResult, interval: ConfidenceInterval = OPEN) -> ContractResult:
    contract = examples.undecided_contract()
    assert contract.paired
    paired = replace(contract.paired, interval=interval)
    return replace(contract, paired=paired, fixtures=fixtures or contract.fixtures)


def _explained(contract: ContractResult) -> str:
    text = render_explanation(examples.result(contract), contract.name)
    return text.partition("**Significance**")[2].partition("\n")[0]


@pytest.mark.parametrize(
    ("contract", "chance"),
    [
        (_undecided(), True),
        (_undecided(_confirmed("kept")), True),
        (_undecided(_confirmed("broke")), False),
        (_undecided(replace(_confirmed("broke"), confirmation=None)), False),
        (_undecided(interval=ConfidenceInterval(-0.2, -0.01)), False),
    ],
)
def test_nothing_is_called_chance_beside_what_is_certain(
    contract: ContractResult, chance: bool
) -> None:
    told = (" ".join(lead(examples.result(contract))), _explained(contract))
    assert [any(words in text for words in CHANCE) for text in told] == [chance, chance]


@pytest.mark.parametrize(
    ("sure", "interval", "chance"),
    [
        (False, OPEN, True),
        (False, None, True),
        (True, OPEN, False),
        (False, ConfidenceInterval(-0.2, -0.01), False),
    ],
)
def test_the_reason_calls_nothing_certain_chance(
    sure: bool, interval: ConfidenceInterval | None, chance: bool
) -> None:
    paired = examples.paired(20, 2, 0, 0.25, interval=interval)
    (reason,) = paired_reasons(
        paired, could_be_worse=False, largest_drop=0.1, margin=0.05, sure=sure
    )
    assert reason.verdict == "inconclusive"
    assert any(words in reason.text for words in CHANCE) == chance


@pytest.mark.parametrize(
    ("difference", "words"), [(-0.1, "may have got worse"), (0.05, "may have changed")]
)
def test_an_open_claim_is_no_all_clear(difference: float, words: str) -> None:
    contract = _undecided()
    assert contract.paired
    contract = replace(contract, paired=replace(contract.paired, difference=difference))
    result = examples.result(contract, examples.passing_contract())
    told = f"{headline_text(result)} {' '.join(lead(result))}"
    assert words in told
    assert "May merge" not in told
    assert "no significant change" not in told


def test_a_break_that_fresh_samples_excuse_is_not_counted_as_broken() -> None:
    contract = examples.passing_contract()
    excused = replace(contract, fixtures=(_confirmed("kept"), *contract.fixtures[1:]))
    assert "broke" not in headline_text(examples.result(excused))
    broke = replace(contract, fixtures=(_confirmed("broke"), *contract.fixtures[1:]))
    assert "but 1 fixture broke" in headline_text(examples.result(broke))


@pytest.mark.parametrize(("found", "said"), [("broke", True), ("kept", False)])
def test_a_title_without_a_decision_names_what_certainly_broke(found, said: bool) -> None:
    contract = _undecided(_confirmed(found))
    assert ("; 1 fixture broke" in headline_text(examples.result(contract))) == said


@pytest.mark.parametrize(
    ("met", "cell"),
    [
        (True, "✅ success rate 80 %"),
        (False, "❌ success rate 80 %, wanted ≥ 90 %"),
        (None, "success rate 80 %, wanted ≥ 90 %, open"),
    ],
)
def test_an_objective_is_one_line_with_its_name(met: bool | None, cell: str) -> None:
    slo = SloResult("success_rate", 0.9, 0.8, ConfidenceInterval(0.7, 0.93), met)
    contract = replace(examples.passing_contract(), slo=(slo,))
    (shown,) = [c for c in columns(examples.result(contract), [contract]) if c.name == "slo"]
    assert [line.replace("\u00a0", " ") for line in shown.cells[0].lines] == [cell]


def test_an_objective_that_is_open_shows_its_interval_and_no_chance() -> None:
    slo = SloResult("success_rate", 0.75, 0.6, ConfidenceInterval(0.44, 0.78), None)
    (reason,) = slo_reasons([slo], [])
    told = reason.text.replace("\u00a0", " ")
    assert "success rate 60 % (target: 75 %), confidence interval 44 % to 78 %" in told
    assert not any(words in told for words in CHANCE)


@pytest.mark.parametrize(
    ("base", "head", "differs"),
    [
        (0.000018, 0.000019, False),
        (0.000018, 0.000027, False),
        (0.0002, 0.00025, True),
        (0.02, 0.0212, True),
    ],
)
def test_a_change_of_cost_that_nobody_pays_is_not_told(
    base: float, head: float, differs: bool
) -> None:
    relative = round(head / base - 1, 6)
    interval = ConfidenceInterval(relative - 0.01, relative + 0.01)
    change = ResourceChange("cost_per_call_usd", base, head, interval)
    assert change.differs == differs
    assert replace(change, resource="tokens_per_call").differs


@pytest.mark.parametrize(
    "result",
    [examples.FAIL, examples.INCONCLUSIVE, examples.PASS, examples.WEAKENED, early_results.EARLY],
)
def test_the_last_line_of_the_terminal_is_the_headline_of_the_comment(result: GateResult) -> None:
    printed = io.StringIO()
    print_result(result, {}, Console(file=printed, width=200))
    assert printed.getvalue().splitlines()[-1].endswith(headline_text(result))
    assert headline_text(result).replace("`", "") in render_html(result).replace(
        "<code>", ""
    ).replace("</code>", "")


def test_the_least_favourable_result_is_the_one_in_which_a_fixture_broke() -> None:
    dropped, broke, better = map(examples.passing_contract, ("dropped", "broke", "better"))
    assert dropped.paired
    dropped = replace(dropped, paired=replace(dropped.paired, difference=-0.03))
    broke = replace(broke, fixtures=(_confirmed("broke"), *broke.fixtures[1:]))
    flicker = replace(better, name="flicker", fixtures=(_confirmed("kept"),))
    ranked = by_severity((better, flicker, dropped, broke))
    assert [contract.name for contract in ranked] == ["broke", "dropped", "better", "flicker"]
    (told, *_) = lead(examples.result(better, dropped, broke))
    assert told.startswith("The least favourable result of 3 contracts: `broke`")


@pytest.mark.parametrize(
    ("sides", "advised"),
    [
        (("base",), True),
        (("base_settings",), True),
        (("head",), False),
        (("base_reading",), False),
        (("head", "base"), False),
    ],
)
def test_weakening_is_advised_only_where_base_contract_alone_fails(
    sides: tuple[ContractFrom, ...], advised: bool
) -> None:
    reasons = tuple(Reason("regression", "Worse than base.", "fail", side) for side in sides)
    contract = replace(examples.failing_contract(), reasons=reasons)
    assert (WEAKENING in advice(examples.result(contract), contract)) == advised


def test_fixtures_that_broke_are_named_before_the_size_of_the_suite() -> None:
    few = Reason("unseen", "No drop could have been detected.", "inconclusive")
    broke = Reason("broke", "2 fixtures broke: `a` and `b`.", "inconclusive")
    met = Reason("slo", "Met.", "pass")
    contract = replace(
        examples.undecided_contract(), verdict="inconclusive", reasons=(few, met, broke)
    )
    assert worst_reasons(contract) == (broke, few, met)
    result = examples.result(contract)
    assert "Look at the fixtures that broke" in advice(result, contract)
    assert "2 fixtures broke" in str(lead(result))
