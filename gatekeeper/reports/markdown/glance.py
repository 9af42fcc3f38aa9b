"""Renders the part of a failure that is visible without a click: the edited lines of the prompt,
and one broken fixture with its input, the answers before and after, and the expected output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from os.path import commonprefix
from typing import Literal, NamedTuple

from gatekeeper.contract.values.objectives import Objective
from gatekeeper.gate.results.parts import FixtureFailure, FixtureResult
from gatekeeper.gate.results.result import ContractResult, GateResult, ReasonCode, SloResult
from gatekeeper.reports.escape import block, code, code_cell, link, prose
from gatekeeper.reports.markdown.decision import under_base_contract
from gatekeeper.reports.markdown.names import Names
from gatekeeper.reports.markdown.page import Page
from gatekeeper.reports.words.catalogue import REASONS
from gatekeeper.reports.words.catalogue import Example as Shown
from gatekeeper.reports.words.headline import foremost
from gatekeeper.reports.words.prompt_diff import SectionChange, place_at_head, prompt_changes
from gatekeeper.reports.words.ranking import is_proven, rate, worst_reasons

_LINES = 12
"""Edited lines of the prompt."""
_LINE = 200
_TEXT = 280
_MESSAGE = 200
_LEAD_IN = 40
"""Characters kept in front of the place where two long texts begin to differ."""
_SHARE = 0.3
"""The share of the remaining room; the table and the reasons follow after it."""


class EditedLine(NamedTuple):
    """One line of the prompt that is new, or that is gone."""

    change: Literal["added", "removed"]
    text: str

    def __str__(self) -> str:
        return f"{'+' if self.change == 'added' else '-'}{self.text}"


@dataclass(frozen=True, slots=True)
class Edit:
    """The lines that differ in the prompt. `more` counts those left out."""

    where: str
    lines: tuple[EditedLine, ...]
    more: int
    place: tuple[str, int]
    """The file and line at head of the first of them."""


@dataclass(frozen=True, slots=True)
class Example:
    """One fixture that broke or fails. Texts are cut around the first difference, and are not
    escaped: each report does that. `before` is None if nothing was compared, base has no answer, or
    the fixture fails with the same answer as before."""

    fixture: FixtureResult
    tally: str
    check: str
    message: str
    input: str | None
    before: str | None
    after: str | None
    wanted: str | None

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return the rows of the fixture: what is known of it, by name."""
        labels = ("Answer before", "Answer after") if self.before is not None else ("", "Answer")
        found = (
            ("Input", self.input),
            (labels[0], self.before),
            (labels[1], self.after),
            ("Wanted", self.wanted),
        )
        return tuple((label, text) for label, text in found if text is not None)


@dataclass(frozen=True, slots=True)
class Glance:
    """Both of one contract."""

    contract: str
    edit: Edit | None
    example: Example | None


def at_a_glance(result: GateResult) -> Glance | None:
    """Show the contract that the headline speaks of; None if it passed or has nothing to show."""
    contract = foremost(result)
    if contract is None or result.verdict not in ("fail", "inconclusive"):
        return None
    worst = worst_reasons(contract)[:1]
    by_base = any(reason.contract_from != "head" for reason in worst)
    shown = (under_base_contract(contract) if by_base else None) or contract
    decisive = [
        reason
        for reason in contract.reasons
        if reason.verdict == contract.verdict and (reason.contract_from != "head") == by_base
    ]
    telling = most_telling(shown, {reason.code for reason in decisive})
    found = Glance(shown.name, _edit(shown), _example(telling) if telling else None)
    return found if found.edit or found.example else None


def add_glance(page: Page, result: GateResult) -> None:
    """Add the same as Markdown, if there is room for it and the following parts."""
    found = at_a_glance(result)
    if found is None:
        return
    names = Names(found.contract, result.links)
    for part in (_edit_text(found.edit, names), _example_text(found.example, names)):
        if part:
            page.add_within(part, _SHARE)


