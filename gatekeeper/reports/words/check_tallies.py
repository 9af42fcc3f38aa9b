"""Counts how often each check passed on each fixture, on both arms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gatekeeper.contract.values.definition import Severity
from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.gate.results.parts import Tally


@dataclass(slots=True)
class CheckTally:
    """`counts` are the passed and the measured samples by arm, without those to which the check
    does not apply; `said` is the first message of a failure on head."""

    severity: Severity
    counts: dict[Arm, Tally] = field(default_factory=dict)
    said: str = ""

    @property
    def fails(self) -> bool:
        """Whether a sample of head fails."""
        found = self.counts.get("head")
        return found is not None and found.passed < found.samples


def check_tallies(outcomes: Iterable[Outcome]) -> Mapping[str, CheckTally]:
    """Return the tallies of one fixture by check, in the order of the contract."""
    found: dict[str, CheckTally] = {}
    counts: dict[tuple[str, Arm], list[bool]] = defaultdict(list)
    for outcome in outcomes:
        arm = outcome.sample.trial.arm
        for said in outcome.check_results:
            tally = found.setdefault(said.check, CheckTally(said.severity))
            if said.passed is not None:
                counts[said.check, arm].append(said.passed)
            if said.passed is False and arm == "head":
                tally.said = tally.said or said.message
    for (check, arm), passed in counts.items():
        found[check].counts[arm] = Tally(sum(passed), len(passed))
    return found
