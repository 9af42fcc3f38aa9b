"""Reads GitHub's `.prompt.yml` files with `testData` and `evaluators`, as `gh models eval` does.

The file is its own prompt: its messages, model and parameters are read by
`contract/prompts/load.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from posixpath import basename
from typing import Any

from gatekeeper.contract.formats.foreign_suite import At, ForeignContract, name_of_contract
from gatekeeper.contract.formats.reader import CannotRunError, Keys, Node, SuiteFiles, keys, meant
from gatekeeper.contract.formats.rows import (
    UNCLEAR_CHOICES,
    Check,
    Row,
    checks_of,
    contract_of,
    fill,
    least_passing,
    refuse_unknown,
    row,
    table,
)
from gatekeeper.contract.prompts.kinds import GITHUB_PROMPT
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.syntax.yaml_positions import parse_once
from gatekeeper.contract.values.change import Revision
from gatekeeper.errors import ContractError, Problem


def _text(value: At) -> At:
    return value


# `gh models` ignores letter case except in `equals`, and white space around the answer.
STRINGS = table(
    row("equals", "equals", value=_text, strip=True),
    row("contains", "contains", value=_text, ignore_case=True),
    row("startsWith", "starts_with", value=_text, ignore_case=True),
    row("endsWith", "ends_with", value=_text, ignore_case=True),
)
KEYS: Mapping[str, Keys] = {
    "prompt": keys(
        "name messages testData evaluators",
        "model modelParameters responseFormat jsonSchema params",
    ),
    "evaluator": keys("name string llm uses"),
    "string": keys(" ".join(STRINGS)),
    "llm": keys("modelId prompt choices systemPrompt"),
    "choice": keys("choice score"),
}

_DATA = {"input": "question", "expected": "reference", "context": "context"}
"""Variables that a judge sees as data, and the parameter that gives them."""

# What GitHub's own evaluators grade, in words of this project: 1 to 5, as scores from 0 to 1.
_JUDGE_MODEL = "openai/gpt-4o"


def _graded(name: str, criteria: str, levels: str, **given: Any) -> Row:
    """Return the row of an evaluator with levels from 1, of which 1 is the only one to fail."""
    scale = {str(level): text for level, text in enumerate(levels.split(", "), start=1)}
    return row(
        name, "judge rubric", criteria=criteria, **given, scale=scale, pass_=2, model=_JUDGE_MODEL
    )


BUILT_IN = table(
    _graded(
        "similarity",
        "The output says the same as the reference. What matters is the content and not the words.",
        "nothing, little, about half, most, everything",
        reference="{{ expected }}",
    ),
    _graded(
        "coherence",
        "The output is easy to follow: each sentence follows from the one before, and the parts "
        "stand in a logical order.",
        "incoherent, poor, partly coherent, coherent, very coherent",
    ),
    _graded(
        "fluency",
        "The output is well written: correct grammar, a fitting choice of words, sentences that "
        "read naturally.",
        "not understandable, weak, acceptable, good, excellent",
    ),
    _graded(
        "relevance",
        "The output answers the question completely and keeps to it.",
        "unrelated, hardly relevant, partly relevant, relevant, complete",
        question="{{ input }}",
    ),
    _graded(
        "groundedness",
        "Everything that the output claims follows from the context.",
        "contradicts it, invented, partly supported, supported, fully",
        context="{{ context }}",
    ),
)


def recognises(_path: str, data: object) -> bool:
    """Return whether the data is a `.prompt.yml`, a prompt in GitHub's format, with tests."""
    return (
        isinstance(data, dict)
        and isinstance(data.get("messages"), list)
        and bool(data.get("evaluators"))
    )


def read(_files: SuiteFiles, root: Node) -> tuple[ForeignContract, ...]:
    """Translate the file to one contract. Raises ContractError."""
    notes = root.unknown_keys(KEYS["prompt"])
    tests = root.child("testData")
    if not isinstance(tests.value, list) or not tests.value:
        fix = "write one mapping of variables for each test"
        raise tests.problem("`testData` must be a list of tests", fix)
    rows = list(tests.each())
    evaluators = root.child("evaluators")
    if not isinstance(evaluators.value, list):
        fix = "write each evaluator as an item `- name: …`"
        raise evaluators.problem("`evaluators` is not a list", fix)
    known = set(rows[0].mapping).intersection(*(row.mapping for row in rows))
    path = root.document.path
    tree = {
        "template": "text",
        "prompt": root.child("messages").at(f"./{basename(path)}"),
        "repair": {"steps": ["strip_whitespace"]},
        "fixtures": tests.at([_fixture(row) for row in rows]),
        "checks": evaluators.at(checks_of(evaluators.each(), partial(_check, known), notes)),
        "description": root.copied_text("description"),
    }
    return (contract_of(root, name_of_contract(root.get("name"), path, "prompt"), tree, notes),)


