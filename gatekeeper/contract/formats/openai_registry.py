"""Reads the registry files of OpenAI Evals, whose samples are lines of chat messages with the ideal
answer.

The samples hold the prompt: what all of them have in common is the prompt, the rest are variables.
A model grades `ModelBasedClassify`, by a specification in a file of `modelgraded/`, beside the
folder of the registry. `oaieval` picks the model that grades; here it is the `judge` of the entry
that an export of gatekeeper writes.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from posixpath import dirname, join, normpath
from typing import Any

from gatekeeper.contract.fixtures.fixtures import read_rows
from gatekeeper.contract.formats.foreign_suite import At, ForeignContract, contract_name
from gatekeeper.contract.formats.reader import (
    CannotRunError,
    Keys,
    Node,
    SuiteFiles,
    keys,
    root_of,
)
from gatekeeper.contract.formats.rows import (
    UNCLEAR_CHOICES,
    Check,
    contract_of,
    least_passing,
    refuse_unknown,
    row,
    table,
)
from gatekeeper.contract.prompts.styles.literal import as_parameter, literal
from gatekeeper.contract.reading.globs import literal_pattern
from gatekeeper.contract.reading.size_limits import MOST_FIXTURES
from gatekeeper.contract.syntax.yaml_positions import Row as Sample
from gatekeeper.contract.values.definition import MessageTemplate, NotRun, Prompt
from gatekeeper.errors import ContractError, Problem

CLASSES = "evals.elsuite."
SETTINGS = ".gatekeeper"
"""Ends the name of an entry with the `model`, `params` and `judge` of an eval: `oaieval` refuses
other arguments of an eval, and ignores entries that nobody names."""
_FEW_SHOT = "gatekeeper does not add few-shot examples to the messages"
KEYS: Mapping[str, Keys] = {
    "eval": keys("class args", "id metrics"),
    "arguments": keys(
        "samples_jsonl model temperature max_tokens modelgraded_spec ignore_case",
        num_few_shot=_FEW_SHOT,
    ),
    "settings": keys("model params judge"),
    "sample": keys("input ideal", "id metadata"),
    "message": keys("role content"),
    "specification": keys(
        "prompt choice_scores", "choice_strings input_outputs eval_type output_template"
    ),
}


@dataclass(frozen=True, slots=True)
class _Eval:
    """An eval of the registry, and the settings that an export writes for it."""

    files: SuiteFiles
    node: Node
    settings: Node

    @property
    def args(self) -> Node:
        return self.node.child("args")

    @property
    def kind(self) -> str:
        return str(self.node.get("class")).removeprefix(CLASSES)


def _graded(eval_: _Eval) -> Check:
    """Return the judge of an eval that a model grades."""
    at, settings = eval_.node.child("class"), eval_.settings
    spec = _specification(eval_)
    refuse_unknown(spec.unknown_keys(KEYS["specification"], check=eval_.kind))
    if not isinstance(settings.get("judge"), str):
        name = settings.key[-1]
        why = f"`{name}` has no `judge`; write the model that grades, as `judge: MODEL`"
        raise at.cannot_run(eval_.kind, why)
    made = _judge(spec.mapping)
    if isinstance(made, str):
        raise at.cannot_run(eval_.kind, made)
    return {**made, "model": settings.get("judge")}


def _specification(eval_: _Eval) -> Node:
    """Return the specification that the eval names; an empty node if there is none."""
    root, name = root_of(eval_.node.document), str(eval_.args.get("modelgraded_spec"))
    folder = normpath(join(dirname(root.document.path), "..", "modelgraded"))
    for path in eval_.files.find(f"{literal_pattern(folder)}/*.yaml"):
        found = eval_.files.parsed(root, f"/{path}").child(name)
        if isinstance(found.value, dict):
            return found
    return Node(root.document, (name,), None)


def _judge(spec: Mapping[str, Any]) -> Check | str:
    """Return the judge of a specification; why it is not run, if there is none."""
    prompt, scores = spec.get("prompt"), spec.get("choice_scores")
    if not isinstance(prompt, str) or not isinstance(scores, Mapping):
        return "the specification of this eval is missing, or lacks `prompt` or `choice_scores`"
    least = least_passing(scores)
    if least is None:
        return UNCLEAR_CHOICES
    try:
        parts = list(string.Formatter().parse(prompt))
    except ValueError:
        return "the prompt of this eval is not a valid format string of Python"
    if any(field not in (None, "completion") for _, field, _, _ in parts):
        return "the prompt of this eval contains a field other than `{completion}`"
    shown = "(the data named `output`)"
    criteria = "".join(text + (shown if field else "") for text, field, _, _ in parts)
    judge = {"judge": "rubric", "criteria": as_parameter(criteria)}
    return {**judge, "choices": dict(scores), "pass": least}


def _ignores_case(eval_: _Eval) -> bool:
    return eval_.args.get("ignore_case") is True


_EXPECTED = "{{ expected }}"
ROWS = table(
    row("basic.match:Match", "starts_with", values=_EXPECTED, also="equals enum"),
    row(
        "basic.includes:Includes", "contains",
        values=_EXPECTED, match="any", ignore_case=_ignores_case,
    ),
    row("basic.json_match:JsonMatch", "json_equal", value="{{ expected[0] }}"),
    row("basic.json_validator:JsonValidator", "json_valid"),
    row("modelgraded.classify:ModelBasedClassify", _graded, also="judge"),
)  # fmt: skip
_BASIC = {kind.partition(":")[0]: row for kind, row in ROWS.items() if kind.startswith("basic.")}


def recognises(_path: str, data: object) -> bool:
    """Return whether the data is a registry of evals."""
    return isinstance(data, dict) and any(map(_is_eval, data.values()))


def _is_eval(item: object) -> bool:
    return (
        isinstance(item, dict)
        and isinstance(item.get("class"), str)
        and item["class"].startswith(CLASSES)
        and isinstance(item.get("args"), dict)
    )


def read(files: SuiteFiles, root: Node) -> tuple[ForeignContract, ...]:
    """Translate each eval of the registry. Raises ContractError."""
    evals = [node for _, node in root.items() if _is_eval(node.value)]
    left_out = [
        note
        for name, node in root.items()
        if not _is_eval(node.value) and not name.endswith(SETTINGS)
        for note in _unknown_in_entry(node)
    ]
    contracts = []
    for node in evals:
        name = str(node.key[-1])
        settings = root.child(f"{name.split('.')[0]}{SETTINGS}")
        slug = contract_name(name, "eval")
        tree, notes, prompt = _contract(_Eval(files, node, settings))
        notes, single = [*left_out, *notes], len(evals) == 1
        contracts.append(contract_of(root, slug, tree, notes, prompt, single=single, parts=(slug,)))
    return tuple(contracts)


def _contract(eval_: _Eval) -> tuple[dict[str, Any], list[NotRun], Prompt]:
    """Return the data of an eval's contract, what is not run, and the prompt."""
    args = eval_.args
    samples = args.child("samples_jsonl")
    if not isinstance(samples.value, str):
        raise args.problem("the eval names no samples", "add `samples_jsonl`")
    model, params = _settings(eval_)
    source, text = eval_.files.text(samples, _samples_path(eval_.files, samples))
    rows = read_rows(text, source, MOST_FIXTURES)
    templates, variables = _split(rows, source)
    notes = _unknown(eval_, rows)
    checks = []
    try:
        checks.append(eval_.node.child("class").at(_check(eval_)))
    except CannotRunError as error:
        notes += error.notes
    tree = {
        "template": "jinja",
        "prompt": samples.at(f"/{source}"),
        "model": model,
        "params": args.at(params) if params else None,
        "fixtures": [_fixture(row, values) for row, values in zip(rows, variables, strict=True)],
        "checks": checks,
    }
    return tree, notes, Prompt(source, templates, text)


