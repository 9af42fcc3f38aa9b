"""The results for the steps of a chain: part of `result`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepResult:
    """One step on one arm: `passed` of `samples` whose output its checks could evaluate.

    `name` is None for the last prompt. `broke` counts the failed samples of which this step is the
    first that failed. A step without checks that gate has no samples. `prompt_lines` is as in
    `ArmResult`.
    """

    name: str | None
    prompt_path: str
    prompt_text: str
    passed: int
    samples: int
    broke: int
    prompt_lines: tuple[int, ...] = ()

    @property
    def rate(self) -> float | None:
        """Return the share that passed; None if nothing was measured."""
        return self.passed / self.samples if self.samples else None
