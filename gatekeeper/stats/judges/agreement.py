"""Measures the agreement of judges: Cohen's kappa of two, Fleiss' kappa of several.

None means that the data is not enough: too few items, or a rater who never varies. Perfect
agreement has a value and no interval: its estimated standard error is 0, which does not mean
certainty.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction

from gatekeeper.stats.arguments import require_count, require_inside, require_same_length
from gatekeeper.stats.estimate import Estimate, normal_quantile, symmetric


def cohen_kappa(
    a: Sequence[Hashable], b: Sequence[Hashable], confidence: float = 0.95
) -> Estimate | None:
    """Return how far two raters agree beyond chance: 1 always, 0 as often as chance, below 0 less.

    `a[i]` and `b[i]` are the labels of item i. None without an item, and if both gave one
    and the same label to all: chance alone would agree. Cohen, J. (1960), A coefficient of
    agreement for nominal scales, Educational and Psychological Measurement 20:37-46. The
    standard error is that of Fleiss, J. L., Cohen, J. and Everitt, B. S. (1969), Large sample
    standard errors of kappa and weighted kappa, Psychological Bulletin 72:323-327, equation 13,
    not the smaller one under the hypothesis of no agreement.
    """
    require_same_length("b", b, "a", a)
    require_inside("confidence", confidence)
    n = len(a)
    rows, columns = Counter(a), Counter(b)
    chance = Fraction(sum(rows[label] * columns[label] for label in rows), n * n or 1)
    if n == 0 or chance == 1:
        return None
    cells = Counter(zip(a, b, strict=True))
    observed = Fraction(sum(count for (x, y), count in cells.items() if x == y), n)
    kappa = (observed - chance) / (1 - chance)
    spread = Fraction(0)
    for (x, y), count in cells.items():
        margins = Fraction(rows[y] + columns[x], n)
        weight = (1 if x == y else 0) - margins * (1 - kappa)
        spread += Fraction(count, n) * weight**2
    variance = (spread - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
    return symmetric(float(kappa), math.sqrt(variance), normal_quantile(confidence))


def fleiss_kappa(counts: Sequence[Sequence[int]], confidence: float = 0.95) -> Estimate | None:
    """Return how far several raters agree beyond chance; they need not be the same for each
    subject.

    `counts[i][k]` is how many raters put subject i into category k. Every row has the same
    categories and the same number of raters, at least 2. None without a subject, and if one
    category took all. Fleiss, J. L. (1971), Measuring nominal scale agreement among many
    raters, Psychological Bulletin 76:378-382.

    The interval is over subjects like these: the linearised variance and the t quantile of
    Gwet, K. L. (2021), Large-sample variance of Fleiss generalized kappa, Educational and
    Psychological Measurement 81:781-790, to first order that of leaving out each subject in
    turn. The standard error of Fleiss, Nee and Landis (1979) supposes no agreement at all and
    only tests that.
    """
    require_inside("confidence", confidence)
    raters = _raters(counts)
    if raters is None:
        return None
    n = len(counts)
    shares = [Fraction(sum(column), n * raters) for column in zip(*counts, strict=True)]
    chance = sum((share**2 for share in shares), Fraction(0))
    if chance == 1:
        return None
    pairs = raters * (raters - 1)
    agreed = [Fraction(sum(count * (count - 1) for count in row), pairs) for row in counts]
    kappa = (sum(agreed, Fraction(0)) / n - chance) / (1 - chance)
    if n == 1:
        return Estimate(float(kappa), None)
    by_chance = [
        sum((share * Fraction(count, raters) for share, count in zip(shares, row, strict=True)))
        for row in counts
    ]
    spread = sum(
        ((own - chance - 2 * (1 - kappa) * (expected - chance)) / (1 - chance) - kappa) ** 2
        for own, expected in zip(agreed, by_chance, strict=True)
    )
    error = math.sqrt(Fraction(spread) / (n * (n - 1)))
    return symmetric(float(kappa), error, _t_quantile(confidence, n - 1))


def _raters(counts: Sequence[Sequence[int]]) -> int | None:
    """Return how many raters each subject had; None without a subject."""
    if not len(counts):
        return None
    for row in counts:
        for count in row:
            require_count("counts", count)
    raters = sum(counts[0])
    for row in counts:
        if len(row) != len(counts[0]):
            raise ValueError("counts: every subject must have a count for each category")
        if sum(row) != raters:
            raise ValueError(
                f"counts: every subject must have {raters} raters, as many as the first subject; "
                f"got {sum(row)}"
            )
    if raters < 2:
        raise ValueError(f"counts: a subject must have at least 2 raters, got {raters}")
    return raters


def _t_quantile(confidence: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))
