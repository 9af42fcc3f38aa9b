"""How far judges agree, as a part of the result of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gatekeeper.stats.estimate import Estimate


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """The agreement of one check's judges on whether outputs pass.

    `outputs` is the number of different outputs of fixtures that all of them graded, and `agreed`
    the share on which all judges have the same verdict. `kappa` is Cohen's for two judges, and
    Fleiss' for more; None for one judge, or if it is not defined. `repeats` is Fleiss' kappa of
    each judge with itself, if it is asked several times.
    """

    contract: str
    check: str
    judges: tuple[str, ...]
    outputs: int
    agreed: float | None
    kappa: Estimate | None
    repeats: Mapping[str, Estimate | None] = field(default_factory=dict)
