"""The steps that follow a generation, and what they say of its quality."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gatekeeper import __version__, numbers
from gatekeeper.author.generation.ask import Asker
from gatekeeper.author.generation.run import Generated, GenerationPlan
from gatekeeper.author.quality.agreement import Agreement, measure_agreement, with_baseline_tests
from gatekeeper.author.quality.judges import (
    Panel,
    Proposals,
    RuleQuality,
    TestQuality,
    judge_groundedness,
    judge_validity,
    with_proposed_answers,
)
from gatekeeper.author.specification.merge import content_digest
from gatekeeper.author.specification.spec_file import TESTS_ENTRY
from gatekeeper.reports.document import Document, Quote, Section, Table, code, columns, joined
from gatekeeper.reports.escape import clip, plain
from gatekeeper.reports.markdown.render import render_markdown


@dataclass(frozen=True, slots=True)
class QualityOptions:
    """The steps to take.

    `check` has judges say which tests are valid and which rules follow from their lines;
    `leave_out` removes the others. `baseline` is the number of tests to write without the rules.
    `ground_truth` is the model whose answers are proposed. `judges` grade everything, by majority.
    `model` runs the prompt and its specification, if it `compares` them because there are or will
    be baseline tests. `embeddings` compares their outputs; without it their words do.
    """

    judges: tuple[str, ...]
    model: str
    compares: bool = False
    check: bool = False
    leave_out: bool = False
    baseline: int = 0
    ground_truth: str | None = None
    embeddings: str | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to do."""
        return not (self.check or self.baseline or self.ground_truth)


class QualitySteps:
    """The steps as the last one of a generation. `report` is there after a run."""

    def __init__(self, options: QualityOptions) -> None:
        self.report: QualityReport | None = None
        self._options = options

    @property
    def models(self) -> tuple[tuple[str, str], ...]:
        """Return the models that are called besides the one that generates, with their flags."""
        options = self._options
        named = [("--judges", judge) for judge in options.judges]
        named += [("--prove-with", options.model)] if options.check and options.compares else []
        named += [("--ground-truth", options.ground_truth)] if options.ground_truth else []
        return (*named, *([("--embeddings", options.embeddings)] if options.embeddings else []))

    async def __call__(self, plan: GenerationPlan, asker: Asker, items: Generated) -> Generated:
        """Return the items as the steps leave them. Raises MeasurementError and UsageError."""
        options, panel = self._options, Panel(asker, self._options.judges)
        report = QualityReport(plan.prompt.reference, panel.judges)
        if options.baseline:
            items = await with_baseline_tests(plan, asker, items, options.baseline)
        if options.check:
            items, report = await _check(plan, asker, panel, items, report, options)
        if options.ground_truth:
            items, proposals = await with_proposed_answers(
                plan, asker, panel, options.ground_truth, items
            )
            report = replace(report, proposals=proposals)
        panel.require_answers()
        unusable = sum(panel.unusable.values())
        own = options.check and asker.model in panel.judges
        self.report = replace(report, unusable=unusable, own_judge=own)
        return items

    def reports(self) -> Mapping[str, Callable[[], str]]:
        """Return the reports by their names; none if nothing was graded."""
        report = self.report
        if report is None or (report.tests is None and report.proposals is None):
            return {}
        return {
            "quality.md": lambda: render_markdown(describe_quality(report)),
            "quality.json": lambda: quality_json(report),
        }


async def _check(
    plan: GenerationPlan,
    asker: Asker,
    panel: Panel,
    items: Generated,
    report: QualityReport,
    options: QualityOptions,
) -> tuple[Generated, QualityReport]:
    rules = await judge_groundedness(panel, plan.prompt, items.specification.rules)
    rows, tests = await judge_validity(panel, items.specification.input, items.rows)
    items = replace(items, rows=rows)
    if options.leave_out:
        items = leave_out_rejected(items, rules, tests)
    agreement = None
    if any(row.is_baseline for row in items.rows):
        agreement = await measure_agreement(
            plan, asker, panel, items.specification, items.rows, options.model, options.embeddings
        )
    left = {rule.id for rule in items.specification.rules}
    left_rows = {row.id for row in items.rows}
    return items, replace(
        report,
        rules=tuple(replace(rule, left_out=rule.id not in left) for rule in rules),
        tests=tuple(replace(test, left_out=test.id not in left_rows) for test in tests),
        agreement=agreement,
    )


