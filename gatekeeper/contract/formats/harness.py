"""Reads suites of a prompt contract harness: a `prompt_template` with the fields of Python's
`str.format`, cases, and `invariants` with a `spec`.

Several `versions` of the template become a contract each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from posixpath import basename
from typing import Any

from gatekeeper.contract.formats.fields import (
    expect_list,
    format_fields,
    from_format_fields,
    located_text,
    one_of,
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
from gatekeeper.contract.formats.harness_checks import CHECK_KEYS, read_invariants
from gatekeeper.contract.formats.known_keys import Keys, keys, unknown_keys
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import MessageTemplate, NotRun, Prompt
from gatekeeper.errors import ContractError

_CASES = ("test_cases", "cases", "tests", "fixtures", "inputs")
_VARIABLES = ("inputs", "input", "vars", "variables")
_EXPECTED = ("expected", "expected_output")
_LABELS = ("id", "name")
_SAMPLES = ("samples", "runs")
_MODEL = "openai/gpt-4o-mini"
"""The model of a suite that names none: its harness gets the model on the command line."""
_PARAMS = ("temperature", "max_tokens", "top_p")
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
    **CHECK_KEYS,
}


def recognises(_path: str, data: object) -> bool:
    """Return whether the data is a suite of a harness."""
    if not isinstance(data, dict) or not ("prompt_template" in data or "versions" in data):
        return False
    lists = [data[name] for name in _CASES if isinstance(data.get(name), list)]
    objects = [data, *(case for cases in lists for case in cases if isinstance(case, dict))]
    return any(isinstance(one.get("invariants"), list) for one in objects)


def read(files: SuiteFiles, document: Document) -> ForeignSuite:
    """Translate the suite; each version of the template is a contract. Raises ContractError."""
    not_run: list[NotRun] = []
    versions = _versions(document)
    not_run += unknown_keys(document, (), document.data, KEYS["suite"])
    for _, key in versions if "versions" in document.data else ():
        not_run += unknown_keys(document, key, value_at(document, key), KEYS["version"])
    shared = _shared(files, document, _fields(document, versions), not_run)
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
            **_target(document, key, not_run),
            **shared,
        }
        path = contract_path(document.path, name, single=len(versions) == 1)
        built = build_document(path, tree, document.position())
        contracts.append(ForeignContract(built, tuple(not_run), prompt, (label,)))
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
    if document.data.get("system_prompt") is None:
        return ()
    line = document.text_lines.get(key, document.position(key).line or 1)
    text = from_format_fields(document, key, located_text(document, key))
    return (MessageTemplate("system", text, line),)


def _fields(document: Document, versions: Sequence[tuple[str, KeyPath]]) -> frozenset[str]:
    """Return the variables of all templates."""
    places = [("system_prompt",), *((*key, "prompt_template") for _, key in versions)]
    return frozenset().union(*(format_fields(value_at(document, place)) for place in places))


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


def _target(document: Document, key: KeyPath, not_run: list[NotRun]) -> dict[str, At]:
    found = {}
    for place in ((*key, "model"), ("model",)):
        model = value_at(document, place)
        if isinstance(model, str):
            named = model if "/" in model else f"openai/{model}"
            found["model"] = At(named, document.position(place))
            break
    else:
        why = f"no model is named, so gatekeeper calls `{_MODEL}`; add `model: provider/name`"
        note = NotRun("model", document.position(), why)
        not_run += [note] if note not in not_run else []
        found["model"] = At(_MODEL, document.position())
    params = {name: copy_value(document, (name,)) for name in _PARAMS if name in document.data}
    if isinstance(document.data.get("params"), dict):
        found["params"] = copy_value(document, ("params",))
    elif params:
        found["params"] = At(params, document.position())
    return found


def _shared(
    files: SuiteFiles, document: Document, fields: frozenset[str], not_run: list[NotRun]
) -> dict[str, Any]:
    key = one_of(document, (), _CASES)
    if key is None:
        what, fix = "the suite has no cases", "add a list `cases:`"
        raise ContractError([document.problem((), what, fix)])
    cases = expect_list(document, (key,))
    shared: dict[str, Any] = {
        "fixtures": [
            _case(files, document, (key, n), case, fields, not_run) for n, case in enumerate(cases)
        ],
        "checks": [],
    }
    if "invariants" in document.data:
        shared["checks"] += read_invariants(files, document, ("invariants",), not_run)
    shared["checks"] += _of_categories(files, document, not_run)
    if isinstance(document.data.get("description"), str):
        shared["description"] = copy_value(document, ("description",))
    samples = one_of(document, (), _SAMPLES)
    if samples is not None:
        shared["sampling"] = {"samples": copy_value(document, (samples,))}
    return shared


def _of_categories(files: SuiteFiles, document: Document, not_run: list[NotRun]) -> list[At]:
    """Return the invariants that hold for the cases of one category."""
    categories = document.data.get("categories") or {}
    if not isinstance(categories, dict):
        what, fix = "`categories` is not a mapping", "write `NAME: {invariants: […]}`"
        raise ContractError([document.problem(("categories",), what, fix)])
    found: list[At] = []
    for name, item in categories.items():
        place = ("categories", name)
        if not isinstance(item, dict):
            what, fix = "a category is not a mapping", "write `invariants: […]`"
            raise ContractError([document.problem(place, what, fix)])
        not_run += unknown_keys(document, place, item, KEYS["category"])
        if item.get("invariants") is not None:
            found += [
                At({**check.value, "when": {"category": name}}, check.position)
                for check in read_invariants(files, document, (*place, "invariants"), not_run)
            ]
    return found


def _case(
    files: SuiteFiles,
    document: Document,
    key: KeyPath,
    case: Mapping[str, Any],
    fields: frozenset[str],
    not_run: list[NotRun],
) -> At:
    fixture: dict[str, Any] = {}
    held = one_of(document, key, [n for n in _VARIABLES if isinstance(case.get(n), dict)])
    known = {note.kind for note in not_run}  # each column is named once
    not_run += [
        note
        for note in unknown_keys(document, key, case, KEYS["case"], own=() if held else fields)
        if note.kind not in known
    ]
    if held:
        fixture["vars"] = copy_value(document, (*key, held))
    else:
        names = [n for n in case if n not in KEYS["case"].known or n in ("input", "inputs")]
        fixture["vars"] = {name: copy_value(document, (*key, name)) for name in names}
    label = next((name for name in _LABELS if name in case), None)
    if label:
        fixture["id"] = copy_value(document, (*key, label))
    if "category" in case:
        fixture["category"] = copy_value(document, (*key, "category"))
    expected = one_of(document, key, _EXPECTED)
    if expected:
        fixture["expected"] = copy_value(document, (*key, expected))
    if case.get("invariants") is not None:
        fixture["checks"] = read_invariants(files, document, (*key, "invariants"), not_run)
    return At(fixture, document.position(key))
