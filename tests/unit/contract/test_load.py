"""Whole contracts: what is read, and every way in which the author can be told."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited

from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.meaning.digests import evaluation_meaning
from gatekeeper.contract.meaning.schemas import contract_schema, policy_schema, published_schema
from gatekeeper.contract.reading.read import require_text
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import CheckShape, Contract
from gatekeeper.contract.values.objectives import Objective
from gatekeeper.errors import ContractError

SHAPES = {
    "equals": CheckShape(
        {
            "type": "object",
            "properties": {"value": {}, "ignore_case": {"type": "boolean"}},
            "required": ["value"],
            "additionalProperties": False,
        }
    ),
    "length": CheckShape({"type": "object", "properties": {"max": {"type": "integer"}}}),
    "json_schema": CheckShape(
        {
            "type": "object",
            "properties": {"schema": {"type": ["string", "object"]}},
            "required": ["schema"],
        },
        ("schema",),
    ),
}

CONTRACT = """\
contract: 1
name: tag
prompt: ../prompts/tag.prompty
model: openai/gpt
params: {temperature: 1}
fixtures:
  - file: rows.jsonl
  - {id: inline, vars: {word: x}, expected: no, checks: [{type: equals, value: 1}]}
checks:
  - {type: equals, value: "{{ expected }}", severity: warn}
  - {type: json_schema, schema: s.json}
