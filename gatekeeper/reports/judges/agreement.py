"""Prints how judges agree with people, with each other and with themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gatekeeper import numbers
from gatekeeper.gate.calibration.decisions import PairAgreement
from gatekeeper.gate.calibration.judge_agreement import (
    Agreement,
    HeldOutRate,
    JudgeAgreement,
    ScoreAccuracy,
)
from gatekeeper.gate.calibration.judge_drift import JudgeDrift
from gatekeeper.gate.calibration.labels import AnnotatorAgreement
from gatekeeper.gate.objectives.drifted_judges import changed_text
from gatekeeper.reports.escape import clip, plain
from gatekeeper.reports.terminal.console import log_console
from gatekeeper.stats.estimate import Estimate

if TYPE_CHECKING:
    from rich.console import Console

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


def print_agreement(
    agreement: Agreement | None,
    pairs: Sequence[PairAgreement] = (),
    annotators: AnnotatorAgreement | None = None,
    console: Console | None = None,
    drifts: Sequence[JudgeDrift] = (),
) -> None:
    """Print one table for each thing that the labels show."""
    console = console or log_console()
    if annotators:
        print_line(console, annotator_text(annotators))
    if pairs:
        print_table(console, _PAIR_COLUMNS, [_pair_row(pair) for pair in pairs])
    if agreement:
        print_table(console, _COLUMNS, [_judge_row(judge) for judge in agreement.judges])
        positions = [judge for judge in agreement.judges if judge.position]
        if positions:
            print_table(console, _POSITION_COLUMNS, [_position_row(judge) for judge in positions])
        held = [(j.judge, j.held_out) for j in agreement.judges if j.held_out]
        print_table(console, _HELD_OUT_COLUMNS, [_held_out_row(*found) for found in held])
        graded = [(j.judge, j.scores) for j in agreement.judges if j.scores]
        print_table(console, _SCORE_COLUMNS, [_score_row(*found) for found in graded])
        if agreement.between:
            rows = [
                (f"{_name(one)} and {_name(other)}", kappa_text(kappa))
                for (one, other), kappa in agreement.between.items()
            ]
            if agreement.together:
                rows.append(("all together (Fleiss)", kappa_text(agreement.together)))
            print_table(console, ("agreement between judges", "kappa"), rows)
    for drift in drifts:
        print_line(console, drift_text(drift))


def drift_text(found: JudgeDrift) -> str:
    """Say whether the judge agrees less with people than when it was calibrated."""
    before = numbers.percent(found.agreed_before / found.labels if found.labels else None)
    now = numbers.percent(found.agrees_now / found.labels if found.labels else None)
    status = "drifted" if found.drifted else "steady"
    return (
        f"{_name(found.check)}: {status}; agreed with people on {before} of "
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


def _judge_row(found: JudgeAgreement) -> tuple[str, ...]:
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


def _position_row(found: JudgeAgreement) -> tuple[str, ...]:
    position = found.position
    if position is None:
        return (_name(found.judge), *[numbers.NONE] * 4)
    return (
        _name(found.judge),
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


def _held_out_row(judge: str, found: HeldOutRate) -> tuple[str, ...]:
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


def _score_row(judge: str, found: ScoreAccuracy) -> tuple[str, ...]:
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


def _pair_row(found: PairAgreement) -> tuple[str, ...]:
    return (
        _name(found.judge),
        f"{found.pairs:,}",
        f"{found.unanswered:,}",
        *(share_text(getattr(found, name)) for name in _PAIR_SHARES),
    )


def _judge_document(found: JudgeAgreement) -> dict[str, Any]:
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


def _name(judge: str) -> str:
    return clip(plain(judge), _LONGEST)


def print_line(console: Console, text: str) -> None:
    """Print one sentence, whatever is in it."""
    from rich.text import Text

    console.print(Text(text))


def print_table(console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, the first column left and the others right; nothing without a row."""
    if not rows:
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
