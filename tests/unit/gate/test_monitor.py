"""What a run reports of its progress while samples come in."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Sample
from gatekeeper.gate.measuring.monitor import Watches
from gatekeeper.gate.work import plan_check

CONTRACT = b"""\
contract: 1
name: words
prompt: ../prompts/words.md
model: openai/small
checks: [{type: contains, value: ok}]
fixtures: [{id: a, vars: {word: red}}]
"""


class Advances:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[float | None, bool]] = []

    def started(self, *_: object) -> None: ...

    def finished(self) -> None: ...

    def advanced(self, *, cost_usd: float | None, failed: bool) -> None:
        self.told.append((cost_usd, failed))

    def refused(self) -> None: ...

    def expect(self, calls: int) -> None: ...


def revision(prompt: bytes) -> MemoryRevision:
    return MemoryRevision({"contracts/words.yaml": CONTRACT, "prompts/words.md": prompt})


@pytest.mark.parametrize(
    ("completion", "shared", "told"),
    [
        (Completion("ok", cost_usd=0.5), False, [(0.5, False)]),
        (Completion("ok"), False, [(None, False)]),
        (Completion("ok", cost_usd=0.5, replayed=True), False, [(0.0, False)]),
        (Completion("ok", cost_usd=0.5), True, []),
        (None, False, [(None, True)]),
    ],
    ids=["paid", "of unknown price", "replayed", "shared with the other arm", "failed"],
)
def test_each_call_advances_the_run_by_its_cost(
    completion: Completion | None, shared: bool, told: Sequence[tuple[float | None, bool]]
) -> None:
    work = plan_check(Change(revision(b"Say {{ word }}."), revision(b"Tell {{ word }}.")), Policy())
    progress = Advances()
    watches = Watches(work.jobs, progress)
    sample = Sample(work.jobs[0].trials[0], completion, output="ok", shared=shared)
    watches.add(watches.evaluate(sample))
    assert progress.told == told
    assert len(watches.outcomes) == 1
