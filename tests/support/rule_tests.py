"""Sweeps of fixtures that were made from the rules of a prompt, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from support.outcomes import contract, outcome, target

from gatekeeper.contract.values.definition import Fixture, Target
from gatekeeper.gate.results.parts import Calls
from gatekeeper.gate.sweep.compare import SweepResult, summarise_sweep
from gatekeeper.gate.sweep.grid import Setting
from gatekeeper.gate.sweep.measure import Measured


def rule_fixtures(rules: int, *, baseline: int = 0, valid: bool | None = None) -> list[Fixture]:
    """A test of each rule and one of its opposite, which are one cluster; then baseline tests."""
    metadata = {} if valid is None else {"valid": valid}
    made = [
        Fixture(f"{rule}.{kind}", {"word": f"{rule} {kind}"}, category=kind, cluster=f"rule {rule}")
        for rule in range(rules)
        for kind in ("rule", "inverse_rule")
    ]
    made = [replace(fixture, metadata=metadata) for fixture in made]
    return made + [
        Fixture(f"b{number}", {"word": f"b{number}"}, category="baseline")
        for number in range(baseline)
    ]


def swept(
    fixtures: Sequence[Fixture],
    settings: Mapping[str, Sequence[bool | None]],
    *,
    samples: int = 1,
) -> SweepResult:
    """Whether each fixture's outputs comply under each model, in their order; None is unknown. With
    several samples, all of the first repetition come before those of the second."""
    made = contract(samples=samples, fixtures=tuple(fixtures))
    tried = [
        Setting({"model": model}, Target(target().prompt, model, {}), current=number == 0)
        for number, model in enumerate(settings)
    ]
    outcomes = tuple(
        tuple(
            outcome(
                fixtures[place % len(fixtures)].id,
                "head",
                place // len(fixtures),
                complies,
                name=str(number),
            )
            for place, complies in enumerate(passes)
        )
        for number, passes in enumerate(settings.values())
    )
    return summarise_sweep(made, tried, Measured(outcomes, Calls(), None))
