"""Makes sequential.json: reference values of the sequential test's parts, from scipy.

    python tests/reference/make_sequential.py > tests/reference/sequential.json

Every group says which call of which version made it. Nothing of gatekeeper is imported here.
"""

import json
import math

import numpy as np
import scipy
from scipy import stats

DIFFERENCES = [
    [0, 0, 0],
    [1, 1, 1, 1, 1],
    [1, 1, -1, 0, 0],
    [3, -1, 2, 0, 5, -2],
    [-3, 1, -2, 0, -5, 2],
    [10, 10, 7, -3, 1, 1, -1, 4],
    [2, 2, 2, 4, -4, 6],
    [5, 4, 3, 2, 1, 1, 1, -1, -2, 3, 2, -1],
    [50, 49, -48, 1, 0, 17, 23, -5, 8, 8, -8, 2, 31],
]
DROPS = [
    [0.0, 0.2, -0.1, 0.4],
    [0.1, 0.1, 0.3, -0.5, 0.0, 0.0],
    [1.0, -1.0],
    [0.0] * 9 + [0.2],
    [0.0] * 18 + [1.0, 1.0],
    [0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0],
    [-1.0, 0.0, 0.0, 0.0, 0.1],
]
LEVELS = [0.05, 0.01, 0.5, 0.9]
LIMITS = [
    (n, share, alpha)
    for n in (1, 5, 20, 45, 100, 3000)
    for share in (0.05, 0.131, 0.5, 0.96, 1.0)
    for alpha in (0.05, 0.0062)
]
TOSSES = [1, 4, 5, 8, 37, 100, 999]


def sign_flips():
    return [
        {
            "differences": d,
            "p": float(
                stats.permutation_test(
                    (d,),
                    np.sum,
                    permutation_type="samples",
                    n_resamples=math.inf,
                    alternative="greater",
                ).pvalue
            ),
        }
        for d in DIFFERENCES
    ]


def bounds():
    """Student's bound, and what Johnson's term adds to it: with the moments as scipy has them,
    skewness g = m3 / m2^1.5 of the sample, the standard error e and the quantile t, it is
    g ((n - 1) / n)^1.5 e (1 + 2 t^2) / (6 sqrt(n)), and nothing where g is negative."""
    cases = []
    for drops in DROPS:
        n, error, skewness = len(drops), stats.sem(drops), stats.skew(drops)
        for level in LEVELS:
            test = stats.ttest_1samp(drops, 0, alternative="less")
            t = stats.t.isf(level, n - 1)
            unbiased = skewness * ((n - 1) / n) ** 1.5
            term = unbiased * error * (1 + 2 * t**2) / (6 * math.sqrt(n))
            cases.append(
                {
                    "drops": drops,
                    "level": level,
                    "student": float(test.confidence_interval(1 - level).high),
                    "johnson": float(max(0.0, term)),
                }
            )
    return cases


def limits():
    """The quantile function gives the least k with P(X <= k) >= alpha: one less falls short."""
    cases = []
    for n, share, alpha in LIMITS:
        least = int(stats.binom.ppf(alpha, n, share))
        most = least if stats.binom.cdf(least, n, share) <= alpha else least - 1
        cases.append(
            {"fixtures": n, "share": share, "alpha": alpha, "most": most if most >= 0 else None}
        )
    return cases


def tosses():
    cases = []
    for n in TOSSES:
        for level in (0.05, 0.02, 0.0004):
            fewest = int(stats.binom.isf(level, n, 0.5)) + 1
            cases.append({"n": n, "level": level, "fewest": fewest})
    return cases


made = f"scipy {scipy.__version__}"
print(
    json.dumps(
        {
            "sign_flip": {
                "made_by": f"{made}, numpy {np.__version__}: permutation_test((differences,), sum, "
                "permutation_type='samples', n_resamples=inf, alternative='greater')",
                "cases": sign_flips(),
            },
            "drop_bound": {
                "made_by": f"{made}: ttest_1samp(drops, 0, alternative='less')"
                ".confidence_interval(1 - level).high; and Johnson's term from skew, sem and "
                "t.isf of the same",
                "cases": bounds(),
            },
            "most_broken": {
                "made_by": f"{made}: binom.ppf(alpha, fixtures, share), less one where binom.cdf "
                "of it exceeds alpha; null below 0",
                "cases": limits(),
            },
            "critical_counts": {
                "made_by": f"{made}: binom.isf(level, n, 1/2) + 1",
                "cases": tosses(),
            },
        },
        indent=1,
    )
)
