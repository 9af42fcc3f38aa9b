"""What `validate` found, as plain values: contracts, findings and the inventory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from gatekeeper import numbers
from gatekeeper.contract.files.inventory import Inventory
from gatekeeper.errors import Problem

FindingLevel = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know about a file. Only an `error` keeps a contract from running. `contract` is
    the path of the contract that it was found in; None if it belongs to no contract."""

    level: FindingLevel
    problem: Problem
    contract: str | None = None

    def __str__(self) -> str:
        return str(self.problem) if self.problem.fix else self._without_fix()

    def _without_fix(self) -> str:
        at = (self.problem.path, self.problem.line, self.problem.column)
        text = f"{':'.join(str(part) for part in at if part)}: {self.problem.what}"
        return text.replace("\n", "⏎")

    def document(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {"level": self.level, "contract": self.contract, **asdict(self.problem)}


@dataclass(frozen=True, slots=True)
class ValidContract:
    """One contract without an error. `units` are its distinct inputs, or clusters of them;
    `repeated` counts fixtures whose input repeats that of another."""

    path: str
    name: str
    prompt: str
    model: str
    fixtures: int
    repeated: int
    units: int
    clustered: bool
    checks: int
    groups: tuple[str, ...] = ()
    deciding: tuple[str, ...] = field(default=(), repr=False)
    """The fixtures that are not in quarantine."""

    @property
    def fixtures_text(self) -> str:
        """Return the number of fixtures, and how many count if that is another number."""
        text = f"{self.fixtures:,}"
        if self.clustered:
            text = f"{text} in {numbers.count(self.units, 'cluster')}"
        return f"{text}, {f'{self.repeated:,}'} repeated" if self.repeated else text


@dataclass(frozen=True, slots=True)
class Validation:
    """The contracts without an error, all findings in the order of files, and the inventory; it is
    empty if only some files were named."""

    contracts: tuple[ValidContract, ...]
    findings: tuple[Finding, ...]
    inventory: Inventory = field(default_factory=Inventory)
    whole: bool = True

    def of_level(self, level: FindingLevel) -> tuple[Finding, ...]:
        """Return the findings of one level."""
        return tuple(finding for finding in self.findings if finding.level == level)

    @property
    def valid(self) -> bool:
        """Return whether there is no error."""
        return not self.problems

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the problems that keep a contract from running."""
        return tuple(finding.problem for finding in self.of_level("error"))

    def document(self) -> Mapping[str, Any]:
        """Return everything as JSON."""
        inventory = self.inventory
        return {
            "valid": self.valid,
            "contracts": [
                {name: value for name, value in asdict(contract).items() if name != "deciding"}
                for contract in self.contracts
            ],
            "findings": [finding.document() for finding in self.findings],
            "prompts": [asdict(prompt) for prompt in inventory.prompts],
            "suites": [asdict(suite) for suite in inventory.suites],
            "folders": [asdict(folder) for folder in inventory.by_folder()],
            "unread": inventory.unread,
            "of_agents": list(inventory.of_agents),
        }
