"""Gives fixtures that flicker less weight in the looks at the ends of rounds.

A fixture that passes in half of its samples differs between base and head by chance alone, and
hides what the others show. The weights come from earlier runs of base, before the first sample of a
comparison. A harmless change can swap the two arms of any fixture whatever its weight, so weights
can never make a false alarm more likely; bad ones only cost power.
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST_RUNS = 8
"""How many earlier runs of base the weights need."""
_HIGHEST = 8
"""Weights are whole numbers up to this, so that the sign-flip test remains exact."""
_BETWEEN = 0.02
"""The variance between fixtures: nothing makes a difference more certain than this."""


def fixture_weights(counts: Sequence[tuple[int, int]], rounds: int) -> tuple[int, ...]:
    """Return the weight of each fixture from its `(samples, failed)` in earlier runs of base.

    It is the inverse of the variance of the fixture's mean difference over so many rounds, as a
    whole number from 1 to 8. Nothing is returned if all are equal. A fixture that was never sampled
    passes in half of its samples as far as is known.
    """
    rates = [(samples - failed + 0.5) / (samples + 1) for samples, failed in counts]
    variances = [2 * rate * (1 - rate) / rounds + _BETWEEN for rate in rates]
    least = min(variances, default=1.0)
    weights = tuple(max(1, round(_HIGHEST * least / variance)) for variance in variances)
    return weights if len(set(weights)) > 1 else ()
