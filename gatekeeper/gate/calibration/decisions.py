"""Recorded decisions of judges: on single outputs, or on pairs in both orders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gatekeeper.errors import UsageError
from gatekeeper.gate.calibration.judge_agreement import Agreement, Verdict, compare_judges
from gatekeeper.gate.calibration.labels import (
    AnnotatorAgreement,
    Label,
    LabelRow,
    annotator_agreement,
    read_verdict,
    settle_labels,
)
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.intervals.intervals import estimated_rate
from gatekeeper.stats.judges.judge_bias import Choice, position_bias

_CHOICES: Mapping[str, Choice] = {"A>B": "first", "B>A": "second", "A=B": "tie", "B=A": "tie"}
_SWAPPED: Mapping[Choice, Choice] = {"first": "second", "second": "first", "tie": "tie"}
_SCORES: Mapping[Choice, float] = {"first": 1.0, "tie": 0.5, "second": 0.0}


@dataclass(frozen=True, slots=True)
class PairDecision:
    """One judge's decisions on one pair. `swapped` speaks of places, as `decision` does: with the
    order swapped, `first` is the output that is second in `right`. None: no decision."""

    judge: str
    pair: str
    right: Choice
    decision: Choice | None
    swapped: Choice | None
    lengths: tuple[float, float] | None = None

    @property
    def conclusion(self) -> Choice | None:
        """Return the output that both orders prefer; a tie if they contradict each other; None if a
        decision is missing."""
        if self.decision is None or self.swapped is None:
            return None
        return self.decision if self.decision == _SWAPPED[self.swapped] else "tie"


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How one judge decides pairs whose answer is known.

    Shares are of the pairs with a decision in both orders. `right_if_longer` is the share of right
    decisions, among the pairs with a preference, if the right output is the longer one,
    `right_if_shorter` if it is the shorter one: a judge that favours length is right more often in
    the first.
    """

    judge: str
    pairs: int
    unanswered: int
    right: Estimate | None
    wrong: Estimate | None
    tied: Estimate | None
    right_if_longer: Estimate | None
    right_if_shorter: Estimate | None


def read_decisions(rows: Sequence[LabelRow]) -> list[PairDecision]:
    """Return the decisions on pairs. Raises UsageError that names the line and the mistake."""
    return [
        PairDecision(
            judge=row.values.get("judge", "judge"),
            pair=row.required("pair_id"),
            right=_choice(row, "label", row.required("label")),
            decision=_optional(row, "decision"),
            swapped=_optional(row, "decision_swapped"),
            lengths=_lengths(row),
        )
        for row in rows
    ]


def compare_pair_judges(
    decisions: Sequence[PairDecision],
) -> tuple[tuple[PairAgreement, ...], Agreement]:
    """Return how each judge decides the pairs, and what its conclusion says of output A: whether A
    is the better one. A pair without a preference has no verdict there."""
    by_judge: dict[str, list[PairDecision]] = defaultdict(list)
    for decision in decisions:
        by_judge[decision.judge].append(decision)
    verdicts, positions = {}, {}
    for name, mine in by_judge.items():
        verdicts[name] = [
            Verdict(
                d.pair,
                d.right == "first",
                _passes_first(d.conclusion),
                score=_SCORES[d.conclusion] if d.conclusion else None,
            )
            for d in mine
        ]
        both = [(d.decision, d.swapped) for d in mine]
        positions[name] = position_bias([(a, b) for a, b in both if a and b])
    agreement = compare_judges(verdicts, positions)
    return tuple(_pair_agreement(name, mine) for name, mine in by_judge.items()), agreement


def compare_recorded_judges(
    rows: Sequence[LabelRow],
) -> tuple[Agreement, AnnotatorAgreement | None]:
    """Return the agreement of recorded verdicts, `judge_verdict`, with those of people, `verdict`,
    and that of the people if there are several.

    Several people's labels of an output count once, by their majority. An output on which they are
    tied is left out. Raises UsageError.
    """
    labels = [
        Label(_item(row), "", read_verdict(row, "verdict"), row.values.get("annotator"))
        for row in rows
    ]
    several = len({label.annotator for label in labels}) > 1
    settled = {label.fixture: label.verdict for label in settle_labels(labels)}
    found: dict[str, list[Verdict]] = defaultdict(list)
    first: dict[tuple[str, str], str | None] = {}
    for row, label in zip(rows, labels, strict=True):
        item, name = label.fixture, row.values.get("judge", "judge")
        judge = read_verdict(row, "judge_verdict") if "judge_verdict" in row.values else None
        # The judge's verdict is there once for each person.
        is_again = first.setdefault((name, item), label.annotator) != label.annotator
        if several and (is_again or item not in settled):
            continue
        length = len(row.values["output"]) if "output" in row.values else None
        verdict = settled[item] if several else label.verdict
        found[name].append(Verdict(item, verdict, judge, length))
    return compare_judges(found), annotator_agreement(labels) if several else None


def _item(row: LabelRow) -> str:
    return row.values.get("id") or f"{row.required('fixture')}\n{row.values.get('output', '')}"


def _pair_agreement(judge: str, mine: Sequence[PairDecision]) -> PairAgreement:
    answered = [d for d in mine if d.conclusion is not None]
    right = sum(d.conclusion == d.right for d in answered)
    tied = sum(d.conclusion == "tie" for d in answered)
    n = len(answered)
    preferred = [d for d in answered if d.conclusion != "tie" and d.lengths]
    longer = [d for d in preferred if _right_is_longer(d) is True]
    shorter = [d for d in preferred if _right_is_longer(d) is False]
    return PairAgreement(
        judge,
        n,
        len(mine) - n,
        estimated_rate(right, n),
        estimated_rate(n - right - tied, n),
        estimated_rate(tied, n),
        estimated_rate(sum(d.conclusion == d.right for d in longer), len(longer)),
        estimated_rate(sum(d.conclusion == d.right for d in shorter), len(shorter)),
    )


def _right_is_longer(decision: PairDecision) -> bool | None:
    first, second = decision.lengths or (0.0, 0.0)
    return None if first == second else (first > second) == (decision.right == "first")


def _passes_first(conclusion: Choice | None) -> bool | None:
    return None if conclusion in (None, "tie") else conclusion == "first"


def _choice(row: LabelRow, name: str, written: str) -> Choice:
    choice = _CHOICES.get(written.replace(" ", ""))
    if choice is None or (name == "label" and choice == "tie"):
        words = "A>B or B>A" if name == "label" else "A>B, B>A or A=B"
        raise UsageError(f"{row.place}: {name}: must be {words}, got {written!r}")
    return choice


def _optional(row: LabelRow, name: str) -> Choice | None:
    written = row.values.get(name)
    return None if written is None else _choice(row, name, written)


def _lengths(row: LabelRow) -> tuple[float, float] | None:
    if not {"chars_a", "chars_b"} <= row.values.keys():
        return None
    try:
        return float(row.values["chars_a"]), float(row.values["chars_b"])
    except ValueError:
        raise UsageError(f"{row.place}: chars_a, chars_b: must be numbers") from None