def _check(eval_: _Eval) -> Check:
    row = ROWS.get(eval_.kind) or _BASIC.get(eval_.kind.partition(":")[0])
    if row is None:
        why = "gatekeeper has no check for evals of this class"
        raise eval_.node.child("class").cannot_run(eval_.kind, why)
    return row.make(eval_)


def _unknown_in_entry(entry: Node) -> list[NotRun]:
    """Return the unknown keys of an entry that is no eval: without `class` and `args`, it gives an
    eval another name. Raises ContractError if it has one of them without the other."""
    found = entry.unknown_keys(KEYS["eval"])
    if "class" in entry.mapping or "args" in entry.mapping:
        what = "this entry is not an eval that gatekeeper can read"
        raise entry.problem(what, "write `class: evals.elsuite.…` and a mapping as `args`")
    return found


def _unknown(eval_: _Eval, samples: Sequence[Sample]) -> list[NotRun]:
    """Return the unknown keys of an eval and its settings, and each unknown one of its samples
    once."""
    found = eval_.node.unknown_in(KEYS, {"": "eval", "args": "arguments"})
    found += eval_.settings.unknown_keys(KEYS["settings"])
    of_rows: dict[str, NotRun] = {}
    for sample in samples:
        node = root_of(sample.document).child(*sample.key)
        for note in node.unknown_in(KEYS, {"": "sample", "input.*": "message"}):
            of_rows.setdefault(note.kind, note)
    return [*found, *of_rows.values()]


