"""Reads evals as OpenAI's API takes them, kept in a JSON or YAML file: `testing_criteria`, and the
`data_source` of a run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from posixpath import basename

from gatekeeper.contract.fixtures.fixtures import read_rows
from gatekeeper.contract.formats.foreign_suite import (
    At,
    ForeignContract,
    name_of_contract,
    name_of_model,
)
from gatekeeper.contract.formats.reader import Keys, Node, SuiteFiles, keys
from gatekeeper.contract.formats.rows import (
    Check,
    checks_of,
    contract_of,
    fill,
    not_run,
    refuse_unknown,
    row,
    table,
)
from gatekeeper.contract.reading.role_lines import ROLES
from gatekeeper.contract.reading.size_limits import MOST_FIXTURES
from gatekeeper.contract.values.definition import MessageTemplate, Prompt

_OUTPUT = "sample.output_text"
_HOLE = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*\}\}")
_OF_GRADER = "type name input"


def _reference(item: Node) -> str:
    return fill(item.get("reference"), _variable)


def _least(item: Node) -> float:
    least = item.get("pass_threshold")
    if not isinstance(least, int | float):
        raise _cannot(item, "the criterion has no `pass_threshold`")
    return least


OPERATIONS = table(
    row("eq", "equals", strip=False, value=_reference),
    row("ne", "equals", strip=False, not_=True, value=_reference),
    row("like", "contains", value=_reference),
    row("ilike", "contains", ignore_case=True, value=_reference),
)
METRICS = table(
    row("rouge_1", "rouge", value=_reference, min=_least, variant="rouge1"),
    row("rouge_2", "rouge", value=_reference, min=_least, variant="rouge2"),
    row("rouge_l", "rouge", value=_reference, min=_least, variant="rougeL"),
)


def _string_check(item: Node) -> Check:
    row = OPERATIONS.get(str(item.get("operation")))
    if row is None:
        raise _cannot(item, f"gatekeeper does not know the operation `{item.get('operation')}`")
    _require_output(item)
    return row.make(item)


def _similarity(item: Node) -> Check:
    metric = str(item.get("evaluation_metric"))
    _require_output(item)
    _least(item)
    if metric not in METRICS:
        raise _cannot(item, f"gatekeeper does not compute `{metric}` in the same way as OpenAI")
    return METRICS[metric].make(item)


def _label_model(item: Node) -> Check:
    base = _judge(item)
    labels, passing = item.get("labels"), item.get("passing_labels")
    if not isinstance(labels, list) or not isinstance(passing, list) or len(labels) < 2:
        why = "the criterion needs at least two `labels`, and a list of `passing_labels`"
        raise _cannot(item, why)
    scores = {str(label): float(label in passing) for label in labels}
    return {**base, "choices": scores, "pass": 1}


def _score_model(item: Node) -> Check:
    """Return the judge of a score. Raises CannotRunError if ours gives no such score."""
    base, bounds = _judge(item), item.mapping.get("range", [0, 1])
    if bounds == [0, 1]:
        least = item.mapping.get("pass_threshold", 0.5)
        if not isinstance(least, int | float):
            raise _cannot(item, "the criterion's `pass_threshold` is not a number")
        return {**base, "choices": {f"{n}/10": n / 10 for n in range(11)}, "pass": least}
    most = next((n for n in range(2, 11) if bounds == [1, n]), None)
    if most is None:
        why = "the `range` must be [0, 1], or [1, n] with a whole number n from 2 to 10"
        raise _cannot(item, why)
    least = item.mapping.get("pass_threshold", (1 + most) / 2)
    if not isinstance(least, int | float) or not 1 <= least <= most:
        why = "the criterion's `pass_threshold` must be a number in the criterion's `range`"
        raise _cannot(item, why)
    levels = range(1, most + 1)
    passing = next(level for level in levels if level >= least)
    return {**base, "scale": {str(n): f"{n} of {most}" for n in levels}, "pass": passing}


ROWS = table(
    row("string_check", _string_check, keys=keys(f"{_OF_GRADER} operation reference")),
    row(
        "text_similarity", _similarity,
        keys=keys(f"{_OF_GRADER} evaluation_metric pass_threshold reference"),
    ),
    row("label_model", _label_model, keys=keys(f"{_OF_GRADER} model labels passing_labels")),
    row(
        "score_model", _score_model,
        keys=keys(f"{_OF_GRADER} model range pass_threshold", "sampling_params"),
    ),
    not_run(
        "python",
        "gatekeeper does not run code that is written in this file; write a gatekeeper "
        "contract with a check such as `python: FILE:FUNCTION`",
    ),
)  # fmt: skip
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
    **{kind: row.keys for kind, row in ROWS.items() if row.keys},
}
_IN_SOURCE = {
    "": "data source",
    "source": "source",
    "input_messages": "input messages",
    "input_messages.template.*": "message",
    "input_messages.template.*.content": "content",
}


def recognises(_path: str, data: object) -> bool:
    """Return whether the data is an eval with its criteria."""
    return isinstance(data, dict) and isinstance(data.get("testing_criteria"), list)


def read(files: SuiteFiles, root: Node) -> tuple[ForeignContract, ...]:
    """Translate the eval to one contract. Raises ContractError."""
    source, path = _run(root), root.document.path
    source.child("source").one_of(("content", "path", "id", "file_id"))
    notes = root.unknown_in(KEYS, {"": "eval", "run": "run"})
    notes += source.unknown_in(KEYS, _IN_SOURCE)
    checks = checks_of(root.child("testing_criteria").mappings(), _criterion, notes)
    text, model = files.own_text(root.document), source.child("model")
    template = source.child("input_messages", "template")
    params = source.child("sampling_params")
    tree = {
        "template": "jinja",
        "prompt": template.at(f"./{basename(path)}"),
        "model": model.at(name_of_model(model.text())),
        "fixtures": _fixtures(files, source.child("source")),
        "checks": checks,
        "params": _params(params) if isinstance(params.value, dict) else None,
    }
    prompt = Prompt(path, _messages(template), text)
    return (
        contract_of(root, name_of_contract(root.get("name"), path, "eval"), tree, notes, prompt),
    )


def _run(root: Node) -> Node:
    """Return the data source of the run. Raises ContractError."""
    for node in (root.child("data_source"), root.child("run", "data_source")):
        if isinstance(node.value, dict):
            return node
    what = "the file contains no run of this eval, so the prompt and the model are missing"
    fix = "add the `data_source` of the run, with `model`, `input_messages` and `source`"
    raise root.problem(what, fix)


def _params(node: Node) -> At:
    renamed = {"max_completion_tokens": "max_tokens", "max_completions_tokens": "max_tokens"}
    given = ((name, value) for name, value in node.items() if value.value is not None)
    return node.at({renamed.get(name, name): value.copy() for name, value in given})


def _messages(template: Node) -> tuple[MessageTemplate, ...]:
    found = []
    for item in template.mappings():
        content, role = item.child("content"), item.get("role")
        if isinstance(content.value, dict):  # {type: input_text, text: …}
            content = content.child("text")
        if role not in ROLES:
            what = f"the role is not one of {', '.join(ROLES)}"
            raise item.child("role").problem(what, "write `user`")
        found.append(MessageTemplate(role, fill(content.text(), _variable), content.line))
    return tuple(found)


def _variable(name: str) -> str | None:
    """Return a variable of a template as ours; `item` is a variable of each fixture."""
    return f"{{{{ {name} }}}}" if name == "item" or name.startswith("item.") else None


def _fixtures(files: SuiteFiles, source: Node) -> list[At]:
    if isinstance(source.get("content"), list):
        items = source.child("content").mappings()
        inner = [i.child("item") if isinstance(i.get("item"), dict) else i for i in items]
        pairs = zip(items, inner, strict=True)
        return [item.at({"vars": {"item": held.copy()}}) for item, held in pairs]
    names = ("path", "id", "file_id")
    named = next((name for name in names if isinstance(source.get(name), str)), None)
    if named is None:
        fix = "add `source: {type: file_content, content: […]}`"
        raise source.problem("the run has no data", fix)
    path, text = files.text(source.child(named), source.get(named))
    found = []
    for line in read_rows(text, path, MOST_FIXTURES):
        data = line.data if isinstance(line.data, dict) else {}
        at = line.document.position(line.key)
        found.append(At({"vars": {"item": data.get("item", data)}}, at))
    return found


def _criterion(item: Node) -> Check:
    """Return the check of a criterion."""
    kind = item.child("type").text()
    row = ROWS.get(kind)
    of_input = {"input.*": "message", "input.*.content": "content"}
    if row is None or row.why:
        raise _cannot(item, row.why if row else "gatekeeper has no check for criteria of this type")
    tables = {**KEYS, kind: row.keys or keys(_OF_GRADER)}
    refuse_unknown(item.unknown_in(tables, {"": kind, **of_input}, check=kind))
    made = row.make(item)
    name = item.get("name")
    return {"name": name, **made} if isinstance(name, str) else made


def _cannot(item: Node, why: str) -> Exception:
    return item.cannot_run(str(item.get("type")), why)


def _require_output(item: Node) -> None:
    """Raise CannotRunError unless the criterion compares the output with a text."""
    text = item.get("input")
    match = _HOLE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or match[1] != _OUTPUT or not isinstance(item.get("reference"), str):
        raise _cannot(item, "the criterion does not compare `{{ sample.output_text }}` with a text")


def _judge(item: Node) -> Check:
    """Return a judge with the messages of the grader as criteria."""
    messages, model = item.get("input"), item.get("model")
    if not isinstance(messages, list) or not isinstance(model, str):
        raise _cannot(item, "the criterion needs a list of messages as `input`, and a `model`")
    texts = [_message_text(message) for message in messages]
    criteria = "\n\n".join(fill(text, _for_judge) for text in texts if text)
    if not criteria:
        raise _cannot(item, "the criterion's messages have no text")
    return {"judge": "rubric", "criteria": criteria, "model": name_of_model(model)}


def _message_text(message: object) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, dict):
        content = content.get("text")
    return content if isinstance(content, str) else ""


def _for_judge(name: str) -> str | None:
    return "(the data named `output`)" if name == _OUTPUT else _variable(name)
