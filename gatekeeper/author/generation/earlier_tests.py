"""Remembers for which text of a rule its tests were written, and finds tests that a later run has
to write again, or may keep.

`made` has an entry `RULE-ID:tests` with the digests of the text and the inverse, and the effort. If
a person edits a rule, they say whether its inverse is a person's or belongs to the earlier text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from gatekeeper.author.generation.files import (
    FixtureRow,
    Present,
    fixture_row,
    with_results,
)
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt, render_each
from gatekeeper.author.generation.tests import Effort
from gatekeeper.author.specification.merge import Merged, content_digest, merge_items, said_of
from gatekeeper.author.specification.spec_file import (
    TESTS_ENTRY,
    GeneratedTest,
    Rule,
    Specification,
    TestCategory,
)

_BOTH: frozenset[TestCategory] = frozenset({"rule", "inverse_rule"})
_MOST_DIGITS = 4
_NO_TEXT = "-"
_OWN, _RATED, _LONGER = "own-inverse", "rated", "longer"


@dataclass(frozen=True, slots=True)
class WrittenTests:
    """What the tests of a rule were written for: the digests of its `text` and `inverse`, and with
    which effort. With `own_inverse`, a person wrote or removed the inverse."""

    text: str
    inverse: str
    effort: Effort
    own_inverse: bool = False

    @classmethod
    def of(cls, rule: Rule, effort: Effort, *, own_inverse: bool = False) -> WrittenTests:
        """Return that the tests of this rule were written now."""
        return cls(content_digest(rule.text), content_digest(rule.inverse), effort, own_inverse)

    @classmethod
    def read(cls, entry: str | None) -> WrittenTests | None:
        """Return what an entry of `made` says; None for one that cannot be read."""
        words = (entry or "").split()
        if len(words) < 3 or not words[2].isdecimal():
            return None
        effort = Effort(int(words[2][:_MOST_DIGITS]), _RATED in words, _LONGER in words)
        return cls(words[0], words[1], effort, _OWN in words)

    @property
    def entry(self) -> str:
        """Return it as an entry of `made`."""
        marks = {_RATED: self.effort.rates, _LONGER: self.effort.expands, _OWN: self.own_inverse}
        words = (self.text, self.inverse, str(self.effort.tests_per_rule))
        return " ".join([*words, *(mark for mark, is_set in marks.items() if is_set)])


@dataclass(frozen=True, slots=True)
class OutdatedTests:
    """A rule that a person edited or added after its tests were written. The tests of these
    `categories` are for an earlier text. With `inverts`, the rule needs another inverse; else the
    one that it has is the person's if `own_inverse` says so."""

    rule: Rule
    categories: frozenset[TestCategory]
    inverts: bool
    own_inverse: bool

    @property
    def needs_model(self) -> bool:
        """Return whether there is something to write: an inverse that a person removed has no
        tests."""
        return "rule" in self.categories or bool(self.rule.inverse)


@dataclass(frozen=True, slots=True)
class EarlierTests:
    """What a run finds: the rules that a person edited or added since, the rules whose tests
    cannot be sent any more, those with tests of more effort than that of this run, and the
    generated tests of the first and the last that stay."""

    outdated: Mapping[str, OutdatedTests]
    unsendable: frozenset[str]
    with_more_effort: frozenset[str]
    kept: tuple[FixtureRow, ...]

    @property
    def to_invert(self) -> tuple[Rule, ...]:
        """Return the rules that need another inverse."""
        return tuple(found.rule for found in self.outdated.values() if found.inverts)

    @property
    def need_model(self) -> frozenset[str]:
        """Return the rules for which a person's change needs another inverse or other tests."""
        return frozenset(name for name, found in self.outdated.items() if found.needs_model)

    @property
    def complete(self) -> frozenset[str]:
        """Return the rules for which no test has to be written, whatever else the run does."""
        return (self.with_more_effort | self.outdated.keys()) - self.need_model

    def notices(self) -> list[str]:
        """Return sentences about what a run writes for edited rules, and about what it keeps."""
        inverted = [name for name, found in self.outdated.items() if found.inverts]
        others = [name for name in self.outdated if name in self.need_model - {*inverted}]
        edited = "because you changed or added the rule"
        return [
            *said_of(f"new inverse rule and tests, {edited}", inverted),
            *said_of(f"new tests, {edited}", others),
            *said_of(
                "tests kept, because an earlier run wrote the tests with more effort",
                sorted(self.with_more_effort - self.outdated.keys()),
            ),
        ]

    def kept_of(self, rules: Iterable[Rule]) -> list[FixtureRow]:
        """Return the tests of these rules that stay."""
        ids = {rule.id for rule in rules}
        return [row for row in self.kept if row.rule in ids]

    def without_tests_that_stay(self, tests: Iterable[GeneratedTest]) -> list[GeneratedTest]:
        """Return the new tests without those of a category whose tests stay."""
        return [
            test
            for test in tests
            if test.rule not in self.outdated
            or test.category in self.outdated[test.rule].categories
        ]