def _settings(eval_: _Eval) -> tuple[At, dict[str, At]]:
    """Return the model and its parameters: of the eval's arguments, or of the entry that an export
    of gatekeeper writes for it. Raises ContractError if no model is named."""
    params = {name: node.copy() for name, node in eval_.settings.child("params").items()}
    params |= eval_.args.copies(("temperature", "max_tokens"))
    for holder in (eval_.args, eval_.settings):
        if isinstance(holder.get("model"), str):
            return holder.child("model").copy(), params
    what = "the registry contains no model, because `oaieval` takes the model from its command line"
    fix = "add the model to `args`, such as `model: openai/gpt-5.4-mini`"
    raise eval_.args.problem(what, fix)


def _samples_path(files: SuiteFiles, samples: Node) -> str:
    """Return where the samples are: beside the registry file, or in `../data` as in the registry of
    OpenAI Evals."""
    folder = dirname(samples.document.path)
    for place in (folder, join(folder, "..", "data")):
        path = normpath(join(place, samples.value))
        if files.find(literal_pattern(path)):
            return f"/{path}"
    return str(samples.value)


def _fixture(row: Sample, values: Mapping[str, str]) -> At:
    fixture: dict[str, Any] = {"vars": dict(values)}
    if "ideal" in row.data:  # JsonValidator needs none
        ideal = row.data["ideal"]
        items = ideal if isinstance(ideal, list) else [ideal]
        fixture["expected"] = [str(item) for item in items]
    return At(fixture, row.document.position(row.key))


def _split(
    samples: Sequence[Sample], path: str
) -> tuple[tuple[MessageTemplate, ...], list[dict[str, str]]]:
    """Return the prompt that all samples share, and the variables of each sample."""
    dialogues = [_messages(sample) for sample in samples]
    roles = [role for role, _ in dialogues[0]]
    for sample, messages in zip(samples, dialogues, strict=True):
        if [role for role, _ in messages] != roles:
            at = sample.document.position(sample.key)
            what = "the messages of this sample have other roles than those of the first sample"
            fix = f"use the roles {', '.join(roles)} in each sample, or split the file"
            raise ContractError([Problem(path, what, fix, at.line)])
    templates: list[MessageTemplate] = []
    variables: list[dict[str, str]] = [{} for _ in samples]
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


def _messages(sample: Sample) -> list[tuple[str, str]]:
    written = sample.data.get("input") if isinstance(sample.data, dict) else None
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
    at = sample.document.position(sample.key)
    what, fix = "a sample has no valid `input`", "write a text, or a list of chat messages"
    raise ContractError([Problem(at.path, what, fix, at.line)])
