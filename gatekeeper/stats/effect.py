"""Effect sizes: a change in units of its standard deviation. Also the paired t-test.

Differences are head minus base, one a fixture. Below 0 is worse, as for a rate; if lower is better,
as for latency and cost, pass base minus head.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gatekeeper.stats.arguments import require_finite, require_share


@dataclass(frozen=True, slots=True)
class PairedTTest:
    """`statistic` is Student's t, and `p_worse` the p-value against differences below 0."""

    statistic: float
    p_worse: float


def paired_t_test(differences: Sequence[float]) -> PairedTTest | None:
    """Compute Student's t-test that the mean difference is 0.

    None below two differences and if all are alike, be it at 0: without scatter there is no
    scale to judge the mean by. The order does not matter. Student (1908), The probable error of
    a mean, Biometrika 6:1-25.
    """
    effect = cohen_d_paired(differences)
    if effect is None:
        return None
    from scipy.special import stdtr

    t = effect * math.sqrt(len(differences))
    return PairedTTest(t, float(stdtr(len(differences) - 1, t)))


def cohen_d_paired(differences: Sequence[float]) -> float | None:
    """Return Cohen's d of paired differences, d_z: their mean over their standard deviation (n -
    1).

    None below two differences and if all are alike. Cohen, J. (1988), Statistical Power
    Analysis for the Behavioral Sciences, 2nd ed., section 2.3.5; Lakens, D. (2013), Calculating
    and reporting effect sizes, Frontiers in Psychology 4:863.
    """
    require_finite("differences", differences)
    n = len(differences)
    largest = max(map(abs, differences), default=0.0)
    if n < 2 or largest == 0:
        return None
    scaled = [value / largest for value in differences]  # squares neither overflow nor vanish
    if min(scaled) == max(scaled):
        return None
    mean = math.fsum(scaled) / n
    return mean / math.sqrt(math.fsum((value - mean) ** 2 for value in scaled) / (n - 1))


def cohen_h(base_rate: float, head_rate: float) -> float:
    """Return Cohen's h: 2 arcsin(sqrt(head)) - 2 arcsin(sqrt(base)), from -pi to pi; below 0 is
    worse.

    Equal steps of h are about equally hard to see wherever the rates lie: 0.2 is called small,
    0.5 medium, 0.8 large. Cohen (1988), chapter 6.
    """
    require_share("base_rate", base_rate)
    require_share("head_rate", head_rate)
    return 2 * (math.asin(math.sqrt(head_rate)) - math.asin(math.sqrt(base_rate)))
