"""Renders `quality.md`."""

from __future__ import annotations

from collections.abc import Iterator

from gatekeeper.author.quality.result import QualityReport
from gatekeeper.author.quality.words import CATEGORIES, excerpt, summary, why
from gatekeeper.reports.escape import code, code_cell, prose

_ANSWERS = {True: "yes", False: "no", None: "unknown"}


def render_quality(report: QualityReport) -> str:
    """Return the report as Markdown."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: QualityReport) -> Iterator[str]:
    yield f"# Quality of the specification of {code(report.prompt)}"
    yield ""
    # A line that belongs to the one before it begins with spaces.
    yield from (f"{' ' * (2 * line.startswith(' '))}- {prose(line)}" for line in summary(report))
    yield f"- Judges: {', '.join(map(code, report.judges))}"
    if report.rules is not None:
        yield from ("", "## Rules", "", "| rule | prompt lines | follows from these lines | why |")
        yield "| --- | --- | --- | --- |"
        for rule in report.rules:
            lines = ", ".join(map(str, rule.lines)) or "none"
            found = _ANSWERS[rule.grounded] + (", left out" if rule.left_out else "")
            yield f"| {prose(rule.text)} | {lines} | {found} | {prose(excerpt(rule.reason))} |"
    rejected = [test for test in report.tests or () if test.valid is not True]
    if rejected:
        yield from ("", "## Tests that are not valid, or whose validity is unknown", "")
        yield from ("| test | category | valid | why |", "| --- | --- | --- | --- |")
        for test in rejected:
            found = _ANSWERS[test.valid] + (", left out" if test.left_out else "")
            of = prose(CATEGORIES.get(test.category, test.category))
            reason = prose(why(test.reason, test.by_person))
            yield f"| {code_cell(test.id)} | {of} | {found} | {reason} |"
