"""Reads suites of a prompt contract harness: a `prompt_template` with the fields of Python's
`str.format`, cases, and `invariants` with a `spec`.

Several `versions` of the template become a contract each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from posixpath import basename
from typing import Any

from gatekeeper.contract.formats.foreign_suite import (
    At,
    ForeignContract,
    contract_name,
    name_of_contract,
    name_of_model,
)
from gatekeeper.contract.formats.reader import SCHEMA, Keys, Node, SuiteFiles, keys
from gatekeeper.contract.formats.rows import (
    Check,
    Row,
    checks_of,
    contract_of,
    format_fields,
    from_format_fields,
    refuse_unknown,
    row,
    table,
)
from gatekeeper.contract.prompts.styles.literal import as_parameter
from gatekeeper.contract.values.definition import MessageTemplate, NotRun, Prompt
from gatekeeper.errors import ContractError

_CASES = ("test_cases", "cases", "tests", "fixtures", "inputs")
_VARIABLES = ("inputs", "input", "vars", "variables")
_MODEL = "openai/gpt-4o-mini"
"""The model of a suite that names none: its harness gets the model on the command line."""
KEYS: Mapping[str, Keys] = {
    "suite": keys(
        "prompt_template system_prompt versions model params temperature max_tokens top_p "
        "categories invariants name id suite samples runs test_cases cases tests fixtures inputs",
        "version metadata author tags owner created updated",
    ),
    "version": keys("prompt_template model id version", "name metadata date author changes"),
    "category": keys("invariants", "name id"),
    "case": keys(
        "id name category invariants inputs input vars variables expected expected_output",
        "metadata tags",
    ),
    "invariant": keys(
        "type kind check spec name id model category categories severity", "metadata tags"
    ),
    "schema spec": keys("schema schema_file"),
    "length spec": keys("min max unit"),
    "judge spec": keys("criteria rubric model"),
}
_FLAGS = {"ignorecase": "i", "multiline": "m", "dotall": "s", "verbose": "x", "unicode": ""}
_FLAGS |= {"i": "i", "m": "m", "s": "s", "x": "x", "u": ""}
"""The flags of Python's `re`, and how a pattern writes them."""


class _UnclearError(Exception):
    """The `spec` of an invariant is not understood."""


def _with(
    kind: str,
    main: str | None = None,
    prepare: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
    **fixed: Any,
) -> Callable[[Any], Check]:
    """Return a maker of a check: `spec` has its parameters, or is the main one."""

    def make(spec: Any) -> Check:
        if isinstance(spec, Mapping) and "type" not in spec:
            return {"type": kind, **fixed, **{n: _literal(v) for n, v in prepare(spec).items()}}
        if isinstance(spec, Mapping) or (spec is None) == (main is not None):
            raise _UnclearError
        return {"type": kind, **fixed, **({main: _literal(spec)} if main else {})}

    return make


