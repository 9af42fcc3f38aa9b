"""Finds fixtures that fail under head's contract and pass under the base one, with the same
answers.

A fixture that fails before a prompt changes cannot break, so it can show no regression in the next
pull request. A check that nothing can pass would disable a contract in this way. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gatekeeper import numbers
from gatekeeper.checks.evaluate import prepare
from gatekeeper.contract.changes.renaming import find_renaming, is_renamed
from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.errors import ContractError
from gatekeeper.gate.measuring.monitor import evaluate_sample
from gatekeeper.gate.plan.plan import Job, evaluates_differently
from gatekeeper.gate.results.result import Reason
from gatekeeper.gate.samples.outcomes import aggregate, by_fixture

_MOST_NAMES = 3


def blind_fixtures(job: Job, outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """Return the fixtures of both contracts whose answers on head pass under the base contract
    only. `outcomes` are those of head's contract. No model is called again."""
    base, head = job.base, job.contract
    if base is None or not evaluates_differently(base, head):
        return ()
    kept = _kept(base, head)
    failing = {
        fixture: found
        for (fixture, arm), found in by_fixture(list(outcomes)).items()
        if arm == "head"
        and fixture in kept
        and aggregate(head.sampling.aggregate, found, len(found)) is False
    }
    if not failing:
        return ()
    try:
        evaluator = prepare(base)
    except ContractError:
        return ()
    blind = []
    for fixture, found in failing.items():
        before = [evaluate_sample(outcome.sample, base, evaluator) for outcome in found]
        if aggregate(base.sampling.aggregate, before, len(before)):
            blind.append(fixture)
    return tuple(fixture.id for fixture in base.fixtures if fixture.id in {*blind})


def blind_text(fixtures: Sequence[str]) -> str:
    """Say what such fixtures no longer do."""
    named = ", ".join(f"`{fixture}`" for fixture in fixtures[:_MOST_NAMES])
    if len(fixtures) > _MOST_NAMES:
        named += f" and {len(fixtures) - _MOST_NAMES:,} more"
    one = len(fixtures) == 1
    count = numbers.count(len(fixtures), "fixture")
    fails = "its answer on head fails" if one else "their answers on head fail"
    passes = "passes" if one else "pass"
    return (
        f"{count} can no longer show a regression ({named}): {fails} under the new contract, "
        f"but {passes} under the base contract"
    )


def blind_reasons(fixtures: Sequence[str], policy: Policy) -> list[Reason]:
    """Return the reason for a contract with fixtures that can no longer show a regression, if the
    base policy requires a waiver for this."""
    if not fixtures or policy.on_weakening != "require_waiver":
        return []
    text = (
        f"The contract was weakened: {blind_text(fixtures)}. The base policy requires a "
        "maintainer's waiver (`on_weakening: require_waiver`)."
    )
    return [Reason("weakened", text, "fail")]


def _kept(base: Contract, head: Contract) -> set[str]:
    """Return the fixtures with the same input on both sides, whatever the variables are called."""
    renaming = find_renaming(base.fixtures, head.fixtures)
    now = {fixture.id: fixture for fixture in head.fixtures}
    return {
        fixture.id
        for fixture in base.fixtures
        if (other := now.get(fixture.id)) is not None
        and (
            canonical(dict(fixture.vars)) == canonical(dict(other.vars))
            or is_renamed(fixture, other, renaming)
        )
    }
