"""Writes what a comment names as a link to it: fixtures, checks, files and the run's pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gatekeeper.contract.formats.foreign_suite import file_of_contract
from gatekeeper.gate.results.links import NO_LINKS, Links
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.escape import code, link, visible

_ANCHORED = 200
"""Characters of a name: report.html shortens longer ones to as many."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one contract. `span` writes a name as code, in a table or elsewhere."""

    contract: str
    links: Links = NO_LINKS

    def fixture(self, fixture: FixtureResult, limit: int, span: Callable[..., str] = code) -> str:
        """Link a fixture to its answers in the report, or else to its line in the repository."""
        at = fixture.position
        address = self._anchor("fixture", fixture.id) or (
            self.links.file(at.path, at.line) if at else ""
        )
        return link(span(fixture.id, limit), address)

    def check(self, check: str, limit: int, span: Callable[..., str] = code) -> str:
        """Link a check to the fixtures that fail it, in the report."""
        return link(span(check, limit), self._anchor("check", check))

    def _anchor(self, kind: str, name: str) -> str:
        return self.links.anchor(
            kind, *(visible(text[:_ANCHORED]) for text in (self.contract, name))
        )


NAMELESS = Names("")


def contract_file(contract: ContractResult, links: Links) -> str:
    """Return the address of the contract's file; nothing if the change deletes it."""
    path = file_of_contract(contract.path)
    gone = any((by.path, by.change) == (path, "deleted") for by in contract.affected_by)
    return "" if gone else links.file(path)


def pages(result: GateResult) -> str:
    """Return links to the pages of the run, as a line; nothing outside of a job."""
    links = result.links
    report = "Report with every answer" if links.opens else "Download the report"
    found = ((report, links.report), ("run", links.run), ("dashboard", links.dashboard))
    return " · ".join(link(label, address) for label, address in found if address)