def find_earlier_tests(
    prompt: NumberedPrompt,
    specification: Specification,
    rows: Sequence[FixtureRow],
    effort: Effort | None = None,
) -> EarlierTests:
    """Return what is there already, for a run with this effort; None for one that writes no tests
    of unchanged rules."""
    unsendable = _unsendable_rules(prompt, specification, rows)
    outdated = {
        name: replace(found, categories=_BOTH) if name in unsendable else found
        for name, found in find_outdated(specification).items()
    }
    more: frozenset[str] = frozenset()
    if effort:
        more = _rules_with_more_effort(specification, rows, effort) - unsendable
    staying = {*more, *outdated} - unsendable
    kept = tuple(
        row
        for row in rows
        if specification.made.get(row.id) == row.digest
        and row.rule in staying
        and category_of(row.id) not in _categories(row.id, outdated)
    )
    return EarlierTests(outdated, unsendable, more, kept)


def find_outdated(specification: Specification) -> dict[str, OutdatedTests]:
    """Return the rules that a person edited or added after their tests were written, by id."""
    found: dict[str, OutdatedTests] = {}
    for rule in specification.rules:
        made = specification.made.get(rule.id)
        if made == content_digest(rule):
            continue
        known = WrittenTests.read(specification.made.get(rule.id + TESTS_ENTRY))
        if known is None:
            if made is None:
                empty = not rule.inverse
                found[rule.id] = OutdatedTests(rule, _BOTH, empty, not empty)
            continue
        is_same = content_digest(rule.inverse) == known.inverse
        is_edited = content_digest(rule.text) != known.text
        inverts = is_edited and is_same and not known.own_inverse
        categories: set[TestCategory] = {"rule"} if is_edited else set()
        categories |= {"inverse_rule"} if inverts or not is_same else set()
        if categories:
            own = not inverts and (known.own_inverse or not is_same)
            found[rule.id] = OutdatedTests(rule, frozenset(categories), inverts, own)
    return found


def merge_tests(
    present: Present,
    tests: Iterable[GeneratedTest],
    rules: Sequence[Rule],
    which: tuple[AbstractSet[str], AbstractSet[str]],
    earlier: EarlierTests,
) -> Merged[FixtureRow]:
    """Return the fixtures from now on, with their part of `made`. The same test keeps its results.

    Args:
        present: The files. Fixtures of other rules, and those of no rule, stay in their place.
        tests: The new ones.
        rules: Those in force.
        which: The rules whose tests are new, and those that are gone, whose tests go with them.
        earlier: The tests that stay, and those for an earlier text.
    """
    again, gone = which
    made, rows = _without_cleared(present, earlier.outdated), present.fixtures
    order = {rule.id: number for number, rule in enumerate(rules)}
    new = [*earlier.kept_of(rules), *map(fixture_row, earlier.without_tests_that_stay(tests))]
    new.sort(key=lambda row: (order[row.rule], category_of(row.id) == "inverse_rule"))
    own = {name: known for name, known in made.items() if _rule_of(name) in again}
    merged = merge_items(own, [r for r in rows if r.rule in again], new, lambda row: row.digest)
    of_rule: dict[str, list[FixtureRow]] = {}
    for row in with_results(merged.items, rows):
        of_rule.setdefault(row.rule, []).append(row)
    found: list[FixtureRow] = []
    for row in rows:
        if row.rule in again:
            found += of_rule.pop(row.rule, ())
        elif row.rule not in gone or made.get(row.id) != row.digest:
            found.append(row)
    found += [row for left in of_rule.values() for row in left]
    there = {row.id for row in found}
    dropped = [row.id for row in rows if row.rule in gone and row.id not in there]
    rest = {name: known for name, known in made.items() if name not in {*own, *dropped}}
    return replace(
        merged,
        items=tuple(found),
        made={**rest, **merged.made},
        kept=(*merged.kept, *(row.id for row in found if row.rule in gone)),
        retired=(*merged.retired, *dropped),
    )


