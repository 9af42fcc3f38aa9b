"""Reads suites of a prompt contract harness: a `prompt_template` with the fields of Python's
`str.format`, cases, and `invariants` with a `spec`.

Several `versions` of the template become a contract each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import basename
from typing import Any

from gatekeeper.contract.definition import MessageTemplate, NotRun, Prompt
from gatekeeper.contract.formats.check_texts import literal
from gatekeeper.contract.formats.fields import (
    expect_list,
    from_format_fields,
    located_text,
    value_at,
)
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
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.errors import ContractError

_CASES = ("test_cases", "cases", "tests", "fixtures", "inputs")
_VARIABLES = ("inputs", "input", "vars", "variables")
_EXPECTED = ("expected", "expected_output")
_OWN = frozenset(
    ("id", "name", "category", "invariants", "metadata", "description", *_VARIABLES, *_EXPECTED)
)
_JUDGES = ("judge", "llm_judge", "rubric")


def recognises(_path: str, data: object) -> bool:
    """Return whether the data is a suite of a harness."""
    if not isinstance(data, dict) or not isinstance(data.get("invariants"), list):
        return False
    return "prompt_template" in data or "versions" in data


def read(files: SuiteFiles, document: Document) -> ForeignSuite:
    """Translate the suite; each version of the template is a contract. Raises ContractError."""
    not_run: list[NotRun] = []
    versions = _versions(document)
    shared = _shared(document, not_run)
    text = files.text(document, (), f"/{document.path}")[1]
    stem = _name(document)
    contracts = []
    for label, key in versions:
        name = contract_name(f"{stem}-{label}", stem) if len(versions) > 1 else stem
        written = located_text(document, (*key, "prompt_template"))
        template = from_format_fields(document, (*key, "prompt_template"), written)
        line = document.text_lines.get(
            (*key, "prompt_template"), document.position((*key, "prompt_template")).line or 1
        )
        prompt = Prompt(
            document.path, (*_system(document), MessageTemplate("user", template, line)), text
        )
        tree = {
            "contract": 1,
            "name": name,
            "template": "jinja",
            "prompt": At(
                f"./{basename(document.path)}", document.position((*key, "prompt_template"))
            ),
            **_target(document, key),
            **shared,
        }
        path = contract_path(document.path, name, single=len(versions) == 1)
        built = build_document(path, tree, document.position())
        contracts.append(ForeignContract(built, tuple(not_run), prompt))
    return ForeignSuite(tuple(contracts))


def _name(document: Document) -> str:
    written = next(
        (
            document.data[k]
            for k in ("name", "id", "suite")
            if isinstance(document.data.get(k), str)
        ),
        "",
    )
    return contract_name(written, contract_name(basename(document.path).split(".")[0], "suite"))


def _system(document: Document) -> tuple[MessageTemplate, ...]:
    key = ("system_prompt",)
    if not isinstance(document.data.get("system_prompt"), str):
        return ()
    line = document.text_lines.get(key, document.position(key).line or 1)
    text = from_format_fields(document, key, document.data["system_prompt"])
    return (MessageTemplate("system", text, line),)


def _versions(document: Document) -> list[tuple[str, KeyPath]]:
    """Return the label and the place of each version of the template."""
    written = document.data.get("versions")
    if isinstance(written, dict) and written:
        return [(str(label), ("versions", label)) for label in written]
    if isinstance(written, list) and written:
        items = expect_list(document, ("versions",))
        return [
            (str(item.get("id", item.get("version", number + 1))), ("versions", number))
            for number, item in enumerate(items)
        ]
    return [("", ())]


def _target(document: Document, key: KeyPath) -> dict[str, At]:
    found = {}
    for place in ((*key, "model"), ("model",)):
        model = value_at(document, place)
        if isinstance(model, str):
            named = model if "/" in model else f"openai/{model}"
            found["model"] = At(named, document.position(place))
            break
    params = {
        name: copy_value(document, (name,))
        for name in ("temperature", "max_tokens", "top_p")
        if name in document.data
    }
    if isinstance(document.data.get("params"), dict):
        found["params"] = copy_value(document, ("params",))
    elif params:
        found["params"] = At(params, document.position())
    return found


def _shared(document: Document, not_run: list[NotRun]) -> dict[str, Any]:
    key = next((name for name in _CASES if isinstance(document.data.get(name), list)), None)
    if key is None:
        what, fix = "the suite has no cases", "add a list `cases:`"
        raise ContractError([document.problem((), what, fix)])
    cases = expect_list(document, (key,))
    shared: dict[str, Any] = {
        "fixtures": [_case(document, (key, n), case, not_run) for n, case in enumerate(cases)],
        "checks": _invariants(document, ("invariants",), not_run),
    }
    shared["checks"] += _of_categories(document, not_run)
    if isinstance(document.data.get("description"), str):
        shared["description"] = copy_value(document, ("description",))
    samples = document.data.get("samples", document.data.get("runs"))
    if isinstance(samples, int) and samples > 1:
        shared["sampling"] = {"samples": samples}
    return shared


def _of_categories(document: Document, not_run: list[NotRun]) -> list[At]:
    """Return the invariants that hold for the cases of one category."""
    categories = document.data.get("categories")
    found: list[At] = []
    for name, item in (categories if isinstance(categories, dict) else {}).items():
        if isinstance(item, dict) and isinstance(item.get("invariants"), list):
            key: KeyPath = ("categories", name, "invariants")
            found += [
                At({**check.value, "when": {"category": name}}, check.position)
                for check in _invariants(document, key, not_run)
            ]
    return found


def _case(document: Document, key: KeyPath, case: Mapping[str, Any], not_run: list[NotRun]) -> At:
    fixture: dict[str, Any] = {}
    held = next((name for name in _VARIABLES if isinstance(case.get(name), dict)), None)
    if held:
        fixture["vars"] = copy_value(document, (*key, held))
    else:
        names = [n for n in case if n not in _OWN or n in ("input", "inputs")]
        fixture["vars"] = {name: copy_value(document, (*key, name)) for name in names}
    label = next((name for name in ("id", "name") if name in case), None)
    if label:
        fixture["id"] = copy_value(document, (*key, label))
    if "category" in case:
        fixture["category"] = copy_value(document, (*key, "category"))
    expected = next((name for name in _EXPECTED if name in case), None)
    if expected:
        fixture["expected"] = copy_value(document, (*key, expected))
    if isinstance(case.get("invariants"), list):
        fixture["checks"] = _invariants(document, (*key, "invariants"), not_run)
    return At(fixture, document.position(key))


def _invariants(document: Document, key: KeyPath, not_run: list[NotRun]) -> list[At]:
    found = []
    for number, item in enumerate(expect_list(document, key)):
        place: KeyPath = (*key, number)
        kind = next(
            (item[k] for k in ("type", "kind", "check") if isinstance(item.get(k), str)), None
        )
        at = document.position(place)
        if kind is None:
            what, fix = "an invariant has no `type`", "add a type, such as `type: json_schema`"
            raise ContractError([document.problem(place, what, fix)])
        make = _MAKERS.get(kind.lower().replace("-", "_"))
        made = make(item.get("spec")) if make else None
        if made is None:
            why = (
                "gatekeeper does not understand the `spec` of the invariant"
                if make
                else "gatekeeper has no check for invariants of this type"
            )
            not_run.append(NotRun(kind, at, why))
            continue
        name = next((item[k] for k in ("name", "id") if isinstance(item.get(k), str)), None)
        check: dict[str, Any] = {"name": name} if name else {}
        check |= made
        if made.get("judge") and isinstance(item.get("model"), str):
            check["model"] = item["model"]
        categories = item.get("categories", item.get("category"))
        if categories:
            check["when"] = {"category": categories}
        if item.get("severity") in ("warn", "warning"):
            check["severity"] = "warn"
        found.append(At(check, at))
    return found


Maker = Callable[[Any], dict[str, Any] | None]


def _with(kind: str, main: str | None = None, **fixed: Any) -> Maker:
    """Return a maker of a check: `spec` has its parameters, or is the main one."""

    def make(spec: Any) -> dict[str, Any] | None:
        if isinstance(spec, Mapping):
            values = {name: _literal(value) for name, value in spec.items()}
            return {"type": kind, **fixed, **values}
        if spec is None:
            return {"type": kind, **fixed} if main is None else None
        return {"type": kind, **fixed, main: _literal(spec)} if main else None

    return make


def _literal(value: Any) -> Any:
    """Return a text as a template that gives it back; `{expected}` is the case's."""
    if isinstance(value, list):
        return [_literal(item) for item in value]
    if not isinstance(value, str):
        return value
    return "{{ expected }}" if value.strip() in ("{expected}", "{{ expected }}") else literal(value)


