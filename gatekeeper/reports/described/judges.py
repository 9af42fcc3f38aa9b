"""Describes how judges agree with people, with each other and with themselves, and the figures of a
run as the judge found them and corrected by labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gatekeeper import numbers
from gatekeeper.gate.calibration.decisions import PairAgreement
from gatekeeper.gate.calibration.judge_agreement import (
    Agreement,
    GradingChange,
    HeldOutRate,
    HumanAgreement,
    ScoreAccuracy,
)
from gatekeeper.gate.calibration.labels import AnnotatorAgreement
from gatekeeper.gate.calibration.run_correction import CorrectedFigure, RunCorrection
from gatekeeper.gate.objectives.judge_correction import changed_text
from gatekeeper.reports.document import Block, Column, Paragraph, Quote, Table, Words
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.judges.judge_bias import PositionBias

SCHEMA = 1
_LONGEST = 60


def agreement_document(
    agreement: Agreement | None,
    pairs: Sequence[PairAgreement] = (),
    annotators: AnnotatorAgreement | None = None,
) -> dict[str, Any]:
    """Return the figures as JSON data; rates as shares."""
    return {
        "schema": SCHEMA,
        "judges": [_judge_document(judge) for judge in agreement.judges] if agreement else [],
        "pairs": [
            {
                "judge": pair.judge,
                "pairs": pair.pairs,
                "unanswered": pair.unanswered,
                **{name: estimate_document(getattr(pair, name)) for name in _PAIR_SHARES},
            }
            for pair in pairs
        ],
        "between_judges": [
            {"judges": list(names), "kappa": estimate_document(kappa)}
            for names, kappa in (agreement.between.items() if agreement else ())
        ],
        "all_judges": estimate_document(agreement.together) if agreement else None,
        "annotators": annotators
        and {
            "names": list(annotators.annotators),
            "outputs": annotators.common,
            "kappa": estimate_document(annotators.kappa),
            "tied": annotators.tied,
        },
    }


_PAIR_SHARES = ("right", "wrong", "tied", "right_if_longer", "right_if_shorter")


def estimate_document(estimate: Estimate | None) -> dict[str, Any] | None:
    """Return an estimate as JSON data."""
    if estimate is None:
        return None
    interval = estimate.interval
    return {"value": estimate.value, "interval": interval and [interval.low, interval.high]}


def describe_agreement(
    agreement: Agreement | None,
    pairs: Sequence[PairAgreement] = (),
    annotators: AnnotatorAgreement | None = None,
    drifts: Sequence[GradingChange] = (),
) -> Iterator[Block]:
    """Describe each thing that the labels show in a table."""
    if annotators:
        yield Paragraph(annotator_text(annotators))
    yield from _figures(_PAIR_COLUMNS, [_pair_row(pair) for pair in pairs])
    if agreement:
        judges = agreement.judges
        yield from _figures(_COLUMNS, [_judge_row(judge) for judge in judges])
        positions = [_position_row(j.judge, j.position) for j in judges if j.position]
        yield from _figures(_POSITION_COLUMNS, positions)
        held = [_held_out_row(j.judge, j.held_out) for j in judges if j.held_out]
        yield from _figures(_HELD_OUT_COLUMNS, held)
        graded = [_score_row(j.judge, j.scores) for j in judges if j.scores]
        yield from _figures(_SCORE_COLUMNS, graded)
        rows: list[Sequence[Words]] = [
            ((_name(one), " and ", _name(other)), kappa_text(kappa))
            for (one, other), kappa in agreement.between.items()
        ]
        if rows and agreement.together:
            rows.append(("all together (Fleiss)", kappa_text(agreement.together)))
        yield from _figures(("agreement between judges", "kappa"), rows)
    for drift in drifts:
        yield Paragraph((_name(drift.check), drift_text(drift)))


def _figures(titles: Sequence[Words], rows: Sequence[Sequence[Words]]) -> Iterator[Table]:
    """Yield a table, the first column left and the others right; nothing without a row."""
    if rows:
        first, *others = titles
        yield Table([Column(first), *(Column(title, right=True) for title in others)], rows)


def drift_text(found: GradingChange) -> str:
    """Say, behind the name of its check, whether the judge agrees less with people than when it was
    calibrated."""
    before = numbers.percent(found.agreed_before / found.labels if found.labels else None)
    now = numbers.percent(found.agrees_now / found.labels if found.labels else None)
    status = "drifted" if found.drifted else "steady"
    return (
        f": {status}; agreed with people on {before} of "
        f"{numbers.count(found.labels, 'output')} at calibration, and now on {now} "
        f"(agreement lost on {found.lost} and gained on {found.gained} of these outputs; "
        f"{changed_text(found.lost + found.gained, found.to_pass)}; "
        f"p {numbers.p_value(found.p_value)})"
    )


def annotator_text(found: AnnotatorAgreement) -> str:
    """Say how far the annotators agree."""
    if len(found.annotators) == 1:
        return "There is only one annotator, so agreement between people cannot be measured."
    kind = "Cohen" if len(found.annotators) == 2 else "Fleiss"
    text = (
        f"{len(found.annotators)} annotators, {numbers.count(found.common, 'output')} labelled by "
        f"all: kappa ({kind}) {kappa_text(found.kappa)}"
    )
    return f"{text}; {numbers.count(found.tied, 'tie')} left out" if found.tied else text


def kappa_text(estimate: Estimate | None) -> str:
    """Write a kappa with its interval: `0.61 (0.42 – 0.80)`."""
    if estimate is None:
        return numbers.NONE
    text = f"{estimate.value:.2f}"
    interval = estimate.interval
    return text if interval is None else f"{text} ({interval.low:.2f} – {interval.high:.2f})"


def share_text(estimate: Estimate | None) -> str:
    """Write a share with its interval: `90 % (82 % – 95 %)`."""
    if estimate is None:
        return numbers.NONE
    text = numbers.percent(estimate.value)
    return f"{text} ({numbers.percent_interval(estimate.interval)})" if estimate.interval else text


_COLUMNS = (
    "judge",
    "labels",
    "no verdict",
    "right passes",
    "wrong passes",
    "right failures",
    "wrong failures",
    "kappa",
    "sensitivity",
    "specificity",
    "favours length",
)


def _judge_row(found: HumanAgreement) -> tuple[Words, ...]:
    confusion = found.confusion
    return (
        _name(found.judge),
        f"{confusion.labels:,}",
        f"{found.unanswered:,}",
        f"{confusion.true_pass:,}",
        f"{confusion.false_pass:,}",
        f"{confusion.true_fail:,}",
        f"{confusion.false_fail:,}",
        kappa_text(confusion.kappa()),
        share_text(confusion.sensitivity()),
        share_text(confusion.specificity()),
        share_text(found.length),
    )


_POSITION_COLUMNS = (
    "position",
    "pairs",
    "contradicts itself when swapped",
    "same place both times",
    "of these the first",
)


def _position_row(judge: str, position: PositionBias) -> tuple[Words, ...]:
    return (
        _name(judge),
        f"{position.pairs:,}",
        share_text(position.contradictory),
        f"{position.place_bound:,}",
        share_text(position.for_first),
    )


_HELD_OUT_COLUMNS = (
    "judge's check, tested on half of the labels",
    "labels",
    "as judged",
    "corrected with the other half",
    "all labels say",
)


def _held_out_row(judge: str, found: HeldOutRate) -> tuple[Words, ...]:
    return (
        _name(judge),
        f"{found.labels:,}",
        numbers.percent(found.judged),
        f"{numbers.percent(found.corrected)} ({numbers.percent_interval(found.interval)})",
        numbers.percent(found.human),
    )


_SCORE_COLUMNS = (
    "score",
    "labels",
    "area under the ROC curve",
    "best minimum",
    "precision there",
    "recall there",
)


def _score_row(judge: str, found: ScoreAccuracy) -> tuple[Words, ...]:
    return (
        _name(judge),
        f"{found.labels:,}",
        kappa_text(found.area),
        numbers.score(found.best.threshold),
        numbers.percent(found.best.precision),
        numbers.percent(found.best.recall),
    )


_PAIR_COLUMNS = (
    "judge of pairs",
    "pairs",
    "no decision",
    "right",
    "wrong",
    "tie",
    "right verdicts if the right output is longer",
    "right verdicts if the right output is shorter",
)


def _pair_row(found: PairAgreement) -> tuple[Words, ...]:
    return (
        _name(found.judge),
        f"{found.pairs:,}",
        f"{found.unanswered:,}",
        *(share_text(getattr(found, name)) for name in _PAIR_SHARES),
    )


def _judge_document(found: HumanAgreement) -> dict[str, Any]:
    confusion, position, held = found.confusion, found.position, found.held_out
    return {
        "judge": found.judge,
        "labels": confusion.labels,
        "unanswered": found.unanswered,
        "true_pass": confusion.true_pass,
        "false_pass": confusion.false_pass,
        "true_fail": confusion.true_fail,
        "false_fail": confusion.false_fail,
        "kappa": estimate_document(confusion.kappa()),
        "sensitivity": estimate_document(confusion.sensitivity()),
        "specificity": estimate_document(confusion.specificity()),
        "length_bias": estimate_document(found.length),
        "position": position
        and {
            "pairs": position.pairs,
            "contradictory": estimate_document(position.contradictory),
            "place_bound": position.place_bound,
            "for_first": estimate_document(position.for_first),
        },
        "held_out": held
        and {
            "judged": held.judged,
            "corrected": held.corrected,
            "interval": [held.interval.low, held.interval.high],
            "human": held.human,
            "labels": held.labels,
        },
        "scores": found.scores
        and {
            "labels": found.scores.labels,
            "roc_auc": estimate_document(found.scores.area),
            "best_minimum": found.scores.best.threshold,
            "precision": found.scores.best.precision,
            "recall": found.scores.best.recall,
        },
    }


def _name(judge: str) -> Quote:
    return Quote(judge, _LONGEST)


_TOO_FEW = "label at least 2 inputs"


def correction_document(found: RunCorrection) -> dict[str, Any]:
    """Return the figures as JSON data; rates as shares, `scores` those of the mean scores."""
    document = _figures_document(found)
    scores = found.scores and _figures_document(found.scores)
    return {"check": found.check, **document, "scores": scores}


def _figures_document(found: RunCorrection) -> dict[str, Any]:
    named = {"base": found.base, "head": found.head, "difference": found.difference}
    change = found.difference.corrected if found.difference else None
    return {
        **{name: _figure_document(figure) for name, figure in named.items()},
        "p_value_worse": change.p_value_below(0.0) if change else None,
    }


def describe_correction(found: RunCorrection) -> Iterator[Block]:
    """Describe each arm and the difference in a row, and what the difference means; then the same
    of the scores, if there are some."""
    yield from _corrected(found, Quote(found.check), "verdicts", _rate_texts)
    if found.scores is not None:
        yield from _corrected(
            found.scores, ("score of ", Quote(found.check)), "scores", _score_texts
        )


Write = Callable[[CorrectedFigure, bool], tuple[str, str, str]]
"""Returns what the judge says, the corrected value and its interval; the flag says that it is a
difference."""


def _corrected(found: RunCorrection, heading: Words, noun: str, write: Write) -> Iterator[Block]:
    rows = [
        (name, f"{figure.units:,}", f"{figure.labelled:,}", *write(figure, last))
        for name, figure, last in (
            ("base", found.base, False),
            ("head", found.head, False),
            ("head minus base", found.difference, True),
        )
        if figure is not None
    ]
    titles = (heading, "inputs", "labelled", "as judged", "corrected", "95 % interval")
    yield from _figures(titles, rows)
    change = found.difference.corrected if found.difference else None
    if change is not None:
        p = numbers.p_value(change.p_value_below(0.0))
        yield Paragraph(f"The test for a drop from base to head, by people's {noun}: p {p}.")


def _score_texts(figure: CorrectedFigure, difference: bool) -> tuple[str, str, str]:
    found = figure.corrected
    if found is None:
        return numbers.score(figure.judged), _TOO_FEW, ""
    interval = found.interval()
    value, low, high = (
        end if difference else min(1.0, max(0.0, end))
        for end in (found.value, interval.low, interval.high)
    )
    between = f"{numbers.score(low)} – {numbers.score(high)}"
    return numbers.score(figure.judged), numbers.score(value), between


def _rate_texts(figure: CorrectedFigure, difference: bool) -> tuple[str, str, str]:
    write = numbers.points if difference else numbers.percent
    found = figure.corrected
    if found is None:
        return write(figure.judged), _TOO_FEW, ""
    interval = found.interval()
    if not difference:
        ends = (min(1.0, max(0.0, end)) for end in (interval.low, interval.high))
        interval = ConfidenceInterval(*ends)
    between = (
        numbers.points_interval(interval) if difference else numbers.percent_interval(interval)
    )
    value = found.value if difference else min(1.0, max(0.0, found.value))
    return write(figure.judged), write(value), between


def _figure_document(figure: CorrectedFigure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    found = figure.corrected
    interval = found.interval() if found else None
    return {
        "inputs": figure.units,
        "labelled": figure.labelled,
        "judged": figure.judged,
        "corrected": found.value if found else None,
        "interval": [interval.low, interval.high] if interval else None,
    }
