"""The probability that head is worse, by Bayes's rule. For information; it decides nothing."""

from __future__ import annotations

from gatekeeper.stats.arguments import require_count


def probability_worse(broke: int, fixed: int, both: int, neither: int) -> float | None:
    """Return the posterior probability that head's rate is below base's; None without any fixture.

    A fixture passes on `both` arms, on base alone (`broke`), on head alone (`fixed`) or on
    `neither`. Prior: Jeffreys' for these four outcomes, Dirichlet(1/2, 1/2, 1/2, 1/2). Head is
    worse if the share of broken fixtures exceeds that of fixed ones. Among the changed fixtures,
    the broken share has the distribution Beta(broke + 1/2, fixed + 1/2), so the result is its tail
    above 1/2. Nothing is simulated, and unchanged fixtures do not affect it. 1/2 where none
    changed: that is the prior's. Gelman, A. et al. (2013), Bayesian Data Analysis, 3rd ed.,
    section 3.4, for the Dirichlet and its collapsing; Jeffreys, H. (1946), An invariant form for
    the prior probability in estimation problems, Proceedings of the Royal Society A 186:453-461.
    """
    counts = {"broke": broke, "fixed": fixed, "both": both, "neither": neither}
    for name, count in counts.items():
        require_count(name, count)
    if not any(counts.values()):
        return None
    from scipy.special import betainc

    return float(betainc(fixed + 0.5, broke + 0.5, 0.5))
