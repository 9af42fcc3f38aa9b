"""Writes proposed answers as expected outputs, because a person accepts them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gatekeeper.author.generation.files import differing, require_unchanged, write_fixture_rows
from gatekeeper.author.generation.replace_files import replace_files
from gatekeeper.author.generation.run import GenerationPlan
from gatekeeper.author.quality.ground_truth import accept_answers

ALL = "all"
EXAMPLE = '{type: equals, value: "{{ expected }}", when: expected is not none}'


def accept_proposals(plan: GenerationPlan, ids: Sequence[str], root: Path) -> tuple[str, ...]:
    """Write the fixture file, and return the tests that have an expected output now. Calls no
    model.

    Raises UsageError for a test without a proposed answer, MeasurementError and WriteError; then
    the file is not changed.
    """
    rows, changed = accept_answers(plan.present.fixtures, None if ALL in ids else ids)
    require_unchanged(plan.present, root)
    texts = {plan.places.fixtures: write_fixture_rows(rows)}
    replace_files(dict(differing(texts, plan.present)), root)
    return changed


def unused_notice(plan: GenerationPlan) -> str | None:
    """Return what to add if the contract says nothing of `expected`, so that no check compares an
    output with an accepted answer. None if it does, or if there is no contract."""
    contract = plan.present.contract
    if contract is None or "expected" in contract:
        return None
    return (
        f"No check of {plan.places.contract} uses `expected`, so the answers have no effect yet. "
        f"Add a check that compares outputs with them, such as {EXAMPLE}"
    )