def _edit(contract: ContractResult) -> Edit | None:
    changes = prompt_changes(contract)
    if not changes or contract.head is None:
        return None
    lines = [line for change in changes for line in _edited(change)]
    place = place_at_head(changes[0], contract.head)
    return Edit(_places(changes), tuple(lines[:_LINES]), max(0, len(lines) - _LINES), place)


def _places(changes: Sequence[SectionChange]) -> str:
    more = f" and {len(changes) - 1:,} more sections" if len(changes) > 2 else ""
    if len(changes) == 2:
        return f"{changes[0].title}, {changes[1].title}"
    return changes[0].title + more


def _edited(change: SectionChange) -> Iterator[EditedLine]:
    """Return the lines that were removed and added; of a long pair the part that differs."""
    removed: list[str] = []
    added: list[str] = []
    for line in (*change.diff.split("\n"), "@@"):
        if line.startswith("-") and not added:
            removed.append(line[1:])
        elif line.startswith("+"):
            added.append(line[1:])
        else:
            yield from _pairs(removed, added)
            removed, added = ([line[1:]] if line.startswith("-") else []), []


def _pairs(removed: Sequence[str], added: Sequence[str]) -> Iterator[EditedLine]:
    for at, line in enumerate(removed):
        if line.strip():
            yield EditedLine("removed", _focused(line, _at(added, at), _LINE))
    for at, line in enumerate(added):
        if line.strip():
            yield EditedLine("added", _focused(line, _at(removed, at), _LINE))


def _at(lines: Sequence[str], place: int) -> str | None:
    return lines[place] if place < len(lines) else None


def _example(telling: Telling) -> Example:
    found, failure = telling.fixture, telling.failure
    after, before = telling.answer, found.base_output
    tally = f"{found.head} pass" if found.head else ""
    if telling.as_before:
        tally, before = f"{tally}, as before", None
    elif found.base and found.head:
        tally = f"{found.base} → {found.head} pass"
    return Example(
        fixture=found,
        tally=tally,
        check=failure.check if failure else "",
        message=failure.message if failure else "",
        input=None if found.input is None else _focused(found.input, None, _TEXT),
        before=None if before is None else _focused(before, after, _TEXT),
        after=None if after is None else _focused(after, before, _TEXT),
        wanted=None if found.wanted is None else _focused(found.wanted, after, _TEXT),
    )


def _focused(text: str, other: str | None, limit: int) -> str:
    """Return at most `limit` characters that include the first difference from `other`."""
    text = text.strip("\n")
    if len(text) <= limit:
        return text
    start = 0
    if other is not None:
        same = len(commonprefix([text, other.strip("\n")]))  # noqa: RUF071
        if same > limit // 2:
            start = min(same - _LEAD_IN, len(text) - limit + 1)
    room = limit - bool(start)
    end = len(text)
    if end - start > room:
        end = _last_space(text, start, start + room - 1)
    return f"{'…' if start else ''}{text[start:end].rstrip()}{'…' if end < len(text) else ''}"