def leave_out_rejected(
    items: Generated, rules: Sequence[RuleQuality], tests: Sequence[TestQuality]
) -> Generated:
    """Return the items without rules that do not follow from their lines, their tests, and tests
    that are not valid. What a person wrote or changed stays. If no rule or no test would be left,
    all stay.

    They leave `made`, too: a later run may make them again, because no person removed them.
    """
    specification, made = items.specification, items.specification.made
    ungrounded = {rule.id for rule in rules if rule.grounded is False}
    invalid = {test.id for test in tests if test.valid is False and not test.by_person}
    bad_rules = {
        rule.id
        for rule in specification.rules
        if rule.id in ungrounded and made.get(rule.id) == content_digest(rule)
    }
    bad_rows = {
        row.id
        for row in items.rows
        if made.get(row.id) == row.digest and (row.rule in bad_rules or row.id in invalid)
    }
    kept = tuple(rule for rule in specification.rules if rule.id not in bad_rules)
    rows = tuple(row for row in items.rows if row.id not in bad_rows)
    if not kept or not rows:
        what = "gatekeeper left nothing out, because otherwise no rule or no test would remain."
        return replace(items, notices=(*items.notices, what))
    gone = bad_rules | bad_rows | {rule + TESTS_ENTRY for rule in bad_rules}
    rest = {name: known for name, known in made.items() if name not in gone}
    return replace(items, specification=replace(specification, rules=kept, made=rest), rows=rows)


@dataclass(frozen=True, slots=True)
class Tally:
    """Of `total` items, `good` are as they should be and `bad` are not. The others are unknown."""

    good: int
    bad: int
    total: int

    @property
    def unknown(self) -> int:
        """Return of how many nothing is known."""
        return self.total - self.good - self.bad


@dataclass(frozen=True, slots=True)
class QualityReport:
    """All that a run found. `rules` and `tests` are None if they were not checked, `agreement` and
    `proposals` if they were not asked for. `unusable` answers of the judges had no vote."""

    prompt: str
    judges: tuple[str, ...]
    rules: tuple[RuleQuality, ...] | None = None
    tests: tuple[TestQuality, ...] | None = None
    agreement: Agreement | None = None
    proposals: Proposals | None = None
    unusable: int = 0
    own_judge: bool = False

    @property
    def groundedness(self) -> Tally:
        """Return how many rules follow from their lines."""
        return tally([rule.grounded for rule in self.rules or ()])

    def validity(self, category: str) -> Tally:
        """Return how many tests of a category are valid."""
        return tally([test.valid for test in self.tests or () if test.category == category])

    @property
    def categories(self) -> tuple[str, ...]:
        """Return the categories of the tests, in the order of the file."""
        return tuple(dict.fromkeys(test.category for test in self.tests or ()))

    @property
    def coverage(self) -> Mapping[str, int]:
        """Return how many rules are left, and how many have a test that is valid, whose inverses
        have one, or both."""
        valid = {(t.rule, t.category) for t in self.tests or () if t.valid and not t.left_out}
        left = [rule.id for rule in self.rules or () if not rule.left_out]
        own = {name for name in left if (name, "rule") in valid}
        inverse = {name for name in left if (name, "inverse_rule") in valid}
        both = len(own & inverse)
        return {"rules": len(left), "rule": len(own), "inverse": len(inverse), "both": both}

    @property
    def uncovered(self) -> tuple[str, ...]:
        """Return the rules that are left of which no test is valid."""
        valid = {test.rule for test in self.tests or () if test.valid and not test.left_out}
        return tuple(r.id for r in self.rules or () if not r.left_out and r.id not in valid)


