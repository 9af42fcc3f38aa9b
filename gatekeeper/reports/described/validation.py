"""Describes what `validate` found: problems first, then the contracts, then the inventory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from gatekeeper import numbers
from gatekeeper.contract.files.inventory import Inventory
from gatekeeper.gate.validate import FindingLevel, Validation, ValidContract
from gatekeeper.reports.document import (
    Block,
    Cell,
    Paragraph,
    Quote,
    Strong,
    Table,
    Tone,
    columns,
)

_MOST_PROMPTS = 20
_MOST_FOLDERS = 20
_MOST: Mapping[FindingLevel, int] = MappingProxyType({"warning": 30, "note": 10})
_TONES: Mapping[FindingLevel, Tone] = {"warning": "inconclusive", "note": "quiet"}
_WHOLE = 1_000_000
"""Nothing of a finding or a path is cut."""


def describe_validation(validation: Validation) -> Iterator[Block]:
    """Describe everything but the errors, which are printed to standard error, and the number of
    each in the last line."""
    for level, most in _MOST.items():
        found = validation.of_level(level)
        for finding in found[:most]:
            said = (Strong(f"{level}: "), Quote(str(finding), _WHOLE))
            yield Paragraph(said, _TONES[level])
        if len(found) > most:
            yield Paragraph(_rest(len(found) - most, level), "quiet")
    if validation.contracts:
        yield _contract_table(validation.contracts)
    if validation.whole:
        yield from _inventory(validation.inventory)
    yield _last_line(validation)


def _inventory(inventory: Inventory) -> Iterator[Block]:
    """Describe how many prompts of each folder have a contract, those without one, and the suites
    of other tools that do not run yet."""
    if inventory.prompts:
        yield _folder_table(inventory)
    if inventory.uncovered:
        yield Table(
            columns("prompt without a contract", "kind", right=["line"]),
            [
                (
                    Quote(prompt.reference, _WHOLE),
                    prompt.kind,
                    "" if prompt.reference == prompt.path else f"{prompt.line:,}",
                )
                for prompt in inventory.uncovered
            ],
            most=_MOST_PROMPTS,
            left_out=lambda left: _rest(left, "prompt without a contract"),
        )
    foreign = [suite for suite in inventory.unused if suite.kind != "contract"]
    for suite in foreign:
        why = f" ({suite.kind}) is not run, because no pattern of `contracts` matches this path."
        yield Paragraph((Quote(suite.path, _WHOLE), why), "quiet")
    if inventory.uncovered or foreign:
        advice = "Next: `gatekeeper init` proposes contracts for these, or says why not."
        yield Paragraph(advice, "quiet")
    if inventory.of_agents:
        yield Paragraph(inventory.about_agents, "quiet")
    if inventory.unread:
        files = numbers.count(inventory.unread, "file")
        yield Paragraph(f"{files} were not read, because there are too many files.", "quiet")


def _contract_table(contracts: Sequence[ValidContract]) -> Table:
    """Return the contracts without an error."""
    return Table(
        columns("contract", "file", right=("fixtures", "checks"), last=["model"]),
        [
            (
                Quote("; also ".join(filter(None, (contract.name, ", ".join(contract.groups))))),
                Quote(contract.path, _WHOLE),
                contract.fixtures_text,
                f"{contract.checks:,}",
                Quote(contract.model),
            )
            for contract in contracts
        ],
    )


def _folder_table(inventory: Inventory) -> Table:
    folders = inventory.by_folder()
    rest = folders[_MOST_FOLDERS:]
    rows = [(found.folder, found.prompts, found.covered) for found in folders[:_MOST_FOLDERS]]
    if rest:
        prompts, covered = (sum(f.prompts for f in rest), sum(f.covered for f in rest))
        rows.append((f"{len(rest):,} more folders", prompts, covered))
    return Table(
        columns("folder", right=("prompts", "with a contract", "coverage")),
        [
            (
                Quote(folder, _WHOLE),
                f"{prompts:,}",
                f"{covered:,}",
                Cell(
                    numbers.percent(covered / prompts),
                    tone="pass" if covered == prompts else "inconclusive",
                ),
            )
            for folder, prompts, covered in rows
        ],
    )


def _rest(number: int, noun: str) -> str:
    first, space, rest = noun.partition(" ")
    several = f"more {first}s{space}{rest}"
    return f"and {numbers.count(number, f'more {noun}', several)}; `--json` lists all"


def _last_line(validation: Validation) -> Paragraph:
    errors, warnings = len(validation.problems), len(validation.of_level("warning"))
    parts = [
        f"{numbers.count(len(validation.contracts), 'contract')} valid",
        numbers.count(errors, "error"),
        numbers.count(warnings, "warning"),
    ]
    prompts = validation.inventory.prompts
    if validation.whole and prompts:
        covered = len(prompts) - len(validation.inventory.uncovered)
        parts.append(f"{covered:,} of {numbers.count(len(prompts), 'prompt')} with a contract")
    tone: Tone = "fail" if errors else "inconclusive" if warnings else "pass"
    return Paragraph(f"{'✗' if errors else '✓'} {', '.join(parts)}", tone)
