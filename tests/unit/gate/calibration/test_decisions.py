"""Recorded decisions on pairs and outputs."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from gatekeeper.errors import UsageError
from gatekeeper.gate.calibration.decisions import (
    compare_pair_judges,
    compare_recorded_judges,
    read_decisions,
)
from gatekeeper.gate.calibration.labels import LabelRow, read_rows


def row(**values: str) -> LabelRow:
    return LabelRow("file:1", values)


def pair(number: int, label: str, decision: str, swapped: str, judge: str = "j") -> LabelRow:
    values = {"judge": judge, "pair_id": str(number), "label": label}
    values |= {"decision": decision} if decision else {}
    values |= {"decision_swapped": swapped} if swapped else {}
    return row(**values, chars_a="10", chars_b="20")


def test_a_pair_counts_only_if_both_orders_agree():
    rows = [
        pair(1, "A>B", "A>B", "B>A"),
        pair(2, "A>B", "B>A", "A>B"),
        pair(3, "B>A", "A>B", "A>B"),
        pair(4, "B>A", "A=B", "A=B"),
        pair(5, "B>A", "A=B", "B>A"),
        pair(6, "B>A", "", "B>A"),
    ]
    (found,), agreement = compare_pair_judges(read_decisions(rows))
    assert (found.pairs, found.unanswered) == (5, 1)
    assert found.right is not None
    assert found.wrong is not None
    assert found.tied is not None
    assert (found.right.value, found.wrong.value, found.tied.value) == (1 / 5, 1 / 5, 3 / 5)
    position = agreement.judges[0].position
    assert position is not None
    assert position.contradictory is not None
    assert position.contradictory.value == 2 / 5
    assert position.place_bound == 1


def test_a_judge_that_favours_length_is_right_more_often_if_the_longer_is_right():
    rows = [pair(i, "B>A", "B>A", "A>B") for i in range(10)]
    rows += [pair(i, "A>B", "B>A", "A>B") for i in range(10, 20)]
    (found,), _ = compare_pair_judges(read_decisions(rows))
    assert found.right_if_longer is not None
    assert found.right_if_shorter is not None
    assert (found.right_if_longer.value, found.right_if_shorter.value) == (1, 0)


def test_recorded_verdicts_are_compared_with_people_and_each_other():
    rows = [
        row(fixture=str(i), output="x" * i, verdict="pass" if i % 2 else "fail", **given)
        for i in range(1, 9)
        for given in (
            {"judge": "a", "judge_verdict": "pass" if i % 2 else "fail"},
            {"judge": "b", "judge_verdict": "pass"},
            {"judge": "c", "judge_verdict": "pass" if i > 4 else "fail"}
            if i > 1
            else {"judge": "c"},
        )
    ]
    found, people = compare_recorded_judges(rows)
    assert people is None
    exact, lenient, by_length = found.judges
    assert (exact.confusion.true_pass, exact.confusion.true_fail) == (4, 4)
    assert lenient.confusion.false_pass == 4
    assert by_length.unanswered == 1
    assert by_length.length is not None
    assert by_length.length.value == 1
    assert set(found.between) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert found.together is not None


def labelled(number, judge="a", says="pass", **by):
    return [
        row(fixture=str(number), annotator=name, verdict=verdict, judge=judge, judge_verdict=says)
        for name, verdict in by.items()
    ]


def test_several_people_count_once_by_their_majority():
    rows = [r for i in range(50) for r in labelled(i, ada="pass", bob="pass", cyd="fail")]
    found, people = compare_recorded_judges(rows)
    assert found.judges[0].confusion.true_pass == 50
    assert found.judges[0].confusion.false_pass == 0
    assert (people.annotators, people.common) == (("ada", "bob", "cyd"), 50)
    assert people.kappa is not None


def test_an_output_on_which_people_are_tied_is_left_out():
    rows = [*labelled(1, ada="pass", bob="fail"), *labelled(2, ada="fail", bob="fail")]
    found, people = compare_recorded_judges(rows)
    assert found.judges[0].confusion.false_pass == 1
    assert found.judges[0].confusion.true_pass == 0
    assert people.tied == 1


def test_each_judge_has_one_verdict_for_all_people():
    rows = [
        r
        for i in range(8)
        for judge, says in (("a", "pass"), ("b", "fail"))
        for r in labelled(i, judge, says, ada="pass", bob="pass")
    ]
    found, _ = compare_recorded_judges(rows)
    assert [j.confusion.true_pass for j in found.judges] == [8, 0]
    assert [j.confusion.false_fail for j in found.judges] == [0, 8]


def test_repeated_verdicts_of_a_judge_are_kept():
    rows = [*labelled(1, ada="pass", bob="pass"), *labelled(1, says="fail", ada="pass")]
    found, _ = compare_recorded_judges(rows)
    assert (found.judges[0].confusion.true_pass, found.judges[0].confusion.false_fail) == (1, 1)


@pytest.mark.parametrize(
    "values",
    [
        {"pair_id": "1", "label": "A=B"},
        {"pair_id": "1", "label": "A"},
        {"label": "A>B"},
        {"pair_id": "1", "label": "A>B", "decision": "yes"},
        {"pair_id": "1", "label": "A>B", "chars_a": "long", "chars_b": "1"},
    ],
)
def test_a_mistake_names_the_line(values):
    with pytest.raises(UsageError) as error:
        read_decisions([row(**values)])
    assert "file:1" in str(error.value)


def test_a_real_judge_that_contradicts_itself_is_noticed(shared_data: Path):
    file = shared_data / "judgebench/decisions.csv"
    found, agreement = compare_pair_judges(read_decisions(read_rows(file)))
    by_name = {judge.judge: judge for judge in agreement.judges}
    haiku = by_name["arena_hard/claude-3-haiku"]
    # Counted again, straight from the file.
    flipped = {("A>B", "B>A"), ("B>A", "A>B"), ("A=B", "A=B")}
    with file.open(encoding="utf-8") as rows:
        mine = [r for r in csv.DictReader(rows) if r["judge"] == haiku.judge]
    answered = [r for r in mine if r["decision"] and r["decision_swapped"]]
    kept = Counter((r["decision"], r["decision_swapped"]) in flipped for r in answered)
    assert haiku.position is not None
    assert haiku.position.contradictory is not None
    assert haiku.position.contradictory.value == kept[False] / len(answered)
    assert haiku.position.contradictory.value > 0.45
    # It names the place shown first, and its conclusions tell nothing of the answers.
    assert haiku.position.for_first is not None
    assert haiku.position.for_first.interval is not None
    assert haiku.position.for_first.interval.low > 0.6
    kappa = haiku.confusion.kappa()
    assert kappa is not None
    assert kappa.interval is not None
    assert kappa.interval.low < 0 < kappa.interval.high
    for judge in agreement.judges:
        assert judge.held_out is not None
        assert judge.held_out.interval.low <= judge.held_out.human <= judge.held_out.interval.high
    assert len(found) == 4
