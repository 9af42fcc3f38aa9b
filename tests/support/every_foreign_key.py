"""Files of other tools that together have every key that a translation knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.every_promptfoo_key import PROMPTFOO
from support.foreign_examples import CRITERIA
from support.key_example import Example


def _harness(**others: Any) -> Example:
    suite = {
        "name": "headlines",
        "model": "gpt-4o-mini",
        "prompt_template": "Write {article}",
        "cases": [{"id": "a", "article": "x", "expected": "y"}],
        "invariants": [{"name": "s", "type": "contains", "spec": "{expected}"}],
    }
    data = {name: value for name, value in {**suite, **others}.items() if value is not None}
    return Example(
        "harness",
        "evals/suite.json",
        {"evals/suite.json": data},
        frozenset({"categories", "inputs", "vars", "variables", "input", "params", "metadata"}),
        frozenset(
            {"id", "name", "suite", "description", "version", "author", "metadata", "severity"}
        ),
    )


_HARNESS = (
    _harness(
        version="1",
        author="Ann",
        description="Headlines",
        system_prompt="Be short.",
        temperature=0.5,
        max_tokens=20,
        top_p=0.9,
        samples=3,
        categories={"news": {"name": "News", "invariants": [{"type": "max_words", "spec": 12}]}},
        cases=None,
        test_cases=[
            {
                "id": "a",
                "name": "A",
                "category": "news",
                "article": "x",
                "expected": "y",
                "metadata": {"source": "here"},
                "invariants": [{"kind": "length", "spec": {"min": 1, "max": 9, "unit": "words"}}],
            }
        ],
        invariants=[
            {"id": "s", "type": "json_schema", "spec": {"schema": {"type": "object"}}},
            {"check": "judge", "spec": {"criteria": "good", "model": "openai/gpt-4o"}},
            {"type": "rubric", "spec": {"rubric": "good"}, "model": "openai/gpt-4o"},
            {"type": "contains", "spec": "{expected}", "category": "news"},
            {"type": "regex", "spec": {"pattern": "x"}, "categories": ["news"]},
            {"type": "regex", "spec": {"pattern": "y"}, "severity": "warn"},
        ],
    ),
    _harness(
        versions=[
            {"id": "v1", "prompt_template": "Write {article}", "model": "openai/gpt-4o"},
            {"version": 2, "prompt_template": "Now write {article}"},
        ],
        prompt_template=None,
        params={"temperature": 0},
        runs=2,
        cases=[{"id": "a", "vars": {"article": "x"}, "expected_output": "y"}],
    ),
    _harness(cases=None, tests=[{"inputs": {"article": "x"}, "expected": "y"}], suite="s"),
    replace(
        _harness(invariants=[{"type": "schema", "spec": {"schema_file": "evals/s.json"}}]),
        texts={"evals/s.json": '{"type": "object"}'},
    ),
    _harness(cases=None, fixtures=[{"variables": {"article": "x"}, "expected": "y"}]),
    _harness(cases=None, inputs=[{"input": {"article": "x"}, "expected": "y"}]),
)

_GITHUB = Example(
    "github_prompt",
    "evals/github.json",
    {
        "evals/github.json": {
            "name": "City facts",
            "description": "Names capitals",
            "messages": [{"role": "user", "content": "Where is {{input}}?"}],
            "model": "openai/gpt-4o-mini",
            "testData": [{"input": "Paris", "expected": "France"}],
            "evaluators": [
                *(
                    {"name": name, "string": {name: "{{expected}}"}}
                    for name in ("equals", "contains", "startsWith", "endsWith")
                ),
                {"name": "b", "uses": "github/similarity"},
                {
                    "name": "c",
                    "llm": {
                        "modelId": "openai/gpt-4o",
                        "systemPrompt": "You grade.",
                        "prompt": "Is {{completion}} right?",
                        "choices": [{"choice": "yes", "score": 1}, {"choice": "no", "score": 0}],
                    },
                },
            ],
        }
    },
    frozenset({"testData"}),
    frozenset({"name", "description"}),
)


def _pcsl(profile: Any, suite: Any, definition: Any) -> Example:
    data = {"ep": profile, "es": suite, "pd": definition}
    return Example(
        "pcsl",
        "evals/mail/ep.json",
        {f"evals/mail/{name}.json": value for name, value in data.items()},
        frozenset({"params", "tolerances", "metadata", "io"}),
        frozenset({"name", "description", "pcsl", "severity", "io", "metadata"}),
    )


_PCSL = (
    _pcsl(
        {
            "pcsl": "0.1.0",
            "name": "Mail",
            "targets": [{"type": "openai", "model": "gpt-4o", "params": {"temperature": 0}}],
            "fixtures": [
                {"id": "a", "input": "x", "expected": "y", "category": "c", "metadata": {"b": 1}}
            ],
            "tolerances": {"pc.check.enum": {"max_fail_rate": 0.1}},
            "execution": {
                "mode": "enforce",
                "strict_enforce": True,
                "max_retries": 1,
                "auto_repair": {"lowercase_fields": ["$.label"], "strip_markdown_fences": False},
            },
            "sampling": {"n": 3, "seed": 4, "aggregation": "majority", "confidence_level": 0.9},
        },
        {
            "pcsl": "0.1.0",
            "checks": [
                {"type": "pc.check.json_valid", "severity": "warn"},
                {"type": "pc.check.json_required", "fields": ["label"]},
                {
                    "type": "pc.check.enum",
                    "field": "$.label",
                    "allowed": ["a", "b"],
                    "case_insensitive": True,
                },
                {"type": "pc.check.regex_absent", "pattern": "x"},
                {"type": "regex_present", "pattern": "x", "flags": "i", "field": "label"},
                {"type": "contains_all", "required": ["a"], "case_sensitive": False},
                {"type": "contains_any", "options": ["a"], "case_sensitive": False},
                {"type": "pc.check.token_budget", "max_out": 9},
                {"type": "pc.check.latency_budget", "p95_ms": 3000},
                {"type": "latency_budget", "max_ms": 3000},
                {"type": "judge", "criteria": "good", "model": "gpt-4o"},
            ],
            "output_schema": {"type": "object", "required": ["label"]},
        },
        {"pcsl": "0.1.0", "id": "mail.v1", "prompt": "Label the mail.", "io": {"channel": "text"}},
    ),
    _pcsl(
        {
            "prompt_template": "Label {mail}",
            "model": "gpt-4o-mini",
            "temperature": 0.5,
            "top_p": 0.5,
            "max_tokens": 9,
            "seed": 3,
            "fixtures": [{"mail": "x", "expected_output": "y"}],
            "execution": {
                "repair_policy": {
                    "enabled": True,
                    "allowed": ["lowercase_fields"],
                    "max_steps": 3,
                    "lowercase_fields": ["$.label"],
                }
            },
        },
        {},
        {
            "checks": [
                {"type": "json_required", "keys": ["label"]},
                {"type": "token_budget", "max_tokens": 9},
            ]
        },
    ),
)


def _eval(*criteria: Any, **others: Any) -> Example:
    return Example(
        "openai_evals",
        "evals/eval.json",
        {
            "evals/eval.json": {
                "name": "labels",
                "metadata": {"team": "a"},
                "testing_criteria": list(criteria),
                **others,
            }
        },
        frozenset({"item", "metadata", "sampling_params"}),
        # Without its `type`, the content of a message or the source is what its other keys say.
        frozenset({"name", "metadata", "type"}),
        {"evals/rows.jsonl": '{"item": {"text": "Yo", "label": "x"}}\n'},
    )


def _source(**source: Any) -> Any:
    return {
        "type": "completions",
        "model": "gpt-4o-mini",
        "sampling_params": {"temperature": 0},
        "input_messages": {
            "type": "template",
            "template": [
                {"role": "user", "content": "Label {{ item.text }}."},
                {"role": "user", "content": {"type": "input_text", "text": "Now."}},
            ],
        },
        "source": source,
    }


_EVALS = (
    _eval(
        *CRITERIA,
        data_source=_source(type="file_content", content=[{"item": {"text": "a", "label": "b"}}]),
    ),
    _eval(CRITERIA[0], run={"name": "a", "data_source": _source(type="file_id", id="rows.jsonl")}),
    *(
        _eval(CRITERIA[0], data_source=_source(**{name: "rows.jsonl"}))
        for name in ("path", "file_id")
    ),
)

_REGISTRY = Example(
    "openai_registry",
    "evals/registry/evals/a.json",
    {
        "evals/registry/evals/a.json": {
            "capitals": {"id": "capitals.dev.v0", "metrics": ["accuracy"]},
            "capitals.dev.v0": {
                "class": "evals.elsuite.basic.includes:Includes",
                "args": {
                    "samples_jsonl": "rows.json",
                    "model": "openai/gpt-4o-mini",
                    "temperature": 0,
                    "max_tokens": 9,
                    "ignore_case": True,
                    "num_few_shot": 2,
                },
            },
            "style.dev.v0": {
                "class": "evals.elsuite.modelgraded.classify:ModelBasedClassify",
                "args": {"samples_jsonl": "rows.json", "modelgraded_spec": "style"},
            },
            "style.gatekeeper": {
                "model": "openai/gpt-4o-mini",
                "params": {"temperature": 0},
                "judge": "openai/gpt-4o",
            },
        },
        "evals/registry/data/rows.json": [
            {"input": [{"role": "user", "content": "Peru"}], "ideal": "Lima", "id": 1}
        ],
        "evals/registry/modelgraded/style.yaml": {
            "style": {
                "prompt": "Is {completion} good?",
                "choice_strings": ["a", "b"],
                "choice_scores": {"a": 1, "b": 0},
            }
        },
    },
    # The names of evals, of a specification and of choices are the author's.
    frozenset({"", "choice_scores", "params"}),
    frozenset({"id", "metrics", "choice_strings"}),
)
_PROMPTY = tuple(
    Example(
        "prompty",
        "evals/a.prompty",
        {
            "evals/a.prompty": {
                "name": "Facts",
                "description": "Names cities",
                "authors": ["Ann"],
                "model": {"api": "chat", "configuration": {"name": "openai/gpt-4o-mini"}},
                **others,
            }
        },
        frozenset({"model", "configuration", "sample", "tools"}),
        frozenset({"name", "description", "authors", "model", "kind", "default", "strict"}),
        {"evals/a.prompty": "user:\nWhere is {{city}}?\n"},
    )
    for others in (
        {"sample": {"city": "Rome"}, "tools": [{"name": "find", "kind": "function"}]},
        {
            "inputs": [{"name": "city", "kind": "string", "sample": "Rome", "default": "Oslo"}],
            "outputs": [
                {"name": "label", "kind": "string", "enumValues": ["a", "b"]},
                {"name": "tags", "kind": "array", "items": {"kind": "number"}},
                {"name": "at", "kind": "object", "properties": [{"name": "x", "kind": "integer"}]},
            ],
        },
        {
            "inputs": [{"name": "city", "type": "string", "example": "Rome"}],
            "template": "jinja2",
            "modelParameters": {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "a", "strict": True, "schema": {"type": "object"}},
                }
            },
        },
    )
)

EVERY_KEY = (
    *_HARNESS,
    *PROMPTFOO,
    _GITHUB,
    *_PCSL,
    *_EVALS,
    _REGISTRY,
    *_PROMPTY,
)
