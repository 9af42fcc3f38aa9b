"""Reads evals as OpenAI's API takes them, kept in a JSON or YAML file: `testing_criteria`, and the
`data_source` of a run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from posixpath import basename
from typing import Any

from gatekeeper.contract.fixtures.fixtures import read_rows
from gatekeeper.contract.formats.check_texts import fill
from gatekeeper.contract.formats.fields import expect_list, located_text, one_of, value_at
from gatekeeper.contract.formats.foreign_suite import (
    At,
    ForeignContract,
    ForeignSuite,
    SuiteFiles,
    build_document,
    contract_name,
    copy_value,
)
from gatekeeper.contract.formats.known_keys import Keys, keys, unknown_in
from gatekeeper.contract.reading.role_lines import ROLES
from gatekeeper.contract.reading.size_limits import MOST_FIXTURES
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import MessageTemplate, NotRun, Prompt
from gatekeeper.errors import ContractError

_OUTPUT = "sample.output_text"
_TEMPLATE = ("input_messages", "template")
_STRING_CHECKS: Mapping[str, Mapping[str, Any]] = {
    "eq": {"type": "equals", "strip": False},
    "ne": {"type": "equals", "strip": False, "not": True},
    "like": {"type": "contains"},
    "ilike": {"type": "contains", "ignore_case": True},
}
_OF_GRADER = "type name input"
KEYS: Mapping[str, Keys] = {
    "eval": keys(
        "name testing_criteria data_source run",
        "id object created_at data_source_config metadata shared_with_openai",
    ),
    "run": keys("data_source", "id name object created_at eval_id metadata model status"),
    "data source": keys("model input_messages sampling_params source", "type"),
    "input messages": keys("template", "type"),
    "message": keys("role content", "type"),
    "content": keys("text", "type"),
    "source": keys("content path id file_id", "type"),
    "string_check": keys(f"{_OF_GRADER} operation reference"),
    "text_similarity": keys(f"{_OF_GRADER} evaluation_metric pass_threshold reference"),
    "label_model": keys(f"{_OF_GRADER} model labels passing_labels"),
    "score_model": keys(f"{_OF_GRADER} model range pass_threshold", "sampling_params"),
}
_IN_SOURCE = {
    "": "data source",
    "source": "source",
    "input_messages": "input messages",
    "input_messages.template.*": "message",
    "input_messages.template.*.content": "content",
}
_IN_GRADER = {"input.*": "message", "input.*.content": "content"}
_ROUGE = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL"}
_HOLE = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*\}\}")


def recognises(_path: str, data: object) -> bool:
    """Return whether the data is an eval with its criteria."""
    return isinstance(data, dict) and isinstance(data.get("testing_criteria"), list)


def read(files: SuiteFiles, document: Document) -> ForeignSuite:
    """Translate the eval to one contract. Raises ContractError."""
    source = _run(document)
    not_run = _unknown(document, source)
    checks = []
    for index, item in enumerate(expect_list(document, ("testing_criteria",))):
        key: KeyPath = ("testing_criteria", index)
        made = _criterion(item)
        kind = located_text(document, (*key, "type"))
        kinds = {"": kind, **_IN_GRADER} if kind in KEYS else {}
        unknown = unknown_in(document, key, KEYS, kinds, check=kind)
        if unknown:
            not_run += unknown
            continue
        if isinstance(made, str):
            not_run.append(NotRun(str(item.get("type")), document.position(key), made))
            continue
        name = {"name": item["name"]} if isinstance(item.get("name"), str) else {}
        checks.append(At({**name, **made}, document.position(key)))
    text = files.text(document, (), f"/{document.path}")[1]
    model = located_text(document, (*source, "model"))
    tree: dict[str, Any] = {
        "contract": 1,
        "name": At(_name(document), document.position(("name",))),
        "template": "jinja",
        "prompt": At(f"./{basename(document.path)}", document.position((*source, *_TEMPLATE))),
        "model": At(
            model if "/" in model else f"openai/{model}", document.position((*source, "model"))
        ),
        "fixtures": _fixtures(files, document, source),
        "checks": checks,
    }
    if isinstance(value_at(document, (*source, "sampling_params")), dict):
        tree["params"] = _params(document, (*source, "sampling_params"))
    prompt = Prompt(document.path, _messages(document, source), text)
    written = build_document(document.path, tree, document.position())
    return ForeignSuite((ForeignContract(written, tuple(not_run), prompt),))


def _unknown(document: Document, source: KeyPath) -> list[NotRun]:
    """Return the unknown keys of the eval and its run."""
    one_of(document, (*source, "source"), ("content", "path", "id", "file_id"))
    found = unknown_in(document, (), KEYS, {"": "eval", "run": "run"})
    return found + unknown_in(document, source, KEYS, _IN_SOURCE)


def _name(document: Document) -> str:
    name = document.data.get("name")
    stem = contract_name(basename(document.path).split(".")[0], "eval")
    return contract_name(name, stem) if isinstance(name, str) else stem


def _run(document: Document) -> KeyPath:
    """Return the place of the data source of the run. Raises ContractError."""
    for key in (("data_source",), ("run", "data_source")):
        if isinstance(value_at(document, key), dict):
            return key
    what = "the file contains no run of this eval, so the prompt and the model are missing"
    fix = "add the `data_source` of the run, with `model`, `input_messages` and `source`"
    raise ContractError([document.problem((), what, fix)])


def _params(document: Document, key: KeyPath) -> At:
    renamed = {"max_completion_tokens": "max_tokens", "max_completions_tokens": "max_tokens"}
    written = value_at(document, key)
    values = {
        renamed.get(name, name): copy_value(document, (*key, name))
        for name, value in written.items()
        if value is not None
    }
    return At(values, document.position(key))


def _messages(document: Document, source: KeyPath) -> tuple[MessageTemplate, ...]:
    key: KeyPath = (*source, *_TEMPLATE)
    found = []
    for index, item in enumerate(expect_list(document, key)):
        place: KeyPath = (*key, index, "content")
        content = item.get("content")
        if isinstance(content, dict):  # {type: input_text, text: …}
            place = (*place, "text")
        role = item.get("role")
        if role not in ROLES:
            what = f"the role is not one of {', '.join(ROLES)}"
            raise ContractError([document.problem((*key, index, "role"), what, "write `user`")])
        template = fill(located_text(document, place), _variable)
        line = document.text_lines.get(place, document.position(place).line or 1)
        found.append(MessageTemplate(role, template, line))
    return tuple(found)


def _variable(name: str) -> str | None:
    """Return a variable of a template as ours; `item` is a variable of each fixture."""
    return f"{{{{ {name} }}}}" if name == "item" or name.startswith("item.") else None


def _fixtures(files: SuiteFiles, document: Document, source: KeyPath) -> list[At]:
    key: KeyPath = (*source, "source")
    written = value_at(document, key)
    written = written if isinstance(written, dict) else {}
    if isinstance(written.get("content"), list):
        items = expect_list(document, (*key, "content"))
        return [
            At(
                {"vars": {"item": copy_value(document, _item(key, index, item))}},
                document.position((*key, "content", index)),
            )
            for index, item in enumerate(items)
        ]
    named = next((k for k in ("path", "id", "file_id") if isinstance(written.get(k), str)), None)
    if named is None:
        what, fix = "the run has no data", "add `source: {type: file_content, content: […]}`"
        raise ContractError([document.problem(key, what, fix)])
    path, text = files.text(document, (*key, named), written[named])
    found = []
    for row in read_rows(text, path, MOST_FIXTURES):
        data = row.data if isinstance(row.data, dict) else {}
        at = row.document.position(row.key)
        found.append(At({"vars": {"item": data.get("item", data)}}, at))
    return found


def _item(key: KeyPath, index: int, item: Mapping[str, Any]) -> KeyPath:
    place: KeyPath = (*key, "content", index)
    return (*place, "item") if isinstance(item.get("item"), dict) else place


def _criterion(item: Mapping[str, Any]) -> dict[str, Any] | str:
    """Return the check of a criterion; why it is not run, if there is none."""
    kind = item.get("type")
    if kind == "string_check":
        return _string_check(item)
    if kind == "text_similarity":
        return _similarity(item)
    if kind in ("label_model", "score_model"):
        return _judge(item)
    if kind == "python":
        return (
            "gatekeeper does not run code that is written in this file; write a gatekeeper "
            "contract with a check such as `python: FILE:FUNCTION`"
        )
    return "gatekeeper has no check for criteria of this type"


def _is_output(text: object) -> bool:
    match = _HOLE.fullmatch(text.strip()) if isinstance(text, str) else None
    return match is not None and match[1] == _OUTPUT


def _string_check(item: Mapping[str, Any]) -> dict[str, Any] | str:
    check = _STRING_CHECKS.get(str(item.get("operation")))
    if check is None:
        return f"gatekeeper does not know the operation `{item.get('operation')}`"
    if not _is_output(item.get("input")) or not isinstance(item.get("reference"), str):
        return "the criterion does not compare `{{ sample.output_text }}` with a text"
    return {**check, "value": fill(item["reference"], _variable)}


def _similarity(item: Mapping[str, Any]) -> dict[str, Any] | str:
    metric, least = str(item.get("evaluation_metric")), item.get("pass_threshold")
    if not _is_output(item.get("input")) or not isinstance(item.get("reference"), str):
        return "the criterion does not compare `{{ sample.output_text }}` with a text"
    if not isinstance(least, int | float):
        return "the criterion has no `pass_threshold`"
    value = fill(item["reference"], _variable)
    if metric in _ROUGE:
        return {"type": "rouge", "value": value, "min": least, "variant": _ROUGE[metric]}
    return f"gatekeeper does not compute `{metric}` in the same way as OpenAI"


def _judge(item: Mapping[str, Any]) -> dict[str, Any] | str:
    """Return a judge with the messages of the grader as criteria."""
    messages = item.get("input")
    model = item.get("model")
    if not isinstance(messages, list) or not isinstance(model, str):
        return "the criterion needs a list of messages as `input`, and a `model`"
    texts = [_message_text(message) for message in messages]
    criteria = "\n\n".join(fill(text, _for_judge) for text in texts if text)
    if not criteria:
        return "the criterion's messages have no text"
    base = {
        "judge": "rubric",
        "criteria": criteria,
        "model": model if "/" in model else f"openai/{model}",
    }
    if item.get("type") == "label_model":
        labels, passing = item.get("labels"), item.get("passing_labels")
        if not isinstance(labels, list) or not isinstance(passing, list) or len(labels) < 2:
            return "the criterion needs at least two `labels`, and a list of `passing_labels`"
        scores = {str(label): float(label in passing) for label in labels}
        return {**base, "choices": scores, "pass": 1}
    return _scored(base, item)


def _scored(base: dict[str, Any], item: Mapping[str, Any]) -> dict[str, Any] | str:
    """Return the judge of a score; why it is not run, if ours gives no such score."""
    bounds = item.get("range", [0, 1])
    if bounds == [0, 1]:
        least = item.get("pass_threshold", 0.5)
        if isinstance(least, int | float):
            return {**base, "choices": {f"{n}/10": n / 10 for n in range(11)}, "pass": least}
        return "the criterion's `pass_threshold` is not a number"
    most = next((n for n in range(2, 11) if bounds == [1, n]), None)
    if most is None:
        return (
            "gatekeeper supports only the `range` [0, 1], and ranges [1, n] with a whole number n "
            "from 2 to 10"
        )
    least = item.get("pass_threshold", (1 + most) / 2)
    if not isinstance(least, int | float) or not 1 <= least <= most:
        return "the criterion's `pass_threshold` must be a number in the criterion's `range`"
    levels = range(1, most + 1)
    passing = next(level for level in levels if level >= least)
    return {**base, "scale": {str(n): f"{n} of {most}" for n in levels}, "pass": passing}


def _message_text(message: object) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, dict):
        content = content.get("text")
    return content if isinstance(content, str) else ""


def _for_judge(name: str) -> str | None:
    return "(the data named `output`)" if name == _OUTPUT else _variable(name)
