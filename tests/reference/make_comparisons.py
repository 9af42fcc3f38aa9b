"""Makes comparisons.json: reference values for the methods that stand beside the deciding test.

    uv run --no-project --with arch==8.0.0 python tests/reference/make_comparisons.py \
        > tests/reference/comparisons.json

arch brings numpy, scipy and statsmodels; their versions stand with the values. Nothing of
gatekeeper is imported here. R is not needed: where R would give the same value, the command is
named, and it was not run; values printed by an R package name where they were published.
"""

import json
from fractions import Fraction

import arch
import numpy as np
import scipy
import statsmodels
from arch.bootstrap import CircularBlockBootstrap, optimal_block_length
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_effectsize
from statsmodels.stats.weightstats import DescrStatsW

CHANGED = [(3, 0), (0, 3), (1, 7), (7, 1), (5, 5), (12, 5), (25, 10), (900, 1000), (1600, 1500)]
DIFFERENCES = [
    [-0.2, 0.0, -0.4, 0.2, -0.2],
    [1.0, 2.0],
    [0.0, 0.0, 0.0, -1.0],
    [120.0, -35.5, 88.0, 410.25, -12.0, 63.0, 5.0, 0.0],
]
CLUSTERS = {
    "the example of durkalski.test in the R package clust.bin.pair 0.1.0": [
        [51, 67, 44, 58, 47],
        [18, 26, 43, 21, 28],
        [70, 98, 88, 83, 81],
    ],
    "unequal clusters": [[3, 0, 1, 2, 0], [0, 1, 0, 2, 0], [5, 4, 1, 8, 3]],
    "one pair a cluster": [[1] * 7 + [0] * 5, [0] * 7 + [1] + [0] * 4, [1] * 12],
    "head better": [[0, 0, 1], [4, 2, 3], [10, 10, 10]],
}


def mid_p_cases():
    """Half the chance of the outcome counted, from binom.cdf and binom.pmf."""
    cases = []
    for broke, fixed in CHANGED:
        n, fewer = broke + fixed, min(broke, fixed)
        point = stats.binom.pmf(broke, n, 0.5)
        doubled = 2 * stats.binom.cdf(fewer, n, 0.5) - point
        two_sided = 1 - point / 2 if broke == fixed else doubled
        worse = stats.binom.sf(broke, n, 0.5) + point / 2
        cases.append(
            {"broke": broke, "fixed": fixed, "worse": float(worse), "two_sided": float(two_sided)}
        )
    return cases


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


def durkalski_cases():
    cases = []
    for name, (broke, fixed, pairs) in CLUSTERS.items():
        shares = [Fraction(b - f, n) for b, f, n in zip(broke, fixed, pairs, strict=True)]
        statistic = float(sum(shares) ** 2 / sum(share**2 for share in shares))
        cases.append(
            {
                "name": name,
                "broke": broke,
                "fixed": fixed,
                "pairs": pairs,
                "statistic": statistic,
                "p_value": float(stats.chi2.sf(statistic, df=1)),
            }
        )
    return cases


def paired_cases():
    cases = []
    for values in DIFFERENCES:
        worse = stats.ttest_1samp(values, 0, alternative="less")
        cases.append(
            {
                "differences": values,
                "statistic": float(worse.statistic),
                "worse": float(worse.pvalue),
                "two_sided": float(stats.ttest_1samp(values, 0).pvalue),
                "d_z": float(DescrStatsW(values).mean / np.std(values, ddof=1)),
            }
        )
    return cases


def cohen_h_cases():
    return [
        {"base": base, "head": head, "h": float(proportion_effectsize(head, base))}
        for base, head in [(0.9, 0.8), (0.5, 0.4), (0.0, 1.0), (0.97, 0.97), (0.2, 0.35)]
    ]


def probability_cases():
    """Integrated over the simplex of the four outcomes, not by way of a beta tail: the share of
    broke, given the share of both kinds of change, is integrated by quad."""
    cases = []
    for broke, fixed, both, neither in [
        (0, 0, 20, 0),
        (1, 0, 10, 9),
        (5, 0, 40, 5),
        (7, 1, 30, 2),
        (3, 9, 0, 0),
    ]:

        def density(t, broke=broke, fixed=fixed):
            return t ** (broke - 0.5) * (1 - t) ** (fixed - 0.5)

        whole = sum(scipy.integrate.quad(density, *ends)[0] for ends in [(0, 0.5), (0.5, 1)])
        worse = scipy.integrate.quad(density, 0.5, 1)[0]
        drawn = np.random.default_rng(1).dirichlet(
            np.array([both, broke, fixed, neither]) + 0.5, size=1_000_000
        )
        sampled = float(np.mean(drawn[:, 1] > drawn[:, 2]))
        cases.append(
            {
                "table": [broke, fixed, both, neither],
                "probability": worse / whole,
                "sampled": sampled,
            }
        )
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
            "mid_p": {
                "made_by": f"{scipy_made}: binom.cdf, binom.sf and binom.pmf",
                "cases": mid_p_cases(),
            },
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
            "durkalski": {
                "made_by": "fractions, sum(d)^2 / sum(d^2) with d = (broke - fixed) / pairs; "
                f"{scipy_made}: chi2.sf(statistic, df=1). R gives the same by "
                "clust.bin.pair::clust.bin.pair(ak, bk, ck, dk, method='durkalski') (not run; its "
                "documentation prints no output of this method)",
                "cases": durkalski_cases(),
            },
            "paired_t": {
                "made_by": f"{scipy_made}: ttest_1samp(differences, 0, alternative='less') and "
                f"two-sided; {statsmodels_made}: DescrStatsW.mean over numpy.std(ddof=1)",
                "cases": paired_cases(),
            },
            "cohen_h": {
                "made_by": f"{statsmodels_made}: proportion_effectsize(head, base)",
                "cases": cohen_h_cases(),
            },
            "probability_worse": {
                "made_by": f"{scipy_made}: integrate.quad of the posterior density; sampled: "
                f"{numpy_made}: a million draws of default_rng(1).dirichlet(counts + 1/2)",
                "cases": probability_cases(),
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