def _without_cleared(present: Present, outdated: Mapping[str, OutdatedTests]) -> dict[str, str]:
    """Return the part of `made` for tests, without those of rules that a person edited and whose
    tests that person removed altogether: they were for the earlier text, and do not prevent new
    ones."""
    here = {(row.rule, category_of(row.id)) for row in present.fixtures}
    return {
        name: known
        for name, known in present.specification.made.items()
        if "." in name
        and (
            category_of(name) not in _categories(name, outdated)
            or (_rule_of(name), category_of(name)) in here
        )
    }


def _rule_of(name: str) -> str:
    """Return the id of the rule of a generated test, by the id of the test."""
    return name.partition(".")[0]


def _categories(name: str, outdated: Mapping[str, OutdatedTests]) -> frozenset[TestCategory]:
    found = outdated.get(_rule_of(name))
    return found.categories if found else frozenset()


def category_of(name: str) -> TestCategory:
    """Return the category of a generated test by its id."""
    return "inverse_rule" if name.partition(".")[2].startswith("inverse.") else "rule"


def _rules_with_more_effort(
    specification: Specification, rows: Sequence[FixtureRow], effort: Effort
) -> frozenset[str]:
    """Return the rules whose tests were written with more effort than this."""
    there = {row.rule for row in rows}
    found = set()
    for rule in specification.rules:
        known = WrittenTests.read(specification.made.get(rule.id + TESTS_ENTRY))
        if rule.id in there and known is not None and effort.is_less_than(known.effort):
            found.add(rule.id)
    return frozenset(found)


def _unsendable_rules(
    prompt: NumberedPrompt, specification: Specification, rows: Sequence[FixtureRow]
) -> frozenset[str]:
    """Return the rules with a generated test that cannot be sent, because the prompt now needs
    other variables."""
    made, rules = specification.made, {rule.id for rule in specification.rules}
    generated = [row for row in rows if made.get(row.id) == row.digest]
    _, unfit = render_each(prompt.prompt, generated)
    return frozenset(row.rule for row, _ in unfit if row.rule in rules)


def written_entries(
    before: Specification,
    rules: Sequence[Rule],
    rewritten: Iterable[Rule],
    outdated: Mapping[str, OutdatedTests],
    effort: Effort,
    rows: Iterable[FixtureRow],
) -> dict[str, str]:
    """Return the entries of `made` for these rules.

    Args:
        before: The specification as the run found it.
        rules: Those in force.
        rewritten: Those whose tests this run wrote.
        outdated: Those that a person edited or added.
        effort: That of this run.
        rows: The fixtures. A rule for which the model wrote no test is tried again by the next run.
    """
    again = {rule.id for rule in rewritten}
    earlier = {rule.id: rule for rule in before.rules}
    tested = {row.rule for row in rows}
    entries: dict[str, str] = {}
    for rule in rules:
        name, made = rule.id + TESTS_ENTRY, before.made.get(rule.id)
        known = WrittenTests.read(before.made.get(name))
        if known is None and rule.id not in again:
            continue  # nobody remembers
        if rule.id in outdated:
            own = outdated[rule.id].own_inverse
        elif known is not None:
            own = known.own_inverse
        else:  # of an edited rule, nothing says what was edited
            own = made is not None and content_digest(earlier.get(rule.id, rule)) != made
        used = effort if known is None or rule.id in again else known.effort
        entry = WrittenTests.of(rule, used, own_inverse=own)
        missing = rule.id in again and rule.id not in tested
        entries[name] = (replace(entry, text=_NO_TEXT) if missing else entry).entry
    return entries