def _last_space(text: str, start: int, end: int) -> int:
    """Return where to cut so that no word is, if the last quarter of the text has a space."""
    spaces = [at for at in range(start + (end - start) * 3 // 4, end + 1) if text[at].isspace()]
    return spaces[-1] if spaces else end


def _edit_text(edit: Edit | None, names: Names) -> str:
    if edit is None or not edit.lines:
        return ""
    more = f"\n… {edit.more:,} more edited lines" if edit.more else ""
    lines = "\n".join(map(str, edit.lines))
    where = link(code(edit.where, 120), names.links.file(*edit.place))
    return f"**Edited in the prompt:** {where}\n\n{block(lines + more, 'diff')}"


def _example_text(example: Example | None, names: Names) -> str:
    if example is None:
        return ""
    check = ""
    if example.check:
        said = f": {prose(example.message, _MESSAGE)}" if example.message else ""
        check = f", {names.check(example.check, 60)} fails{said}"
    tally = f" ({example.tally})" if example.tally else ""
    rows = "\n".join(f"| **{label}** | {code_cell(text)} |" for label, text in example.rows)
    table = f"\n\n| | |\n| --- | --- |\n{rows}" if rows else ""
    return f"**For example** {names.fixture(example.fixture, 80)}{tally}{check}{table}"


@dataclass(frozen=True, slots=True)
class Telling:
    """A fixture of the failure, with the failing check that shows it."""

    fixture: FixtureResult
    check: str | None = None

    @property
    def failure(self) -> FixtureFailure | None:
        """Return its failure on head, of the given check if there is one."""
        own = self.fixture.failures_on("head")
        named = [f for f in (*own, *self.fixture.warnings) if f.arm == "head"]
        return next((f for f in named if f.check == self.check), next(iter(own), None))

    @property
    def answer(self) -> str | None:
        """Return head's answer."""
        return self.failure.output if self.failure else self.fixture.head_output

    @property
    def as_before(self) -> bool:
        """Whether neither its result nor its answer changed."""
        found = self.fixture
        return found.base is not None and _lost(found) == 0 and found.base_output == self.answer


def most_telling(contract: ContractResult, codes: Set[ReasonCode]) -> Telling | None:
    """Return the fixture that illustrates the deciding reasons best.

    A fixture that must pass and fails comes before all others. Limits on cost, tokens and latency,
    weakening, budgets and the policy have no example: no single answer shows them.
    """
    shown_by = {REASONS[code].example for code in codes}
    found: list[Telling] = []
    if "must_pass" in shown_by:
        found = list(_must_pass(contract))
    found = found or [
        telling
        for fixture in contract.fixtures
        if fixture.head_passed is False
        and not fixture.quarantine
        and (telling := _shows(fixture, contract, shown_by))
    ]
    broken = [telling for telling in found if telling.fixture.change == "broke"]
    return min(broken or found, key=_telling_rank, default=None)


def _must_pass(contract: ContractResult) -> Iterator[Telling]:
    fixtures = {fixture.id: fixture for fixture in contract.fixtures}
    for result in contract.must_pass:
        if result.found == "broke" and result.fixture in fixtures:
            yield Telling(fixtures[result.fixture], result.check)


def _shows(
    fixture: FixtureResult, contract: ContractResult, shown_by: Set[Shown | None]
) -> Telling | None:
    """Return the fixture if it is an example of one of the reasons."""
    worse = fixture.change == "broke" or fixture.base is None or _lost(fixture) < 0
    if ("worse" in shown_by and worse) or "failing" in shown_by:
        return Telling(fixture)
    if "objective" not in shown_by:
        return None
    own = (_missed_by(fixture, slo) for slo in contract.slo if slo.met is not True)
    return next((telling for telling in own if telling), None)


def _missed_by(fixture: FixtureResult, slo: SloResult) -> Telling | None:
    """Return the fixture if it fails what the objective counts. No fixture shows a latency or a
    cost."""
    objective = Objective(slo.objective, slo.target)
    if objective.measure.better != "higher":
        return None
    if objective.category is not None and fixture.category != objective.category:
        return None
    failing = {f.check for f in (*fixture.failures, *fixture.warnings) if f.arm == "head"}
    if objective.check is not None and objective.check not in failing:
        return None
    return Telling(fixture, objective.check)


def _telling_rank(telling: Telling) -> tuple[bool, bool, bool, float, int]:
    """Return a sort key: first what changed, is proven, is complete, lost most, and is short."""
    fixture, after = telling.fixture, telling.answer
    whole = bool(after) and fixture.input is not None
    texts = (fixture.input, fixture.base_output, after, fixture.wanted)
    length = sum(len(text or "") for text in texts)
    return telling.as_before, not is_proven(fixture), not whole, _lost(fixture), length


def _lost(fixture: FixtureResult) -> float:
    """Return the pass rate on head minus that on base."""
    return rate(fixture.head) - rate(fixture.base)
