"""Makes statistics.json: reference values from scipy and statsmodels, and published ones.

    python tests/reference/make_statistics.py > tests/reference/statistics.json

Every group says which call of which version made it, or where it was published. Nothing of
gatekeeper is imported here.
"""

import json

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

RATES = [(0, 1), (1, 1), (0, 10), (1, 10), (5, 10), (10, 10), (46, 50), (43, 50), (199, 200)]
LEVELS = [0.8, 0.95, 0.99]
P_VALUES = [[0.01, 0.04, 0.03, 0.005], [0.2], [0.05, 0.05, 0.05], [1.0, 0.0, 0.5, 0.02, 0.02]]


def rates(method):
    return [
        {"passed": k, "n": n, "confidence": c, "interval": list(map(float, limits))}
        for k, n in RATES
        for c in LEVELS
        for limits in [proportion_confint(k, n, alpha=1 - c, method=method)]
    ]


def mcnemar_cases():
    counts = [(3, 0), (0, 3), (1, 7), (7, 1), (5, 5), (12, 5), (25, 10), (900, 1000), (1600, 1500)]
    return [
        {
            "broke": b,
            "fixed": f,
            "worse": float(stats.binomtest(b, b + f, 0.5, "greater").pvalue),
            "two_sided": float(mcnemar([[0, b], [f, 0]], exact=True).pvalue),
        }
        for b, f in counts
    ]


def fisher_cases():
    tables = [(5, 5, 0, 5), (3, 5, 3, 5), (10, 10, 6, 10), (0, 4, 4, 4), (18, 20, 11, 20)]
    cases = []
    for base, base_n, head, head_n in tables:
        table = [[base, base_n - base], [head, head_n - head]]
        cases.append(
            {
                "arms": [base, base_n, head, head_n],
                "worse": float(stats.fisher_exact(table, "greater").pvalue),
                "two_sided": float(stats.fisher_exact(table).pvalue),
            }
        )
    return cases


def adjusted(method):
    cases = []
    for p in P_VALUES:
        rejected, values, _, _ = multipletests(p, alpha=0.05, method=method)
        cases.append({"p": p, "adjusted": values.tolist(), "rejected": rejected.tolist()})
    return cases


def uncorrelated():
    """Tables whose phi is 0 after the correction: there the paired interval of Newcombe
    (1998b, method 10) is the unpaired one (1998a, method 10) on the two margins."""
    cases = []
    for both, broke, fixed, neither in [(8, 4, 4, 3), (20, 10, 6, 4), (30, 0, 20, 0), (9, 3, 6, 3)]:
        n = both + broke + fixed + neither
        limits = confint_proportions_2indep(both + fixed, n, both + broke, n, method="newcomb")
        cases.append({"table": [both, broke, fixed, neither], "interval": list(limits)})
    return cases


def power_cases():
    """Summed over every table of broken, fixed and unchanged fixtures."""
    cases = []
    for fixtures, drop, fixed_rate, alpha in [
        (5, 0.9, 0.0, 0.05),
        (12, 0.4, 0.1, 0.05),
        (30, 0.2, 0.05, 0.05),
        (40, 0.25, 0.0, 0.01),
        (25, 0.6, 0.4, 0.05),
    ]:
        tables = np.array(
            [(b, f, fixtures - b - f) for b in range(fixtures + 1) for f in range(fixtures + 1 - b)]
        )
        weights = stats.multinomial.pmf(tables, fixtures, [drop, fixed_rate, 1 - drop - fixed_rate])
        changed = tables[:, 0] + tables[:, 1]
        p = stats.binom.sf(tables[:, 0] - 1, changed, 0.5)
        power = float(np.sum(weights[p <= alpha]))
        cases.append(
            {
                "fixtures": fixtures,
                "drop": drop,
                "fixed_rate": fixed_rate,
                "alpha": alpha,
                "power": power,
            }
        )
    return cases


def quantile_cases():
    """Ranks (from 1) that bracket the quantile, from binomial quantiles; null out of reach."""
    cases = []
    for n, q, confidence in [(20, 0.5, 0.95), (71, 0.95, 0.95), (72, 0.95, 0.95), (200, 0.95, 0.9)]:
        tail = (1 - confidence) / 2
        low = max(
            (k for k in range(1, n + 1) if stats.binom.cdf(k - 1, n, q) <= tail), default=None
        )
        high = min(
            (k for k in range(1, n + 1) if stats.binom.sf(k - 1, n, q) <= tail), default=None
        )
        cases.append({"n": n, "q": q, "confidence": confidence, "ranks": [low, high]})
    return cases


scipy_made = f"scipy {scipy.__version__}"
statsmodels_made = f"statsmodels {statsmodels.__version__}"
print(
    json.dumps(
        {
            "wilson": {
                "made_by": f"{statsmodels_made}: proportion_confint(method='wilson')",
                "cases": rates("wilson"),
            },
            "jeffreys": {
                "made_by": f"{statsmodels_made}: proportion_confint(method='jeffreys'); at 0 and n "
                "gatekeeper takes 0 and 1 for the outer end, as Brown, Cai and DasGupta do",
                "cases": rates("jeffreys"),
            },
            "mcnemar": {
                "made_by": f"{scipy_made}: binomtest(broke, broke + fixed, 0.5, 'greater'); "
                f"{statsmodels_made}: mcnemar(exact=True)",
                "cases": mcnemar_cases(),
            },
            "fisher": {
                "made_by": f"{scipy_made}: fisher_exact(table, 'greater') and fisher_exact(table)",
                "cases": fisher_cases(),
            },
            "holm": {
                "made_by": f"{statsmodels_made}: multipletests(method='holm')",
                "cases": adjusted("holm"),
            },
            "benjamini_hochberg": {
                "made_by": f"{statsmodels_made}: multipletests(method='fdr_bh')",
                "cases": adjusted("fdr_bh"),
            },
            "paired_uncorrelated": {
                "made_by": f"{statsmodels_made}: confint_proportions_2indep(method='newcomb')",
                "cases": uncorrelated(),
            },
            "paired_published": {
                "published": "estimate -0.0621, 95% CI -0.1186 to -0.0046: the value that the R "
                "package contingencytables tests for Newcombe_square_and_add_CI_paired_2x2 on the "
                "table 59, 6, 16, 80 (complete response before and after consolidation therapy, "
                "Cavo et al., 2012), chapter 8 of Fagerland, Lydersen and Laake, Statistical "
                "Analysis of Contingency Tables. It is row minus column: the cell of 6 counts as "
                "fixed, the cell of 16 as broke.",
                "cases": [{"table": [59, 16, 6, 80], "interval": [-0.1186, -0.0046]}],
            },
            "power": {
                "made_by": f"{scipy_made}: multinomial.pmf over every table, binom.sf for each p",
                "cases": power_cases(),
            },
            "quantile_ranks": {
                "made_by": f"{scipy_made}: binom.cdf and binom.sf, rank by rank",
                "cases": quantile_cases(),
            },
        },
        indent=1,
    )
)
