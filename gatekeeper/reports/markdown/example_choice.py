"""Which fixture shows best why a contract failed; none if the failure is not about answers."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from gatekeeper.contract.values.objectives import Objective
from gatekeeper.contract.values.trial import Arm
from gatekeeper.gate.results.parts import FixtureFailure, FixtureResult
from gatekeeper.gate.results.result import ContractResult, ReasonCode, SloResult
from gatekeeper.reports.words.catalogue import REASONS, Example
from gatekeeper.reports.words.ranking import is_proven


@dataclass(frozen=True, slots=True)
class Telling:
    """A fixture of the failure, with the failing check that shows it."""

    fixture: FixtureResult
    check: str | None = None

    @property
    def failure(self) -> FixtureFailure | None:
        """Return its failure on head, of the given check if there is one."""
        own = [f for f in self.fixture.failures if f.arm == "head"]
        named = [f for f in (*own, *self.fixture.warnings) if f.arm == "head"]
        return next((f for f in named if f.check == self.check), next(iter(own), None))

    @property
    def answer(self) -> str | None:
        """Return head's answer."""
        return self.failure.output if self.failure else self.fixture.head_output

    @property
    def as_before(self) -> bool:
        """Whether neither its result nor its answer changed."""
        found = self.fixture
        return found.base is not None and _lost(found) == 0 and found.base_output == self.answer


def most_telling(contract: ContractResult, codes: Set[ReasonCode]) -> Telling | None:
    """Return the fixture that illustrates the deciding reasons best.

    A fixture that must pass and fails comes before all others. Limits on cost, tokens and latency,
    weakening, budgets and the policy have no example: no single answer shows them.
    """
    shown_by = {REASONS[code].example for code in codes}
    found: list[Telling] = []
    if "must_pass" in shown_by:
        found = list(_must_pass(contract))
    found = found or [
        telling
        for fixture in contract.fixtures
        if fixture.head_passed is False
        and not fixture.quarantine
        and (telling := _shows(fixture, contract, shown_by))
    ]
    broken = [telling for telling in found if telling.fixture.change == "broke"]
    return min(broken or found, key=_rank, default=None)


def _must_pass(contract: ContractResult) -> Iterator[Telling]:
    fixtures = {fixture.id: fixture for fixture in contract.fixtures}
    for result in contract.must_pass:
        if result.found == "broke" and result.fixture in fixtures:
            yield Telling(fixtures[result.fixture], result.check)


def _shows(
    fixture: FixtureResult, contract: ContractResult, shown_by: Set[Example | None]
) -> Telling | None:
    """Return the fixture if it is an example of one of the reasons."""
    worse = fixture.change == "broke" or fixture.base is None or _lost(fixture) < 0
    if ("worse" in shown_by and worse) or "failing" in shown_by:
        return Telling(fixture)
    if "objective" not in shown_by:
        return None
    own = (_missed_by(fixture, slo) for slo in contract.slo if slo.met is not True)
    return next((telling for telling in own if telling), None)


def _missed_by(fixture: FixtureResult, slo: SloResult) -> Telling | None:
    """Return the fixture if it fails what the objective counts. No fixture shows a latency or a
    cost."""
    objective = Objective(slo.objective, slo.target)
    if objective.measure.better != "higher":
        return None
    if objective.category is not None and fixture.category != objective.category:
        return None
    failing = {f.check for f in (*fixture.failures, *fixture.warnings) if f.arm == "head"}
    if objective.check is not None and objective.check not in failing:
        return None
    return Telling(fixture, objective.check)


def _rank(telling: Telling) -> tuple[bool, bool, bool, float, int]:
    """Return a sort key: first what changed, is proven, is complete, lost most, and is short."""
    fixture, after = telling.fixture, telling.answer
    whole = bool(after) and fixture.input is not None
    texts = (fixture.input, fixture.base_output, after, fixture.wanted)
    length = sum(len(text or "") for text in texts)
    return telling.as_before, not is_proven(fixture), not whole, _lost(fixture), length


def _lost(fixture: FixtureResult) -> float:
    """Return the pass rate on head minus that on base."""
    return _rate(fixture, "head") - _rate(fixture, "base")


def _rate(fixture: FixtureResult, arm: Arm) -> float:
    tally = fixture.base if arm == "base" else fixture.head
    return tally.passed / tally.samples if tally and tally.samples else 0.0
