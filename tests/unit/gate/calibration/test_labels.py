"""Labels of people: their file, the majority, and the agreement of annotators."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.outcomes import outcome

from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import CheckResult, Completion
from gatekeeper.errors import UsageError
from gatekeeper.gate.calibration.labels import (
    Label,
    annotator_agreement,
    label_document,
    read_labels,
    require_last_output,
    require_texts,
    settle_labels,
)

names = st.sampled_from(["ada", "ben", "cy"])
labels = st.lists(
    st.builds(Label, st.sampled_from("ab"), st.sampled_from(["", "x"]), st.booleans(), names),
    max_size=20,
)


def test_csv_and_json_lines_say_the_same(tmp_path: Path):
    rows = tmp_path / "labels.csv"
    rows.write_text('fixture,output,verdict,annotator\na,"one, ""two""\nthree",PASS,ada\nb,,0,\n')
    lines = tmp_path / "labels.jsonl"
    found = read_labels(rows)
    lines.write_text("".join(json.dumps(label_document(label)) + "\n\n" for label in found))
    assert found == (
        Label("a", 'one, "two"\nthree', True, "ada"),
        Label("b", "", False),
    )
    assert read_labels(lines) == found


def test_json_takes_true_and_false_and_1(tmp_path: Path):
    file = tmp_path / "labels.jsonl"
    file.write_text(
        '{"fixture": "a", "output": "x", "verdict": true}\n{"fixture": "a", "verdict": 0}'
    )
    assert [label.verdict for label in read_labels(file)] == [True, False]


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("a.csv", "fixture,verdict\na,maybe\n", "a.csv:2"),
        ("a.csv", "fixture,verdict\na,pass,more\n", "a.csv:2"),
        ("a.csv", 'fixture,verdict\na,"pass', "a.csv"),
        ("a.csv", "output,verdict\nx,pass\n", "a.csv:2"),
        ("a.jsonl", '{"fixture": "a", "verdict": "pass"}\nno', "a.jsonl:2"),
        ("a.jsonl", "[1]", "a.jsonl:1"),
        ("a.jsonl", "[" * 100_000, "a.jsonl:1"),
        ("a.jsonl", "\n", "a.jsonl"),
        ("missing.csv", None, "missing.csv"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, name, text, place):
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError) as error:
        read_labels(file)
    assert f"{tmp_path}/{place}" in str(error.value)


@given(labels)
def test_each_output_is_settled_once_and_by_the_majority(given_labels):
    settled = settle_labels(given_labels)
    assert len({(s.fixture, s.output) for s in settled}) == len(settled)
    for found in settled:
        last = {}
        for label in given_labels:
            if (label.fixture, label.output) == (found.fixture, found.output):
                last[label.annotator] = label.verdict
        passes = sum(last.values())
        assert found.verdict == (2 * passes > len(last))
        assert 2 * passes != len(last)


def test_two_annotators_have_cohens_kappa_and_three_have_fleiss():
    two = [Label(str(i), "x", i < 5, "ada") for i in range(10)]
    two += [Label(str(i), "x", i < 4, "ben") for i in range(10)]
    found = annotator_agreement(two)
    assert found.annotators == ("ada", "ben")
    assert (found.common, found.tied) == (10, 1)
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(0.8)
    three = annotator_agreement([*two, *(Label(str(i), "x", i < 5, "cy") for i in range(9))])
    assert three.common == 9
    assert three.kappa is not None
    # By hand: 8 outputs with 3 equal votes, one with 2 of 3; 14 passes and 13 failures in 27.
    chance = (14 / 27) ** 2 + (13 / 27) ** 2
    assert three.kappa.value == pytest.approx(((8 + 1 / 3) / 9 - chance) / (1 - chance))


def test_one_annotator_agrees_with_nobody():
    found = annotator_agreement([Label("a", "x", True, "ada")])
    assert (found.common, found.kappa) == (0, None)


def test_labels_are_not_about_a_step():
    found = outcome("f0", "head", 0, True)
    of_step = replace(found, check_results=(CheckResult("j", True, step="extract"),))
    with pytest.raises(UsageError, match="extract"):
        require_last_output("words", [of_step], "j")
    require_last_output("words", [of_step, found], "says ok")


def test_labels_are_not_about_tool_calls():
    found = outcome("f0", "head", 0, True)
    answer = Completion("", tool_calls=(ToolCall("find_order", "{}", "id"),))
    calling = replace(found, sample=replace(found.sample, completion=answer))
    require_texts("words", [found])
    with pytest.raises(UsageError, match="answers of words call tools"):
        require_texts("words", [found, calling])
