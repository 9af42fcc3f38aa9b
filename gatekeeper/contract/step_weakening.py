"""Finds the ways in which a pull request weakens the steps of a contract, each as a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gatekeeper.contract.chain import reached_steps
from gatekeeper.contract.check_weakening import some_fixtures
from gatekeeper.contract.definition import Contract, Message

Rendered = Mapping[str, tuple[Message, ...]]
"""The messages of an arm by the fixture."""


def step_weakenings(base: Contract, head: Contract, rendered: Sequence[Rendered]) -> Iterator[str]:
    """Yield each step with checks that head does not have, and each whose output no longer reaches
    the last prompt of a fixture: its checks then say nothing of the last output. `rendered` are
    base's messages and head's, if they are known."""
    checked = {spec.step for spec in base.checks}
    steps = [step.name for step in head.target.steps if step.name in checked]
    for step in base.target.steps:
        if step.name in checked and step.name not in steps:
            yield f"step `{step.name}` removed"
    if not steps or len(rendered) != 2:
        return
    before, now = rendered
    lost = {
        fixture: reached_steps(messages) - reached_steps(now[fixture])
        for fixture, messages in before.items()
        if fixture in now
    }
    for name in steps:
        fixtures = [fixture for fixture, names in lost.items() if name in names]
        if fixtures:
            what = f"step `{name}`: the output of the step no longer reaches the last prompt"
            yield f"{what} of {some_fixtures(sorted(fixtures))}"
