"""The exact sign-flip test: McNemar's test for fixtures with several samples."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gatekeeper.stats.arguments import require_whole
from gatekeeper.stats.paired.mcnemar import mcnemar_exact

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_NEGLIGIBLE = 1e-40


def sign_flip_test(differences: Sequence[int]) -> float:
    """Return the exact one-sided p-value that head is worse, from one whole number per fixture: how
    many more of its samples passed on base than on head.

    If the arms do not differ, a fixture's difference is as likely to have the one sign as the
    other, whatever its size, and fixtures are independent of each other. So the p-value is the
    share of all ways to choose the signs whose sum is at least the one observed. Samples of a
    fixture may depend on each other at will. With one sample a fixture it is `mcnemar_exact`.

    Fisher, R. A. (1935), The Design of Experiments, section 21; for paired clusters Datta, S.
    and Satten, G. A. (2008), A signed-rank test for clustered data, Biometrics 64:501-507.
    The distribution is found by convolution, not by drawing signs: Pagano, M. and Tritchler,
    D. (1983), On obtaining permutation distributions in polynomial time, JASA 78:435-440.

    Without a fixture, and if none changed, nothing speaks against chance: 1.
    """
    differences = require_whole("differences", differences)
    sizes = Counter(abs(d) for d in differences if d)
    if len(sizes) <= 1:
        broke = sum(d > 0 for d in differences)
        return mcnemar_exact(broke, sum(sizes.values()) - broke)
    step = math.gcd(*sizes)
    observed = sum(d for d in differences if d > 0) // step
    sums = _positive_sums({size // step: count for size, count in sizes.items()})
    # At least one way in 2^n is as extreme: the observed one.
    fewest = max(0.5 ** sum(sizes.values()), sys.float_info.min)
    return min(1.0, max(float(sums[observed:].sum()), fewest))


def _positive_sums(sizes: dict[int, int]) -> NDArray[np.float64]:
    """Return the distribution of the sum of those sizes whose fixture gets the sign +, from 0
    on."""
    import numpy as np

    sums = np.ones(1)
    # The largest first: the array is then short while the many steps of the small are made.
    for size, count in sorted(sizes.items(), reverse=True):
        longer = np.zeros(len(sums) + size * count)
        for plus, weight in enumerate(_coin_tosses(count)):
            if weight > _NEGLIGIBLE:
                longer[plus * size : plus * size + len(sums)] += weight * sums
        # Processors are slow at numbers so small that they lose their precision.
        sums = np.where(longer > _NEGLIGIBLE, longer, 0.0)
    return sums


@lru_cache(maxsize=1024)
def _coin_tosses(n: int) -> tuple[float, ...]:
    """Return P(X = k) for X ~ binomial(n, 1/2) and k = 0 … n, each correctly rounded."""
    ways, total = [1], 1 << n
    for k in range(n):
        ways.append(ways[-1] * (n - k) // (k + 1))
    return tuple(way / total for way in ways)