def _schema(spec: Any) -> dict[str, Any] | None:
    if not isinstance(spec, dict):
        return {"type": "json_schema", "schema": spec} if isinstance(spec, str) else None
    schema = spec["schema"] if set(spec) == {"schema"} else spec
    return {"type": "json_schema", "schema": schema}


def _length(bound: str) -> Maker:
    def make(spec: Any) -> dict[str, Any] | None:
        if isinstance(spec, Mapping):
            unit = {"unit": spec["unit"]} if "unit" in spec else {}
            bounds = {name: spec[name] for name in ("min", "max") if name in spec}
            return {"type": "length", **bounds, **unit} if bounds else None
        return {"type": "length", bound: spec} if isinstance(spec, int) else None

    return make


def _words(spec: Any) -> dict[str, Any] | None:
    made = _length("max")(spec)
    return made and {**made, "unit": "words"}


def _judge(spec: Any) -> dict[str, Any] | None:
    if isinstance(spec, str):
        return {"judge": "rubric", "criteria": literal(spec)}
    if not isinstance(spec, Mapping):
        return None
    criteria = spec.get("criteria", spec.get("rubric"))
    if not isinstance(criteria, str):
        return None
    model = {"model": spec["model"]} if isinstance(spec.get("model"), str) else {}
    return {"judge": "rubric", "criteria": literal(criteria), **model}


