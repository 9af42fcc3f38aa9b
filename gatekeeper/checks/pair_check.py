"""The interface of a check that compares head's output with base's to the same input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeGuard

from gatekeeper.checks.check import Finding, SampleEvaluator
from gatekeeper.contract.values.trial import Request, Sample, Vote

Preferred = Literal["base", "head", "tie"]


@dataclass(frozen=True, slots=True)
class PairFinding:
    """Which output is better. `preferred` is None if that could not be measured.

    `orders` are how often a judge gave a verdict in both orders of the pair, `contradictions` how
    often the two named different outputs, or one of them none, and `first_place` how often both
    named the one shown first, `second_place` the one shown second.
    """

    preferred: Preferred | None
    message: str = ""
    orders: int = 0
    contradictions: int = 0
    first_place: int = 0
    second_place: int = 0
    votes: tuple[Vote, ...] = ()


class PairCheck(Protocol):
    """A prepared check that asks judges about the outputs of both arms.

    It passes every single sample: what it finds is about pairs, and preference.py decides by
    them. Judge answers are in `head.judge_answers`.
    """

    judge_models: tuple[str, ...]

    def __call__(self, sample: Sample) -> Finding:
        """Pass."""
        ...

    def pair_questions(self, base: Sample, head: Sample) -> tuple[Request, ...]:
        """Return what is still to be asked about the pair."""
        ...

    def compare(self, base: Sample, head: Sample) -> PairFinding:
        """Return which output is better, by the answers that head's sample carries."""
        ...


def compares_pairs(check: SampleEvaluator) -> TypeGuard[PairCheck]:
    """Return whether the check compares the outputs of both arms."""
    # `isinstance` with a protocol takes 30 µs, and every check of every fixture is looked at.
    return all(hasattr(check, name) for name in ("judge_models", "pair_questions", "compare"))
