"""Data sets of other tools as fixture files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.edited_text import edited
from support.foreign_files import loaded

from gatekeeper.contract.values.definition import Fixture
from gatekeeper.errors import ContractError

CONTRACT = """\
contract: 1
name: data
prompt: p.txt
model: openai/gpt-4o-mini
fixtures:
  - {file: FILE, format: FORMAT}
checks:
  - {type: equals, value: x}
"""


def fixtures(file: str, kind: str, text: str) -> tuple[Fixture, ...]:
    contract = edited(CONTRACT, "FILE", file, "FORMAT", kind)
    files = {"evals/c.yaml": contract, "evals/p.txt": "{{ input }}", f"evals/{file}": text}
    return loaded(files, "evals/c.yaml").fixtures


GOLDEN: Mapping[str, Any] = {
    "input": "What is the return policy?",
    "actual_output": None,
    "expected_output": "30 days.",
    "context": ["All goods can be returned within 30 days."],
    "source_file": "policy.pdf",
    "additional_metadata": {"owner": "support"},
}


def test_goldens_of_deepeval() -> None:
    camel = {"input": "Hi", "expectedOutput": "Hello", "retrievalContext": ["greetings"]}
    first, second = fixtures("goldens.json", "deepeval", json.dumps([GOLDEN, camel]))
    assert first.vars == {"input": GOLDEN["input"], "context": GOLDEN["context"]}
    assert first.expected == "30 days."
    assert first.metadata == {
        "additional_metadata": {"owner": "support"},
        "source_file": "policy.pdf",
    }
    assert (second.vars["retrieval_context"], second.expected) == (["greetings"], "Hello")
    [row] = fixtures("g.csv", "deepeval", "input,expected_output,context\nWho?,Me,one|two\n")
    assert row.vars == {"input": "Who?", "context": ["one", "two"]}


def test_columns_of_a_saved_data_set_of_deepeval() -> None:
    saved = {
        **GOLDEN,
        "context": "one|two",
        "input_token_count": 12,
        "expectations": {"any": 1},
        "custom_column_key_values": {"tier": "gold", "input": "no"},
    }
    [golden] = fixtures("g.jsonl", "deepeval", json.dumps(saved))
    assert golden.vars == {"input": GOLDEN["input"], "context": ["one", "two"], "tier": "gold"}
    columns = "input,expected_output,context,additional_metadata,custom_column_key_values"
    cells = 'Who?,Me,,"{""owner"": ""a""}","{""tier"": ""gold""}"'
    [row] = fixtures("g.csv", "deepeval", f"{columns}\n{cells}\n")
    assert row.vars == {"input": "Who?", "context": [], "tier": "gold"}
    assert row.metadata == {"additional_metadata": {"owner": "a"}}


@pytest.mark.parametrize(
    ("cell", "choices"),
    [
        ('"fire truck, grass, sky,"', ["fire truck", "grass", "sky"]),
        ("red green", ["red", "green"]),
        ('"[""a, b"", ""c""]"', ["a, b", "c"]),
        ('"[a, b"', ["[a", "b"]),
    ],
)
def test_choices_of_inspect_in_a_cell(cell: str, choices: list[str]) -> None:
    [row] = fixtures("s.csv", "inspect", f"input,target,choices\nPick,A,{cell}\n")
    assert row.vars["choices"] == choices


def test_samples_of_inspect() -> None:
    rows = [
        {"input": "2+2?", "target": "4", "id": 7, "metadata": {"level": 1}},
        {"input": [{"role": "user", "content": "Pick"}], "target": ["A"], "choices": ["x", "y"]},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    first, second = fixtures("samples.jsonl", "inspect", text)
    assert (first.id, first.vars, first.expected) == ("7", {"input": "2+2?"}, "4")
    assert first.metadata == {"level": 1}
    assert second.vars == {"input": "Pick", "choices": ["x", "y"]}
    [row] = fixtures("s.csv", "inspect", 'input,target,choices\nPick,A,"[""x"", ""y""]"\n')
    assert row.vars["choices"] == ["x", "y"]


def test_columns_of_other_names_are_named_in_the_contract() -> None:
    rows = '{"question": "Peru?", "answer": "Lima", "q": 1}\n'
    columns = "inspect, columns: {input: question, target: answer}"
    [found] = fixtures("s.jsonl", columns, rows)
    assert (found.vars, found.expected) == ({"input": "Peru?", "q": 1}, "Lima")
    with pytest.raises(ContractError, match=r"columns: \{input"):
        fixtures("s.jsonl", "inspect", rows)
    for wrong in ("inspect, columns: {input: [3]}", "inspect, columns: []"):
        with pytest.raises(ContractError):
            fixtures("s.jsonl", wrong, rows)
    with pytest.raises(ContractError, match="format"):
        loaded(
            {
                "evals/c.yaml": edited(CONTRACT, "format: FORMAT", "columns: {input: a}"),
                "evals/p.txt": "x",
                "evals/FILE": "[]",
            },
            "evals/c.yaml",
        )


def test_samples_of_openai_evals() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Peru?"}]
    [found] = fixtures(
        "s.jsonl", "openai-evals", json.dumps({"input": messages, "ideal": ["Lima", "lima"]})
    )
    assert found.vars == {"system": "Be brief.", "input": "Peru?"}
    assert found.expected == ["Lima", "lima"]


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("deepeval", {"scenario": "angry customer", "expected_outcome": "calm"}),
        ("deepeval", {"expected_output": "x"}),
        ("inspect", {"target": "x"}),
        ("inspect", {"input": [{"role": "user", "content": "a"}] * 2}),
        ("openai-evals", {"input": [{"role": "tool", "content": "a"}], "ideal": "x"}),
        ("openai-evals", "text"),
    ],
)
def test_a_row_that_is_no_fixture_is_an_error_at_its_line(kind: str, row: Any) -> None:
    text = json.dumps({"input": "fine", "target": "x"}) + "\n" + json.dumps(row) + "\n"
    with pytest.raises(ContractError) as caught:
        fixtures("s.jsonl", kind, text)
    assert [(p.path, p.line) for p in caught.value.problems] == [("evals/s.jsonl", 2)]


def test_a_format_that_is_not_known_names_the_known_ones() -> None:
    with pytest.raises(ContractError, match="openai-evals"):
        fixtures("s.jsonl", "ragas", "{}")


PEX = (
    "ruleid, testid, testinput, expectedoutput, reasoning\n"
    '1, 1,"Sentence: a, b. Word: b","NN","Because, of it"\n'
    '2, 1, "A ""quoted"" word", , "spaced"\n'
    "0, 1, plain, NN,\n"
)


def test_tests_of_promptpex_with_blanks_before_their_quotes() -> None:
    first, second, third = fixtures("tests.csv", "promptpex", PEX)
    assert first.vars == {"input": "Sentence: a, b. Word: b"}
    assert (first.expected, first.category) == ("NN", "rule")
    assert first.metadata == {"rule": "rule-1", "reasoning": "Because, of it"}
    assert (second.vars, second.expected) == ({"input": 'A "quoted" word'}, None)
    assert (third.category, third.metadata) == ("baseline", {})


def test_tests_of_promptpex_as_json() -> None:
    rows = [
        {"ruleid": 3, "testid": 1, "testinput": "x", "expectedoutput": "y", "inverse": True},
        {"ruleid": None, "input": "z", "sentence": "s"},
    ]
    first, second = fixtures("tests.json", "promptpex", json.dumps(rows))
    assert (first.category, first.metadata) == ("inverse_rule", {"rule": "rule-3"})
    assert (second.vars, second.category) == ({"input": "z", "sentence": "s"}, "baseline")
    with pytest.raises(ContractError):
        fixtures("tests.json", "promptpex", '[{"ruleid": 1, "expectedoutput": "y"}]')


def test_blanks_of_other_files_stay() -> None:
    [row] = fixtures("g.csv", "deepeval", "input,expected_output\nWho?, Me\n")
    assert row.expected == " Me"
