"""Parts of small formats: which check each becomes, what is not run, and what is an error."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from support.foreign_files import loaded, triple

from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError

API = "evals/e.json"
OUTPUT = "{{ sample.output_text }}"


EVAL: dict[str, Any] = {
    "name": "Labels",
    "data_source_config": {"type": "custom", "item_schema": {"type": "object"}},
    "testing_criteria": [
        {"type": "string_check", "operation": "eq", "input": OUTPUT, "reference": "x"}
    ],
    "run": {
        "data_source": {
            "type": "completions",
            "model": "gpt-4o-mini",
            "input_messages": {
                "type": "template",
                "template": [
                    {"role": "user", "content": {"type": "input_text", "text": "{{ item.text }}"}}
                ],
            },
            "source": {"type": "file_content", "content": [{"text": "Hi"}]},
        }
    },
}


def api(*criteria: Any, **source: Any) -> Contract:
    data = copy.deepcopy(EVAL)
    data["testing_criteria"] += criteria
    data["run"]["data_source"] |= source
    return loaded({API: json.dumps(data)}, API)


def test_an_item_may_stand_by_itself() -> None:
    assert api().fixtures[0].vars == {"item": {"text": "Hi"}}


def test_similarity_and_scores_are_checks() -> None:
    message = {"role": "user", "content": {"type": "input_text", "text": "Is it kind?"}}
    score = {"type": "score_model", "model": "openai/gpt-4o", "input": [message]}
    contract = api(
        {"type": "text_similarity", "evaluation_metric": "rouge_1", "input": OUTPUT,
         "reference": "{{ item.text }}", "pass_threshold": 0.5},
        {**score, "name": "share", "pass_threshold": 0.7},
        {**score, "name": "levels", "range": [1, 5]},
    )  # fmt: skip
    assert contract.not_run == ()
    _, rouge, share, levels = contract.checks
    assert (rouge.type, rouge.params["min"]) == ("rouge", 0.5)
    assert (share.params["pass"], len(share.params["choices"])) == (0.7, 11)
    assert (levels.params["pass"], list(levels.params["scale"])) == (3, ["1", "2", "3", "4", "5"])


SCORE = {"type": "score_model", "model": "m", "input": [{"content": "Kind?"}]}


@pytest.mark.parametrize(
    "criterion",
    [
        {"type": "string_check", "operation": "sounds", "input": OUTPUT, "reference": "x"},
        {"type": "string_check", "operation": "eq", "input": "{{ item.a }}", "reference": "x"},
        {"type": "text_similarity", "input": "x", "reference": "x"},
        {"type": "text_similarity", "input": OUTPUT, "reference": "x"},
        {"type": "text_similarity", "evaluation_metric": "gleu", "input": OUTPUT,
         "reference": "x", "pass_threshold": 1},
        {"type": "label_model", "model": "m"},
        {"type": "label_model", "model": "m", "input": [{"content": 1}, 2]},
        {"type": "label_model", "model": "m", "input": [{"content": "a"}], "labels": ["a"]},
        SCORE | {"pass_threshold": "high"},
        SCORE | {"range": [0, 100]},
        SCORE | {"range": [1, 5], "pass_threshold": 9},
        {"type": "telepathy"},
    ],
)  # fmt: skip
def test_a_criterion_that_has_no_check_is_noted(criterion: dict[str, Any]) -> None:
    contract = api(criterion)
    assert [part.kind for part in contract.not_run] == [criterion["type"]]
    assert [spec.type for spec in contract.checks] == ["equals"]


@pytest.mark.parametrize(
    "source",
    [
        {"source": {"type": "stored_completions"}},
        {"source": None},
        {"input_messages": {"template": [{"role": "bot", "content": "Hi"}]}},
        {"model": 3},
    ],
)
def test_a_run_that_cannot_be_sent_is_an_error(source: dict[str, Any]) -> None:
    with pytest.raises(ContractError) as found:
        api(**source)
    assert found.value.problems[0].path == API


def test_an_eval_without_a_run_is_an_error() -> None:
    data = {name: value for name, value in EVAL.items() if name != "run"}
    with pytest.raises(ContractError) as found:
        loaded({API: json.dumps(data)}, API)
    assert found.value.problems[0].path == API


PROFILE = "evals/mail/ep.json"


def pcsl(changes: dict[str, Any], without: tuple[str, ...] = (), **files: str) -> Contract:
    texts = triple(1)
    profile = json.loads(texts[PROFILE]) | changes
    texts[PROFILE] = json.dumps({k: v for k, v in profile.items() if k not in without})
    named = {f"evals/mail/fixtures/{name}.json": text for name, text in files.items()}
    return loaded({**texts, **named}, PROFILE)


def test_a_profile_may_name_one_model_and_its_parameters() -> None:
    plain = pcsl({"model": "gpt-4o", "temperature": 0.5, "seed": 4}, without=("targets",))
    assert (plain.target.model, plain.target.params) == ("openai/gpt-4o", {"temperature": 0.5})
    assert plain.sampling.seed == 4


def test_fixtures_may_be_files_of_a_folder() -> None:
    row = json.dumps({"input": "Hello", "expected_output": "work", "metadata": {"a": 1}})
    contract = pcsl({}, without=("fixtures",), first=row, second="[1]")
    (fixture,) = contract.fixtures
    assert (fixture.id, fixture.vars, fixture.expected) == ("first", {"input": "Hello"}, "work")


def test_a_policy_of_repairs_names_those_that_are_not_done() -> None:
    policy = {"allowed": ["strip_markdown_fences", "rewrite", "lowercase_fields"]}
    contract = pcsl({"execution": {"mode": "repair", "repair_policy": policy}})
    assert "repair rewrite" in [part.kind for part in contract.not_run]
    off = pcsl({"execution": {"mode": "repair", "repair_policy": {**policy, "enabled": False}}})
    assert off.repair.steps == ()


def test_samples_of_a_profile_are_ours() -> None:
    contract = pcsl({"sampling": {"n": 3, "aggregation": None}})
    assert (contract.sampling.samples, contract.sampling.aggregate) == (3, "first")


@pytest.mark.parametrize(
    ("changes", "without"),
    [
        ({"targets": [{"type": "openai"}]}, ()),
        ({}, ("targets",)),
        ({}, ("fixtures",)),
        ({"fixtures": 3}, ()),
    ],
)
def test_a_profile_that_lacks_a_part_is_an_error(
    changes: dict[str, Any], without: tuple[str, ...]
) -> None:
    with pytest.raises(ContractError) as found:
        pcsl(changes, without)
    assert found.value.problems[0].path == PROFILE


def test_the_other_files_of_a_profile_must_be_there() -> None:
    texts = triple(1)
    del texts["evals/mail/es.json"]
    with pytest.raises(ContractError) as found:
        loaded(texts, PROFILE)
    assert found.value.problems[0].path == PROFILE
    with pytest.raises(ContractError) as found:
        loaded({**texts, "evals/mail/es.json": "[1]"}, PROFILE)
    assert found.value.problems[0].path == "evals/mail/es.json"


@pytest.mark.parametrize(
    ("path", "runs"),
    [
        ("$.items[*].label", True),
        ("items[*]", True),
        ("$.items.*.label", True),
        ("$..label", False),
        ("$.items[?@.price > 5].label", False),
        ("$.items[0:2].label", False),
        ("$['a b']", False),
    ],
)
def test_a_repair_follows_wildcards_and_names_other_queries(path: str, runs: bool) -> None:
    files = triple(1)
    profile = json.loads(files["evals/mail/ep.json"])
    profile["execution"]["auto_repair"]["lowercase_fields"] = [path, "$.label"]
    contract = loaded({**files, "evals/mail/ep.json": json.dumps(profile)}, "evals/mail/ep.json")
    assert contract.repair.lowercase_fields == ((path, "$.label") if runs else ("$.label",))
    assert ("repair lowercase_fields" in {note.kind for note in contract.not_run}) is not runs
