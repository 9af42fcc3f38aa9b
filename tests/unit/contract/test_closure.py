"""Whatever file a contract is made of: the contract is affected if that file changes.

`PARTS` has each key that names a file. A new one needs a row here only to be tried in combination;
loading a contract from a file that nothing knows of fails by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gatekeeper.checks.registry import CHECKS, SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.loading.load import _Loading, load_contract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision

TOOLS = '{"tools": [{"name": "find", "description": "%s", "inputSchema": {"type": "object"}}]}'
CODE = "def calm(output, context=None):\n    return True\n"


class Part(NamedTuple):
    """The items that a part adds to lists of the contract, its other keys, the files that it is
    made of, and what each has after a change."""

    files: Mapping[str, tuple[str, str]]
    adds: Mapping[str, list[Any]] = {}
    sets: Mapping[str, Any] = {}


def text(path: str) -> dict[str, tuple[str, str]]:
    return {path: ("Say {{ x }}.", "Say {{ x }}!")}


def check(files: Mapping[str, tuple[str, str]], **item: Any) -> Part:
    return Part(files, {"checks": [item]})


PARTS: dict[str, Part] = {
    "include": Part(
        {
            "p/head.md": ("{% include 'in.md' %}{{ x }}", "{% include 'in.md' %} {{ x }}"),
            "p/in.md": ("Be {% include 'deep.md' %}", "Do be {% include 'deep.md' %}"),
            "p/deep.md": ("kind.", "rude."),
        },
        sets={"prompt": "p/head.md"},
    ),
    "step": Part(text("p/first.md"), {"steps": [{"name": "first", "prompt": "p/first.md"}]}),
    "tools": Part(
        {
            "t.json": (TOOLS % "Find.", TOOLS % "Find it."),
            "rows.csv": ("tool,returns\nfind,a\n", "tool,returns\nfind,b\n"),
        },
        sets={"tools": ["t.json"], "tool_results": "rows.csv"},
    ),
    "fixtures": Part({"f.csv": ("x\na\n", "x\nb\n")}, {"fixtures": [{"file": "f.csv"}]}),
    "rows with checks": Part(
        {
            "g.jsonl": (
                '{"x": "1", "checks": [{"type": "json_schema", "schema": "row.json"}]}\n',
                '{"x": "2", "checks": [{"type": "json_schema", "schema": "row.json"}]}\n',
            ),
            "row.json": ("{}", '{"type": "object"}'),
        },
        {"fixtures": [{"file": "g.jsonl"}]},
    ),
    "fixture's check": Part(
        {"own.json": ("{}", '{"type": "object"}')},
        {
            "fixtures": [
                {"vars": {"x": "c"}, "checks": [{"type": "json_schema", "schema": "own.json"}]}
            ]
        },
    ),
    "fixture's file": Part(
        {"one.gif": ("GIF89a one", "GIF89a two")},
        {"fixtures": [{"vars": {"x": "d"}, "files": ["one.gif"]}]},
    ),
    "rows with files": Part(
        {
            "h.jsonl": ('{"x": "1", "files": "two.pdf"}\n', '{"x": "2", "files": "two.pdf"}\n'),
            "two.pdf": ("%PDF-1.4 one", "%PDF-1.4 two"),
        },
        {"fixtures": [{"file": "h.jsonl"}]},
    ),
    "json_schema": check(
        {
            "s.json": ('{"$ref": "t.json"}', '{"$ref": "t.json", "type": "object"}'),
            "t.json": ("{}", '{"type": "object"}'),
        },
        type="json_schema",
        schema="s.json",
    ),
    "contains_json": check(
        {"c.json": ("{}", '{"type": "object"}')}, type="contains_json", schema="c.json"
    ),
    "tool_call": check(
        {"call.json": ("{}", '{"type": "object"}')}, type="tool_call", name="f", schema="call.json"
    ),
    "word_list": check({"w.txt": ("bad\n", "worse\n")}, type="word_list", file="w.txt"),
    "python": check(
        {"own.py": (CODE, CODE + "# x\n"), "more.py": ("A = 1\n", "A = 2\n")},
        type="python",
        python="own.py:calm",
        modules=["more.py"],
    ),
    "scoring_function": check(
        {"score.py": (CODE, CODE + "# x\n")},
        type="scoring_function",
        function="score.py:calm",
        checks=[{"type": "contains", "value": "b"}],
    ),
    "judge": check(
        {"judge.md": ("Is {{ output }} good?", "Is {{ output }} bad?")},
        judge="rubric",
        criteria="Is it kind?",
        model="openai/j",
        prompt="judge.md",
    ),
    "inside another check": check(
        {"i.json": ("{}", '{"type": "object"}')},
        type="any_of",
        checks=[{"type": "json_schema", "schema": "i.json"}],
    ),
    "group": Part(
        {"group.json": ("{}", '{"type": "object"}')},
        sets={"groups": {"one": {"checks": [{"type": "json_schema", "schema": "group.json"}]}}},
    ),
    "recording": Part({"past.txt": ("a", "b")}, sets={"model": "recorded/contracts/past.txt"}),
    "recorded judge": check(
        {"votes.txt": ("a", "b")},
        judge="rubric",
        criteria="Is it kind?",
        model="recorded/contracts/votes.txt",
    ),
}


def made_of(names: list[str]) -> dict[str, tuple[str, str]]:
    """Return the files of a contract with these parts, before and after a change of each."""
    contract: dict[str, Any] = {
        "contract": 1,
        "name": "it",
        "prompt": "p/plain.md",
        "model": "openai/m",
        "fixtures": [{"vars": {"x": "z"}}],
        "checks": [{"type": "contains", "value": "a"}],
    }
    files: dict[str, tuple[str, str]] = {}
    for part in (PARTS[name] for name in names):
        files |= part.files
        contract |= part.sets
        for key, items in part.adds.items():
            contract[key] = [*contract.get(key, []), *items]
    if contract["prompt"] == "p/plain.md":
        files |= text("p/plain.md")
    if "steps" in contract:  # its output must be used
        last = contract["prompt"]
        files[last] = (files[last][0] + "{{ first }}", files[last][1] + "{{ first }}")
    for key in ("prompt", "steps"):
        contract |= {key: _rooted(contract[key])} if key in contract else {}
    return {
        f"contracts/{path}" if not path.startswith("p/") else path: both
        for path, both in files.items()
    } | {"contracts/it.yaml": (json.dumps(contract), json.dumps(contract | {"pass_score": 0.5}))}


def _rooted(value: Any) -> Any:
    """Return the prompts as paths from the root."""
    if isinstance(value, list):
        return [item | {"prompt": f"/{item['prompt']}"} for item in value]
    return f"/{value}"


def revision(files: Mapping[str, tuple[str, str]], changed: str = "") -> MemoryRevision:
    return MemoryRevision(
        {path: both[path == changed].encode() for path, both in files.items()}, sha=changed
    )


@pytest.mark.parametrize("name", PARTS)
def test_a_contract_is_affected_by_each_file_of_a_part(name: str) -> None:
    every_change_is_found(made_of([name]))


@given(st.lists(st.sampled_from(sorted(PARTS)), unique=True, max_size=5))
def test_a_contract_is_affected_by_each_file_of_its_parts(names: list[str]) -> None:
    assume(not {"step", "tools"} <= {*names})  # a tool loop has no steps
    every_change_is_found(made_of(names))


def every_change_is_found(files: Mapping[str, tuple[str, str]]) -> None:
    base = revision(files)
    for path in files:
        affected = find_affected(Change(base, revision(files, path)), Policy(), SHAPES)
        assert [found.name for found in affected.contracts] == ["it"], path
        assert path in {cause.path for cause in affected.contracts[0].affected_by}


def test_every_check_that_names_a_file_is_a_part() -> None:
    with_files = {kind for kind in CHECKS if SHAPES[kind].paths or SHAPES[kind].code}
    assert with_files <= PARTS.keys()


def test_a_contract_made_of_a_file_that_nothing_knows_of_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if somebody had added a key and forgotten the closure."""
    files = revision(made_of(["word_list"]))
    known = load_contract(files, "contracts/it.yaml", SHAPES).dependencies
    forgotten = {path: digest for path, digest in known.items() if not path.endswith("w.txt")}
    monkeypatch.setattr(_Loading, "_dependencies", lambda *_: forgotten)
    with pytest.raises(AssertionError, match=r"contracts/w\.txt"):
        load_contract(files, "contracts/it.yaml", SHAPES)
