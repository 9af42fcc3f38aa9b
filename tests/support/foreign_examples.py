"""A file of each format of other tools, as JSON, with the files that it names."""

from __future__ import annotations

import json
from collections.abc import Mapping

from support.foreign_files import triple

_GITHUB = {
    "name": "City facts",
    "model": "openai/gpt-4o-mini",
    "messages": [{"role": "user", "content": "Where is {{input}}?"}],
    "testData": [{"input": "Paris", "expected": "France"}],
    "evaluators": [
        {"name": "a", "string": {"contains": "{{expected}}"}},
        {"name": "b", "uses": "github/similarity"},
        {
            "name": "c",
            "llm": {
                "modelId": "openai/gpt-4o",
                "prompt": "Is {{completion}} right?",
                "choices": [{"choice": "yes", "score": 1}, {"choice": "no", "score": 0}],
            },
        },
    ],
}
_HARNESS = {
    "name": "headlines",
    "model": "gpt-4o-mini",
    "versions": [{"id": "v1", "prompt_template": "Write {article}"}],
    "prompt_template": "Write {article}",
    "categories": {"news": {"invariants": [{"type": "max_words", "spec": 12}]}},
    "cases": [{"id": "a", "category": "news", "inputs": {"article": "x"}, "expected": "y"}],
    "invariants": [
        {"name": "s", "type": "json_schema", "spec": {"type": "object"}},
        {"type": "contains", "spec": "{expected}", "category": "news"},
        {"type": "judge", "spec": {"criteria": "good", "model": "openai/gpt-4o"}},
    ],
}
CRITERIA = [
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
    {
        "type": "score_model",
        "name": "score",
        "model": "gpt-4o",
        "input": [{"role": "user", "content": {"type": "input_text", "text": "Rate it."}}],
        "range": [1, 5],
        "pass_threshold": 4,
    },
    {
        "type": "text_similarity",
        "name": "like",
        "input": "{{ sample.output_text }}",
        "reference": "{{ item.label }}",
        "evaluation_metric": "rouge_l",
        "pass_threshold": 0.5,
    },
]
"""Of an eval of OpenAI's API: one of each kind."""
_EVAL = {
    "name": "labels",
    "testing_criteria": CRITERIA,
    "data_source": {
        "model": "gpt-4o-mini",
        "sampling_params": {"temperature": 0},
        "input_messages": {"template": [{"role": "user", "content": "Label {{ item.text }}."}]},
        "source": {"content": [{"item": {"text": "Hi", "label": "x"}}]},
    },
}
_REGISTRY = {
    "capitals.dev.v0": {
        "class": "evals.elsuite.basic.match:Match",
        "args": {"samples_jsonl": "samples.json", "model": "openai/gpt-4o-mini"},
    }
}
_SAMPLES = [
    {"input": [{"role": "user", "content": name}], "ideal": ideal}
    for name, ideal in (("Peru", "Lima"), ("Japan", ["Tokyo"]))
]

EXAMPLES: Mapping[str, Mapping[str, str]] = {
    "evals/mail/ep.json": triple(),
    "evals/github.json": {"evals/github.json": json.dumps(_GITHUB)},
    "evals/harness.json": {"evals/harness.json": json.dumps(_HARNESS)},
    "evals/eval.json": {"evals/eval.json": json.dumps(_EVAL)},
    "evals/registry.json": {
        "evals/registry.json": json.dumps(_REGISTRY),
        "evals/samples.json": json.dumps(_SAMPLES),
    },
}
"""The contract's file, and all files of the example by their paths."""