_MAKERS: Mapping[str, Maker] = {
    **dict.fromkeys(("json", "json_valid", "valid_json"), _with("json_valid")),
    **dict.fromkeys(("json_schema", "schema"), _schema),
    **dict.fromkeys(("json_required", "required_fields"), _with("json_required", "fields")),
    **dict.fromkeys(("regex", "matches", "pattern"), _with("regex", "pattern")),
    **dict.fromkeys(("not_regex", "regex_absent", "not_matches"), _with("not_regex", "pattern")),
    **dict.fromkeys(("enum", "one_of"), _with("enum", "values")),
    **dict.fromkeys(("equals", "exact_match"), _with("equals", "value")),
    "contains": _with("contains", "value"),
    "contains_all": _with("contains", "values", match="all"),
    "contains_any": _with("contains", "values", match="any"),
    **dict.fromkeys(("not_contains", "forbidden"), _with("not_contains", "value")),
    "starts_with": _with("starts_with", "value"),
    "ends_with": _with("ends_with", "value"),
    **dict.fromkeys(("length", "max_length", "max_chars"), _length("max")),
    **dict.fromkeys(("min_length", "min_chars"), _length("min")),
    "max_words": _words,
    "similarity": _with("similarity", "value"),
    "language": _with("language", "value"),
    "latency": _with("latency", "max_ms"),
    "cost": _with("cost", "max_usd"),
    **dict.fromkeys(("pii", "no_pii"), _with("pii")),
    **dict.fromkeys(_JUDGES, _judge),
}
