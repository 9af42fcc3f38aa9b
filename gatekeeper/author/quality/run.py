"""What a user chooses of the steps that follow a generation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gatekeeper.author.generation.ask import Asker
from gatekeeper.author.generation.run import Generated, GenerationPlan
from gatekeeper.author.quality.agreement import measure_agreement
from gatekeeper.author.quality.baseline import with_baseline_tests
from gatekeeper.author.quality.ground_truth import with_proposed_answers
from gatekeeper.author.quality.judges import (
    Panel,
    RuleQuality,
    TestQuality,
    judge_groundedness,
    judge_validity,
)
from gatekeeper.author.quality.report import (
    QualityReport,
    describe_quality,
    quality_json,
)
from gatekeeper.author.specification.merge import content_digest
from gatekeeper.author.specification.spec_file import TESTS_ENTRY
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
