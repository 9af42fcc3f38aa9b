"""Comparisons of two arms from the outcomes that each fixture had on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from support.evaluations import evaluation_of
from support.outcomes import contract, outcome, target

from gatekeeper.contract.values.definition import GatePolicy, SamplingPolicy
from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.plan.plan import Evaluation

Passes = Sequence[bool | None]


def evaluation(fixtures: Sequence[str], sampling: SamplingPolicy, **fields) -> Evaluation:
    """An evaluation without trials or checks: enough to compare outcomes that are given."""
    made = replace(contract(*fixtures), sampling=sampling, gate=GatePolicy(margin=0.05))
    return evaluation_of(made, target("old {{ word }}"), **fields)


def compared(
    arms: Mapping[str, tuple[Passes, Passes]], level: float = 0.05, **sampling
) -> Comparison:
    """The comparison of fixtures given as (base's passes, head's passes), in plan order."""
    samples = max((len(base) for base, _ in arms.values()), default=1)
    policy = SamplingPolicy(**({"samples": samples, "mode": "fixed"} | sampling))
    comparison = Comparison(evaluation(list(arms), policy), level)
    for repetition in range(samples):
        for fixture, (base, head) in arms.items():
            comparison.add(outcome(fixture, "base", repetition, base[repetition]))
            comparison.add(outcome(fixture, "head", repetition, head[repetition]))
    return comparison


def once(
    broke: int = 0, fixed: int = 0, same: int = 0, unknown: int = 0
) -> dict[str, tuple[Passes, Passes]]:
    """So many fixtures of each kind, drawn once."""
    kinds = [
        ("broke", broke, (True, False)),
        ("fixed", fixed, (False, True)),
        ("same", same, (True, True)),
        ("unknown", unknown, (True, None)),
    ]
    return {f"{kind}{i}": ([base], [head]) for kind, n, (base, head) in kinds for i in range(n)}
