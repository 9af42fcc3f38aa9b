"""What the search for the harmful edits of one contract found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gatekeeper import __version__, numbers
from gatekeeper.author.blame.edits import Edit
from gatekeeper.gate.results.author_results import ProposedRevert
from gatekeeper.gate.results.parts import Calls
from gatekeeper.reports.document import Block, Paragraph, Quote
from gatekeeper.reports.escape import plain

Outcome = Literal["explained", "partly", "unclear"]
"""`explained`: without the causes the prompt is as good as base. `partly`: something else breaks it
too. `unclear`: no cause was found."""


STEPS_CHANGED = "the change adds, removes or reorders steps"
NOT_CONFIRMED = "fresh samples of the fixtures that broke do not show that head is worse"


@dataclass(frozen=True, slots=True)
class Cause:
    """Edits that break the prompt by themselves. If there are several, each alone is harmless and
    only together they break it. `broke` of the `measured` fixtures that the whole change broke
    fail with these edits alone."""

    edits: tuple[Edit, ...]
    broke: int
    measured: int


@dataclass(frozen=True, slots=True)
class Revert:
    """The fewest edits without which the change is as good as base. With the revert, `passed` of
    the `measured` fixtures that the whole change broke pass; None if the revert makes the prompt
    that of base. `written` is None if it is not known how to write it as a change of lines."""

    edits: tuple[Edit, ...]
    passed: int | None
    measured: int | None
    written: ProposedRevert | None = None


@dataclass(frozen=True, slots=True)
class BlameResult:
    """The causes of one contract's regression among `edits` edits. `fixtures` broke with the whole
    change. `ended` says why the search ended early; None if it did not. `revert` is None unless the
    change is explained and the revert was measured to be as good as base."""

    contract: str
    prompt_path: str
    edits: tuple[Edit, ...]
    causes: tuple[Cause, ...]
    outcome: Outcome
    fixtures: tuple[str, ...]
    calls: Calls
    cost_usd: float | None
    ended: str | None = None
    revert: Revert | None = None

    @property
    def harmless(self) -> tuple[Edit, ...]:
        """Return the edits that are no part of a cause; none unless the change is explained."""
        if self.outcome != "explained":
            return ()
        blamed = {edit for cause in self.causes for edit in cause.edits}
        return tuple(edit for edit in self.edits if edit not in blamed)


def describe_blame(found: Sequence[BlameResult]) -> Iterator[Block]:
    """Describe what was found, with the revert as a diff."""
    for result in found:
        yield Paragraph((Quote(result.contract), ": ", Quote(result.prompt_path)), "strong")
        for said in sentences(result):
            yield Paragraph(f"  {said}")
        if result.revert and result.revert.written:
            yield from map(Paragraph, result.revert.written.diff.splitlines())
        yield Paragraph(f"  {result.calls.made} calls for the search", "quiet")


def sentences(result: BlameResult) -> Iterator[str]:
    """Yield what was found, one sentence for each cause, then what is left."""
    if result.ended == STEPS_CHANGED:
        yield f"gatekeeper did not search for the harmful edits, because {STEPS_CHANGED}."
        return
    if result.ended == NOT_CONFIRMED:
        yield f"gatekeeper blames no edit, because {NOT_CONFIRMED}."
        return
    if not result.edits:
        yield (
            "gatekeeper found no edit of the prompt, the model or the parameters that can be "
            "tested separately."
        )
        return
    for cause in result.causes:
        yield cause_sentence(cause, result.prompt_path)
    if result.outcome == "explained" and result.harmless:
        yield f"Without {_named(result)}, {_others(len(result.harmless))} not break these fixtures."
    elif result.outcome == "partly":
        yield (
            f"Even without {_named(result)}, the prompt breaks fixtures, so there is another cause."
        )
    elif result.outcome == "unclear":
        yield (
            "The whole change broke "
            f"{numbers.count(len(result.fixtures), 'fixture')}, but the search could "
            f"not show which of the {numbers.count(len(result.edits), 'edit')} is the cause."
        )
    if result.revert:
        yield _revert_sentence(result.revert, result.causes)
    if no_revert := why_no_revert(result):
        yield f"gatekeeper proposes no revert, because {no_revert}."
    if result.ended:
        yield f"The search ended early: {plain(result.ended)}."


def why_no_revert(result: BlameResult) -> str | None:
    """Return why there is no revert to propose, although harmful edits are known; else None."""
    if not result.causes or (result.revert and result.revert.written):
        return None
    if result.outcome != "explained":
        return "a revert of the harmful edits does not restore the pass rate of base"
    if result.revert is None:
        return "no measurement shows that a revert restores the pass rate of base"
    return "gatekeeper cannot write the revert as changed lines of the prompt's files"


def _revert_sentence(revert: Revert, causes: Sequence[Cause]) -> str:
    if revert.measured is None:
        return "The smallest revert undoes every edit."
    number = len(revert.edits)
    undone = "this edit is" if number == 1 else f"these {number} edits are"
    if number < sum(len(cause.edits) for cause in causes):
        undone = " and ".join(plain(edit.text) for edit in revert.edits) + " is"
    total = numbers.count(revert.measured, "broken fixture")
    return f"If {undone} reverted, {revert.passed} of {total} pass again."


def place(edit: Edit, prompt_path: str) -> str:
    """Return where the edit is, such as `line 12`, or the line of a deleted text on base; with the
    file if it is not the prompt's."""
    file = "" if edit.path == prompt_path else f" of {edit.path}"
    if edit.after.strip() and edit.line is not None:
        return f"line {edit.line}{file}"
    if edit.base_line is not None:
        return f"line {edit.base_line}{file} on base"
    return ""


