"""Each format as its tool documents it: what is sent, what is checked, what is not run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.foreign_files import (
    EVERYTHING,
    GITHUB,
    checks,
    loaded,
    revision,
    sent,
    skipped,
    triple,
)

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.export.convert import convert
from gatekeeper.contract.files.contract_files import contract_paths
from gatekeeper.contract.prompts.render import render_value
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import ContractError, UsageError


def test_github_evaluators_are_checks() -> None:
    more = GITHUB + edited(
        (
            "  - {name: near, uses: github/similarity}\n"
            "  - {name: true, uses: github/groundedness}\n"
            "  - name: kind\n    llm:\n      modelId: meta/Llama-3.3-70B-Instruct\n"
            "      prompt: Is {{completion}} a kind answer to {{input}}? {{ other }}\n"
            "      choices:\n"
            "        - {choice: 'yes', score: 1}\n        - {choice: 'no', score: 0}\n"
        ),
        "name: true",
        "name: grounded",
    )
    contract = loaded({"evals/c.prompt.yml": more}, "evals/c.prompt.yml")
    assert contract.name == "city-facts"
    assert contract.target.model == "openai/gpt-4o-mini"
    assert contract.target.params == {"temperature": 0.2, "max_tokens": 40}
    assert sent(contract)[1] == ("user", "What is the capital of France?")
    contains, exact, near, kind = contract.checks
    assert (contains.params["value"], contains.params["ignore_case"]) == ("{{ expected }}", True)
    assert (exact.type, exact.params["strip"]) == ("equals", True)
    assert (near.params["model"], near.params["pass"]) == ("openai/gpt-4o", 2)
    assert kind.params["model"] == "meta/Llama-3.3-70B-Instruct"
    assert kind.params["choices"] == {"yes": 1, "no": 0}
    criteria = render_value(kind.params["criteria"], contract.fixtures[0])
    assert criteria.startswith("Is (the data named `output`) a kind answer")
    assert criteria.endswith("? {{ other }}")
    assert kind.params["question"] == "{{ input }}"
    assert skipped(contract) == [("github/groundedness", "evals/c.prompt.yml", 23)]


def _asking(text: str) -> dict[str, str]:
    before, found, after = GITHUB.partition("{{input}}")
    assert found
    return {"evals/c.prompt.yml": before + text + after}


@pytest.mark.parametrize(
    "tail",
    ["{# Paris #}", "{% if false %}x{% endif %}", "{{ 'x' }}", "{{input|upper}}", "{{-input-}}"],
)
def test_github_fills_in_names_and_nothing_else(tail: str) -> None:
    contract = loaded(_asking("{{input}} " + tail), "evals/c.prompt.yml")
    assert sent(contract)[1] == ("user", f"What is the capital of France {tail}?")


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("{{{expected}}}", "{Paris}"),
        ("{%{{expected}}%}", "{%Paris%}"),
        ("a\r\n{{expected}}", "a\r\nParis"),
        ("a\r\n{{no name}}", "a\r\n{{no name}}"),
        ("{# {{expected}}{", "{# Paris{"),
    ],
)
def test_braces_around_a_name_are_text(written: str, wanted: str) -> None:
    before, found, after = GITHUB.partition('"{{expected}}"')
    assert found
    files = {"evals/c.prompt.yml": before + json.dumps(written) + after}
    contract = loaded(files, "evals/c.prompt.yml")
    assert render_value(contract.checks[0].params["value"], contract.fixtures[0]) == wanted


@pytest.mark.parametrize("written", ["{{ input }}", "{{input }}", "{{ input}}"])
def test_a_name_that_github_does_not_fill_in_is_an_error(written: str) -> None:
    with pytest.raises(ContractError, match="spaces in the braces") as caught:
        loaded(_asking(written), "evals/c.prompt.yml")
    assert (caught.value.problems[0].line, caught.value.problems[0].fix) == (
        11,
        "write `{{input}}`",
    )


def test_a_pcsl_triple_sends_what_prompt_contracts_sends() -> None:
    contract = loaded(triple(), "evals/mail/ep.json#mail.v1-openai-gpt-4o-mini")
    assert contract.target.model == "openai/gpt-4o-mini"
    text = "Label the {mail}. Reply {label: …}.\n\n[USER INPUT]\nYou won! {{ now }}"
    assert sent(contract) == [("user", text)]
    assert [spec.name for spec in contract.checks] == ["json_valid", "enum $.label"]
    assert contract.mode == "assist"
    assert contract.repair.steps[-1] == "lowercase_fields"
    assert {o.name: o.target for o in contract.slo} == {
        "checks.enum $.label": 0.9,
        "latency_p95_ms": 3000,
    }
    assert [kind for kind, _, _ in skipped(contract)] == ["pc.check.similarity", "max_retries"]


def test_a_pcsl_triple_in_the_names_of_the_later_versions() -> None:
    files = {
        "evals/de/ep.json": json.dumps(
            {
                "prompt_template": "Gefühl von {input_text}? JSON wie {{}}.",
                "model": "gpt-4o-mini",
                "temperature": 0.0,
                "seed": 7,
            }
        ),
        "evals/de/pd.json": json.dumps(
            {
                "checks": [
                    {"type": "json_valid", "severity": "error"},
                    {"type": "json_required", "keys": ["label"]},
                    {"type": "enum_value", "field": "label", "allowed": ["good", "bad"]},
                    {"type": "token_budget", "severity": "warn", "max_tokens": 150},
                ]
            }
        ),
        "evals/de/es.json": json.dumps({"output_schema": {"type": "object"}}),
        "evals/de/fixtures/one.json": json.dumps(
            {"input_text": "Toll", "expected_output": {"label": "good"}}
        ),
    }
    contract = loaded(files, "evals/de/ep.json")
    assert sent(contract) == [("user", "Gefühl von Toll? JSON wie {}.")]
    assert (contract.fixtures[0].id, contract.fixtures[0].expected) == ("one", {"label": "good"})
    assert [kind for kind, _ in checks(contract)] == [
        "json_valid",
        "json_required",
        "enum",
        "length",
        "json_schema",
    ]
    assert contract.checks[3].severity == "warn"
    assert contract.target.params == {"temperature": 0.0}


def test_the_published_pcsl_triples_are_contracts(shared_data: Path) -> None:
    folder = shared_data / "pcsl" / "artefacts"
    files = {f"evals/{f.relative_to(folder)}": f.read_text("utf-8") for f in folder.rglob("*.json")}
    paths = contract_paths(revision(files), EVERYTHING, SHAPES)
    assert len(paths) == 7
    for path in paths:
        assert sent(loaded(files, path))[0][1].count("[USER INPUT]") == 1


REGISTRY = """\
capitals:
  id: capitals.dev.v0
  metrics: [accuracy]
