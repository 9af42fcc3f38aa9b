"""A failure that the base contract found shows the base contract's figures."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console
from support import results as examples

from gatekeeper.contract.values.trial import ContractFrom
from gatekeeper.gate.results.result import ContractResult, GateResult, Reason, UnderBase
from gatekeeper.reports.html import render_html
from gatekeeper.reports.markdown.comment import render_comment
from gatekeeper.reports.terminal.console import print_result


def _found_by_base(contract_from: ContractFrom = "base") -> ContractResult:
    """Head's own contract sees nothing, because head changed what it expects."""
    worse = examples.failing_contract()
    assert worse.head
    calm = examples.passing_contract("speech-tag", 40)
    before = UnderBase(
        worse.base, worse.head, worse.paired, worse.slo, worse.fixtures, contract_from=contract_from
    )
    reason = replace(worse.reasons[0], contract_from=contract_from)
    return replace(calm, verdict="fail", reasons=(*calm.reasons, reason), under_base=before)


def _rows(result: GateResult) -> list[list[str]]:
    lines = render_comment(result).replace("\u00a0", " ").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("| Contract |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line:
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


@pytest.mark.parametrize("contract_from", ["base", "base_settings"])
def test_the_base_contracts_evaluation_has_its_own_row(contract_from: ContractFrom) -> None:
    own, before = _rows(examples.result(_found_by_base(contract_from)))
    assert own[0] == "`speech-tag`"
    assert own[3].startswith("+")
    assert before[0].startswith("`speech-tag, under the base contract")
    assert ("own model" in before[0]) == (contract_from == "base_settings")
    assert before[3].startswith("**−20 points**")
    assert before[-1] == "❌ fail"


def test_without_a_reason_of_the_base_contract_there_is_one_row() -> None:
    contract = _found_by_base()
    quiet = replace(contract, reasons=contract.reasons[:1])
    assert len(_rows(examples.result(quiet))) == 1


def test_a_weakened_contract_shows_what_the_base_contract_measured() -> None:
    """Also if it is content, and the same requests leave nothing to compare."""
    calm = replace(examples.passing_contract(), base=None, paired=None)
    assert calm.head
    head = replace(calm.head, passed=54, fixtures_passed=54)
    text = "The contract was weakened, so the base contract also applies."
    result = examples.result(
        replace(
            calm,
            reasons=(Reason("weakened", text, "pass"),),
            weakened=("check `is a tag` lowered to warn",),
            under_base=UnderBase(None, head, None, calm.slo, calm.fixtures),
            error_budgets=(replace(examples.BUDGET, projected_burn_rate=(0.14, 0.93)),),
        )
    )
    _, before = _rows(result)
    assert before[0] == "`order-id, under the base contract`"
    assert "54/300" in before[2]
    assert before[-1] == "✅ pass"
    comment = render_comment(result).replace("\u00a0", " ")
    assert comment.splitlines()[1] == "## ✅ May merge; `order-id` was weakened"
    assert "0.93 times the allowed rate, counted by the base contract's checks" in comment


@pytest.mark.parametrize(
    ("contract_from", "who"),
    [
        ("base", "under the base contract"),
        ("base_settings", "under the base contract with its own model and parameters"),
    ],
)
def test_a_failure_that_the_base_contract_found_leads_like_any_other(
    contract_from: ContractFrom, who: str
) -> None:
    failing = examples.failing_contract("speech-tag")
    own = render_comment(examples.result(failing)).splitlines()[4]
    found = render_comment(examples.result(_found_by_base(contract_from))).splitlines()[4]
    assert "got **worse**: " in own
    assert found == own.replace("got **worse**: ", f"got **worse** ({who}): ")


def test_a_evaluation_of_the_base_contract_that_was_not_kept_is_quoted() -> None:
    contract = _found_by_base()
    other = replace(contract.reasons[-1], text="Under base: worse.", contract_from="base_settings")
    lead = render_comment(
        examples.result(replace(contract, reasons=(contract.reasons[0], other)))
    ).splitlines()[4]
    assert "Under base: worse." in lead


def test_a_pass_of_the_base_contract_does_not_read_as_a_failure() -> None:
    contract = _found_by_base()
    calm = replace(contract.reasons[-1], verdict="pass")
    _, before = _rows(examples.result(replace(contract, reasons=(contract.reasons[0], calm))))
    assert before[-1] == "✅ pass"


def test_the_page_has_its_row_and_its_chart_and_the_terminal_its_row() -> None:
    result = examples.result(_found_by_base())
    page = render_html(result)
    assert page.count('class="strip"') == 2
    table = page.partition('id="contract-table"')[2].partition("</table>")[0]
    assert table.count('href="#contract-0"') == 2
    printed = Console(file=io.StringIO(), width=300)
    print_result(result, {}, printed)
    assert isinstance(printed.file, io.StringIO)
    assert "speech-tag, under the base contract" in printed.file.getvalue()
