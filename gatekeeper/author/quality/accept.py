"""Writes proposed answers as expected outputs, because a person accepts them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gatekeeper.author.generation.files import differing, require_unchanged, write_fixture_rows
from gatekeeper.author.generation.replace_files import replace_files
from gatekeeper.author.generation.run import GenerationPlan
from gatekeeper.author.quality.ground_truth import accept_answers

ALL = "all"


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