capitals.dev.v0:
  class: evals.elsuite.basic.includes:Includes
  args: {samples_jsonl: capitals/samples.jsonl, model: openai/gpt-4o-mini, ignore_case: true}
capitals.graded.v0:
  class: evals.elsuite.modelgraded.classify:ModelBasedClassify
  args: {samples_jsonl: capitals/samples.jsonl, model: openai/gpt-4o-mini, modelgraded_spec: fact}
"""


def _sample(country: str, city: Any) -> str:
    messages = [
        {"role": "system", "content": "Name the {{ capital }}."},
        {"role": "user", "content": country},
    ]
    return json.dumps({"input": messages, "ideal": city})


SAMPLES = _sample("Peru", "Lima") + "\n" + _sample("Japan", ["Tokyo", "Edo"]) + "\n"


def test_samples_of_openai_evals_are_a_prompt_and_its_fixtures() -> None:
    plain = REGISTRY[: REGISTRY.index("capitals.graded")]
    files = {"evals/evals/c.yaml": plain, "evals/data/capitals/samples.jsonl": SAMPLES}
    contract = loaded(files, "evals/evals/c.yaml")
    assert sent(contract, 1) == [("system", "Name the {{ capital }}."), ("user", "Japan")]
    assert [fixture.expected for fixture in contract.fixtures] == [["Lima"], ["Tokyo", "Edo"]]
    [spec] = contract.checks
    assert (spec.type, spec.params["match"], spec.params["ignore_case"]) == (
        "contains",
        "any",
        True,
    )
    assert "evals/data/capitals/samples.jsonl" in contract.dependencies


def test_a_class_of_openai_evals_that_is_not_run_is_an_error_at_its_line() -> None:
    files = {"evals/evals/c.yaml": REGISTRY, "evals/data/capitals/samples.jsonl": SAMPLES}
    with pytest.raises(ContractError, match="ModelBasedClassify") as caught:
        loaded(files, "evals/evals/c.yaml#capitals.dev.v0")
    assert caught.value.problems[0].line == 8
    unnamed = edited(REGISTRY, ", model: openai/gpt-4o-mini", "")
    with pytest.raises(ContractError, match="no model"):
        loaded({**files, "evals/evals/c.yaml": unnamed}, "evals/evals/c.yaml")


def test_an_eval_of_the_api_has_items_and_criteria() -> None:
    data = {
        "name": "Ticket labels",
        "data_source_config": {"type": "custom", "item_schema": {"type": "object"}},
        "testing_criteria": [
            {
                "type": "string_check",
                "name": "label",
                "operation": "eq",
                "input": "{{ sample.output_text }}",
                "reference": "{{ item.label }}",
            },
            {
                "type": "label_model",
                "name": "polite",
                "model": "gpt-4o",
                "input": [{"role": "user", "content": "Is {{sample.output_text}} polite?"}],
                "labels": ["polite", "rude"],
                "passing_labels": ["polite"],
            },
            {"type": "python", "source": "def grade(sample, item): return 1.0"},
        ],
        "data_source": {
            "type": "completions",
            "model": "gpt-4o-mini",
            "sampling_params": {"temperature": 0, "max_completion_tokens": 9, "seed": None},
            "input_messages": {
                "type": "template",
                "template": [{"role": "developer", "content": "Label {{ item.text }}."}],
            },
            "source": {"type": "file_content", "content": [{"item": {"text": "Hi", "label": "x"}}]},
        },
    }
    contract = loaded({"evals/e.json": json.dumps(data, indent=1)}, "evals/e.json")
    assert sent(contract) == [("developer", "Label Hi.")]
    assert contract.target.params == {"temperature": 0, "max_tokens": 9}
    assert checks(contract)[0] == ("equals", "{{ item.label }}")
    assert contract.checks[1].params["choices"] == {"polite": 1.0, "rude": 0.0}
    assert [kind for kind, _, _ in skipped(contract)] == ["python"]
    source = data["data_source"]
    assert isinstance(source, dict)
    source["source"] = {"type": "file_id", "id": "rows.jsonl"}
    files = {"evals/e.json": json.dumps(data), "evals/rows.jsonl": '{"item": {"text": "Yo"}}\n'}
    assert sent(loaded(files, "evals/e.json")) == [("developer", "Label Yo.")]
    [message] = source["input_messages"]["template"]
    message["content"] = "Label {{{ item.text }}}\r\n{# now #}"
    files["evals/e.json"] = json.dumps(data)
    assert sent(loaded(files, "evals/e.json")) == [("developer", "Label {Yo}\r\n{# now #}")]


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("a.prompt.yml", "messages: [{role: user, content: Hi}]\n", "`evaluators`"),
        ("a.prompty", "---\nname: a\n---\nuser:\nHi\n", "gatekeeper init"),
        ("a.yaml", "contract: 1\nname: a\n", "another tool"),
    ],
)
def test_what_has_nothing_to_convert_is_refused_with_advice(
    file: str, text: str, named: str
) -> None:
    with pytest.raises(UsageError) as caught:
        convert(MemoryRevision({file: text.encode()}), file, "", SHAPES)
    assert named in str(caught.value)
    assert ("without tests" in str(caught.value)) == (named != "another tool")
