"""Misspelt keys, columns and names in promptfoo files: each is said with what was likely meant."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from support.foreign_files import loaded

from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError, Problem

PATH = "evals/promptfooconfig.yaml"
TEST: dict[str, Any] = {"vars": {"q": "a"}, "assert": [{"type": "equals", "value": "yes"}]}
SUITE = {"prompts": ["Say {{q}}"], "providers": ["openai:gpt-4o-mini"], "tests": [TEST]}


def read(data: Any, **others: str) -> Contract:
    rest = {f"evals/{name}.csv": text for name, text in others.items()}
    return loaded({PATH: yaml.safe_dump(data, sort_keys=False)} | rest, PATH)


def problem(data: Any, **others: str) -> Problem:
    with pytest.raises(ContractError) as found:
        read(data, **others)
    (only,) = found.value.problems
    return only


def renamed(data: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in data.items()}


@pytest.mark.parametrize(
    ("known", "written", "line"),
    [
        ("prompts", "prompt", 1),
        ("providers", "provider", 3),
        ("providers", "Providers", 3),
        ("tests", "test", 5),
    ],
)
def test_a_misspelt_key_is_an_error_at_its_line(known: str, written: str, line: int) -> None:
    found = problem(renamed(SUITE, known, written))
    assert f"`{written}`" in found.what
    assert (found.fix, found.path) == (f"did you mean `{known}`?", PATH)
    assert found.line in (line, line + 1)


@pytest.mark.parametrize(
    ("more", "known"),
    [
        ({"tests": [renamed(TEST, "assert", "asserts")]}, "assert"),
        ({"defaultTest": renamed(TEST, "vars", "var")}, "vars"),
        ({"defaultTests": TEST}, "defaultTest"),
    ],
)
def test_a_misspelt_key_of_a_test_is_an_error(more: dict[str, Any], known: str) -> None:
    assert problem({**SUITE, **more}).fix == f"did you mean `{known}`?"


def test_every_misspelt_type_is_named_at_once() -> None:
    own = {"type": "not-contians", "value": "a"}
    inside = {"type": "assert-set", "assert": [{"type": "Equals", "value": "a"}]}
    data = {
        **SUITE,
        "defaultTest": {"assert": [{"type": "icontain", "value": "a"}]},
        "tests": [{**TEST, "assert": [own, inside]}, TEST, {**TEST, "assert": [own]}],
    }
    with pytest.raises(ContractError) as found:
        read(data)
    said = [(one.field, one.fix) for one in found.value.problems]
    assert said == [
        ("defaultTest.assert[0].type", "did you mean `icontains`?"),
        ("tests[0].assert[0].type", "did you mean `contains`?"),
        ("tests[0].assert[1].assert[0].type", "did you mean `equals`?"),
        ("tests[2].assert[0].type", "did you mean `contains`?"),
    ]


@pytest.mark.parametrize("kind", ["zodiac", "not-zodiac", "vendor:zodiac"])
def test_a_type_that_is_like_no_other_is_named_and_the_rest_runs(kind: str) -> None:
    new = {"type": kind, "value": "a"}
    contract = read({**SUITE, "tests": [{**TEST, "assert": [new, *TEST["assert"]]}]})
    assert [note.kind for note in contract.not_run] == [kind]
    assert [spec.type for spec in contract.fixtures[0].checks] == ["equals"]
    only = problem({**SUITE, "tests": [{**TEST, "assert": [new]}]})
    assert "does not know this assertion type" in only.what


def test_other_unknown_keys_are_named() -> None:
    plain = {"$schema": "x", "x-shared": 1, "schemas": {"word": {"vars": {"q": "b"}}}}
    named = {"provider_defaults": {}, "judge": "a", "test": "beside `tests`"}
    tests = [TEST, {"$ref": "#/schemas/word", **TEST}]
    contract = read({**SUITE, "tests": tests, **plain, **named})
    assert len(contract.fixtures) == 2
    assert [note.kind for note in contract.not_run] == [*named]
    contract = read({**SUITE, "tests": [{**TEST, "owner": "Ann"}]})
    assert [note.kind for note in contract.not_run] == ["owner"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("__expectd1", "__expected"),
        ("_expected", "__expected"),
        ("__prefx", "__prefix"),
        ("__metdata:who", "__metadata:who"),
        ("__treshold", "__threshold"),
    ],
)
def test_a_misspelt_column_is_an_error(written: str, meant: str) -> None:
    rows = f"q,__expected,{written}\na,yes,1\n"
    found = problem({**SUITE, "tests": "rows.csv"}, rows=rows)
    assert (found.fix, found.line) == (f"did you mean `{meant}`?", 1)


def test_other_columns_are_variables() -> None:
    rows = "q,expected,__note,_who,__expected2\na,b,c,d,yes\n"
    contract = read({**SUITE, "tests": "rows.csv"}, rows=rows)
    assert {"q", "__note", "_who"} <= set(contract.fixtures[0].vars)


@pytest.mark.parametrize(
    ("cell", "meant"),
    [
        ("icontain:parcel", "icontains"),
        ("not-contain: parcel", "not-contains"),
        ("is-jsn", "is-json"),
        ("simlar(0.9):a parcel", "similar"),
        ("icontains:parcel", None),
        ("equals:icontains", None),
        ("note: a parcel", None),
        ("a parcel: yes", None),
        ("well-known", None),
    ],
)
def test_a_misspelt_type_in_a_cell_is_named(cell: str, meant: str | None) -> None:
    rows = f"q,__expected\na,{cell}\n"
    contract = read({**SUITE, "tests": "rows.csv"}, rows=rows)
    named = [(note.why.split("`")[1], note.position.line) for note in contract.not_run]
    assert named == ([] if meant is None else [(meant, 2)])


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("local/smollm2", "local/smollm2"),
        ("local:smollm2", "local/smollm2"),
        ("recorded/evals/a.samples.jsonl", "recorded/evals/a.samples.jsonl"),
        ("openai/gpt-4o-mini", "openai/gpt-4o-mini"),
        ("openrouter/meta/llama-3:free", "openrouter/meta/llama-3:free"),
    ],
)
def test_a_model_can_be_named_as_in_a_contract(provider: str, model: str) -> None:
    for written in (provider, {"id": provider}):
        assert read({**SUITE, "providers": [written]}).target.model == model


@pytest.mark.parametrize(
    ("provider", "meant"),
    [
        ("openi:gpt-4o-mini", "openai"),
        ("openi/gpt-4o-mini", "openai"),
        ("antropic:claude-sonnet-4-6", "anthropic"),
        ("voyage:a", None),
        ("openai:image:dall-e-3", None),
    ],
)
def test_an_unknown_provider_that_is_alike_is_named(provider: str, meant: str | None) -> None:
    what = problem({**SUITE, "providers": [provider]}).what
    assert ("did you mean" in what) == (meant is not None)
    assert meant is None or f"did you mean `{meant}`?" in what
