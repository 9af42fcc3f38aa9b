"""Reads evals of OpenAI Evals that a model grades: `ModelBasedClassify` with its specification.

The specification is in a file of `modelgraded/`, beside the folder of the registry. `oaieval` picks
the model that grades; here it is the `judge` of the entry that an export of gatekeeper writes.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from posixpath import dirname, join, normpath
from typing import Any

from gatekeeper.contract.formats.check_texts import literal
from gatekeeper.contract.formats.fields import value_at
from gatekeeper.contract.formats.foreign_suite import At, SuiteFiles
from gatekeeper.contract.formats.known_keys import Keys, keys, unknown_keys
from gatekeeper.contract.reading.globs import literal_pattern
from gatekeeper.contract.syntax.yaml_positions import Document, parse_once
from gatekeeper.contract.values.definition import NotRun

SPEC_KEYS: Mapping[str, Keys] = {
    "specification": keys(
        "prompt choice_scores", "choice_strings input_outputs eval_type output_template"
    )
}
SETTINGS = ".gatekeeper"
"""Ends the name of an entry with the `model`, `params` and `judge` of an eval: `oaieval` refuses
other arguments of an eval, and ignores entries that nobody names."""


def settings_entry(name: str) -> str:
    """Return the name of the entry with the settings of an eval."""
    return f"{name.split('.')[0]}{SETTINGS}"


def is_settings(name: object) -> bool:
    """Return whether an entry of this name has the settings of an eval."""
    return str(name).endswith(SETTINGS)


def read_graded(
    files: SuiteFiles, document: Document, name: str, not_run: list[NotRun]
) -> list[At]:
    """Return the judge of an eval, or add why it is not run."""
    at, kind = document.position((name, "class")), "modelgraded.classify:ModelBasedClassify"
    judge = value_at(document, (settings_entry(name), "judge"))
    named = value_at(document, (name, "args", "modelgraded_spec"))
    holder, spec = _specification(files, document, named)
    unknown = unknown_keys(holder, (str(named),), spec, SPEC_KEYS["specification"], check=kind)
    if unknown:
        not_run += unknown
        return []
    what = (
        f"`{settings_entry(name)}` has no `judge`; write the model that grades, as `judge: MODEL`"
    )
    made = _judge(spec, judge) if isinstance(judge, str) else what
    if isinstance(made, str):
        not_run.append(NotRun(kind, at, made))
        return []
    return [At(made, at)]


def _specification(
    files: SuiteFiles, document: Document, name: object
) -> tuple[Document, Mapping[str, Any]]:
    """Return the specification of the name, and its file; nothing if there is none."""
    folder = normpath(join(dirname(document.path), "..", "modelgraded"))
    for path in files.find(f"{literal_pattern(folder)}/*.yaml"):
        text = files.text(document, (), f"/{path}")[1]
        holder = parse_once(text, path)
        found = value_at(holder, (str(name),))
        if isinstance(found, dict):
            return holder, found
    return document, {}


def _judge(spec: Mapping[str, Any], judge: str) -> dict[str, Any] | str:
    prompt, scores = spec.get("prompt"), spec.get("choice_scores")
    if not isinstance(prompt, str) or not isinstance(scores, Mapping):
        return (
            "the specification of this eval is missing, or lacks the text `prompt` or the mapping "
            "`choice_scores`"
        )
    numbers = [s for s in scores.values() if isinstance(s, int | float) and 0 <= s <= 1]
    passing = [score for score in numbers if score > 0]
    if len(numbers) < len(scores) or len(scores) < 2 or not passing:
        return (
            "this eval needs at least two choices with scores from 0 to 1, "
            "and at least one score must be above 0"
        )
    try:
        parts = list(string.Formatter().parse(prompt))
    except ValueError:
        return "the prompt of this eval is not a valid format string of Python"
    if any(field not in (None, "completion") for _, field, _, _ in parts):
        return "the prompt of this eval contains a field other than `{completion}`"
    shown = "(the data named `output`)"
    criteria = "".join(text + (shown if field else "") for text, field, _, _ in parts)
    return {
        "judge": "rubric",
        "criteria": literal(criteria),
        "choices": dict(scores),
        "pass": min(passing),
        "model": judge,
    }
