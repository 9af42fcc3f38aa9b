"""Recognises test suites of other tools: by a glance at the text, and then by what it holds."""

from __future__ import annotations

import re
from typing import Literal

from gatekeeper.contract.prompts.load import front_matter_document
from gatekeeper.contract.syntax.yaml_positions import parse_once
from gatekeeper.errors import ContractError

SuiteKind = Literal[
    "contract", "promptfoo", "GitHub prompt", "prompty", "PCSL", "harness", "OpenAI Evals"
]

SUITE_SUFFIXES = (".yaml", ".yml", ".json", ".prompty")


def _has_key(name: str) -> str:
    """Return the pattern of a key in YAML or JSON: of the outermost mapping, as far as a glance
    tells."""
    return rf"(?m)(?:^[{{ \t]{{0,4}}[\"']?{name}[\"']?|[{{,]\s*\"{name}\")[ \t]*:"


# The suffixes, and the patterns that all have to be found before a file is parsed.
_DATA = (".yaml", ".yml", ".json")
_MARKS: tuple[tuple[SuiteKind, tuple[str, ...], tuple[str, ...]], ...] = (
    ("prompty", (".prompty",), (r"(?m)^(?:sample|inputs)[ \t]*:",)),
    ("GitHub prompt", (".yaml", ".yml"), (_has_key("messages"), _has_key("evaluators"))),
    (
        "contract",
        (".yaml", ".yml"),
        (_has_key("contract"), _has_key("(?:prompt|instructions|skills)")),
    ),
    ("promptfoo", _DATA, (_has_key("prompts"), _has_key("(?:providers|targets|tests|scenarios)"))),
    ("PCSL", _DATA, (_has_key("pcsl"), _has_key("(?:targets|fixtures)"))),
    ("harness", _DATA, (_has_key("invariants"), _has_key("(?:prompt_template|versions)"))),
    ("OpenAI Evals", _DATA, (_has_key("testing_criteria"),)),
    ("OpenAI Evals", _DATA, (r"[\"']?class[\"']?[ \t]*:[ \t]*[\"']?evals\.",)),
)
_COMPILED = tuple(
    (kind, suffixes, tuple(map(re.compile, patterns))) for kind, suffixes, patterns in _MARKS
)


def suite_kind(path: str, text: str) -> SuiteKind | None:
    """Return which tool's suite the file is; None if it is none."""
    name = path.lower()
    for kind, suffixes, patterns in _COMPILED:
        if name.endswith(suffixes) and all(pattern.search(text) for pattern in patterns):
            return kind if kind == "contract" or _is_one(kind, path, text) else None
    return None


def _is_one(kind: SuiteKind, path: str, text: str) -> bool:
    """Return whether the parsed file is what it looks like."""
    from gatekeeper.contract.formats.recognise import find_format

    try:
        read = front_matter_document if kind == "prompty" else parse_once
        data = read(text, path).data
    except ContractError:
        return kind != "prompty"  # trying to run it says what is wrong
    return find_format(path, data) is not None
