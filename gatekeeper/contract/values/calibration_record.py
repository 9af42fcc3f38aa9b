"""What a judge said of labelled outputs, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gatekeeper.stats.judges.judge_accuracy import Confusion


@dataclass(frozen=True, slots=True)
class GradedLabel:
    """The verdict of people and that of the judge on one output. `output` is its SHA-256 in
    hexadecimal, `text` the output itself, which only anchors have. `score` is the judge's and
    `human_score` that of people, if they give one."""

    fixture: str
    output: str
    human: bool
    judge: bool
    score: float | None = None
    text: str | None = None
    human_score: float | None = None


@dataclass(frozen=True, slots=True)
class CheckCalibration:
    """The labels of one check. `judge` identifies the judge that graded them."""

    judge: str
    labels: tuple[GradedLabel, ...]

    @property
    def anchors(self) -> tuple[GradedLabel, ...]:
        """Return the labels whose outputs nightly runs have graded again."""
        return tuple(label for label in self.labels if label.text is not None)

    @property
    def scores(self) -> tuple[tuple[float, float], ...]:
        """Return the scores of people and of the judge, of each label that has both."""
        both = ((label.human_score, label.score) for label in self.labels)
        return tuple((a, b) for a, b in both if a is not None and b is not None)

    @property
    def confusion(self) -> Confusion:
        from gatekeeper.stats.judges.judge_accuracy import count_confusion

        return count_confusion([x.human for x in self.labels], [x.judge for x in self.labels])


Calibrations = Mapping[str, CheckCalibration]
"""By the name of the check."""
NOT_CALIBRATED: Calibrations = MappingProxyType({})