def _of_substrings(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of a check for parts of the text: `substring` is its `value`."""
    names = {"substring": "value", "text": "value", "substrings": "values"}
    values = {names.get(name, name): value for name, value in spec.items()}
    sensitive = values.pop("case_sensitive", True)
    if len(values) < len(spec) - ("case_sensitive" in spec) or not isinstance(sensitive, bool):
        raise _UnclearError
    return values if sensitive else {**values, "ignore_case": True}


def _of_flags(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of a check for a pattern: `flags` are those of Python's `re`."""
    if "flags" not in spec:
        return spec
    rest = {name: value for name, value in spec.items() if name != "flags"}
    written = spec["flags"] if isinstance(spec["flags"], list) else [spec["flags"]]
    names = re.split(r"[|,\s]+", " ".join(map(str, written)).strip())
    plain = [name.lower().removeprefix("re.") for name in names if name]
    if not isinstance(rest.get("pattern"), str) or not _FLAGS.keys() >= set(plain):
        raise _UnclearError
    letters = "".join(dict.fromkeys(_FLAGS[name] for name in plain))
    return {**rest, "pattern": (f"(?{letters})" if letters else "") + rest["pattern"]}


def _literal(value: Any) -> Any:
    """Return a text as a template that gives it back; `{expected}` is the case's."""
    if isinstance(value, list):
        return [_literal(item) for item in value]
    if not isinstance(value, str):
        return value
    is_expected = value.strip() in ("{expected}", "{{ expected }}")
    return "{{ expected }}" if is_expected else as_parameter(value)


def _schema(spec: Any) -> Any:
    if not isinstance(spec, dict | str):
        raise _UnclearError
    return spec.get("schema", spec) if isinstance(spec, dict) else spec


def _length(bound: str, **unit: str) -> Callable[[Any], Check]:
    def make(spec: Any) -> Check:
        found = {bound: spec} if isinstance(spec, int) else {}
        if isinstance(spec, Mapping):
            found = {name: spec[name] for name in ("min", "max") if name in spec}
        if not found:
            raise _UnclearError
        own = {"unit": spec["unit"]} if isinstance(spec, Mapping) and "unit" in spec else {}
        return {"type": "length", **found, **own, **unit}

    return make


def _criteria(spec: Any) -> str:
    given = spec.get("criteria", spec.get("rubric")) if isinstance(spec, Mapping) else spec
    if not isinstance(given, str):
        raise _UnclearError
    return str(as_parameter(given))


def _judge_model(spec: Any) -> str | None:
    model = spec.get("model") if isinstance(spec, Mapping) else None
    return model if isinstance(model, str) else None


_OF_SCHEMA, _OF_LENGTH, _OF_JUDGE = (KEYS[f"{of} spec"] for of in ("schema", "length", "judge"))
ROWS: Mapping[str, Row] = table(
    row("json json_valid valid_json", _with("json_valid")),
    row("json_schema schema", "json_schema", schema=_schema, keys=_OF_SCHEMA),
    row("json_required required_fields", _with("json_required", "fields")),
    row("regex matches pattern", _with("regex", "pattern", _of_flags)),
    row("not_regex regex_absent not_matches", _with("not_regex", "pattern", _of_flags)),
    row("enum one_of", _with("enum", "values")),
    row("equals exact_match", _with("equals", "value")),
    row("contains", _with("contains", "value", _of_substrings)),
    row("contains_all", _with("contains", "values", match="all")),
    row("contains_any", _with("contains", "values", match="any")),
    row("not_contains forbidden", _with("not_contains", "value", _of_substrings)),
    row("starts_with", _with("starts_with", "value")),
    row("ends_with", _with("ends_with", "value")),
    row("length max_length max_chars", _length("max"), keys=_OF_LENGTH),
    row("min_length min_chars", _length("min"), keys=_OF_LENGTH),
    row("max_words", _length("max", unit="words"), keys=_OF_LENGTH),
    row("similarity", _with("similarity", "value")),
    row("language", _with("language", "value")),
    row("latency", _with("latency", "max_ms")),
    row("cost", _with("cost", "max_usd")),
    row("pii no_pii", _with("pii")),
    row(
        "judge llm_judge rubric", "judge rubric",
        criteria=_criteria, model=_judge_model, keys=_OF_JUDGE,
    ),
)  # fmt: skip


def recognises(_path: str, data: object) -> bool:
    """Return whether the data is a suite of a harness."""
    if not isinstance(data, dict) or not ("prompt_template" in data or "versions" in data):
        return False
    lists = [data[name] for name in _CASES if isinstance(data.get(name), list)]
    objects = [data, *(case for cases in lists for case in cases if isinstance(case, dict))]
    return any(isinstance(one.get("invariants"), list) for one in objects)


def read(files: SuiteFiles, root: Node) -> tuple[ForeignContract, ...]:
    """Translate the suite; each version of the template is a contract. Raises ContractError."""
    versions, document = _versions(root), root.document
    notes = root.unknown_keys(KEYS["suite"])
    for _, node in versions if "versions" in root.mapping else ():
        notes += node.unknown_keys(KEYS["version"])
    shared = _shared(files, root, _fields(root, versions), notes)
    text = files.own_text(document)
    written = next((v for k in ("name", "id", "suite") if isinstance(v := root.get(k), str)), "")
    stem = name_of_contract(written, document.path, "suite")
    contracts = []
    for label, node in versions:
        name = contract_name(f"{stem}-{label}", stem) if len(versions) > 1 else stem
        template = node.child("prompt_template")
        user = MessageTemplate("user", from_format_fields(template), template.line)
        prompt = Prompt(document.path, (*_system(root), user), text)
        at = template.at(f"./{basename(document.path)}")
        tree = {"template": "jinja", "prompt": at, **_target(root, node, notes), **shared}
        single = len(versions) == 1
        made = contract_of(root, name, tree, notes, prompt, single=single, parts=(label,))
        contracts.append(made)
    return tuple(contracts)


def _system(root: Node) -> tuple[MessageTemplate, ...]:
    node = root.child("system_prompt")
    if node.value is None:
        return ()
    return (MessageTemplate("system", from_format_fields(node), node.line),)


def _fields(root: Node, versions: Sequence[tuple[str, Node]]) -> frozenset[str]:
    """Return the variables of all templates."""
    texts = [root.get("system_prompt"), *(node.get("prompt_template") for _, node in versions)]
    return frozenset().union(*map(format_fields, texts))


def _versions(root: Node) -> list[tuple[str, Node]]:
    """Return the label and the place of each version of the template."""
    versions = root.child("versions")
    if isinstance(versions.value, dict) and versions.value:
        return list(versions.items())
    if isinstance(versions.value, list) and versions.value:
        return [
            (str(item.mapping.get("id", item.mapping.get("version", number))), item)
            for number, item in enumerate(versions.mappings(), start=1)
        ]
    return [("", root)]


def _target(root: Node, version: Node, notes: list[NotRun]) -> dict[str, At]:
    models = (version.child("model"), root.child("model"))
    model = next((node for node in models if isinstance(node.value, str)), None)
    if model is None:
        why = f"no model is named, so gatekeeper calls `{_MODEL}`; add `model: provider/name`"
        note = root.not_run("model", why)
        notes += [note] if note not in notes else []
    found = {"model": model.at(name_of_model(model.value)) if model else root.at(_MODEL)}
    params = root.copies(("temperature", "max_tokens", "top_p"))
    if isinstance(root.get("params"), dict):
        found["params"] = root.child("params").copy()
    elif params:
        found["params"] = root.at(params)
    return found


def _shared(
    files: SuiteFiles, root: Node, fields: frozenset[str], notes: list[NotRun]
) -> dict[str, Any]:
    key = root.one_of(_CASES)
    if key is None:
        raise root.problem("the suite has no cases", "add a list `cases:`")
    cases = root.child(key).mappings()
    shared: dict[str, Any] = {"fixtures": [_case(files, case, fields, notes) for case in cases]}
    everywhere = root.child("invariants")
    shared["checks"] = _checks(files, everywhere, notes) if "invariants" in root.mapping else []
    shared["checks"] += _of_categories(files, root.child("categories"), notes)
    shared["description"] = root.copied_text("description")
    samples = root.one_of(("samples", "runs"))
    if samples is not None:
        shared["sampling"] = {"samples": root.child(samples).copy()}
    return shared


def _of_categories(files: SuiteFiles, categories: Node, notes: list[NotRun]) -> list[At]:
    """Return the invariants that hold for the cases of one category."""
    if categories.value and not isinstance(categories.value, dict):
        fix = "write `NAME: {invariants: […]}`"
        raise categories.problem("`categories` is not a mapping", fix)
    found: list[At] = []
    for name, category in categories.items():
        if not isinstance(category.value, dict):
            raise category.problem("a category is not a mapping", "write `invariants: […]`")
        notes += category.unknown_keys(KEYS["category"])
        if category.get("invariants") is not None:
            found += [
                At({**check.value, "when": {"category": name}}, check.position)
                for check in _checks(files, category.child("invariants"), notes)
            ]
    return found


def _case(files: SuiteFiles, case: Node, fields: frozenset[str], notes: list[NotRun]) -> At:
    fixture: dict[str, Any] = {}
    held = case.one_of([name for name in _VARIABLES if isinstance(case.get(name), dict)])
    known = {note.kind for note in notes}  # each column is named once
    unknown = case.unknown_keys(KEYS["case"], own=() if held else fields)
    notes += [note for note in unknown if note.kind not in known]
    columns = [n for n in case.mapping if n not in KEYS["case"].known or n in ("input", "inputs")]
    fixture["vars"] = case.child(held).copy() if held else case.copies(columns)
    label = next((name for name in ("id", "name") if name in case.mapping), None)
    if label:
        fixture["id"] = case.child(label).copy()
    fixture |= case.copies(["category"])
    expected = case.one_of(("expected", "expected_output"))
    if expected:
        fixture["expected"] = case.child(expected).copy()
    if case.get("invariants") is not None:
        fixture["checks"] = _checks(files, case.child("invariants"), notes)
    return case.at(fixture)


def _checks(files: SuiteFiles, node: Node, notes: list[NotRun]) -> list[At]:
    """Return the checks of a list of invariants. Raises ContractError."""
    return checks_of(node.mappings(), partial(_invariant, files), notes)


def _invariant(files: SuiteFiles, node: Node) -> Check:
    named = node.one_of(("type", "kind", "check"))
    kind = node.get(named) if named else None
    if not isinstance(kind, str):
        raise node.problem("an invariant has no `type`", "add a type, such as `type: json_schema`")
    row = ROWS.get(kind.lower().replace("-", "_"))
    unknown = node.unknown_keys(KEYS["invariant"], check=kind)
    refuse_unknown(unknown + (_unknown_of_spec(row, node.child("spec"), kind) if row else []))
    if row is None:
        raise node.cannot_run(kind, "gatekeeper has no check for invariants of this type")
    spec = node.child("spec")
    try:
        made = row.make(_schema_file(files, spec) if row.keys is _OF_SCHEMA else spec.value)
    except _UnclearError:
        why = "gatekeeper does not understand the `spec` of the invariant"
        raise node.cannot_run(kind, why) from None
    label = next((v for k in ("name", "id") if isinstance(v := node.get(k), str)), None)
    check: Check = {"name": label, **made} if label else made
    if made.get("judge") and isinstance(node.get("model"), str):
        check["model"] = node.get("model")
    if made.get("judge") and "model" not in check:
        fix = "add `model: provider/name` to the invariant"
        raise node.problem("the invariant does not name the model that judges", fix)
    category = node.one_of(("categories", "category"))
    if category:
        check["when"] = {"category": node.get(category)}
    if node.get("severity") in ("warn", "warning"):
        check["severity"] = "warn"
    return check


def _schema_file(files: SuiteFiles, spec: Node) -> Any:
    """Return the `spec` of a schema. A `schema_file` becomes the path of the file: from the folder
    of the suite, or else from the repository root. Raises ContractError."""
    if "schema_file" not in spec.mapping:
        return spec.value
    node = spec.child("schema_file")
    written = node.text()
    at_root = f"/{written.lstrip('/')}"
    try:
        return f"/{files.text(node, written)[0]}"
    except ContractError:
        return f"/{files.text(node, at_root)[0]}"


def _unknown_of_spec(row: Row, spec: Node, kind: str) -> list[NotRun]:
    """Return the unknown keys of a `spec`. Those of most specs are the parameters of a check, which
    loading the contract looks at."""
    if row.keys is None or not isinstance(spec.value, dict):
        return []
    found = []
    if row.keys is _OF_SCHEMA and "schema" in spec.value:
        found = spec.child("schema").unknown_keywords()
    elif row.keys is _OF_SCHEMA and not SCHEMA.read.isdisjoint(spec.value):
        return spec.unknown_keywords()
    return found + spec.unknown_keys(row.keys, check=kind)
