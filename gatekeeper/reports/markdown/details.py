"""The folded parts of the answer: fixtures with both outputs, prompt diff, how it was decided,
and what a change does to the promises of prompts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from gatekeeper import numbers
from gatekeeper.contract.values.trial import Arm
from gatekeeper.gate.results.author_results import Promises, PromptPromises
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.escape import block, code, code_cell, html_code, link, prose
from gatekeeper.reports.markdown.decision import add_decision, under_base_contract
from gatekeeper.reports.markdown.names import NAMELESS, Names
from gatekeeper.reports.markdown.page import Page, table_row
from gatekeeper.reports.words.prompt_diff import SectionChange, place_at_head, prompt_changes
from gatekeeper.reports.words.ranking import (
    broken_fixtures,
    by_loss,
    by_severity,
    failing_fixtures,
    is_proven,
)

_CELL = 100
_SECTIONS = 4
_MOST_IDS = 5
_PROMISE = 300
_FIXTURE_COLUMNS = (
    "| Fixture | Base | Head | Failing check | Base said | Head said |\n"
    "| --- | :---: | :---: | --- | --- | --- |\n"
)
_ALONE_COLUMNS = "| Fixture | Passed | Failing check | Said |\n| --- | :---: | --- | --- |\n"


@dataclass(frozen=True, slots=True)
class Depth:
    """How much is shown: fixtures a list, and characters of an output or a diff."""

    broken: int
    others: int
    output: int
    diff: int
    names: Names = NAMELESS


def add_details(page: Page, result: GateResult, depth: Depth) -> None:
    """Add the details, the worst contract first; for each, broken fixtures before their
    explanation."""
    ranked = by_severity(result.contracts)
    several = len(ranked) > 1
    shown: set[tuple[str, str]] = set()
    for contract in ranked:
        if not page.full:
            _add_fixtures(page, contract, _of(contract, depth, result), several)
        before = under_base_contract(contract)
        if before and not page.full:
            _add_fixtures(page, before, _of(before, depth, result), several=True)
    for contract in ranked:
        if not page.full:
            _add_diff(page, contract, _of(contract, depth, result), shown)
    add_decision(page, result)


def _of(contract: ContractResult, depth: Depth, result: GateResult) -> Depth:
    return replace(depth, names=Names(contract.name, result.links))


def _add_fixtures(page: Page, contract: ContractResult, depth: Depth, several: bool) -> None:
    of = f" in {html_code(contract.name, 60)}" if several else ""
    broken = broken_fixtures(contract)
    fixed = by_loss((f for f in contract.fixtures if f.change == "fixed"), "base")
    failing = failing_fixtures(contract)
    lost = [f for f in contract.fixtures if f.errors]
    known = contract.base is not None
    proven = sum(map(is_proven, broken))
    proof = f", {proven:,} of them significantly" if proven else ""
    summary = f"❌ {_fixtures(broken)} broke{of}{proof}"
    _add_group(page, summary, broken, "head", depth.broken, depth, _changed(contract, depth))
    _add_lost(
        page, f"🚫 {_fixtures(lost)} had samples that could not be measured{of}", lost, depth.others
    )
    _add_group(page, f"✅ {_fixtures(fixed)} fixed{of}", fixed, "base", depth.others, depth)
    before = "on base as well" if known else "on head"
    verb = "fails" if len(failing) == 1 else "fail"
    summary = f"{_fixtures(failing)} {verb} {before}{of}"
    _add_group(page, summary, failing, "head", depth.others, depth)


def _add_group(
    page: Page,
    summary: str,
    fixtures: Sequence[FixtureResult],
    arm: Arm,
    most: int,
    depth: Depth,
    note: str = "",
) -> None:
    """Add the fixtures in the order given, under the note: in a table if all outputs are short,
    else each with blocks of its own."""
    if not fixtures:
        return
    chosen = fixtures[:most]
    alone = all(fixture.base is None and fixture.base_passed is None for fixture in fixtures)
    if all(_is_short(fixture, arm) for fixture in chosen):
        page.add_fold(
            summary,
            [_row(fixture, arm, depth.names, alone=alone) for fixture in chosen],
            note=note + (_ALONE_COLUMNS if alone else _FIXTURE_COLUMNS),
            total=len(fixtures),
            more=lambda left: f"\n…and {left:,} more in `result.json`",
        )
        return
    page.add_fold(
        summary,
        [fixture_text(fixture, arm, depth.output, depth.names, alone=alone) for fixture in chosen],
        note=note,
        total=len(fixtures),
        more=lambda left: f"…and {left:,} more in `result.json`",
        joint="\n\n",
    )


def _changed(contract: ContractResult, depth: Depth) -> str:
    """Say where in the prompt to look for the cause."""
    changes = prompt_changes(contract)
    if not changes:
        return ""
    linked = [link(code(c.title, 80), _address(c, contract, depth)) for c in changes[:_SECTIONS]]
    shown = ", ".join(linked)
    more = f" and {len(changes) - _SECTIONS:,} more" if len(changes) > _SECTIONS else ""
    return f"Changed sections of the prompt: {shown}{more}\n\n"


def _add_lost(page: Page, summary: str, fixtures: Sequence[FixtureResult], most: int) -> None:
    """Add the fixtures with samples that could not be measured, those with the same errors in one
    line."""
    if not fixtures:
        return
    alike: dict[tuple[str, ...], list[FixtureResult]] = defaultdict(list)
    for fixture in fixtures:
        alike[fixture.errors].append(fixture)
    lines = [
        f"- {_ids(same)}: {code(errors[0], 300)}{_more(errors)}" for errors, same in alike.items()
    ]
    page.add_fold(
        summary,
        lines[:most],
        total=len(lines),
        more=lambda left: f"- …and {left:,} more in `result.json`",
    )


def _ids(fixtures: Sequence[FixtureResult]) -> str:
    named = ", ".join(code(fixture.id, 80) for fixture in fixtures[:_MOST_IDS])
    left = len(fixtures) - _MOST_IDS
    return f"{named} and {left:,} more" if left > 0 else named


def _row(fixture: FixtureResult, arm: Arm, names: Names, *, alone: bool) -> str:
    """Return a row for a fixture. `alone` says that no fixture has an answer of base, so that head
    is not labelled."""
    first = 1 if alone else 0
    tallies = [str(tally or numbers.NONE) for tally in (fixture.base, fixture.head)]
    said = [
        code_cell(text, _CELL) if text is not None else numbers.NONE for text in _said(fixture, arm)
    ]
    finding = _finding(fixture, arm, names, cell=True)
    cells = [names.fixture(fixture, 60, code_cell), *tallies[first:], finding, *said[first:]]
    return table_row(cells)


def fixture_text(fixture: FixtureResult, arm: Arm, limit: int, names: Names, *, alone: bool) -> str:
    """Return a fixture with its outputs in blocks of their own."""
    tally = f"base {fixture.base or numbers.NONE}, head {fixture.head or numbers.NONE}"
    labels = ("Base said", "Head said")
    if alone:
        tally, labels = f"{fixture.head or numbers.NONE} passed", ("", "Said")
    name = names.fixture(fixture, 80)
    parts = [f"{name} ({tally}) {_finding(fixture, arm, names, cell=False)}"]
    for label, text in zip(labels, _said(fixture, arm), strict=True):
        if text is not None:
            parts.append(f"{label}:\n\n{block(text, limit=limit)}")
    return "\n\n".join(parts)


def _finding(fixture: FixtureResult, arm: Arm, names: Names, *, cell: bool) -> str:
    found = fixture.failures_on(arm)
    again = f" ({fixture.confirmation})" if fixture.confirmation else ""
    if not found:
        return again.strip() or (numbers.NONE if cell else "")
    first = found[0]
    checks = {failure.check for failure in found}
    others = f" (+{len(checks) - 1} more)" if len(checks) > 1 else ""
    span = code_cell if cell else code
    message = f": {prose(first.message, 120 if cell else 400)}" if first.message else ""
    return f"{names.check(first.check, 60, span)}{others}{message}{again}"


def _said(fixture: FixtureResult, arm: Arm) -> tuple[str | None, str | None]:
    """Return both outputs; of the failing arm the one that the shown message is about."""
    found = fixture.failures_on(arm)
    failing = found[0].output if found else None
    if arm == "head":
        return fixture.base_output, fixture.head_output if failing is None else failing
    return fixture.base_output if failing is None else failing, fixture.head_output


def _is_short(fixture: FixtureResult, arm: Arm) -> bool:
    return all(
        text is None or (len(text) <= _CELL and "\n" not in text.strip("\n"))
        for text in _said(fixture, arm)
    )


def _add_diff(
    page: Page, contract: ContractResult, depth: Depth, shown: set[tuple[str, str]]
) -> None:
    base, head = contract.base, contract.head
    if base is None or head is None:
        return
    if base.model != head.model:
        page.add(f"Model of {code(contract.name, 60)}: {code(base.model)} → {code(head.model)}")
    changes = prompt_changes(contract)
    pair = ("\n".join(change.diff for change in changes), head.prompt_text)
    if not changes or pair in shown:
        return
    shown.add(pair)
    paths = dict.fromkeys(change.path or head.prompt_path for change in changes)
    where = ", ".join(html_code(path, 120) for path in paths)
    page.add_fold(
        f"Prompt diff of {where}: {numbers.count(len(changes), 'section')} changed",
        [_section(change, _address(change, contract, depth), depth.diff) for change in changes],
        more=lambda left: f"…and {numbers.count(left, 'more section')}",
        joint="\n\n",
    )


def _address(change: SectionChange, contract: ContractResult, depth: Depth) -> str:
    return depth.names.links.file(*place_at_head(change, contract.head)) if contract.head else ""


def _section(change: SectionChange, address: str, limit: int) -> str:
    state = "" if change.change == "changed" else f" ({change.change})"
    return f"{link(code(change.title, 120), address)}{state}\n\n{block(change.diff, 'diff', limit)}"


def _fixtures(fixtures: Sequence[FixtureResult]) -> str:
    return numbers.count(len(fixtures), "fixture")


def _more(errors: Sequence[str]) -> str:
    return f" (+{len(errors) - 1:,} more)" if len(errors) > 1 else ""


def add_promises(page: Page, result: GateResult) -> None:
    """Add a part for each prompt whose specification the change touches."""
    for promises in result.promises:
        page.add_fold(
            f"📜 Specification of {html_code(promises.prompt, 120)} ({_summary(promises)})",
            list(_promise_rows(promises)),
            note=f"{_where(promises)}\n\n",
            more=lambda left: f"- …and {left:,} more",
        )


def _summary(promises: PromptPromises) -> str:
    if promises.state == "outdated":
        return f"{numbers.count(len(promises.unsettled), 'rule')} to check again"
    changed = promises.rules
    parts = [
        f"{len(texts):,} {word}"
        for texts, word in (
            (changed.added, "added"),
            (changed.dropped, "dropped"),
            (changed.reworded, "reworded"),
        )
        if texts
    ]
    rules = f"rules: {', '.join(parts)}" if parts else "no rule changed"
    return f"{rules}; the input specification changed" if promises.input.changed else rules


def _where(promises: PromptPromises) -> str:
    path = code(promises.specification, 200)
    if promises.state == "added":
        return f"{path} is new."
    if promises.state == "removed":
        return f"This change removes {path} and keeps the prompt."
    if promises.state == "changed":
        return f"These changes are in {path}."
    return (
        f"The prompt changed, but {path} did not change. The rules below come from prompt lines "
        "that changed. Run "
        f"{code(f'gatekeeper generate --update {quote(promises.prompt)} --model MODEL')} "
        "to update these rules."
    )


def _promise_rows(promises: PromptPromises) -> Iterator[str]:
    yield from _changes(promises.rules, "rule")
    yield from _changes(promises.input, "input")
    for text in promises.unsettled:
        yield f"- {prose(text, _PROMISE)}"


def _changes(changes: Promises, kind: str) -> Iterator[str]:
    for text in changes.added:
        yield f"- ➕ {kind}: {prose(text, _PROMISE)}"
    for text in changes.dropped:
        yield f"- ➖ {kind}: {prose(text, _PROMISE)}"
    for pair in changes.reworded:
        yield f"- ✏️ {kind}: {prose(pair.before, _PROMISE)} → {prose(pair.after, _PROMISE)}"
