"""Describes how judges agree with people, with each other and with themselves, and the figures of a
run as the judge found them and corrected by labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gatekeeper import numbers
from gatekeeper.gate.calibration.decisions import PairAgreement
from gatekeeper.gate.calibration.judge_agreement import (
    Agreement,
    GradingChange,
    HumanAgreement,
)
from gatekeeper.gate.calibration.labels import AnnotatorAgreement
from gatekeeper.gate.calibration.run_correction import CorrectedFigure, RunCorrection
from gatekeeper.gate.objectives.judge_correction import changed_text
from gatekeeper.gate.plan.calibrations_in_force import calibration_fault, fault_text
from gatekeeper.reports.document import Block, Column, Paragraph, Quote, Table, Words
from gatekeeper.reports.formats.result_json import picked
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.interval import ConfidenceInterval

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
                **picked(pair, "judge pairs unanswered"),
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
    yield from _figures(_PAIRS, pairs)
    if agreement:
        judges = agreement.judges
        yield from _figures(_JUDGES, judges)
        faults = [(judge.judge, calibration_fault(judge.confusion)) for judge in judges]
        texts = ((judge, fault_text("", fault)) for judge, fault in faults if fault)
        yield from (Paragraph((_name(judge), text)) for judge, text in texts)
        yield from _figures(_POSITIONS, [j for j in judges if j.position])
        yield from _figures(_HELD_OUT, [j for j in judges if j.held_out])
        yield from _figures(_SCORES, [j for j in judges if j.scores])
        kappas: list[tuple[Words, Estimate | None]] = [
            ((_name(one), " and ", _name(other)), kappa)
            for (one, other), kappa in agreement.between.items()
        ]
        if kappas and agreement.together:
            kappas.append(("all together (Fleiss)", agreement.together))
        yield from _figures(_BETWEEN, kappas)
    for drift in drifts:
        yield Paragraph((_name(drift.check), drift_text(drift)))


def _figures(columns: Columns, found: Sequence[Any]) -> Iterator[Table]:
    """Yield a table with a row for each, the first column left and the others right; nothing for
    none."""
    if found:
        rows = [[write(each) for write in columns.values()] for each in found]
        titles = [Column(title, right=at > 0) for at, title in enumerate(columns)]
        yield Table(titles, rows)


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


def _name(judge: str) -> Quote:
    return Quote(judge, _LONGEST)


Columns = Mapping[str, Callable[[Any], Words]]
"""How each column is written, by its title."""

_JUDGES: Columns = {
    "judge": lambda j: _name(j.judge),
    "labels": lambda j: f"{j.confusion.labels:,}",
    "no verdict": lambda j: f"{j.unanswered:,}",
    "right passes": lambda j: f"{j.confusion.true_pass:,}",
    "wrong passes": lambda j: f"{j.confusion.false_pass:,}",
    "right failures": lambda j: f"{j.confusion.true_fail:,}",
    "wrong failures": lambda j: f"{j.confusion.false_fail:,}",
    "kappa": lambda j: kappa_text(j.confusion.kappa()),
    "sensitivity": lambda j: share_text(j.confusion.sensitivity()),
    "specificity": lambda j: share_text(j.confusion.specificity()),
    "favours length": lambda j: share_text(j.length),
}
_POSITIONS: Columns = {
    "position": lambda j: _name(j.judge),
    "pairs": lambda j: f"{j.position.pairs:,}",
    "contradicts itself when swapped": lambda j: share_text(j.position.contradictory),
    "same place both times": lambda j: f"{j.position.place_bound:,}",
    "of these the first": lambda j: share_text(j.position.for_first),
}
_HELD_OUT: Columns = {
    "judge's check, tested on half of the labels": lambda j: _name(j.judge),
    "labels": lambda j: f"{j.held_out.labels:,}",
    "as judged": lambda j: numbers.percent(j.held_out.judged),
    "corrected with the other half": lambda j: (
        f"{numbers.percent(j.held_out.corrected)} ({numbers.percent_interval(j.held_out.interval)})"
    ),
    "all labels say": lambda j: numbers.percent(j.held_out.human),
}
_SCORES: Columns = {
    "score": lambda j: _name(j.judge),
    "labels": lambda j: f"{j.scores.labels:,}",
    "area under the ROC curve": lambda j: kappa_text(j.scores.area),
    "best minimum": lambda j: numbers.score(j.scores.best.threshold),
    "precision there": lambda j: numbers.percent(j.scores.best.precision),
    "recall there": lambda j: numbers.percent(j.scores.best.recall),
}
_PAIRS: Columns = {
    "judge of pairs": lambda pair: _name(pair.judge),
    "pairs": lambda pair: f"{pair.pairs:,}",
    "no decision": lambda pair: f"{pair.unanswered:,}",
    "right": lambda pair: share_text(pair.right),
    "wrong": lambda pair: share_text(pair.wrong),
    "tie": lambda pair: share_text(pair.tied),
    "right verdicts if the right output is longer": lambda p: share_text(p.right_if_longer),
    "right verdicts if the right output is shorter": lambda p: share_text(p.right_if_shorter),
}
_BETWEEN: Columns = {
    "agreement between judges": lambda pair: pair[0],
    "kappa": lambda pair: kappa_text(pair[1]),
}


def _judge_document(found: HumanAgreement) -> dict[str, Any]:
    confusion, position, scores = found.confusion, found.position, found.scores
    best = "best_minimum=best.threshold precision=best.precision recall=best.recall"
    return {
        **picked(found, "judge labels=confusion.labels unanswered"),
        **picked(confusion, "true_pass false_pass true_fail false_fail"),
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
        "held_out": found.held_out
        and picked(found.held_out, "judged corrected interval human labels"),
        "scores": scores
        and {
            "labels": scores.labels,
            "roc_auc": estimate_document(scores.area),
            **picked(scores, best),
        },
    }


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
    yield from _corrected(found, Quote(found.check), "verdicts")
    if found.scores is not None:
        yield from _corrected(found.scores, ("score of ", Quote(found.check)), "scores")


def _corrected(found: RunCorrection, heading: Words, noun: str) -> Iterator[Block]:
    rows = [
        (name, f"{figure.units:,}", f"{figure.labelled:,}", *_texts(figure, noun, last))
        for name, figure, last in (
            ("base", found.base, False),
            ("head", found.head, False),
            ("head minus base", found.difference, True),
        )
        if figure is not None
    ]
    right = ("inputs", "labelled", "as judged", "corrected", "95 % interval")
    if rows:
        yield Table([Column(heading), *(Column(title, right=True) for title in right)], rows)
    change = found.difference.corrected if found.difference else None
    if change is not None:
        p = numbers.p_value(change.p_value_below(0.0))
        yield Paragraph(f"The test for a drop from base to head, by people's {noun}: p {p}.")


def _texts(figure: CorrectedFigure, noun: str, difference: bool) -> tuple[str, str, str]:
    """Return what the judge says, the corrected value and its interval."""
    share = numbers.points if difference else numbers.percent
    write = numbers.score if noun == "scores" else share
    found = figure.corrected
    if found is None:
        return write(figure.judged), _TOO_FEW, ""
    interval = found.interval()
    value, low, high = (
        end if difference else min(1.0, max(0.0, end))
        for end in (found.value, interval.low, interval.high)
    )
    between = numbers.points_interval if difference else numbers.percent_interval
    shown = between(ConfidenceInterval(low, high))
    if noun == "scores":
        shown = f"{numbers.score(low)} – {numbers.score(high)}"
    return write(figure.judged), write(value), shown


def _figure_document(figure: CorrectedFigure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    found = figure.corrected
    return {
        **picked(figure, "inputs=units labelled judged"),
        "corrected": found.value if found else None,
        "interval": [(ends := found.interval()).low, ends.high] if found else None,
    }