"""
FILES = {
    "contracts/tag.yaml": CONTRACT,
    "prompts/tag.prompty": "---\nmodel: m\nparams: {temperature: 0, top_p: 1}\n---\nuser:\n{{ word }}",  # noqa: E501
    "contracts/rows.jsonl": '{"word": "a", "expected": "b"}\n',
    "contracts/s.json": '{"$ref": "sub/t.json#/$defs/x", "properties": {"const": {"const": {"$ref": "no"}}}}',  # noqa: E501
    "contracts/sub/t.json": '{"$id": "http://x.org/t", "$defs": {"x": {"$ref": "http://x.org/t#"}}}',
}


def load(changes: dict[str, str | None] | None = None) -> Contract:
    files = {**FILES, **(changes or {})}
    revision = MemoryRevision(
        {path: text.encode() for path, text in files.items() if text is not None}
    )
    return load_contract(revision, "contracts/tag.yaml", SHAPES)


def complaints(contract: str, **others: str | None) -> str:
    files = {name.replace("__", "/").replace("_", "."): text for name, text in others.items()}
    with pytest.raises(ContractError) as caught:
        load({"contracts/tag.yaml": contract, **files})
    return str(caught.value)


def test_everything_is_read() -> None:
    contract = load()
    assert contract.name == "tag"
    assert contract.target.model == "openai/gpt"
    assert contract.target.params == {"temperature": 1, "top_p": 1}
    first, second = contract.fixtures
    assert (first.vars, first.expected) == ({"word": "a"}, "b")
    assert (second.id, second.expected, second.checks[0].name) == ("inline", "no", "equals 1")
    equals, schema = contract.checks
    assert (equals.name, equals.severity) == ("equals {{ expected }}", "warn")
    assert equals.position is not None
    assert (equals.position.line, equals.position.column) == (10, 5)
    assert schema.params == {"schema": "contracts/s.json"}
    assert set(schema.files) == {"contracts/s.json", "contracts/sub/t.json"}
    assert set(contract.dependencies) == set(FILES)
    assert contract.sampling.samples == 1


def test_the_prompt_file_names_the_model_where_the_contract_does_not() -> None:
    text = edited(CONTRACT, "model: openai/gpt\n", "")
    assert load({"contracts/tag.yaml": text}).target.model == "m"
    told = complaints(text, prompts__tag_prompty="{{ word }}")
    assert "sets a model" in told


def test_policies_are_read_and_whole_numbers_are_whole() -> None:
    text = CONTRACT + (
        "description: d\nmode: repair\nrepair: {steps: [lowercase], max_steps: 1.0}\n"
        "sampling: {samples: 5.0, mode: fixed, aggregate: all, seed: null}\n"
        "slo: {success_rate: 0.9, window: 24h}\ngate: {alpha: 0.01, margin: 0, tolerance: 1}\n"
    )
    contract = load({"contracts/tag.yaml": text})
    assert isinstance(contract.sampling.samples, int)
    assert (contract.sampling.samples, contract.sampling.seed) == (5, None)
    assert (contract.repair.steps, contract.repair.max_steps) == (("lowercase",), 1)
    assert contract.slo == (Objective("success_rate", 0.9, "24h"),)
    assert contract.gate.tolerance == 1


def test_limits_are_read_and_leave_the_digest_of_a_contract_without_any() -> None:
    text = CONTRACT + "gate: {latency_p95: +25.5%, cost: +20%, tokens: null, latency_p50: +0%}\n"
    limits = load({"contracts/tag.yaml": text}).gate.limits
    assert [(limit.name, limit.most, str(limit)) for limit in limits] == [
        ("cost", 0.2, "+20%"),
        ("latency_p50", 0.0, "+0%"),
        ("latency_p95", 0.255, "+25.5%"),
    ]
    assert "limits" not in evaluation_meaning(load({"contracts/tag.yaml": CONTRACT}))["gate"]


@pytest.mark.parametrize(
    ("line", "place", "what"),
    [
        ("modle: x", "12:1: modle", "did you mean `model`?"),
        ("sampling: {samples: 0}", "12:21: sampling.samples", "0 is not at least 1"),
        ("sampling: {samples: many}", "12:21: sampling.samples", "is not a whole number"),
        ("sampling: {aggregate: most}", "12:23: sampling.aggregate", "not one of first"),
        ("sampling: 3", "12:11: sampling", "is not a mapping"),
        ("slo: {success_rate: 0}", "12:21: slo.success_rate", "not more than 0"),
        ("slo: {success_rate: 2}", "12:21: slo.success_rate", "not at most 1"),
        ("slo: {window: 4 weeks}", "12:15: slo.window", "such as 28d or 24h"),
        ("gate: {claim: fixture}", "12:15: gate.claim", "did you mean `fixtures`?"),
        ("gate: {allow_broken: 1.5}", "12:22: gate.allow_broken", "1.5 is not a whole number"),
        ("gate: {allow_broken: -1}", "12:22: gate.allow_broken", "not at least 0"),
        ("gate: {alpha: 1}", "12:15: gate.alpha", "not less than 1"),
        ("gate: {alpha: 5.0e-324}", "12:15: gate.alpha", "not at least"),
        ("gate: {alpha: 9.9e-7}", "12:15: gate.alpha", "not at least"),
        ("gate: {margin: 1}", "12:16: gate.margin", "not less than 1"),
        ("gate: {tolerance: 0}", "12:19: gate.tolerance", "not more than 0"),
        ("gate: {cost: 20%}", "12:14: gate.cost", "such as +20%"),
        ("gate: {latency_p95: 0.2}", "12:21: gate.latency_p95", "not text"),
        ("gate: {latency_p90: +20%}", "12:8: gate.latency_p90", "did you mean `latency_p95`?"),
        ("repair: {max_steps: -1}", "12:21: repair.max_steps", "not at least 0"),
        ("mode: hope", "12:7: mode", "not one of observe"),
        ("not_run: javascript", "12:10: not_run", "is not a list"),
        ("not_run: [javascript]", "12:11: not_run[0]", "is not a mapping"),
        ("not_run: [{kind: javascript}]", "12:11: not_run[0]", "`why` is missing; add `why`"),
        ("not_run: [{kind: 3, why: x}]", "12:18: not_run[0].kind", "3 is not text"),
        ("not_run: [{kind: x, why: ''}]", "12:26: not_run[0].why", "empty"),
        ("not_run: [{kind: x, why: y, wy: z}]", "12:29: not_run[0].wy", "did you mean `why`?"),
    ],
)
def test_faults_of_fields(line: str, place: str, what: str) -> None:
    told = complaints(f"{CONTRACT}{line}\n")
    assert told.startswith(f"contracts/tag.yaml:{place}:")
    assert what in told


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("contract: 1", "contract: 2", "tag.yaml:1:11: contract: 2 is not 1"),
        ("name: tag", "name: a b", "does not have the required form"),
        ("name: tag\n", "", "`name` is missing; add `name`: a name of letters"),
        ("../prompts/tag.prompty", "tag.prompty", "did you mean `prompts/tag.prompty`?"),
        ("../prompts/tag.prompty", "../../x", "is outside the repository"),
        ("file: rows.jsonl", "file: gone.jsonl", "fixtures[0].file: there is no file"),
        ("- file: rows.jsonl", "- {file: rows.jsonl, id: 3}", "fixtures[0].id: unknown key"),
        ("- file: rows.jsonl", "- {file: rows.jsonl}\n  - {file: ./rows.jsonl}", "named twice"),
        (
            "- file: rows.jsonl",
            "- {id: inline, vars: {word: y}}",
            "id `inline`, at contracts/tag.yaml:7",
        ),
        ("vars: {word: x}", "vars: 3", "3 is not a mapping"),
        ('type: equals, value: "', 'type: equal, value: "', "did you mean `equals`?"),
        ('type: equals, value: "', 'value: "', "`type` is missing"),
        ("severity: warn", "severity: fatal", "not one of error, warn"),
        ("severity: warn", "severty: warn", "did you mean `severity`?"),
        ("severity: warn", "name: ' '", "write the check's name"),
        ("severity: warn", "ignore_case: 3", "checks[0].ignore_case: 3 is not true or false"),
        ("schema: s.json", "shema: s.json", "checks[1]: `schema` is missing"),
        ("schema: s.json", "schema: gone.json", "checks[1].schema: there is no file"),
        ("schema: s.json", "schema: {$ref: 'https://x.org/s'}", "is not a path in the repository"),
        ("schema: s.json", "schema: {$ref: gone.json}", "$ref `gone.json`"),
        ("- {type: json_schema, schema: s.json}", "- 3", "a check is not a mapping"),
        ("severity: warn}", "name: a}\n  - {type: length, name: a}", "2 checks are named `a`"),
        ("checks:\n  - {type: equals", "checks:\n  - 4\n  - {type: equals", "not a mapping"),
    ],
)
def test_faults_anywhere(old: str, new: str, what: str) -> None:
    assert old in CONTRACT
    assert what in complaints(CONTRACT.replace(old, new, 1))


@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_text_is_explained_without_a_pattern(blank: str) -> None:
    old = "vars: {word: x}"
    assert old in CONTRACT
    told = complaints(CONTRACT.replace(old, f"{old}, turns: ['{blank}']", 1))
    assert told.endswith(f'turns[0]: "{blank}" does not have the required form; write text')


@pytest.mark.parametrize(
    ("path", "text", "what"),
    [
        ("contracts/rows.jsonl", "", "contracts/rows.jsonl:1: the file has no fixture"),
        (
            "contracts/rows.jsonl",
            '{"id": "inline", "word": "w"}',
            "at contracts/rows.jsonl:1",
        ),
        ("contracts/rows.jsonl", '{"vars": {"w": 1}, "checks": 3}', "not a list"),
        (
            "contracts/rows.jsonl",
            '{"vars": {"w": 1}, "checks": [{"type": "nope"}]}',
            "no check type",
        ),
        ("contracts/s.json", "{", "contracts/s.json:1:2"),
        ("contracts/sub/t.json", None, "there is no file `contracts/sub/t.json`"),
        ("prompts/tag.prompty", "user:\n{{ word", "prompts/tag.prompty:2"),
        ("contracts/tag.yaml", "- 1", "is not a mapping"),
        ("contracts/tag.yaml", "", "is not a mapping"),
        ("contracts/tag.yaml", "a: [", "contracts/tag.yaml:2"),
        (
            "contracts/tag.yaml",
            edited(CONTRACT.split("checks:\n")[0], ", checks: [{type: equals, value: 1}]", ""),
            "no check with `severity: error` applies to the fixture",
        ),
        (
            "contracts/tag.yaml",
            CONTRACT.split("fixtures:")[0] + "fixtures: []\nchecks: 3",
            "checks: 3 is not a list",
        ),
    ],
)
def test_faults_of_other_files(path: str, text: str | None, what: str) -> None:
    with pytest.raises(ContractError) as caught:
        load({path: text})
    assert what in str(caught.value)


def test_files_that_are_not_utf_8_are_named_with_their_line() -> None:
    for path in (
        "prompts/tag.prompty",
        "contracts/rows.jsonl",
        "contracts/sub/t.json",
        "contracts/tag.yaml",
    ):
        files = {name: text.encode() for name, text in FILES.items()} | {path: b"\n\xff"}
        with pytest.raises(ContractError, match=f"^{path}:2: `{path}` is not UTF-8"):
            load_contract(MemoryRevision(files), "contracts/tag.yaml", SHAPES)
    with pytest.raises(ContractError, match="no file"):
        require_text(MemoryRevision({}), "x")


def test_all_faults_are_told_at_once() -> None:
    told = complaints(CONTRACT + "modle: 1\n", contracts__rows_jsonl="{", prompts__tag_prompty=None)
    assert len(told.splitlines()) == 3


def test_names_of_checks_are_made_and_distinct() -> None:
    checks = (
        "checks:\n  - {type: equals, value: [a, b]}\n  - {type: equals, value: [a, b]}\n"
        "  - {type: equals, value: 1}\n  - {type: json_schema, schema: {}}\n  - {type: length}\n"
        f"  - {{type: equals, value: {'x' * 90}}}\n"
    )
    contract = load({"contracts/tag.yaml": CONTRACT.split("checks:\n")[0] + checks})
    names = [spec.name for spec in contract.checks]
    assert names[:5] == ["equals a, b", "equals a, b (2)", "equals 1", "json_schema", "length"]
    assert len(names[5]) < 70
    assert contract.fixtures[1].checks[0].name == "equals 1 (of the fixture)"


def test_a_name_that_is_given_stays_and_those_that_are_made_give_way() -> None:
    checks = (
        "checks:\n  - {type: length}\n  - {type: equals, value: 1, name: length}\n"
        "  - {type: length, max: 9, name: length (2)}\n  - {type: length, severity: error}\n"
    )
    contract = load({"contracts/tag.yaml": CONTRACT.split("checks:\n")[0] + checks})
    names = [spec.name for spec in contract.checks]
    assert names == ["length (3)", "length", "length (2)", "length (4)"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("contracts/tag.yaml", "# note\r\n" + CONTRACT.replace("\n", "\r\n")),
        (
            "contracts/tag.yaml",
            edited(CONTRACT, "params: {temperature: 1}", "params:\n  temperature: 1"),
        ),
        ("contracts/rows.jsonl", '{"expected": "b",   "word": "a"}\n'),
        ("contracts/s.json", json.dumps(json.loads(FILES["contracts/s.json"]), indent=4)),
        (
            "prompts/tag.prompty",
            edited(FILES["prompts/tag.prompty"], "model", "# note\nname: n\nmodel"),
        ),
    ],
)
def test_layout_changes_no_digest(path: str, text: str) -> None:
    assert load({path: text}).dependencies == load().dependencies


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("contracts/tag.yaml", "temperature: 1", "temperature: 2"),
        ("contracts/rows.jsonl", "b", "c"),
        ("contracts/sub/t.json", "x", "y"),
        ("prompts/tag.prompty", "{{ word }}", "{{ word }}!"),
    ],
)
def test_meaning_changes_its_own_digest(path: str, old: str, new: str) -> None:
    before, after = load().dependencies, load({path: FILES[path].replace(old, new)}).dependencies
    changed = {name for name in before if before[name] != after[name]}
    assert path in changed


def test_the_schemas_are_schemas_and_the_published_one_knows_checks() -> None:
    for schema in (contract_schema(), policy_schema(), published_schema(SHAPES)):
        jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(published_schema(SHAPES))
    good = {"contract": 1, "name": "a", "prompt": "p", "fixtures": [{"file": "f.csv"}]}
    assert validator.is_valid({**good, "checks": [{"type": "equals", "value": 1, "name": "n"}]})
    assert not validator.is_valid({**good, "checks": [{"type": "equals", "valu": 1}]})
    assert not validator.is_valid({**good, "checks": [{"type": "nope"}]})
    assert not validator.is_valid(
        {**good, "fixtures": [{"vars": {}, "checks": [{"type": "nope"}]}]}
    )


@given(st.text(max_size=30), st.integers(0, len(CONTRACT)), st.integers(0, 40))
def test_no_edit_does_more_than_raise_contract_error(text: str, start: int, cut: int) -> None:
    try:
        load({"contracts/tag.yaml": CONTRACT[:start] + text + CONTRACT[start + cut :]})
    except ContractError as error:
        told = error.problems
    else:
        return
    assert told


ROW = "fixtures: [{file: rows.jsonl}]\nchecks: [{type: equals, value: 1, severity: %s}]\n"


def test_every_fixture_has_a_check_that_can_fail_it() -> None:
    head = CONTRACT.split("fixtures:")[0]
    gating = '"checks": [{"type": "equals", "value": 1}]'
    rows = "\n".join(f'{{"id": "r{n}", "vars": {{}}}}' for n in range(5))
    own = f'{{"id": "own", "vars": {{}}, {gating}}}\n'
    assert load({"contracts/tag.yaml": head + ROW % "error", "contracts/rows.jsonl": rows})
    assert load({"contracts/tag.yaml": head + ROW % "warn", "contracts/rows.jsonl": own})
    told = complaints(head + ROW % "warn", contracts__rows_jsonl=own + rows)
    assert told.startswith("contracts/tag.yaml:")
    assert "applies to the fixtures `r0`, `r1`, `r2` and 2 more" in told
    assert "`severity: error`" in told


@pytest.mark.parametrize("where", ["contract", "prompt"])
def test_the_recording_that_answers_is_a_dependency(where: str) -> None:
    model = "recorded/past/samples.txt"
    files = {
        "contracts/tag.yaml": edited(CONTRACT, "openai/gpt", model),
        "past/samples.txt": "answers",
    }
    if where == "prompt":
        files["contracts/tag.yaml"] = edited(CONTRACT, "model: openai/gpt\n", "")
        files["prompts/tag.prompty"] = f"---\nmodel: {model}\n---\nuser:\n{{{{ word }}}}"
    digest = load({**files}).dependencies["past/samples.txt"]
    assert digest != load({**files, "past/samples.txt": "others"}).dependencies["past/samples.txt"]
    del files["past/samples.txt"]
    assert load({**files}).dependencies["past/samples.txt"] == "missing"
    assert "past/samples.txt" not in load().dependencies
