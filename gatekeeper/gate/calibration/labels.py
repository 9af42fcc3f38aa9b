"""Verdicts of people on outputs: the file of labels, and what several annotators agree on."""

from __future__ import annotations

import csv
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gatekeeper.checks.reading.output import as_text
from gatekeeper.contract.meaning.digests import digest
from gatekeeper.contract.values.definition import Fixture
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.errors import UsageError
from gatekeeper.gate.samples.outcomes import value_text, variables_text
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.judges.agreement import cohen_kappa, fleiss_kappa

# Reads the rows of a CSV or JSON Lines file of labels or decisions.


MOST_BYTES = 100_000_000
_LONGEST_FIELD = 20_000_000


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One row: its place for messages, and its values as text. Empty values are left out."""

    place: str
    values: Mapping[str, str]

    def required(self, name: str) -> str:
        """Return the value of the column. Raises UsageError if the row has none."""
        if name not in self.values:
            raise UsageError(f"{self.place}: no `{name}`; {ADVICE}")
        return self.values[name]


ADVICE = "docs/judges.md describes the columns"


def read_rows(path: Path) -> list[LabelRow]:
    """Return the rows of the file, by its suffix: `.csv`, else JSON Lines.

    Raises UsageError that names the file, the line and the mistake.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path}: is larger than {MOST_BYTES:,} bytes; split the file")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from None
    rows = list(_csv_rows(path, text) if path.suffix.lower() == ".csv" else _json_rows(path, text))
    if not rows:
        raise UsageError(f"{path}: the file has no rows; {ADVICE}")
    return rows


def _csv_rows(path: Path, text: str) -> Iterator[LabelRow]:
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
        for row in reader:
            place = f"{path}:{reader.line_num}"
            if None in row:
                raise UsageError(
                    f"{place}: this line has more values than the first line has column names"
                )
            yield LabelRow(place, {k: v for k, v in row.items() if v not in (None, "")})
    except csv.Error as error:
        raise UsageError(f"{path}: not CSV ({error})") from None
    finally:
        csv.field_size_limit(before)


def _json_rows(path: Path, text: str) -> Iterator[LabelRow]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{place}: not JSON ({error})") from None
        if not isinstance(row, dict):
            raise UsageError(f"{place}: not a JSON object")
        yield LabelRow(place, {k: as_text(v) for k, v in row.items() if v is not None})


def columns(rows: Sequence[LabelRow]) -> set[str]:
    """Return the names that any row has a value for."""
    return {name for row in rows for name in row.values}


WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("pass", "true", "yes", "good", "1"), True),
    **dict.fromkeys(("fail", "false", "no", "bad", "0"), False),
}


@dataclass(frozen=True, slots=True)
class Label:
    """One person's verdict on an output.

    `check` names the check that the verdict is about; None: the only judge of the contract.
    `score` is how good the output is, from 0 to 1, if the person says so.
    """

    fixture: str
    output: str
    verdict: bool
    annotator: str | None = None
    check: str | None = None
    score: float | None = None


LabelKey = tuple[str, str, str | None]
"""The fixture, the output and the check."""


@dataclass(frozen=True, slots=True)
class SettledLabel:
    """What most annotators say of an output. `score` is the mean of their scores."""

    fixture: str
    output: str
    verdict: bool
    check: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """How far the annotators agree on the outputs that all of them labelled.

    `kappa` is Cohen's for two annotators and Fleiss' for more; None without such outputs, or if
    all have one verdict. `tied` outputs have as many passes as failures and are left out.
    """

    annotators: tuple[str, ...]
    common: int
    kappa: Estimate | None
    tied: int


def read_labels(path: Path) -> tuple[Label, ...]:
    """Read the labels. Raises UsageError that names the file, the line and the mistake."""
    return labels_from(read_rows(path))


def labels_from(rows: Iterable[LabelRow]) -> tuple[Label, ...]:
    """Return the labels in the rows. Raises UsageError that names the line and the mistake."""
    return tuple(_label(row) for row in rows)


def label_document(label: Label) -> dict[str, Any]:
    """Return the label as a line of a JSON Lines file, without what is not known."""
    found = {
        "fixture": label.fixture,
        "output": label.output,
        "verdict": "pass" if label.verdict else "fail",
        "annotator": label.annotator,
        "check": label.check,
        "score": label.score,
    }
    return {name: value for name, value in found.items() if value is not None}


def settle_labels(labels: Iterable[Label]) -> tuple[SettledLabel, ...]:
    """Return the majority's verdict on each output, in the order of the first label. Of several
    labels of one annotator the last counts."""
    settled = []
    for (fixture, output, check), given in _by_output(labels).items():
        passes = sum(label.verdict for label in given)
        if 2 * passes != len(given):
            verdict = 2 * passes > len(given)
            scores = [label.score for label in given if label.score is not None]
            score = math.fsum(scores) / len(scores) if scores else None
            settled.append(SettledLabel(fixture, output, verdict, check, score))
    return tuple(settled)


