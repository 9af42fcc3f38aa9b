"""Renders the smallest revert of a harmful change: as a diff, and as a suggestion of GitHub.

A suggestion is committed as it stands, so its lines cannot be escaped. Lines that would have to be
are not suggested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gatekeeper import numbers
from gatekeeper.gate.results.author_results import ContractBlame, LineReplacement, ProposedRevert
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.escape import block, code, prose, visible
from gatekeeper.reports.markdown.page import Page

_MOST_LINES = 200
_MOST_CHARACTERS = 20_000
_MOST_SUGGESTIONS = 3
_DIFF = 6_000
_SHARE = 0.4


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The Markdown of a comment on the lines `start` to `end` of a file, which `file_id` names as
    git does."""

    path: str
    start: int
    end: int
    file_id: str
    text: str


def add_reverts(page: Page, result: GateResult, *, suggested: bool) -> None:
    """Add the reverts as diffs; of those that are suggested on the lines, only where."""
    for blame in result.blame:
        if blame.revert is None:
            continue
        lines = can_be_suggested(blame.revert)
        title = f"**Smallest revert** for {code(blame.contract, 60)}. {_proof(blame.revert)}"
        if suggested and lines:
            page.add(f"{title} See the suggestion on {_place(lines)}.")
        else:
            page.add_within(f"{title}\n\n{block(blame.revert.diff, 'diff', _DIFF)}", _SHARE)


def suggestions_of(result: GateResult) -> tuple[Suggestion, ...]:
    """Return a suggestion for each revert that fits into one range of lines; one for all contracts
    that the same lines repair."""
    found: dict[LineReplacement, list[ContractBlame]] = {}
    for blame in result.blame:
        lines = can_be_suggested(blame.revert) if blame.revert else None
        if lines:
            found.setdefault(lines, []).append(blame)
    if len(found) > _MOST_SUGGESTIONS:
        return ()
    return tuple(
        Suggestion(
            lines.path, lines.start, lines.end, lines.file_id, "\n\n".join(_parts(lines, blamed))
        )
        for lines, blamed in found.items()
    )


def can_be_suggested(revert: ProposedRevert) -> LineReplacement | None:
    """Return the lines of a revert if a suggestion can hold them as they are."""
    lines = revert.replacement
    if lines is None or not lines.is_exact or len(lines.lines) > _MOST_LINES:
        return None
    text = "\n".join(lines.lines)
    is_plain = text == visible(text) and len(text) <= _MOST_CHARACTERS
    return lines if is_plain else None


def _parts(lines: LineReplacement, blamed: list[ContractBlame]) -> Iterator[str]:
    for blame in blamed:
        causes = " ".join(prose(cause.text, 600) for cause in blame.causes)
        proof = _proof(blame.revert) if blame.revert else ""
        yield f"{code(blame.contract, 60)} got worse. {causes} {proof}"
    yield _block(lines)


def _block(lines: LineReplacement) -> str:
    """Return the suggestion. Without a line between its fences it removes the lines."""
    if lines.lines:
        return block("\n".join(lines.lines), "suggestion")
    return "```suggestion\n```"


def _proof(revert: ProposedRevert) -> str:
    if revert.measured is None or revert.passed is None:
        return "This revert restores the prompt of base."
    total = numbers.count(revert.measured, "broken fixture")
    return f"With this revert, {revert.passed:,} of {total} pass again."


def _place(lines: LineReplacement) -> str:
    several = f"lines {lines.start:,} to {lines.end:,}"
    return (
        f"{code(lines.path, 200)}, {several if lines.end > lines.start else f'line {lines.end:,}'}"
    )