def tally(answers: Sequence[bool | None]) -> Tally:
    """Count answers."""
    good = sum(answer is True for answer in answers)
    return Tally(good, sum(answer is False for answer in answers), len(answers))


CATEGORIES: Mapping[str, str] = {
    "rule": "tests of rules",
    "inverse_rule": "tests of inverse rules",
    "baseline": "baseline tests",
}
NO_BASELINE = "The prompt was not compared with its specification; a comparison needs --baseline."
_ANSWERS = {True: "yes", False: "no", None: "unknown"}
_LONGEST = 300


def quality_lines(report: QualityReport) -> Iterator[str]:
    """Yield the report for the terminal."""
    yield from summary(report)
    for rule in report.rules or ():
        if rule.grounded is False:
            place = numbers.lines(rule.lines) or "the prompt"
            yield f"  {rule.id} does not follow from {place}: {excerpt(rule.reason)}"
    for test in report.tests or ():
        if test.valid is False:
            yield f"  {test.id} is not valid: {_why(test)}"


def summary(report: QualityReport) -> Iterator[str]:
    """Yield one sentence for each thing that was measured."""
    if report.rules is not None:
        tallied = _tallied(report.groundedness)
        yield f"Rules that follow from their prompt lines: {tallied}"
        for category in report.categories:
            name = CATEGORIES.get(category, f"tests of the category {plain(category)}")
            yield f"Valid {name}: {_tallied(report.validity(category))}"
        yield from _coverage(report)
        left = sum(rule.left_out for rule in report.rules)
        gone = sum(test.left_out for test in report.tests or ())
        if left or gone:
            yield f"Left out: {numbers.count(left, 'rule')}, {numbers.count(gone, 'test')}"
        yield from [NO_BASELINE] if report.agreement is None else agreement_lines(report.agreement)
    if report.proposals is not None:
        yield _proposals(report.proposals)
    if report.unusable:
        yield f"{numbers.count(report.unusable, 'answer')} of judges could not be used."
    if report.own_judge:
        yield (
            "The generating model also graded its own work. Use --judges to choose other judges."
        )


def agreement_lines(agreement: Agreement) -> Iterator[str]:
    """Yield what is known of the agreement."""
    by = f"embeddings of {agreement.embeddings}" if agreement.embeddings else "sets of words"
    known, tests = agreement.cosines, numbers.count(len(agreement.tests), "baseline test")
    yield (
        f"Comparison of the prompt with its specification, used as a prompt, on {tests} with "
        f"{agreement.model}:" + ("" if known else " no outputs to compare")
    )
    if known:
        yield (
            f"  Similarity of the outputs (cosine of {by}): mean "
            f"{numbers.score(agreement.cosine)}, lowest {numbers.score(min(known))}"
        )
    if not agreement.known:
        yield (
            "  No test shows whether the prompt and the specification obey the rules equally often."
        )
        return
    yield (
        "  Tests with the same result for the prompt and the specification: "
        f"{agreement.alike} of {agreement.known} "
        f"({numbers.percent_interval(agreement.interval)}). Tests on which only the prompt obeys "
        f"all rules: {agreement.count(True, False)}. Tests on which only the specification obeys "
        f"all rules: {agreement.count(False, True)}. "
        f"McNemar's p {numbers.p_value(agreement.p_value)}"
    )


