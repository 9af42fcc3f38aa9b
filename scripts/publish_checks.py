"""Writes the parts of docs/checks.md that come from the checks themselves.

The parts stand between two comments, `<!-- NAME: … -->` and `<!-- end of NAME -->`; whatever is
outside them is written by hand.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

from gatekeeper.checks.check import Check, Example
from gatekeeper.checks.judges.presets import PRESETS
from gatekeeper.checks.registry import CHECKS
from gatekeeper.contract.values.trial import Completion, Turn

PAGE = Path(__file__).parents[1] / "docs" / "checks.md"
OTHER_TOOLS: list[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("other_tools.yaml").read_text("utf-8")
)

GROUPS: Mapping[str, str] = {
    "text": "Text",
    "values": "Values and JSON",
    "grounded": "Grounded in the context",
    "safety": "Safety",
    "tools": "Tool calls",
    "measures": "Measures",
    "composed": "Composed of other checks",
    "judges": "Judges",
    "own": "Checks of your own",
}
JUDGES = tuple(PRESETS)
NO_CHECK, _SAME = "–", "the same names"
_SHOWN = 100
_OFTEN = 3
"""A parameter that as many checks describe alike is described once."""


def page(text: str) -> str:
    """Return the page with its generated parts as they should be."""
    parts = (
        ("index", _index()),
        ("common parameters", _listed(_COMMON)),
        ("checks", _checks()),
        ("other tools", _other_tools()),
    )
    for name, content in parts:
        pattern = rf"(<!-- {name}: [^\n]* -->\n).*?(<!-- end of {name} -->\n)"
        new = re.compile(pattern, re.DOTALL)
        if not new.search(text):
            raise ValueError(f"docs/checks.md has no part `{name}`")
        text = new.sub(lambda found, content=content: f"{found[1]}{content}{found[2]}", text)
    return text


def written_yaml(example: Example) -> str:
    """Return the YAML of an example as an item of a list."""
    return "- " + example.written.strip().replace("\n", "\n  ")


def _grouped() -> Iterator[tuple[str, Mapping[str, Check]]]:
    for group, title in GROUPS.items():
        checks = {name: check for name, check in CHECKS.items() if check.group == group}
        if checks:
            yield title, checks


def _index() -> str:
    lines = ["| group | checks |", "| --- | --- |"]
    for title, checks in _grouped():
        links = ", ".join(f"[{name}](#{name})" for name in checks)
        lines.append(f"| {title} | {links} |")
    return "\n".join(lines) + "\n"


def _checks() -> str:
    parts = []
    for title, checks in _grouped():
        parts.append(f"## {title}\n")
        parts += [_section(name, check) for name, check in checks.items()]
    return "\n".join(parts)


def _section(name: str, check: Check) -> str:
    properties = check.parameters["properties"]
    common = [key for key, schema in properties.items() if _said(_COMMON.get(key)) == _said(schema)]
    own = {key: schema for key, schema in properties.items() if key not in common}
    parts = [f"### {name}\n{check.prose}\n"]
    if own:
        parts.append(_listed(own, check.parameters["required"]))
    if common:
        named = ", ".join(f"`{key}`" for key in common)
        parts.append(f"Also {named}.\n")
    shown = (
        "\n".join(["```yaml", *_example(check.examples[0]), "```", ""]) if check.examples else ""
    )
    return "\n".join([*parts, shown] if shown else parts)


def _said(schema: Mapping[str, Any] | None) -> tuple[Any, Any] | None:
    return schema and (schema["description"], schema.get("default"))


def _common() -> Mapping[str, Any]:
    every = [item for check in CHECKS.values() for item in check.parameters["properties"].items()]
    said = Counter((name, _said(schema)) for name, schema in every)
    return {name: schema for name, schema in every if said[name, _said(schema)] >= _OFTEN}


_COMMON = _common()


def _other_tools() -> str:
    joined: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in OTHER_TOOLS:
        key = (_SAME, "") if _is_same(row) else (ours(row), remark(row))
        names = joined.setdefault(key, {"promptfoo": [], "deepeval": []})
        for tool, theirs in names.items():
            if row.get(tool) and _theirs(row[tool]) not in theirs:
                theirs.append(_theirs(row[tool]))
    lines = ["| promptfoo | DeepEval | here | |", "| --- | --- | --- | --- |"]
    for (found, said), names in joined.items():
        theirs = " | ".join(", ".join(each) for each in names.values())
        lines.append(f"| {theirs} | {found} | {_cell(said)} |")
    return "\n".join(lines) + "\n"


def _is_same(row: Mapping[str, Any]) -> bool:
    names = [str(row.get("promptfoo", "")).replace("-", "_")]
    return names == row.get("checks") and not {"deepeval", "note"} & row.keys()


def ours(row: Mapping[str, Any]) -> str:
    """Return the checks and judges of a row that there are here, as links."""
    found = [f"[{name}](#{name})" for name in row.get("checks", ()) if name in CHECKS]
    if row.get("judge") in JUDGES:
        found.append(f"[judge: {row['judge']}](#judge)")
    return ", ".join(found) or NO_CHECK


def remark(row: Mapping[str, Any]) -> str:
    """Return what a row says of what there is here: what differs, or why not; else nothing."""
    return str(row["otherwise"] if ours(row) == NO_CHECK else row.get("note", ""))


def _theirs(names: str) -> str:
    if "`" in names or " " in names.replace(", ", ""):
        return names
    return ", ".join(f"`{name}`" for name in names.split(", ") if name)


def _listed(properties: Mapping[str, Any], required: Sequence[str] = ()) -> str:
    lines = []
    for name, schema in properties.items():
        default = " (required)" if name in required else ""
        if "default" in schema:
            default = f" ({json.dumps(schema['default'], ensure_ascii=False).strip(chr(34))})"
        lines.append(f"- `{name}`{default}: {schema['description']}")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _example(example: Example) -> Iterator[str]:
    yield written_yaml(example)
    context = {"vars": dict(example.vars), "expected": example.expected, **example.files}
    for name, value in context.items():
        if value:
            yield f"  # {name}: {_one_line(value)}"
    for message in example.messages:
        yield f"  # {message.role} message: {_one_line(message.content)}"
    for word, answer, at in (("passes", example.passes, 0), ("fails", example.fails, 1)):
        yield f"  # {word}: {_answer(answer)}"
        if example.judge_says:
            yield f"  #   the judge: {_one_line(json.loads(example.judge_says[at]))}"


def _answer(answer: str | Completion) -> str:
    if isinstance(answer, str):
        return _one_line(answer)
    bare = Completion("")
    said = {
        field.name: getattr(answer, field.name)
        for field in fields(answer)
        if getattr(answer, field.name) != getattr(bare, field.name)
    }
    turns = said.pop("turns", ()) or (
        Turn("", Completion("", tool_calls=said.pop("tool_calls", ()))),
    )
    shown = [text for turn in turns for text in _turn(turn)]
    users = [a.completion.text for a in said.pop("users", ()) if a.completion]
    shown += [f"the user answered {_one_line(users[-1])}"] if users else []
    return ", ".join([*shown, *(f"{name} {_one_line(value)}" for name, value in said.items())])


def _turn(turn: Turn) -> Iterator[str]:
    """Yield what a step of the model did, and what it changed."""
    for call, result in zip_longest(turn.completion.tool_calls, turn.results):
        kind = "error" if result and result.is_error else "answer"
        got = f" and gets the {kind} {_one_line(result.text)}" if result else ""
        yield f"calls {call.name} with {call.arguments}{got}"
    if turn.state is not None:
        yield f"leaves the state {turn.state}"


def _one_line(value: Any) -> str:
    if isinstance(value, str):
        plain = value.isprintable() and value == value.strip() != ""
        text = value if plain else json.dumps(value, ensure_ascii=False)
    else:
        dumped = yaml.safe_dump(
            value, default_flow_style=True, width=10_000, sort_keys=False, allow_unicode=True
        )
        text = dumped.strip().removesuffix("...").strip()
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