def annotator_agreement(labels: Sequence[Label]) -> AnnotatorAgreement:
    """Return how far the annotators agree."""
    grouped = _by_output(labels)
    names = tuple(sorted({label.annotator or "" for label in labels}))
    tied = sum(
        2 * sum(label.verdict for label in given) == len(given) for given in grouped.values()
    )
    common = [given for given in grouped.values() if len(given) == len(names)]
    kappa = None
    if len(names) == 2:
        first, second = ([_verdict_of(name, given) for given in common] for name in names)
        kappa = cohen_kappa(first, second)
    elif len(names) > 2:
        counts = [Counter(label.verdict for label in given) for given in common]
        kappa = fleiss_kappa([[count[True], count[False]] for count in counts])
    return AnnotatorAgreement(names, len(common) if len(names) > 1 else 0, kappa, tied)


def _by_output(labels: Iterable[Label]) -> dict[LabelKey, list[Label]]:
    last: dict[tuple[LabelKey, str | None], Label] = {}
    for label in labels:
        last[(label.fixture, label.output, label.check), label.annotator] = label
    grouped: dict[LabelKey, list[Label]] = defaultdict(list)
    for (key, _), label in last.items():
        grouped[key].append(label)
    return grouped


def require_last_output(contract: str, outcomes: Iterable[Outcome], check: str | None) -> None:
    """Raise UsageError for a check of a step of a chain: labels are about the last output."""
    checked = (result for outcome in outcomes for result in outcome.check_results)
    step = next((found.step for found in checked if found.step and found.check == check), None)
    if step is not None:
        raise UsageError(
            f"--check {check}: this check evaluates the step {step} of "
            f"{contract}, but a label describes the output of the last step; make a contract "
            f"for the prompt of the step {step}, and label the outputs of that contract"
        )


def require_texts(contract: str, outcomes: Iterable[Outcome]) -> None:
    """Raise UsageError for answers that call tools: a label holds only a text."""
    answers = (o.sample.completion for o in outcomes)
    if any(answer is not None and answer.tool_calls for answer in answers):
        raise UsageError(
            f"answers of {contract} call tools, but a label holds only the text of an answer, so "
            "people cannot label these answers; check the calls with `tool_call`"
        )


def _verdict_of(annotator: str, given: Sequence[Label]) -> bool:
    return next(label.verdict for label in given if (label.annotator or "") == annotator)


def _label(row: LabelRow) -> Label:
    return Label(
        fixture=row.required("fixture"),
        # An empty output is an output.
        output=row.values.get("output", ""),
        verdict=read_verdict(row, "verdict"),
        annotator=row.values.get("annotator"),
        check=row.values.get("check"),
        score=_read_score(row),
    )


def _read_score(row: LabelRow) -> float | None:
    """Return the person's score. Raises UsageError for anything but a number from 0 to 1."""
    written = row.values.get("score")
    if written is None:
        return None
    try:
        score = float(written)
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1:
        raise UsageError(f"{row.place}: score: must be a number from 0 to 1, got {written!r}")
    return score


def read_verdict(row: LabelRow, name: str) -> bool:
    """Return a verdict of the row. Raises UsageError for another word."""
    written = row.required(name)
    verdict = WORDS.get(written.strip().lower())
    if verdict is None:
        raise UsageError(f"{row.place}: {name}: must be one of {', '.join(WORDS)}, got {written!r}")
    return verdict


# Chooses the outputs of a run that a person still has to label, in a random order.


@dataclass(frozen=True, slots=True)
class LabelTask:
    """One output to label, with the input that it answers. It does not say from which arm it is."""

    fixture: str
    output: str
    input: str | None = None
    expected: str | None = None


def label_tasks(
    contract: str,
    outcomes: Sequence[Outcome],
    fixtures: Mapping[str, Fixture],
    labelled: Sequence[Label] = (),
    check: str | None = None,
) -> list[LabelTask]:
    """Return each different output of a fixture once, without those that are labelled.

    The order of the fixtures is random, and so is that of the outputs of one fixture, which follow
    each other: whoever stops in between has labelled a random part of the fixtures, on both arms.
    The order is the same for everybody who labels the run, so that two people who stop early have
    labelled the same outputs. An output that was too long to be kept is left out. Raises UsageError
    if the run has no output of the contract, or if an answer calls tools.
    """
    mine = [o for o in outcomes if o.sample.trial.contract == contract]
    require_last_output(contract, mine, check)
    require_texts(contract, mine)
    known = {(label.fixture, label.output) for label in labelled if label.check == check}
    by_fixture: dict[str, list[str]] = defaultdict(list)
    for outcome in mine:
        sample = outcome.sample
        if sample.completion is None:
            continue
        kept = by_fixture[sample.trial.fixture]
        if sample.completion.cut is None and sample.output not in kept:
            kept.append(sample.output)
    if not by_fixture:
        raise UsageError(f"the run has no output of the contract {contract}")
    tasks: list[LabelTask] = []
    source = random.Random(digest(by_fixture))  # noqa: S311 - nobody gains by knowing the order
    names = list(by_fixture)
    source.shuffle(names)
    for name in names:
        fixture, outputs = fixtures.get(name), by_fixture[name]
        source.shuffle(outputs)
        tasks += [
            LabelTask(
                name,
                output,
                variables_text(fixture) if fixture else None,
                value_text(fixture.expected) if fixture else None,
            )
            for output in outputs
            if (name, output) not in known
        ]
    return tasks
