"""What the search found, as a part of the run's result."""

from __future__ import annotations

from gatekeeper.author.blame.result import BlameResult
from gatekeeper.author.blame.words import cause_sentence
from gatekeeper.gate.blame_result import ContractBlame, HarmfulCause, HarmfulEdit


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
    return ContractBlame(result.contract, causes)
