"""How far judges agree, with each other and with themselves at calibration, as a part of the result
of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gatekeeper.stats.estimate import Estimate

LEVEL = 0.01
"""Of the test whether a judge grades differently than at its calibration."""


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


@dataclass(frozen=True, slots=True)
class AnchorResult:
    """What the judges of one check say of the anchors of their calibration now.

    `calibration` identifies it. Of `anchors` outputs, `agreed_before` were graded as people do at
    calibration, and `agrees_now` are. `lost` no longer are, `gained` are now and were not. Of
    these verdicts, `to_pass` changed from fail to pass, and the others from pass to fail. The
    `p_value` is two-sided, of McNemar's exact tests: a judge that agrees more with people, or that
    became milder or stricter, makes other errors than the calibration says.
    """

    check: str
    judges: tuple[str, ...]
    calibration: str
    anchors: int
    agreed_before: int
    agrees_now: int
    lost: int
    gained: int
    p_value: float
    to_pass: int | None = None

    @property
    def differs(self) -> bool:
        """Whether chance does not explain how much the verdicts differ."""
        return self.p_value <= LEVEL


AnchorResults = Mapping[str, tuple[AnchorResult, ...]]
"""By the name of the contract."""
