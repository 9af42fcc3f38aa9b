"""Our reading of schemas against jsonschema's: a yes is always its yes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.meaning.schemas import contract_schema, policy_schema
from gatekeeper.contract.syntax.schema import KNOWN_KEYWORDS, conforms

SCHEMA = contract_schema()
VALID = {
    "contract": 1,
    "name": "task",
    "prompt": "../a.md",
    "model": "openai/x",
    "fixtures": [{"file": "a.jsonl"}, {"id": "a", "vars": {}, "expected": None}],
    "checks": [{"type": "contains", "value": "a"}],
}

SCALAR = (
    st.none()
    | st.booleans()
    | st.integers(-2, 200)
    | st.floats(-1, 2)
    | st.sampled_from(["", "28d", "1.5h", "auto", "fixed", "a", "openai/x"])
)
VALUE = st.recursive(
    SCALAR,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["file", "vars", "id", "type", "zz"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def section(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    names = sorted(schema.get("properties", {}))
    return st.dictionaries(st.sampled_from([*names, "zz"]), SCALAR, max_size=3) | VALUE


CHANGED = st.fixed_dictionaries(
    {}, optional={name: section(part) for name, part in SCHEMA["properties"].items()}
)


@given(CHANGED, st.sets(st.sampled_from(sorted(VALID)), max_size=1))
def test_the_contracts_schema_is_read_as_jsonschema_reads_it(
    changed: dict[str, Any], gone: set[str]
) -> None:
    data = {name: value for name, value in {**VALID, **changed}.items() if name not in gone}
    assert conforms(data, SCHEMA) == jsonschema.Draft202012Validator(SCHEMA).is_valid(data)


def keywords(schema: Any) -> set[str]:
    """The keywords that a schema uses, at any depth."""
    if not isinstance(schema, Mapping):
        return set()
    named = [part for name in ("properties", "$defs") for part in schema.get(name, {}).values()]
    single = [schema.get(n) for n in ("items", "additionalProperties", "if", "then", "else", "not")]
    return set(schema).union(*map(keywords, [*named, *single, *schema.get("anyOf", [])]))


@pytest.mark.parametrize("schema", [contract_schema(), policy_schema()], ids=["contract", "policy"])
def test_no_keyword_of_our_schemas_needs_jsonschema(schema: Mapping[str, Any]) -> None:
    """A keyword that is not known would make every file that uses it load jsonschema."""
    assert len(keywords(schema)) > 10
    assert keywords(schema) - KNOWN_KEYWORDS == set()


@pytest.mark.parametrize("kind", sorted(SHAPES))
@settings(max_examples=5)  # of each kind
@given(data=st.data())
def test_no_parameter_of_a_check_passes_that_jsonschema_refuses(
    kind: str, data: st.DataObject
) -> None:
    schema = {"additionalProperties": False, **SHAPES[kind].schema}
    names = sorted(schema.get("properties", {}))
    value = data.draw(st.dictionaries(st.sampled_from([*names, "zz"]), VALUE, max_size=4) | VALUE)
    if conforms(value, schema):
        jsonschema.Draft202012Validator(schema).validate(value)


@pytest.mark.parametrize(
    ("value", "schema", "answer"),
    [
        (1, {"multipleOf": 2}, False),
        (1, {"not": {"multipleOf": 1}}, False),
        ([1], {"const": [1]}, False),
        (1, {"$ref": "https://example.invalid/schema"}, False),
        (1, {"$ref": "#/$defs/one", "$defs": {"one": {"const": 1}}}, True),
        (True, {"const": 1}, False),
        (1.0, {"const": 1}, True),
        (1e300, {"type": "integer"}, True),
        (float("inf"), {"type": "integer"}, False),
        (10**400, {"type": "integer"}, True),
        ({"a": 1}, {"additionalProperties": {"type": "string"}}, False),
        ({"a": 1}, {"additionalProperties": True}, True),
        ([1, "a"], {"items": False}, False),
        (
            {"a": 1},
            {"not": {"additionalProperties": False, "patternProperties": {"a": True}}},
            False,
        ),
    ],
)
def test_what_is_not_known_is_left_to_jsonschema(
    value: object, schema: dict[str, Any], answer: bool
) -> None:
    assert conforms(value, schema) is answer


def test_a_sound_contract_is_loaded_without_jsonschema() -> None:
    code = (
        "import sys; from gatekeeper.contract.loading.load import load_contract;"
        "from gatekeeper.contract.values.change import MemoryRevision as M;"
        "from gatekeeper.checks.registry import SHAPES;"
        "c = b'contract: 1\\nname: a\\nprompt: /a.md\\nmodel: m\\n"
        "fixtures: [{vars: {a: 1}}]\\nchecks: [{type: contains, value: x}]\\n';"
        "load_contract(M({'c.yaml': c, 'a.md': b'A'}), 'c.yaml', SHAPES);"
        "sys.exit('jsonschema' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, json.dumps(done.stderr.decode())
