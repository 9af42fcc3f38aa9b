"""What the search found, as a part of the run's result."""

from __future__ import annotations

from gatekeeper.author.blame.result import BlameResult, Revert
from gatekeeper.author.blame.words import cause_sentence, why_no_revert
from gatekeeper.gate.blame_result import (
    ContractBlame,
    HarmfulCause,
    HarmfulEdit,
    ProposedRevert,
)


def finding_of(result: BlameResult) -> ContractBlame:
    """Return the causes with the lines of their edits, and the revert."""
    causes = tuple(
        HarmfulCause(
            cause_sentence(cause, result.prompt_path),
            tuple(
                HarmfulEdit(edit.text, edit.path, edit.line, edit.end_line) for edit in cause.edits
            ),
        )
        for cause in result.causes
    )
    revert = _proposed(result.revert) if result.revert else None
    return ContractBlame(result.contract, causes, revert, why_no_revert(result))


def _proposed(revert: Revert) -> ProposedRevert | None:
    written = revert.written
    if written is None:
        return None
    return ProposedRevert(written.diff, revert.passed, revert.measured, written.replacement)
