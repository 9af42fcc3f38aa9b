"""Recognises test suites of other tools by a glance at their text."""

from __future__ import annotations

import re
from typing import Literal

SuiteKind = Literal[
    "contract", "promptfoo", "GitHub prompt", "prompty", "PCSL", "harness", "OpenAI Evals"
]

SUITE_SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".prompty")


def _has_key(name: str) -> str:
    """Return the pattern of a key of the outermost mapping, in YAML or JSON."""
    return rf"(?m)^[{{ \t]{{0,4}}[\"']?{name}[\"']?[ \t]*:"


_CONTRACT = (_has_key("contract"), _has_key("prompt"))
_MARKS: tuple[tuple[SuiteKind, tuple[str, ...], tuple[str, ...]], ...] = (
    # The suffixes, and the patterns that all have to be found.
    ("prompty", (".prompty",), (r"(?m)^sample[ \t]*:",)),
    ("GitHub prompt", (".yaml", ".yml"), (_has_key("messages"), _has_key("testData"))),
    ("contract", (".yaml", ".yml"), _CONTRACT),
    ("promptfoo", (".yaml", ".yml", ".json"), (_has_key("prompts"), _has_key("providers"))),
    ("promptfoo", (".yaml", ".yml", ".json"), (_has_key("prompts"), _has_key("tests"))),
    ("PCSL", (".yaml", ".yml", ".json"), (_has_key("pcsl"), _has_key("(?:targets|fixtures)"))),
    (
        "harness",
        (".yaml", ".yml", ".json"),
        (_has_key("prompt_template"), r"[\"']?invariants[\"']?[ \t]*:"),
    ),
    (
        "OpenAI Evals",
        (".jsonl",),
        (r"\A\s*\{[^\n]*\"input\"\s*:\s*\[\s*\{[^\n]*\"role\"", r"\A[^\n]*\"ideal\"\s*:"),
    ),
)
_COMPILED = tuple(
    (kind, suffixes, tuple(map(re.compile, patterns))) for kind, suffixes, patterns in _MARKS
)


_SCHEMA = re.compile(r"\"\$schema\"\s*:")


def suite_kind(path: str, text: str) -> SuiteKind | None:
    """Return which tool's suite the file looks like; None if it looks like none."""
    name = path.lower()
    if name.endswith(".json") and _SCHEMA.search(text, 0, 1_000):
        return None  # a description of such files
    for kind, suffixes, patterns in _COMPILED:
        if name.endswith(suffixes) and all(pattern.search(text) for pattern in patterns):
            return kind
    return None
