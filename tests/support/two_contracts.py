"""Two contracts in memory, and what a change of some of their files affects."""

from __future__ import annotations

from gatekeeper.contract.changes.affected import Affected, find_affected
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.definition import CheckShape

SHAPES = {
    "equals": CheckShape({"type": "object", "properties": {"value": {}}, "required": ["value"]}),
    "json_schema": CheckShape({"type": "object", "properties": {"schema": {}}}, ("schema",)),
}


def contract(name: str, prompt: str = "", extra: str = "") -> str:
    return (
        f"contract: 1\nname: {name}\nprompt: {prompt or f'../prompts/{name}.md'}\nmodel: m\n"
        f"fixtures: [{{file: {name}.jsonl}}]\n"
        f"checks: [{{type: equals, value: 1}}, {{type: json_schema, schema: /s.json}}]\n{extra}"
    )


FILES = {
    "contracts/a.yaml": contract("a"),
    "contracts/a.jsonl": '{"x": 1}',
    "contracts/deep/b.yaml": contract("b", "/prompts/b.md"),
    "contracts/deep/b.jsonl": '{"x": 1, "checks": [{"type": "json_schema", "schema": "/row.json"}]}',  # noqa: E501
    "prompts/a.md": "A {{ x }} {% include 'part.md' %}",
    "prompts/b.md": "B {{ x }}",
    "prompts/part.md": "{% import '/macros.txt' as m %}part",
    "macros.txt": "m",
    "s.json": '{"$ref": "t.json"}',
    "t.json": "{}",
    "row.json": "{}",
    "README.md": "r",
}


def revision(files: dict[str, str]) -> MemoryRevision:
    return MemoryRevision({path: text.encode() for path, text in files.items()})


def after(
    changes: dict[str, str | None], renames: dict[str, str] | None = None, **policy: object
) -> Affected:
    head = {path: text for path, text in {**FILES, **changes}.items() if text is not None}
    change = Change(revision(FILES), revision(head), renames or {})
    return find_affected(change, Policy(**policy), SHAPES)  # type: ignore[arg-type]
