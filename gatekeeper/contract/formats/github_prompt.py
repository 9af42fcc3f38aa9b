"""Reads GitHub's `.prompt.yml` files with `testData` and `evaluators`, as `gh models eval` does.

The file is its own prompt: its messages, model and parameters are read by
`contract/prompts/load.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import partial
from posixpath import basename
from typing import Any

from gatekeeper.contract.formats.check_texts import fill, with_variables
from gatekeeper.contract.formats.fields import one_of
from gatekeeper.contract.formats.foreign_suite import (
    At,
    ForeignContract,
    ForeignSuite,
    SuiteFiles,
    build_document,
    contract_name,
    copy_value,
)
from gatekeeper.contract.formats.known_keys import Keys, keys, unknown_in, unknown_keys
from gatekeeper.contract.prompts.unfilled_names import SPACED
from gatekeeper.contract.reading.github_model_names import from_github_name
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import NotRun, Position
from gatekeeper.errors import ContractError

_STRINGS = {
    "equals": ("equals", {"strip": True}),
    "contains": ("contains", {"ignore_case": True}),
    "startsWith": ("starts_with", {"ignore_case": True}),
    "endsWith": ("ends_with", {"ignore_case": True}),
}
"""Each kind of string evaluator as a check: `gh models` ignores letter case except in `equals`, and
white space around the answer."""

KEYS: Mapping[str, Keys] = {
    "prompt": keys(
        "name messages testData evaluators",
        "model modelParameters responseFormat jsonSchema params",
    ),
    "evaluator": keys("name string llm uses"),
    "string": keys("equals contains startsWith endsWith"),
    "llm": keys("modelId prompt choices systemPrompt"),
    "choice": keys("choice score"),
}


_DATA = {"input": "question", "expected": "reference", "context": "context"}
"""Variables that a judge sees as data, and the parameter that gives them."""

# What GitHub's own evaluators grade, in words of this project: 1 to 5, as scores from 0 to 1.
_JUDGE_MODEL = "openai/gpt-4o"
_BUILT_IN: Mapping[str, Mapping[str, Any]] = {
    "similarity": {
        "criteria": "The output says the same as the reference. What matters is the content and "
        "not the words.",
        "reference": "{{ expected }}",
        "levels": ("nothing", "little", "about half", "most", "everything"),
    },
    "coherence": {
        "criteria": "The output is easy to follow: each sentence follows from the one before, and "
        "the parts stand in a logical order.",
        "levels": ("incoherent", "poor", "partly coherent", "coherent", "very coherent"),
    },
    "fluency": {
        "criteria": "The output is well written: correct grammar, a fitting choice of words, "
        "sentences that read naturally.",
        "levels": ("not understandable", "weak", "acceptable", "good", "excellent"),
    },
    "relevance": {
        "criteria": "The output answers the question completely and keeps to it.",
        "question": "{{ input }}",
        "levels": ("unrelated", "hardly relevant", "partly relevant", "relevant", "complete"),
    },
    "groundedness": {
        "criteria": "Everything that the output claims follows from the context.",
        "context": "{{ context }}",
        "levels": ("contradicts it", "invented", "partly supported", "supported", "fully"),
    },
}


def recognises(_path: str, data: object) -> bool:
    """Return whether the data is a prompt of GitHub Models with tests."""
    return (
        isinstance(data, dict)
        and isinstance(data.get("messages"), list)
        and bool(data.get("evaluators"))
    )


def read(_files: SuiteFiles, document: Document) -> ForeignSuite:
    """Translate the file to one contract. Raises ContractError."""
    data = document.data
    not_run = unknown_keys(document, (), data, KEYS["prompt"])
    rows = data.get("testData")
    if not isinstance(rows, list) or not rows:
        what, fix = (
            "`testData` must be a list of tests",
            "write one mapping of variables for each test",
        )
        raise ContractError([document.problem(("testData",), what, fix)])
    _require_filled(document, {name for row in rows if isinstance(row, dict) for name in row})
    file = basename(document.path)
    stem = file.split(".")[0]
    name = data.get("name")
    tree = {
        "contract": 1,
        "name": At(
            contract_name(name if isinstance(name, str) else "", contract_name(stem, "prompt")),
            document.position(("name",)),
        ),
        "template": "text",
        "prompt": At(f"./{file}", document.position(("messages",))),
        "repair": {"steps": ["strip_whitespace"]},
        "fixtures": At(
            [_fixture(document, index, row) for index, row in enumerate(rows)],
            document.position(("testData",)),
        ),
        "checks": At(_checks(document, rows, not_run), document.position(("evaluators",))),
    }
    if isinstance(data.get("description"), str):
        tree["description"] = copy_value(document, ("description",))
    return ForeignSuite(
        (ForeignContract(build_document(document.path, tree, document.position()), tuple(not_run)),)
    )


def _require_filled(document: Document, names: Collection[str]) -> None:
    """Raise ContractError for a variable with spaces in its braces, which GitHub sends as text."""
    for index, message in enumerate(document.data["messages"]):
        content = message.get("content") if isinstance(message, dict) else None
        for found in SPACED.finditer(content if isinstance(content, str) else ""):
            if found[1] in names:
                what = f"GitHub sends `{found[0]}` as text, because of the spaces in the braces"
                fix = f"write `{{{{{found[1]}}}}}`"
                raise ContractError([document.problem(("messages", index, "content"), what, fix)])


def _fixture(document: Document, index: int, row: Any) -> At:
    key: KeyPath = ("testData", index)
    if not isinstance(row, dict):
        what, fix = "a test is not a mapping of variables", "write `input: …`"
        raise ContractError([document.problem(key, what, fix)])
    fixture: dict[str, Any] = {"vars": copy_value(document, key)}
    if "expected" in row:
        fixture["expected"] = copy_value(document, (*key, "expected"))
    return At(fixture, document.position(key))


def _checks(document: Document, rows: list[Any], not_run: list[NotRun]) -> list[At]:
    written = document.data.get("evaluators") or []
    if not isinstance(written, list):
        what, fix = "`evaluators` is not a list", "write each evaluator as an item `- name: …`"
        raise ContractError([document.problem(("evaluators",), what, fix)])
    variables = [row.keys() for row in rows if isinstance(row, dict)]
    known = set(variables[0]).intersection(*variables)
    found = []
    for index, item in enumerate(written):
        key: KeyPath = ("evaluators", index)
        if not isinstance(item, dict):
            what, fix = "an evaluator is not a mapping", "write `{name: …, string: {…}}`"
            raise ContractError([document.problem(key, what, fix)])
        unknown = _unknown(document, key, item)
        not_run += unknown
        check = _check(document, key, item, known, not_run)
        if check is not None and not unknown:
            if isinstance(item.get("name"), str):
                check = {"name": copy_value(document, (*key, "name")), **check}
            found.append(At(check, document.position(key)))
    return found


def _check(
    document: Document,
    key: KeyPath,
    item: Mapping[str, Any],
    known: Collection[str],
    not_run: list[NotRun],
) -> dict[str, Any] | None:
    if isinstance(item.get("string"), dict):
        return _string_check(document, (*key, "string"), item["string"], known)
    if isinstance(item.get("llm"), dict):
        return _llm_check(document, (*key, "llm"), item["llm"], known, not_run)
    uses = item.get("uses")
    if isinstance(uses, str):
        return _built_in(document, (*key, "uses"), uses, known, not_run)
    what = "an evaluator must have `string`, `llm` or `uses`"
    raise ContractError([document.problem(key, what, "add one of these keys")])


def _unknown(document: Document, key: KeyPath, item: Mapping[str, Any]) -> list[NotRun]:
    """Return the unknown keys of an evaluator, and those that `gh models` does not read beside
    another one."""
    one_of(document, key, ("string", "llm", "uses"))
    one_of(document, (*key, "string"), tuple(_STRINGS))
    kinds = {"": "evaluator", "string": "string", "llm": "llm", "llm.choices.*": "choice"}
    return unknown_in(document, key, KEYS, kinds, check=str(item.get("name", "evaluator")))


def _string_check(
    document: Document, key: KeyPath, written: Mapping[str, Any], known: Collection[str]
) -> dict[str, Any]:
    for name, (kind, params) in _STRINGS.items():
        if written.get(name):
            value = At(with_variables(str(written[name]), known), _at(document, key, name))
            return {"type": kind, "value": value, **params}
    what = "`string` has no comparison such as `contains`"
    fix = f"add one of {', '.join(f'`{name}`' for name in _STRINGS)}"
    raise ContractError([document.problem(key, what, fix)])


def _llm_check(
    document: Document,
    key: KeyPath,
    written: Mapping[str, Any],
    known: Collection[str],
    not_run: list[NotRun],
) -> dict[str, Any] | None:
    """Return a judge with the evaluator's own text as its criteria, and its choices with their
    scores. Any choice with a score above 0 passes, as in `gh models`."""
    prompt, model = written.get("prompt"), written.get("modelId")
    choices = written.get("choices")
    pairs = [c for c in choices if isinstance(c, dict)] if isinstance(choices, list) else []
    scores = {str(c.get("choice")): c.get("score") for c in pairs}
    numbers = [s for s in scores.values() if isinstance(s, int | float) and 0 <= s <= 1]
    if not isinstance(prompt, str) or not isinstance(model, str):
        missing = "prompt" if not isinstance(prompt, str) else "modelId"
        what = f"an llm evaluator has no `{missing}`"
        raise ContractError([document.problem((*key, missing), what, f"add `{missing}`")])
    passing = [score for score in numbers if score > 0]
    if len(numbers) < len(scores) or len(scores) < 2 or not passing:
        why = (
            "the evaluator needs at least two choices with scores from 0 to 1, "
            "and at least one score must be above 0"
        )
        not_run.append(NotRun("llm", document.position(key), why))
        return None
    system = written.get("systemPrompt")
    criteria = "\n\n".join(part.strip() for part in (system, prompt) if isinstance(part, str))
    given = {
        part: f"{{{{ {variable} }}}}"
        for variable, part in _DATA.items()
        if variable in known and re.search(rf"\{{\{{\s*{variable}\s*\}}\}}", prompt)
    }
    return {
        "judge": "rubric",
        "criteria": At(fill(criteria, partial(_named, known)), _at(document, key, "prompt")),
        **given,
        "choices": At(scores, _at(document, key, "choices")),
        "pass": min(passing),
        "model": At(from_github_name(model), _at(document, key, "modelId")),
    }


def _built_in(
    document: Document, key: KeyPath, uses: str, known: Collection[str], not_run: list[NotRun]
) -> dict[str, Any] | None:
    name = uses.removeprefix("github/")
    preset = _BUILT_IN.get(name) if uses.startswith("github/") else None
    at = document.position(key)
    if preset is None:
        not_run.append(NotRun(uses, at, "GitHub has no evaluator of this name"))
        return None
    texts = {part: value for part, value in preset.items() if part != "levels"}
    for value in texts.values():
        variable = value.strip("{ }")
        if value.startswith("{{") and variable not in known:
            not_run.append(NotRun(uses, at, f"at least one test lacks the variable `{variable}`"))
            return None
    scale = {str(level): text for level, text in enumerate(preset["levels"], start=1)}
    return {"judge": "rubric", **texts, "scale": scale, "pass": 2, "model": _JUDGE_MODEL}


def _named(known: Collection[str], variable: str) -> str | None:
    """Return what stands for a variable in the criteria. The judge sees the answer, and what a test
    gives, as data with a name, so that neither can instruct it."""
    if variable == "completion":
        return "(the data named `output`)"
    if variable not in known:
        return None
    part = _DATA.get(variable)
    return f"(the data named `{part}`)" if part else f"{{{{ {variable} }}}}"


def _at(document: Document, key: KeyPath, name: str) -> Position:
    return document.position((*key, name))
