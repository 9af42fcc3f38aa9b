"""The table of a migration says of each difference what every other report says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.results import failing_contract, passing_contract, result

from gatekeeper.author.migration.compare import Candidate, Migration
from gatekeeper.author.migration.report import describe_migration
from gatekeeper.gate.results.result import ContractResult
from gatekeeper.reports.markdown.render import render_markdown

PASSING, FAILING = passing_contract(), failing_contract()


def compared(contract: ContractResult, **paired: object) -> ContractResult:
    assert contract.paired
    return replace(contract, paired=replace(contract.paired, **paired))


def row(contract: ContractResult) -> str:
    candidate = Candidate("openai/gpt-5.4-mini", result=result(contract))
    text = render_markdown(describe_migration(Migration(("openai/gpt-4o",), (candidate,))))
    found = next(line for line in text.splitlines() if line.startswith("| `openai/"))
    return found.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        (
            compared(PASSING, difference=-0.12, interval=None, scores=(4.12, 4.0)),
            "score 4.12 → score 4 | −0.12 |",
        ),
        (compared(PASSING, difference=0.0, interval=None), "→ 96.7 % | 0 points |"),
        (
            compared(FAILING, difference=-0.31, stopped="regressed", rounds=1, planned_rounds=5),
            "about −31 points (early estimate)",
        ),
        (replace(PASSING, paired=None, base=None), "– → 96.7 % | – | – |"),
    ],
)
def test_the_difference_has_its_unit_and_says_if_it_is_an_estimate(
    contract: ContractResult, said: str
) -> None:
    assert said in row(contract)
