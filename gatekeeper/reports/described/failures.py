"""Describes what fails on head, in lines for a terminal: fixtures by category, checks, and what to
do about each cause."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gatekeeper import numbers
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.document import Block, Paragraph, Quote, Strong, Table, Words, columns
from gatekeeper.reports.words.advice import advice
from gatekeeper.reports.words.check_tallies import CheckTally, check_tallies
from gatekeeper.reports.words.ranking import broken_fixtures, by_severity, failing_fixtures

_MOST_FIXTURES = 5
"""Of one category."""
_MOST_CATEGORIES = 10
"""Of one contract."""
_MOST_CHECKS = 12
_MESSAGE = 200
_ADVICE = 600


def describe_failures(result: GateResult) -> Iterator[Block]:
    """Describe the fixtures that fail on head by category, then the checks, then what to do."""
    failing = {
        contract.name: (*broken_fixtures(contract), *failing_fixtures(contract))
        for contract in by_severity(result.contracts)
    }
    if any(failing.values()):
        yield Paragraph("FAILING FIXTURES", "strong")
        for contract in by_severity(result.contracts):
            yield from _by_category(contract, failing[contract.name])
        compared = any(contract.base for contract in result.contracts)
        yield from _by_check(failing, compared=compared)
    yield from _recommendations(result, failing)


def describe_each_check(result: GateResult) -> Iterator[Block]:
    """Describe each check of each fixture in one line, and count the fixtures without one."""
    outcomes: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in result.outcomes:
        trial = outcome.sample.trial
        if trial.contract_from == "head":
            outcomes[trial.contract, trial.fixture].append(outcome)
    for contract in by_severity(result.contracts):
        idle = 0
        for fixture in contract.fixtures:
            tallies = check_tallies(outcomes[contract.name, fixture.id])
            yield from (_line(contract, fixture, check, each) for check, each in tallies.items())
            idle += not tallies
        if idle:
            yield Paragraph(
                (
                    Strong("none ", "quiet"),
                    Quote(contract.name),
                    f" › {numbers.count(idle, 'fixture')} without an answer",
                )
            )


def _line(
    contract: ContractResult, fixture: FixtureResult, check: str, found: CheckTally
) -> Paragraph:
    arms = [found.counts.get(arm) for arm in (("base", "head") if contract.base else ("head",))]
    head = arms[-1]
    word = "none" if head is None else "pass"
    if found.fails:
        word = "warn" if found.severity == "warn" else "FAIL"
    tone = {"pass": "pass", "FAIL": "fail", "warn": "inconclusive", "none": "quiet"}[word]
    return Paragraph(
        (
            Strong(f"{word} ", tone),  # type: ignore[arg-type]
            *(Quote(contract.name), " › ", Quote(fixture.id), " › ", Quote(check)),
            f" {' → '.join(str(arm or numbers.NONE) for arm in arms)}",
            *((": ", Quote(found.said, _MESSAGE)) if found.said else ()),
        )
    )


def _of_category(contract: ContractResult, category: str | None) -> list[FixtureResult]:
    return [fixture for fixture in contract.fixtures if fixture.category == category]


def _inputs(fixtures: Iterable[FixtureResult]) -> int:
    """Count fixtures, those with the same input once: they share an answer."""
    return len({fixture.duplicate_of or fixture.id for fixture in fixtures})


def _by_category(contract: ContractResult, failing: Sequence[FixtureResult]) -> Iterator[Block]:
    groups: dict[str | None, list[FixtureResult]] = defaultdict(list)
    for fixture in failing:
        groups[fixture.category].append(fixture)
    sizes = {category: _inputs(_of_category(contract, category)) for category in groups}
    for category, found in [*groups.items()][:_MOST_CATEGORIES]:
        fails = _inputs(found)
        broke = _inputs(fixture for fixture in found if fixture.change == "broke")
        verb = "fails" if fails == 1 else "fail"
        what = "broke" if broke == fails else f"{verb}, {broke:,} broke" if broke else verb
        name = (Quote(contract.name), *(() if category is None else (" › ", Quote(category))))
        noun = "fixture" if sizes[category] == len(_of_category(contract, category)) else "input"
        of = f": {fails:,} of {numbers.count(sizes[category], noun)} {what}"
        yield Paragraph(("  ", Strong(name), of))
        yield from map(_fixture, found[:_MOST_FIXTURES])
        if len(found) > _MOST_FIXTURES:
            yield Paragraph(f"    …and {len(found) - _MOST_FIXTURES:,} more", "quiet")
    if len(groups) > _MOST_CATEGORIES:
        left = numbers.count(len(groups) - _MOST_CATEGORIES, "more category", "more categories")
        yield Paragraph(f"  …and {left} of failing fixtures", "quiet")


def _fixture(fixture: FixtureResult) -> Paragraph:
    again = f", {fixture.confirmation}" if fixture.confirmation else ""
    arms = [fixture.base] if fixture.base or fixture.base_passed is not None else []
    tally = " → ".join(str(arm or numbers.NONE) for arm in (*arms, fixture.head))
    failure = next(iter(fixture.failures_on("head")), None)
    why: Words = ""
    if failure:
        said = Strong(Quote(failure.message, _MESSAGE), "quiet")
        why = (", ", Quote(failure.check), ": ", said)
    verb = "broke" if fixture.change == "broke" else "fails"
    return Paragraph((f"    {verb} ", Strong(Quote(fixture.id)), f" {tally}{again}", why))


def _by_check(failing: Mapping[str, Sequence[FixtureResult]], *, compared: bool) -> Iterator[Block]:
    """Count the failing fixtures of each check, and its failures on the arms; what shares an answer
    counts once."""
    rows: dict[tuple[str, str], list[int]] = {}
    counted: set[tuple[str, str, str]] = set()
    for contract, fixtures in failing.items():
        for fixture in fixtures:
            arms = Counter((failure.check, failure.arm) for failure in fixture.failures)
            answer = fixture.duplicate_of or fixture.id
            for check in dict.fromkeys(check for check, arm in arms if arm == "head"):
                if (contract, check, answer) in counted:
                    continue
                counted.add((contract, check, answer))
                row = rows.setdefault((contract, check), [0, 0, 0])
                row[0] += 1
                row[1] += arms[check, "head"]
                row[2] += arms[check, "base"]
    if not rows:
        return
    yield Paragraph("FAILURES BY CHECK", "strong")
    ranked = sorted(rows.items(), key=lambda row: (-row[1][0], -row[1][1], row[0]))
    right = ["fixtures", "failures on head", "on base"] if compared else ["fixtures", "failures"]
    yield Table(
        columns("check", "contract", right=right),
        [
            (Quote(check), Quote(contract), *(f"{number:,}" for number in counts[: len(right)]))
            for (contract, check), counts in ranked
        ],
        most=_MOST_CHECKS,
    )


def _recommendations(
    result: GateResult, failing: Mapping[str, Sequence[FixtureResult]]
) -> Iterator[Block]:
    """Say what to do about each cause, with the contracts that have it."""
    causes: dict[str, list[str]] = defaultdict(list)
    for contract in by_severity(result.contracts):
        found = [advice(result, contract)]
        before = sum(fixture.change == "same" for fixture in failing[contract.name])
        if before and contract.base:
            verb = "fixture fails" if before == 1 else "fixtures fail"
            found.append(f"{before:,} {verb} on base as well: correct the checks or the prompt.")
        for said in filter(None, found):
            causes[said].append(contract.name)
    if causes:
        yield Paragraph("RECOMMENDATIONS", "strong")
    for said, names in causes.items():
        whose = Strong(Quote(numbers.some(names, _MOST_FIXTURES)))
        yield Paragraph(("  ", whose, ": ", Quote(said, _ADVICE)))
