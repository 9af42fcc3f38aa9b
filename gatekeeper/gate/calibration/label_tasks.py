"""Chooses the outputs of a run that a person still has to label, in a random order."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gatekeeper.contract.meaning.digests import digest
from gatekeeper.contract.values.definition import Fixture
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.errors import UsageError
from gatekeeper.gate.calibration.labels import Label, require_last_output, require_texts
from gatekeeper.gate.samples.outcomes import value_text, variables_text


@dataclass(frozen=True, slots=True)
class LabelTask:
    """One output to label, with the input that it answers. It does not say from which arm it is."""

    fixture: str
    output: str
    input: str | None = None
    expected: str | None = None


def label_tasks(
    contract: str,
    outcomes: Sequence[Outcome],
    fixtures: Mapping[str, Fixture],
    labelled: Sequence[Label] = (),
    check: str | None = None,
) -> list[LabelTask]:
    """Return each different output of a fixture once, without those that are labelled.

    The order of the fixtures is random, and so is that of the outputs of one fixture, which follow
    each other: whoever stops in between has labelled a random part of the fixtures, on both arms.
    The order is the same for everybody who labels the run, so that two people who stop early have
    labelled the same outputs. An output that was too long to be kept is left out. Raises UsageError
    if the run has no output of the contract, or if an answer calls tools.
    """
    mine = [o for o in outcomes if o.sample.trial.contract == contract]
    require_last_output(contract, mine, check)
    require_texts(contract, mine)
    known = {(label.fixture, label.output) for label in labelled if label.check == check}
    by_fixture: dict[str, list[str]] = defaultdict(list)
    for outcome in mine:
        sample = outcome.sample
        if sample.completion is None:
            continue
        kept = by_fixture[sample.trial.fixture]
        if sample.completion.cut is None and sample.output not in kept:
            kept.append(sample.output)
    if not by_fixture:
        raise UsageError(f"the run has no output of the contract {contract}")
    tasks: list[LabelTask] = []
    source = random.Random(digest(by_fixture))  # noqa: S311 - nobody gains by knowing the order
    names = list(by_fixture)
    source.shuffle(names)
    for name in names:
        fixture, outputs = fixtures.get(name), by_fixture[name]
        source.shuffle(outputs)
        tasks += [
            LabelTask(
                name,
                output,
                variables_text(fixture) if fixture else None,
                value_text(fixture.expected) if fixture else None,
            )
            for output in outputs
            if (name, output) not in known
        ]
    return tasks
