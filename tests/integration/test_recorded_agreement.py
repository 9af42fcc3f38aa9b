"""Adaptive and fixed sampling on changes of model, by recorded outputs.

Five prompts, four models, each pair of them: whether an output complies is what the
recording's judge said of it. What adaptive sampling decides is what fixed sampling decides, for
fewer calls.
"""

from __future__ import annotations

import asyncio
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.gate.pipeline import RunContext, measure
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.work import plan_check

POLICY = Policy(limits=Limits(None, None, None, 4))
PROMPTS = ("speech-tag", "text-to-p", "extract-names", "elements", "classify-input-text")
CONTRACT = """\
contract: 1
name: recorded
prompt: prompt.txt
model: {model}
fixtures: [{{file: rows.jsonl}}]
checks: [{{type: equals, value: complies}}]
sampling: {{samples: 1, mode: {mode}}}
gate: {{claim: inputs}}
"""
# Each answer was recorded once, so there is none to confirm it with.


class Recording:
    """Answers with whether the model's recorded output for the fixture complies."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    async def complete(self, request: Request) -> Completion:
        row = self._rows[int(request.messages[0].content)]
        complies = row["outputs"][request.model]["compliant"]
        return Completion("complies" if complies else "does not", 5.0)

    async def aclose(self) -> None:
        """Nothing is open."""


def check(rows: list[dict[str, Any]], models: tuple[str, str], mode: str) -> GateResult:
    fixtures = "".join(
        json.dumps({"id": f"r{number}", "vars": {"row": str(number)}}) + "\n"
        for number in range(len(rows))
    )
    base, head = (
        MemoryRevision(
            {
                "contracts/recorded.yaml": CONTRACT.format(model=model, mode=mode).encode(),
                "contracts/prompt.txt": b"{{ row }}",
                "contracts/rows.jsonl": fixtures.encode(),
            },
            sha * 40,
        )
        for model, sha in zip(models, "bc", strict=True)
    )
    work = plan_check(Change(base, head), POLICY)
    return asyncio.run(measure(work, RunContext(Recording(rows))))


@pytest.mark.parametrize(
    "prompt", [PROMPTS[0], *(pytest.param(name, marks=pytest.mark.long) for name in PROMPTS[1:])]
)
def test_adaptive_sampling_decides_as_fixed_sampling_for_fewer_calls(prompt, shared_data: Path):
    lines = (shared_data / f"promptpex/{prompt}.jsonl").read_text("utf-8").splitlines()
    recorded = [json.loads(line) for line in lines]
    models = sorted(set.intersection(*(set(row["outputs"]) for row in recorded)))
    saved = 0
    for pair in combinations(models, 2):
        rows = [r for r in recorded if all(r["outputs"][m]["compliant"] is not None for m in pair)]
        fixed, adaptive = (check(rows, pair, mode) for mode in ("fixed", "adaptive"))
        assert adaptive.verdict == fixed.verdict, pair
        assert adaptive.calls.made <= fixed.calls.made
        saved += fixed.calls.made - adaptive.calls.made
    assert saved > 0
