"""Validates the arguments of the functions in this package. Errors name the argument."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sized
from operator import index


def require_count(name: str, value: int) -> None:
    """Require a whole number of zero or more."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name}: must be a whole number, got {value!r}")
    if value < 0:
        raise ValueError(f"{name}: must not be negative, got {value}")


def require_whole(name: str, values: Iterable[object]) -> list[int]:
    """Require whole numbers of any sign, numpy's among them; return them as Python's own."""
    found = []
    for value in values:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise ValueError(f"{name}: every value must be a whole number, got {value!r}")
        found.append(index(value))
    return found


def require_passed(passed_name: str, passed: int, n_name: str, n: int) -> None:
    """Require that `passed` is at most `n`, both whole numbers of zero or more."""
    require_count(passed_name, passed)
    require_count(n_name, n)
    if passed > n:
        raise ValueError(f"{passed_name}: must not exceed `{n_name}` = {n}, got {passed}")


def require_inside(name: str, value: float) -> None:
    """Require a number strictly between 0 and 1: a level, a power, a quantile."""
    if not 0 < value < 1:
        raise ValueError(f"{name}: must lie strictly between 0 and 1, got {value!r}")


def require_share(name: str, value: float) -> None:
    """Require a number from 0 to 1."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name}: must lie between 0 and 1, got {value!r}")


def require_finite(name: str, values: Iterable[float]) -> None:
    """Require that no value is NaN or infinite."""
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f"{name}: every value must be finite, got {value!r}")


def require_numbers(name: str, values: Iterable[float]) -> None:
    """Require that no value is NaN; infinities have an order and are allowed."""
    for value in values:
        if math.isnan(value):
            raise ValueError(f"{name}: every value must be a number, got NaN")


def require_same_length(name: str, values: Sized, other_name: str, other: Sized) -> None:
    """Require that both sequences have the same length."""
    if len(values) != len(other):
        raise ValueError(
            f"{name}: must have {len(other)} entries, as many as `{other_name}`; got {len(values)}"
        )
