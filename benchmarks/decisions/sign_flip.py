"""The exact sign-flip test of many runs at once."""

from __future__ import annotations

import numpy as np

from benchmarks.decisions.stream import Floats, Ints

_NO_COSINE = -700.0
"""Stands for the logarithm of a cosine that is zero: its exponential is zero to a double."""


def sign_flip_p(differences: Ints) -> Floats:
    """The p-values of `stats.paired.sign_flip` for each row of `differences` (runs, clusters).

    Without an effect each difference is as likely its opposite, so a run's sum is compared with
    the sums that all choices of signs give. Their distribution has the characteristic function
    of the product over clusters of cos(t d), which the inverse Fourier transform turns into
    probabilities, right to 1e-12.
    """
    sizes = np.abs(differences).astype(np.int64)
    total = np.asarray(differences, dtype=np.int64).sum(axis=1)
    reach = int(sizes.sum(axis=1).max(initial=0))
    if reach == 0:
        return np.ones(sizes.shape[0])
    points = _fast_length(2 * reach + 1)
    probabilities = np.fft.irfft(_characteristic(sizes, points), n=points, axis=1)
    # Sums run from -reach to reach; a negative one stands at the end, as the transform wraps.
    centred = np.concatenate([probabilities[:, -reach:], probabilities[:, : reach + 1]], axis=1)
    tails = np.cumsum(centred[:, ::-1], axis=1)[:, ::-1]
    p = tails[np.arange(total.size), total + reach]
    clipped: Floats = np.clip(p, 0.0, 1.0)
    return clipped


def _characteristic(sizes: Ints, points: int) -> Floats:
    """At the frequencies of a real transform, (runs, points // 2 + 1)."""
    largest = int(sizes.max())
    counts = np.stack([(sizes == size).sum(axis=1) for size in range(1, largest + 1)], axis=1)
    angles = 2 * np.pi * np.arange(points // 2 + 1) / points
    cosines = np.cos(np.arange(1, largest + 1)[:, None] * angles)
    logs = np.log(np.abs(cosines), where=cosines != 0, out=np.full_like(cosines, _NO_COSINE))
    negatives = counts.astype(float) @ (cosines < 0)
    magnitude: Floats = np.exp(counts @ logs)
    return np.where(negatives % 2 == 1, -magnitude, magnitude)


def _fast_length(at_least: int) -> int:
    """The next power of two: no prime factor slows the transform down."""
    return 1 << (at_least - 1).bit_length()
