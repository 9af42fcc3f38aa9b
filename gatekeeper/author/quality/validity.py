"""Has judges say whether a test is valid under the input specification, and writes it into the
fixture.

A person's decision stays: `metadata.valid` counts as one if it differs from what the judges said,
which stands in `metadata.validity`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.author.generation.ask import ask_together
from gatekeeper.author.generation.files import FixtureRow
from gatekeeper.author.quality.judges import Panel, Verdict
from gatekeeper.author.specification.records import InputConstraint
from gatekeeper.contract.reading.data_blocks import clean

STAGE = "test_valid"
VALID, VALIDITY = "valid", "validity"
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS: Mapping[bool | None, str] = {True: "valid", False: "not valid", None: "unknown"}


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether a test is valid; None if unknown. `by_person` if a person decided it."""

    valid: bool | None
    reason: str = ""
    by_person: bool = False


async def judge_validity(
    panel: Panel, constraints: Sequence[InputConstraint], rows: Sequence[FixtureRow]
) -> tuple[tuple[FixtureRow, ...], dict[str, Validity]]:
    """Return the rows with the judges' verdicts in them, and what is known of each test, by its id.
    Raises as `Panel.ask` does."""
    decided = {row.id: valid for row in rows if (valid := persons_decision(row)) is not None}
    open_rows = [row for row in rows if row.id not in decided]
    asked = [row for row in open_rows if constraints and isinstance(row.data.get("vars"), dict)]
    answers = await ask_together(*(panel.ask(STAGE, question(constraints, row)) for row in asked))
    verdicts = {row.id: verdict for row, verdict in zip(asked, answers, strict=True)}
    written = tuple(
        row if row.id in decided else _with_verdict(row, verdicts.get(row.id)) for row in rows
    )
    known = {
        row.id: Validity(decided[row.id], by_person=True)
        if row.id in decided
        else _validity(verdicts.get(row.id))
        for row in rows
    }
    return written, known


def persons_decision(row: FixtureRow) -> bool | None:
    """Return what a person says of the test's validity; None if nobody did."""
    metadata = row.metadata
    valid, validity = metadata.get(VALID), metadata.get(VALIDITY)
    if not isinstance(valid, bool):
        return None
    said = validity.get("verdict") if isinstance(validity, dict) else None
    return None if said == _WORDS[valid] else valid


def question(constraints: Sequence[InputConstraint], row: FixtureRow) -> dict[str, str]:
    """Return what the judges see: the input specification and the test's values alone."""
    return {
        "input": "\n".join(f"- {constraint.text}" for constraint in constraints),
        "test": clean(json.dumps(row.data["vars"], ensure_ascii=False, indent=1)),
    }


def with_metadata(row: FixtureRow, metadata: Mapping[str, Any], **more: Any) -> FixtureRow:
    """Return the fixture with other metadata, and with other keys of its own."""
    data = {**row.data, **more, "metadata": dict(metadata)}
    line = json.dumps(data, ensure_ascii=False)
    # JSON can escape halves of a character, which no file can hold as they are.
    return FixtureRow(row.id, json.dumps(data) if _SURROGATE.search(line) else line)


def _with_verdict(row: FixtureRow, verdict: Verdict | None) -> FixtureRow:
    before = row.metadata
    metadata = {name: value for name, value in before.items() if name not in (VALID, VALIDITY)}
    if verdict is not None:
        if verdict.answer is not None:
            metadata[VALID] = verdict.answer
        metadata[VALIDITY] = {
            "verdict": _WORDS[verdict.answer],
            "reason": verdict.reason,
            "judges": dict(verdict.votes),
        }
    return row if metadata == before else with_metadata(row, metadata)


def _validity(verdict: Verdict | None) -> Validity:
    return Validity(None) if verdict is None else Validity(verdict.answer, verdict.reason)
