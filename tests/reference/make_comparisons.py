"""Makes comparisons.json: reference values for the methods that stand beside the deciding test.

    uv run --no-project --with arch==8.0.0 python tests/reference/make_comparisons.py \
        > tests/reference/comparisons.json

arch brings numpy, scipy and statsmodels; their versions stand with the values. Nothing of
gatekeeper is imported here. R is not needed: where R would give the same value, the command is
named, and it was not run; values printed by an R package name where they were published.
"""

import json

import arch
import numpy as np
import scipy
import statsmodels
from arch.bootstrap import CircularBlockBootstrap, optimal_block_length
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

CHANGED = [(3, 0), (0, 3), (1, 7), (7, 1), (5, 5), (12, 5), (25, 10), (900, 1000), (1600, 1500)]


def chi_square_cases():
    cases = []
    for broke, fixed in CHANGED:
        table = [[0, broke], [fixed, 0]]
        case = {"broke": broke, "fixed": fixed}
        case["uncorrected"] = float(mcnemar(table, exact=False, correction=False).pvalue)
        # statsmodels takes 1 off a difference of 0 as well, R's mcnemar.test does not.
        if broke != fixed:
            case["corrected"] = float(mcnemar(table, exact=False, correction=True).pvalue)
        cases.append(case)
    return cases


def series(n, share, seed):
    noise = np.random.default_rng(seed).normal(size=n)
    values = np.zeros(n)
    for t in range(n):
        values[t] = (share * values[t - 1] if t else 0) + noise[t]
    return np.round(values, 3)


def block_length_cases():
    """Autoregressive series. Chosen so that each autocorrelation lies on the same side of the
    band whether it is divided by the variance of the series, as in the paper, or by that of the
    part it is made of, as in arch."""
    cases = []
    for n, share, seed in [
        (24, 0.5, 1),
        (30, 0.0, 2),
        (30, 0.6, 7),
        (60, -0.6, 4),
        (60, 0.3, 5),
        (100, 0.9, 6),
        (100, 0.0, 7),
        (150, 0.7, 8),
    ]:
        values = series(n, share, seed)
        lengths = optimal_block_length(values)
        cases.append({"values": values.tolist(), "circular": float(lengths["circular"].iloc[0])})
    return cases


def block_interval_cases():
    cases = []
    for n, share, length, seed in [(60, 0.6, 5, 11), (61, 0.6, 7, 12), (40, 0.0, 1, 13)]:
        values = series(n, share, seed)
        bootstrap = CircularBlockBootstrap(length, values, seed=np.random.default_rng(seed))
        low, high = bootstrap.conf_int(np.mean, reps=20_000, method="percentile", size=0.9)[:, 0]
        cases.append(
            {
                "values": values.tolist(),
                "block_length": length,
                "confidence": 0.9,
                "interval": [float(low), float(high)],
            }
        )
    return cases


def scipy_bootstrap(data, statistic):
    found = stats.bootstrap(
        data,
        statistic,
        paired=True,
        vectorized=True,
        method="percentile",
        confidence_level=0.9,
        n_resamples=20_000,
        rng=np.random.default_rng(3),
    ).confidence_interval
    return [float(found.low), float(found.high)]


def cluster_interval_cases():
    def ratio(passed, samples, axis=-1):
        return passed.sum(axis=axis) / samples.sum(axis=axis)

    rng = np.random.default_rng(21)
    cases = []
    for m in (12, 50):
        samples = rng.integers(1, 11, size=m)
        passed = rng.binomial(samples, rng.beta(4, 1, size=m))
        cases.append(
            {
                "passed": passed.tolist(),
                "samples": samples.tolist(),
                "confidence": 0.9,
                "interval": scipy_bootstrap((passed, samples), ratio),
            }
        )
    return cases


def difference_interval_cases():
    def median(values, axis=-1):
        return np.quantile(values, 0.5, axis=axis, method="inverted_cdf")

    def upper(values, axis=-1):
        return np.quantile(values, 0.9, axis=axis, method="inverted_cdf")

    values = np.round(np.random.default_rng(22).exponential(100, size=45) - 60, 1)
    return [
        {
            "differences": values.tolist(),
            "quantile": q,
            "confidence": 0.9,
            "interval": scipy_bootstrap((values,), statistic),
        }
        for q, statistic in [(None, np.mean), (0.5, median), (0.9, upper)]
    ]


numpy_made = f"numpy {np.__version__}"
scipy_made = f"scipy {scipy.__version__}"
statsmodels_made = f"statsmodels {statsmodels.__version__}"
arch_made = f"arch {arch.__version__}"
print(
    json.dumps(
        {
            "chi_square": {
                "made_by": f"{statsmodels_made}: mcnemar(exact=False, correction=...). R gives the "
                "same by mcnemar.test(matrix(c(0, fixed, broke, 0), 2), correct=...)$p.value (not "
                "run)",
                "cases": chi_square_cases(),
            },
            "mcnemar_published": {
                "published": "mid-P 0.034690, asymptotic 0.033006, with continuity correction "
                "0.055009, exact 0.052479: the values that the R package contingencytables tests "
                "for McNemar_midP_test_paired_2x2, McNemar_asymptotic_test_paired_2x2, "
                "McNemar_asymptotic_test_CC_paired_2x2 and McNemar_exact_cond_test_paired_2x2 on "
                "the table 59, 6, 16, 80 (Cavo et al., 2012), chapter 8 of Fagerland, Lydersen "
                "and Laake, Statistical Analysis of Contingency Tables",
                "cases": [
                    {
                        "broke": 16,
                        "fixed": 6,
                        "mid_p": 0.034690,
                        "uncorrected": 0.033006,
                        "corrected": 0.055009,
                        "exact": 0.052479,
                    }
                ],
            },
            "block_length": {
                "made_by": f"{arch_made}: optimal_block_length(values)['circular'], not cut at 1",
                "cases": block_length_cases(),
            },
            "block_interval": {
                "made_by": f"{arch_made}: CircularBlockBootstrap(block_length, values)"
                ".conf_int(numpy.mean, reps=20000, method='percentile', size=0.9)",
                "cases": block_interval_cases(),
            },
            "cluster_interval": {
                "made_by": f"{scipy_made}: bootstrap((passed, samples), ratio of the sums, "
                "paired=True, method='percentile', n_resamples=20000)",
                "cases": cluster_interval_cases(),
            },
            "difference_interval": {
                "made_by": f"{scipy_made}: bootstrap((differences,), mean or "
                "quantile(method='inverted_cdf'), method='percentile', n_resamples=20000)",
                "cases": difference_interval_cases(),
            },
        },
        indent=1,
    )
)