def describe_quality(report: QualityReport) -> Document:
    """Describe what was measured, every rule, and the tests that are not valid."""
    judges = ("Judges: ", joined([code(judge) for judge in report.judges]))
    sections = []
    if report.rules is not None:
        rules = [
            (
                Quote(rule.text),
                ", ".join(map(str, rule.lines)) or "none",
                _ANSWERS[rule.grounded] + (", left out" if rule.left_out else ""),
                Quote(excerpt(rule.reason)),
            )
            for rule in report.rules
        ]
        titles = columns("rule", "prompt lines", "follows from these lines", "why")
        sections.append(Section("Rules", [Table(titles, rows=rules)]))
    rejected = [test for test in report.tests or () if test.valid is not True]
    if rejected:
        tests = [
            (
                code(test.id),
                Quote(CATEGORIES.get(test.category, test.category)),
                _ANSWERS[test.valid] + (", left out" if test.left_out else ""),
                Quote(_why(test)),
            )
            for test in rejected
        ]
        title = "Tests that are not valid, or whose validity is unknown"
        titles = columns("test", "category", "valid", "why")
        sections.append(Section(title, [Table(titles, rows=tests)]))
    return Document(
        ("Quality of the specification of ", code(report.prompt)),
        "pass",
        (*(Quote(line.strip()) for line in summary(report)), judges),
        sections,
    )


def _why(test: TestQuality) -> str:
    """Return why a test is not valid."""
    return "a person said so" if test.by_person else excerpt(test.reason)


def excerpt(reason: str) -> str:
    """Return the reason of a judge on one line."""
    return clip(plain(reason), _LONGEST) or "no reason given"


def quality_json(report: QualityReport) -> str:
    """Return the report for `quality.json`."""
    document: dict[str, Any] = {
        "version": 1,
        "gatekeeper": __version__,
        "prompt": report.prompt,
        "judges": list(report.judges),
        "unusable_answers": report.unusable,
    }
    if report.rules is not None:
        document |= {
            "groundedness": asdict(report.groundedness),
            "validity": {name: asdict(report.validity(name)) for name in report.categories},
            "coverage": {**report.coverage, "uncovered": list(report.uncovered)},
            "rules": [asdict(rule) for rule in report.rules],
            "tests": [asdict(test) for test in report.tests or ()],
            "agreement": report.agreement and _agreement_document(report.agreement),
        }
    if report.proposals is not None:
        document["ground_truth"] = asdict(report.proposals)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _agreement_document(agreement: Agreement) -> dict[str, Any]:
    interval = agreement.interval
    return {
        "model": agreement.model,
        "measure": "embeddings" if agreement.embeddings else "word_sets",
        "embeddings": agreement.embeddings,
        "cosine": agreement.cosine,
        "compliance": {
            "both": agreement.count(True, True),
            "prompt_alone": agreement.count(True, False),
            "specification_alone": agreement.count(False, True),
            "neither": agreement.count(False, False),
            "unknown": len(agreement.tests) - agreement.known,
            "alike_interval": [interval.low, interval.high] if interval else None,
            "p_value": agreement.p_value,
        },
        "tests": [asdict(one) for one in agreement.tests],
    }


def _tallied(tally: Tally) -> str:
    unknown = f" ({tally.unknown} unknown)" if tally.unknown else ""
    return f"{tally.good} of {tally.total}{unknown}"


def _coverage(report: QualityReport) -> Iterator[str]:
    covered = report.coverage
    yield (
        f"Rules with a valid test: {covered['rule']} of {covered['rules']}; rules with a valid "
        f"test of their inverse: {covered['inverse']}; rules with both kinds of tests: "
        f"{covered['both']}"
    )
    if report.uncovered:
        yield f"Rules without any valid test: {', '.join(report.uncovered)}"


def _proposals(found: Proposals) -> str:
    total = len(found.proposed) + len(found.rejected) + len(found.failed)
    said = (
        f"{found.model} proposed expected outputs for {len(found.proposed)} of "
        f"{numbers.count(total, 'test')}; rejected by the judges: {len(found.rejected)}"
    )
    failed = f"; without an answer: {len(found.failed)}" if found.failed else ""
    accept = " Accept the outputs with --accept-ground-truth." if found.proposed else ""
    return f"{said}{failed}.{accept}"
