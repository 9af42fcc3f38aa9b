"""Describes a migration: each candidate beside the present model, and the fixtures that change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gatekeeper import numbers
from gatekeeper.author.migration.compare import Candidate, Migration, answer_of
from gatekeeper.gate.results.result import ArmResult, ContractResult
from gatekeeper.reports.document import (
    Block,
    Cell,
    Document,
    Paragraph,
    Section,
    Strong,
    Table,
    Words,
    code,
    columns,
    joined,
    listed,
    sentence,
)
from gatekeeper.reports.formats.result_json import picked
from gatekeeper.reports.words.columns import difference_cell, rate_cell

_NAME = 80
_MOST_FIXTURES = 20


def describe_migration(found: Migration, *notes: str) -> Document:
    """Describe the recommendation, the table, the fixtures that change, and the edit."""
    chosen = found.chosen
    return Document(
        ("Migration from ", joined([code(model, _NAME) for model in found.models])),
        "pass" if chosen else "inconclusive",
        (_summary(found),),
        (
            Section("Side by side", [*_comparison(found)]),
            Section("Fixtures that change", [*_fixtures(found)], id="fixtures"),
            Section("Edit", [*_edit(chosen)], id="edit"),
        ),
        notes,
    )


def _summary(found: Migration) -> Words:
    chosen = found.chosen
    if chosen is None:
        return (Strong("No model can be recommended: "), "none passes the gate.")
    proved = not chosen.rank[1]
    why = (
        "no contract gets worse by more than its margin."
        if proved
        else "no drop was found; some fixtures are too few to prove that nothing gets worse."
    )
    return (Strong("Recommended: "), code(chosen.model, _NAME), f": {why}")


def _comparison(found: Migration) -> Iterator[Block]:
    right = ("pass rate", "difference", "broke, fixed", "cost per call", "latency p95")
    titles = columns("new model", "contract", right=right, last=["answer"])
    rows = [
        _row(candidate, contract)
        for candidate in found.candidates
        for contract in candidate.contracts
    ]
    if rows:
        yield Table(titles, rows)
    for notice in found.notices:
        yield Paragraph(sentence(notice), "quiet")
    for candidate in found.candidates:
        if candidate.why:
            yield Paragraph((code(candidate.model, _NAME), ": ", sentence(candidate.why)), "fail")
        for contract in candidate.contracts:
            worst = next((r for r in contract.reasons if r.verdict == contract.verdict), None)
            if worst and contract.verdict != "pass":
                about = code(candidate.model, _NAME), ", ", code(contract.name, _NAME), ": "
                yield Paragraph((*about, sentence(worst.text)), "quiet")


def _row(candidate: Candidate, contract: ContractResult) -> Sequence[Any]:
    paired = contract.paired
    rates = rate_cell(contract.base, paired, "base"), rate_cell(contract.head, paired)
    return (
        code(candidate.model, _NAME),
        code(contract.name, _NAME),
        " → ".join(rate.lines[0] for rate in rates),
        difference_cell(contract).on_one_line(),
        f"{paired.broke}, {paired.fixed}" if paired else numbers.NONE,
        _both(contract, lambda arm: numbers.dollars(arm.cost_per_call_usd)),
        _both(contract, lambda arm: numbers.milliseconds(arm.latency_p95_ms)),
        Cell(answer_of(contract), tone=contract.verdict),
    )


def _both(contract: ContractResult, of: Callable[[ArmResult], str]) -> str:
    arms = (contract.base, contract.head)
    return " → ".join(of(arm) if arm else numbers.NONE for arm in arms)


def _fixtures(found: Migration) -> Iterator[Block]:
    rows = [
        (
            code(candidate.model, _NAME),
            code(contract.name, _NAME),
            _named(contract, "broke"),
            _named(contract, "fixed"),
        )
        for candidate in found.candidates
        for contract in candidate.contracts
        if _changed(contract, "broke") or _changed(contract, "fixed")
    ]
    if rows:
        yield Table(("new model", "contract", "broke", "fixed"), rows)
    elif any(candidate.result for candidate in found.candidates):
        yield Paragraph("No fixture changes.")
    else:
        yield Paragraph("Nothing was measured.")


def _named(contract: ContractResult, change: str) -> Any:
    names = [code(name, _NAME) for name in _changed(contract, change)]
    return listed(names, _MOST_FIXTURES) if names else numbers.NONE


def _edit(chosen: Candidate | None) -> Iterator[Block]:
    if chosen is None:
        yield Paragraph("Nothing was edited.")
        return
    files = joined([code(path, 200) for path in sorted(chosen.swap.texts)])
    yield Paragraph(("Files with ", code(chosen.model, _NAME), ": ", files, "."))
    for path, names in chosen.swap.dropped.items():
        yield Paragraph(
            (
                "The model does not take ",
                joined([code(name, _NAME) for name in names]),
                ", so it was removed for ",
                code(path, 200),
                ".",
            )
        )


def migration_document(found: Migration) -> dict[str, Any]:
    """Return the migration as JSON data."""
    return {
        "schema": 1,
        **picked(found, "models"),
        "chosen": found.chosen and found.chosen.model,
        "candidates": [
            {
                **picked(candidate, "model dropped=swap.dropped"),
                "why": candidate.why or None,
                "verdict": candidate.result and candidate.result.verdict,
                "cost_usd": candidate.result and candidate.result.cost_usd,
                "files": sorted(candidate.swap.texts),
                "contracts": [_contract_document(contract) for contract in candidate.contracts],
            }
            for candidate in found.candidates
        ],
    }


def _contract_document(contract: ContractResult) -> dict[str, Any]:
    figures = "model success_rate cost_per_call_usd latency_p95_ms"
    return {
        "name": contract.name,
        "answer": answer_of(contract),
        "present": contract.base and picked(contract.base, figures),
        "new": contract.head and picked(contract.head, figures),
        **{change: _changed(contract, change) for change in ("broke", "fixed")},
    }


def _changed(contract: ContractResult, change: str) -> list[str]:
    return [fixture.id for fixture in contract.fixtures if fixture.change == change]