def misspelt_keys(revision: Revision, path: str) -> Iterator[Problem]:
    """Yield each key of a `.prompt.yml` that is likely misspelt; nothing for any other file, or one
    that cannot be read. An unknown key is metadata, so nothing else would say that parameters, or
    all tests, are ignored."""
    try:
        document = parse_once(read_text(revision, path), path)
    except (UnreadableError, ContractError):
        return  # loading it says so
    data = document.data if path.lower().endswith(GITHUB_PROMPT) else None
    if not isinstance(data, dict) or "contract" in data or "pcsl" in data:
        return
    for key in data:
        other = meant(str(key).replace("_", "").replace("-", ""), KEYS["prompt"].known)
        if other is not None and other not in data:
            what = f"gatekeeper ignores the unknown key `{key}`"
            yield document.problem((key,), what, f"did you mean `{other}`?", at_key=True)


def _fixture(row: Node) -> At:
    if not isinstance(row.value, dict):
        raise row.problem("a test is not a mapping of variables", "write `input: …`")
    return row.at({"vars": row.copy(), **row.copies(["expected"])})


def _check(known: Collection[str], node: Node) -> Check:
    """Return the check of an evaluator. `known` are the variables of every test.

    Raises ContractError, and CannotRunError also for what `gh models` does not read beside another
    key.
    """
    if not isinstance(node.value, dict):
        raise node.problem("an evaluator is not a mapping", "write `{name: …, string: {…}}`")
    node.one_of(("string", "llm", "uses"))
    node.child("string").one_of(tuple(STRINGS))
    kinds = {"": "evaluator", "string": "string", "llm": "llm", "llm.choices.*": "choice"}
    unknown = node.unknown_in(KEYS, kinds, check=str(node.mapping.get("name", "evaluator")))
    try:
        check = _evaluator(node, known)
    except CannotRunError as error:
        raise CannotRunError(*unknown, *error.notes) from None
    refuse_unknown(unknown)
    name = node.child("name")
    return {"name": name.copy(), **check} if isinstance(name.value, str) else check


def _evaluator(node: Node, known: Collection[str]) -> Check:
    if isinstance(node.get("string"), dict):
        return _string_check(node.child("string"), known)
    if isinstance(node.get("llm"), dict):
        return _llm_check(node.child("llm"), known)
    if isinstance(node.get("uses"), str):
        return _built_in(node.child("uses"), known)
    what = "an evaluator must have `string`, `llm` or `uses`"
    raise node.problem(what, "add one of these keys")


def _string_check(node: Node, known: Collection[str]) -> Check:
    for name, known_as in STRINGS.items():
        if node.get(name):
            text = fill(str(node.get(name)), lambda n: f"{{{{ {n} }}}}" if n in known else None)
            return known_as.make(node.child(name).at(text))
    fix = f"add one of {', '.join(f'`{name}`' for name in STRINGS)}"
    raise node.problem("`string` has no comparison such as `contains`", fix)


def _llm_check(node: Node, known: Collection[str]) -> Check:
    """Return a judge with the evaluator's own text as its criteria, and its choices with their
    scores. Any choice with a score above 0 passes, as in `gh models`."""
    prompt, model, choices = (node.child(name) for name in ("prompt", "modelId", "choices"))
    for name, child in (("prompt", prompt), ("modelId", model)):
        if not isinstance(child.value, str):
            raise child.problem(f"an llm evaluator has no `{name}`", f"add `{name}`")
    pairs = [choice for choice in choices.each() if isinstance(choice.value, dict)]
    scores = {str(pair.get("choice")): pair.get("score") for pair in pairs}
    least = least_passing(scores)
    if least is None:
        raise node.cannot_run("llm", UNCLEAR_CHOICES)
    texts = (node.get("systemPrompt"), prompt.value)
    criteria = "\n\n".join(part.strip() for part in texts if isinstance(part, str))
    given = {
        part: f"{{{{ {variable} }}}}"
        for variable, part in _DATA.items()
        if variable in known and re.search(rf"\{{\{{\s*{variable}\s*\}}\}}", prompt.value)
    }
    return {
        "judge": "rubric",
        "criteria": prompt.at(fill(criteria, partial(_named, known))),
        **given,
        "choices": choices.at(scores),
        "pass": least,
        "model": model.at(model.value),
    }


def _built_in(node: Node, known: Collection[str]) -> Check:
    uses = node.value
    known_as = BUILT_IN.get(uses.removeprefix("github/")) if uses.startswith("github/") else None
    if known_as is None:
        raise node.cannot_run(uses, "GitHub has no evaluator of this name")
    for value in known_as.params.values():
        variable = str(value).strip("{ }")
        if str(value).startswith("{{") and variable not in known:
            raise node.cannot_run(uses, f"at least one test lacks the variable `{variable}`")
    return known_as.make(node)


def _named(known: Collection[str], variable: str) -> str | None:
    """Return what stands for a variable in the criteria. The judge sees the answer, and what a test
    gives, as data with a name, so that neither can instruct it."""
    if variable == "completion":
        return "(the data named `output`)"
    if variable not in known:
        return None
    part = _DATA.get(variable)
    return f"(the data named `{part}`)" if part else f"{{{{ {variable} }}}}"
