"""What a user chooses of the steps that follow a generation."""

from __future__ import annotations

from dataclasses import dataclass

MOST_COMPARED = 50
"""Baseline tests on which the prompt and its specification are compared."""


@dataclass(frozen=True, slots=True)
class QualityOptions:
    """The steps to take.

    `check` has judges say which tests are valid and which rules follow from their lines;
    `leave_out` removes the others. `baseline` is the number of tests to write without the rules.
    `ground_truth` is the model whose answers are proposed. `judges` grade everything, by majority.
    `model` runs the prompt and its specification, if it `compares` them because there are or will
    be baseline tests. `embeddings` compares their outputs; without it their words do.
    """

    judges: tuple[str, ...]
    model: str
    compares: bool = False
    check: bool = False
    leave_out: bool = False
    baseline: int = 0
    ground_truth: str | None = None
    embeddings: str | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to do."""
        return not (self.check or self.baseline or self.ground_truth)
