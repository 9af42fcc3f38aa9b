"""Reads the registry files of OpenAI Evals, whose samples are lines of chat messages with the ideal
answer.

The samples hold the prompt: what all of them have in common is the prompt, the rest are variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from posixpath import dirname, join, normpath
from typing import Any

from gatekeeper.contract.fixtures.fixtures import Row, read_rows
from gatekeeper.contract.formats.check_texts import literal
from gatekeeper.contract.formats.fields import value_at
from gatekeeper.contract.formats.foreign_suite import (
    At,
    ForeignContract,
    ForeignSuite,
    SuiteFiles,
    build_document,
    contract_name,
    contract_path,
    copy_value,
)
from gatekeeper.contract.formats.known_keys import Keys, keys, unknown_in, unknown_keys
from gatekeeper.contract.formats.openai_graded import (
    SPEC_KEYS,
    is_settings,
    read_graded,
    settings_entry,
)
from gatekeeper.contract.reading.globs import literal_pattern
from gatekeeper.contract.reading.size_limits import MOST_FIXTURES
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import MessageTemplate, NotRun, Prompt
from gatekeeper.errors import ContractError, Problem

_CLASS = "evals.elsuite."
_GRADED = "evals.elsuite.modelgraded.classify:ModelBasedClassify"
KEYS: Mapping[str, Keys] = {
    "eval": keys("class args", "id metrics"),
    "arguments": keys(
        "samples_jsonl model temperature max_tokens modelgraded_spec ignore_case",
        not_run={"num_few_shot": "gatekeeper does not add few-shot examples to the messages"},
    ),
    "settings": keys("model params judge"),
    "sample": keys("input ideal", "id metadata"),
    "message": keys("role content"),
    **SPEC_KEYS,
}
_JSON_MATCH, _VALID = "basic.json_match", "basic.json_validator"


def recognises(_path: str, data: object) -> bool:
    """Return whether the data is a registry of evals."""
    return isinstance(data, dict) and any(_is_eval(item) for item in data.values())


def _is_eval(item: object) -> bool:
    return (
        isinstance(item, dict)
        and isinstance(item.get("class"), str)
        and item["class"].startswith(_CLASS)
        and isinstance(item.get("args"), dict)
    )


def read(files: SuiteFiles, document: Document) -> ForeignSuite:
    """Translate each eval of the registry. Raises ContractError."""
    names = [name for name, item in document.data.items() if _is_eval(item)]
    others = [name for name in document.data if name not in names and not is_settings(name)]
    left_out = [note for name in others for note in _unknown_in_entry(document, name)]
    contracts = []
    for name in names:
        slug = contract_name(name, "eval")
        path = contract_path(document.path, slug, single=len(names) == 1)
        made = _contract(files, document, name, slug, path)
        contracts.append(replace(made, not_run=(*left_out, *made.not_run)))
    return ForeignSuite(tuple(contracts))


def _contract(
    files: SuiteFiles, document: Document, name: str, slug: str, path: str
) -> ForeignContract:
    key: KeyPath = (name, "args")
    args = document.data[name]["args"]
    at = document.position(key)
    samples = args.get("samples_jsonl")
    if not isinstance(samples, str):
        what, fix = "the eval names no samples", "add `samples_jsonl`"
        raise ContractError([document.problem(key, what, fix)])
    model, params = _settings(document, name)
    data = _samples_path(files, document, samples)
    source, text = files.text(document, (*key, "samples_jsonl"), data)
    rows = read_rows(text, source, MOST_FIXTURES)
    templates, variables = _split(rows, source)
    not_run = _unknown(document, name, rows)
    if document.data[name]["class"] == _GRADED:
        checks = read_graded(files, document, name, not_run)
    else:
        checks = _checks(document, (name, "class"), args, not_run)
    tree = {
        "contract": 1,
        "name": slug,
        "template": "jinja",
        "prompt": At(f"/{source}", document.position((*key, "samples_jsonl"))),
        "model": model,
        **({"params": At(params, at)} if params else {}),
        "fixtures": [_fixture(row, values) for row, values in zip(rows, variables, strict=True)],
        "checks": checks,
    }
    prompt = Prompt(source, templates, text)
    return ForeignContract(build_document(path, tree, at), tuple(not_run), prompt, (slug,))


def _unknown_in_entry(document: Document, name: str) -> list[NotRun]:
    """Return the unknown keys of an entry that is no eval: without `class` and `args`, it gives an
    eval another name. Raises ContractError if it has one of them without the other."""
    entry = document.data[name]
    found = unknown_keys(document, (name,), entry, KEYS["eval"])
    if isinstance(entry, dict) and ("class" in entry or "args" in entry):
        what = "this entry is not an eval that gatekeeper can read"
        fix = "write `class: evals.elsuite.…` and a mapping as `args`"
        raise ContractError([document.problem((name,), what, fix)])
    return found


def _unknown(document: Document, name: str, rows: Sequence[Row]) -> list[NotRun]:
    """Return the unknown keys of an eval and its settings, and each unknown one of its samples
    once."""
    found = unknown_in(document, (name,), KEYS, {"": "eval", "args": "arguments"})
    found += unknown_in(document, (settings_entry(name),), KEYS, {"": "settings"})
    of_rows: dict[str, NotRun] = {}
    for row in rows:
        for note in unknown_in(row.document, row.key, KEYS, {"": "sample", "input.*": "message"}):
            of_rows.setdefault(note.kind, note)
    return [*found, *of_rows.values()]


def _settings(document: Document, name: str) -> tuple[At, dict[str, At]]:
    """Return the model and its parameters: of the eval's arguments, or of the entry that an export
    of gatekeeper writes for it. Raises ContractError if no model is named."""
    key: KeyPath = (name, "args")
    args = document.data[name]["args"]
    own: KeyPath = (settings_entry(name),)
    given = value_at(document, own)
    given = given if isinstance(given, dict) else {}
    params = given.get("params")
    found = {
        param: copy_value(document, (*own, "params", param))
        for param in (params if isinstance(params, dict) else ())
    }
    found |= {
        param: copy_value(document, (*key, param))
        for param in ("temperature", "max_tokens")
        if param in args
    }
    for place, values in ((key, args), (own, given)):
        if isinstance(values.get("model"), str):
            return copy_value(document, (*place, "model")), found
    what = "the registry contains no model, because `oaieval` takes the model from its command line"
    fix = "add the model to `args`, such as `model: openai/gpt-4o-mini`"
    raise ContractError([document.problem(key, what, fix)])


def _samples_path(files: SuiteFiles, document: Document, reference: str) -> str:
    """Return where the samples are: beside the registry file, or in `../data` as in the registry of
    OpenAI Evals."""
    folder = dirname(document.path)
    for place in (folder, join(folder, "..", "data")):
        path = normpath(join(place, reference))
        if files.find(literal_pattern(path)):
            return f"/{path}"
    return reference


def _fixture(row: Row, values: Mapping[str, str]) -> At:
    fixture: dict[str, Any] = {"vars": dict(values)}
    if "ideal" in row.data:  # JsonValidator needs none
        ideal = row.data["ideal"]
        items = ideal if isinstance(ideal, list) else [ideal]
        fixture["expected"] = [str(item) for item in items]
    return At(fixture, row.document.position(row.key))


def _split(
    rows: Sequence[Row], path: str
) -> tuple[tuple[MessageTemplate, ...], list[dict[str, str]]]:
    """Return the prompt that all samples share, and the variables of each sample."""
    dialogues = [_messages(row) for row in rows]
    roles = [role for role, _ in dialogues[0]]
    for row, messages in zip(rows, dialogues, strict=True):
        if [role for role, _ in messages] != roles:
            at = row.document.position(row.key)
            what = (
                "the messages of this sample have different roles than the messages of the first "
                "sample"
            )
            fix = f"use the roles {', '.join(roles)} in each sample, or split the file"
            raise ContractError([Problem(path, what, fix, at.line)])
    templates: list[MessageTemplate] = []
    variables: list[dict[str, str]] = [{} for _ in rows]
    for place, role in enumerate(roles):
        texts = [messages[place][1] for messages in dialogues]
        last = place == len(roles) - 1
        if len(set(texts)) == 1 and not last:
            templates.append(MessageTemplate(role, literal(texts[0]), 1))
            continue
        name = "input" if last else f"message_{place + 1}"
        templates.append(MessageTemplate(role, f"{{{{ {name} }}}}", 1))
        for values, text in zip(variables, texts, strict=True):
            values[name] = text
    return tuple(templates), variables


def _messages(row: Row) -> list[tuple[str, str]]:
    written = row.data.get("input") if isinstance(row.data, dict) else None
    if isinstance(written, str) and written:
        return [("user", written)]
    if isinstance(written, list) and written:
        found = [
            (item["role"], item["content"])
            for item in written
            if isinstance(item, dict)
            and isinstance(item.get("role"), str)
            and isinstance(item.get("content"), str)
        ]
        if len(found) == len(written):
            return found
    at = row.document.position(row.key)
    what, fix = "a sample has no valid `input`", "write a text, or a list of chat messages"
    raise ContractError([Problem(at.path, what, fix, at.line)])


def _checks(
    document: Document, key: KeyPath, args: Mapping[str, Any], not_run: list[NotRun]
) -> list[At]:
    kind = document.data[key[0]]["class"].removeprefix(_CLASS)
    at = document.position(key)
    module, _, _ = kind.partition(":")
    expected = "{{ expected }}"
    check: dict[str, Any] | None = None
    if module == "basic.match":
        check = {"type": "starts_with", "values": expected}
    elif module == "basic.includes":
        ignore = args.get("ignore_case") is True
        check = {"type": "contains", "values": expected, "match": "any", "ignore_case": ignore}
    elif module == _JSON_MATCH:
        check = {"type": "json_equal", "value": "{{ expected[0] }}"}
    elif module == _VALID:
        check = {"type": "json_valid"}
    if check is None:
        not_run.append(NotRun(kind, at, "gatekeeper has no check for evals of this class"))
        return []
    return [At(check, at)]
