"""How much instructions help: the same tasks with them, with those of base, and without any. Pure.

The difference is paired: each unit is measured with both. Its interval is Newcombe's if each unit
has one sample, and else the bootstrap over units, as in the comparison of a pull request.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from gatekeeper.contract.values.definition import Contract, Prompt
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.errors import UsageError
from gatekeeper.gate.plan.plan import as_sent
from gatekeeper.gate.sweep.grid import Setting
from gatekeeper.gate.sweep.suitability import PairOfSettings, Passes
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.bootstrap import mean_interval
from gatekeeper.stats.intervals.gaffke import gaffke_interval
from gatekeeper.stats.intervals.intervals import paired_difference_interval

AXIS = "instructions"
NONE = "none"
_SEED = 42


@dataclass(frozen=True, slots=True)
class Lift:
    """What the instructions of today add to another setting, `than`: none, or those of a revision.
    `difference` is of pass rates over `inputs` units; `tokens` are those of the prompts of a call,
    on average. None is unknown. `p_value` is two-sided, adjusted over all pairs of the sweep."""

    than: str
    inputs: int
    difference: float | None
    interval: ConfidenceInterval | None
    p_value: float
    tokens: float | None


def lift_settings(contract: Contract, others: Mapping[str, Prompt]) -> list[Setting]:
    """Return the contract's setting, those with the instructions of other revisions if they differ,
    and the one without instructions. Raises UsageError for a contract that has none."""
    prompt = contract.target.prompt
    if contract.target.task is None:
        raise UsageError(
            f"--lift: the contract {contract.name} has no `instructions` that could be left out"
        )
    found = [("today", prompt), *others.items(), (NONE, replace(prompt, messages=(), text=""))]
    return [
        Setting(
            {AXIS: name},
            as_sent(replace(contract, target=replace(contract.target, prompt=each))),
            current=name == "today",
        )
        for name, each in found
        if name in ("today", NONE) or each.messages != prompt.messages
    ]


def lifts_of(
    settings: Sequence[Setting],
    outcomes: Sequence[Sequence[Outcome]],
    passes: Sequence[Passes],
    pairs: Sequence[PairOfSettings],
    counts_with: Mapping[str, str],
) -> tuple[Lift, ...]:
    """Return the lift over each other setting; none for a sweep of anything else."""
    if AXIS not in settings[0].varied:
        return ()
    tokens = [_prompt_tokens(found) for found in outcomes]
    return tuple(
        Lift(
            than=str(settings[pair.second].varied[AXIS]),
            inputs=pair.inputs,
            difference=None if pair.difference is None else -pair.difference,
            interval=_interval(passes[pair.second], passes[0], counts_with),
            p_value=pair.adjusted,
            tokens=_less(tokens[0], tokens[pair.second]),
        )
        for pair in pairs
        if pair.first == 0
    )


def _interval(
    before: Passes, now: Passes, counts_with: Mapping[str, str]
) -> ConfidenceInterval | None:
    units: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for key in before.keys() & now.keys():
        units[counts_with.get(key[0], key[0])].append((before[key], now[key]))
    if all(len(samples) == 1 for samples in units.values()):
        counts = Counter(samples[0] for samples in units.values())
        each = ((True, True), (True, False), (False, True), (False, False))
        return paired_difference_interval(*(counts[fate] for fate in each))
    import numpy as np

    differences = [fmean(now - before for before, now in samples) for samples in units.values()]
    found = mean_interval(differences, 0.95, np.random.default_rng(_SEED))
    if found is None or found.low < found.high:
        return found
    return gaffke_interval(differences, -1, 1)  # units that are all alike are no certainty


def _prompt_tokens(outcomes: Sequence[Outcome]) -> float | None:
    answers = [o.sample.completion for o in outcomes if o.sample.completion]
    known = [answer.prompt_tokens for answer in answers if answer.prompt_tokens is not None]
    return fmean(known) if known and len(known) == len(answers) else None


def _less(now: float | None, before: float | None) -> float | None:
    return None if now is None or before is None else now - before
