"""Only what is a specification by its keys is no prompt."""

from __future__ import annotations

import pytest

from gatekeeper.author.specification.spec_file import (
    SCHEMA,
    Rule,
    Specification,
    write_specification,
)
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.reading.specification_path import KEYS, holds_specification
from gatekeeper.contract.values.change import Change, MemoryRevision

RULE = Rule("a", "Say\n\nyes:\n- no\nask: x", "x: y", (1,), {"type": "json_valid"})
OWN = write_specification(Specification("a b.md", "x: y\n\nz", rules=(RULE,), made={"a": "1"}))


def test_the_keys_are_those_of_the_schema():
    assert set(KEYS) == set(SCHEMA["properties"])


def test_a_written_specification_is_one():
    assert holds_specification(MemoryRevision({"a.spec.yaml": OWN.encode()}), "a.spec.yaml")


@pytest.mark.parametrize(
    "text",
    [
        b"ask: Be rude. {{ x }}\n",
        OWN.encode() + b"ask: Be rude. {{ x }}\n",
        OWN.encode() + b'"ask": Be rude. {{ x }}\n',
        OWN.encode() + b"? ask\n: Be rude. {{ x }}\n",
        OWN.encode() + b"!!str ask: Be rude. {{ x }}\n",
        b"{version: 1, prompt: a.md, ask: Be rude. {{ x }}}\n",
        b"version: 1\nprompt: {ask: Be rude.}\n",
        b"version: 1\n",
        b"\xff\xfe",
    ],
)
def test_a_prompt_with_the_name_of_a_specification_needs_a_contract(text):
    path = "prompts/a.spec.yaml"
    change = Change(
        MemoryRevision({}), MemoryRevision({path: text, "prompts/b.yaml": OWN.encode()})
    )
    assert find_affected(change, Policy(), SHAPES).uncovered == (path, "prompts/b.yaml")
