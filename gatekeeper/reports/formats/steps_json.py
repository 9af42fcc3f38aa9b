"""The steps of a chain, as a part of `result.json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gatekeeper.gate.step_result import StepResult


def step_documents(steps: Sequence[StepResult]) -> list[dict[str, Any]]:
    """Return the steps of an arm; nothing for a single prompt."""
    return [_document(step) for step in steps]


def _document(step: StepResult) -> dict[str, Any]:
    return {
        "name": step.name,
        "prompt": step.prompt_path,
        "passed": step.passed,
        "samples": step.samples,
        "pass_rate": step.rate,
        "broke_first": step.broke,
    }