def blame_document(results: Sequence[BlameResult]) -> dict[str, Any]:
    """Return all results for `blame.json`."""
    return {
        "blame": 1,
        "gatekeeper": __version__,
        "contracts": [
            {
                "contract": result.contract,
                "prompt": result.prompt_path,
                "outcome": result.outcome,
                "fixtures": list(result.fixtures),
                "causes": [
                    {
                        "edits": [_edit(edit) for edit in cause.edits],
                        "broke": cause.broke,
                        "measured": cause.measured,
                    }
                    for cause in result.causes
                ],
                "harmless": [_edit(edit) for edit in result.harmless],
                "revert": _revert(result.revert),
                "calls": result.calls.made,
                "recorded_calls": result.calls.cached,
                "cost_usd": result.cost_usd,
                "ended": result.ended,
            }
            for result in results
        ],
    }


def cause_sentence(cause: Cause, prompt_path: str) -> str:
    """Return the cause in words: its edits, and how many of the broken fixtures fail with them."""
    said = " and ".join(_with_place(edit, prompt_path) for edit in cause.edits)
    said = said[0].upper() + said[1:]
    together = " together" if len(cause.edits) > 1 else ""
    verb = "account" if together else "accounts"
    total = numbers.count(cause.measured, "broken fixture")
    more = "; each of these edits alone does no harm" if together else ""
    return f"{said}{together} {verb} for {cause.broke} of {total}{more}."


def _with_place(edit: Edit, prompt_path: str) -> str:
    where = place(edit, prompt_path)
    return f"{plain(edit.text)} ({where})" if where else plain(edit.text)


def _named(result: BlameResult) -> str:
    return "this edit" if sum(len(cause.edits) for cause in result.causes) == 1 else "these edits"


def _others(number: int) -> str:
    return "the other edit does" if number == 1 else f"the other {number} edits do"


def _revert(revert: Revert | None) -> dict[str, Any] | None:
    if revert is None:
        return None
    written = asdict(revert.written) if revert.written else {"diff": None, "replacement": None}
    return {
        "edits": [_edit(edit) for edit in revert.edits],
        **written,
        "passed": revert.passed,
        "measured": revert.measured,
    }


def _edit(edit: Edit) -> dict[str, Any]:
    names = ("before", "after", "path", "line", "end_line", "base_line", "setting")
    return {name: getattr(edit, name) for name in names}
