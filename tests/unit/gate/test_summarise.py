"""The evidence of a run's outcomes."""

from __future__ import annotations

import pytest

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Sample
from gatekeeper.gate.measuring.monitor import Watches
from gatekeeper.gate.measuring.summarise import Evidence, summarise
from gatekeeper.gate.work import plan_check

CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/words.md
model: openai/small
checks: [{type: contains, value: ok}]
slo: {success_rate: 0.5}
sampling: {samples: 1, mode: fixed}
fixtures:
"""
WORDS = ("red", "green", "blue", "black")


def revision(prompt: str) -> MemoryRevision:
    rows = "".join(f"  - {{id: {word}, vars: {{word: {word}}}}}\n" for word in WORDS)
    files = {"contracts/words.yaml": CONTRACT + rows, "prompts/words.md": prompt}
    return MemoryRevision({path: text.encode() for path, text in files.items()})


def evidence(passing: int, lost: int = 0) -> Evidence:
    """What is made of a run in which base always fails, and so many fixtures of head pass; the
    calls of the last ones are lost."""
    change = Change(revision("Say {{ word }}."), revision("Tell {{ word }}."))
    (job,) = plan_check(change, Policy()).jobs
    watches = Watches([job])
    (watch,) = watches.of(job)
    for trial in job.trials:
        number = WORDS.index(trial.fixture)
        output = "ok" if trial.arm == "head" and number < passing else "no"
        sample = Sample(trial, Completion(output), output=output)
        if trial.arm == "head" and number >= len(WORDS) - lost:
            sample = Sample(trial, None, "the call failed")
        watches.add(watches.evaluate(sample))
    return summarise(watch, stopped=watch.settled)


@pytest.mark.parametrize(
    ("passing", "lost", "observed"), [(3, 0, 0.75), (0, 0, 0.0), (3, 1, 1.0), (0, 4, None)]
)
def test_an_objective_shows_the_measured_samples_of_head(
    passing: int, lost: int, observed: float | None
) -> None:
    (objective,) = evidence(passing, lost).slo
    assert objective.observed == observed


def test_fixtures_and_arms_are_those_that_were_measured() -> None:
    found = evidence(passing=1, lost=1)
    assert [fixture.change for fixture in found.fixtures] == ["fixed", "same", "same", None]
    assert found.base is not None
    assert (found.base.passed, found.base.samples, found.base.failed_calls) == (0, 4, 0)
    assert (found.head.passed, found.head.samples, found.head.failed_calls) == (1, 3, 1)
