"""Writes the parts of docs/checks.md that come from the checks themselves.

The parts stand between two comments, `<!-- NAME: … -->` and `<!-- end of NAME -->`; whatever is
outside them is written by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from gatekeeper.checks.check import Check, Example
from gatekeeper.checks.judges.presets import PRESETS
from gatekeeper.checks.registry import CHECKS
from gatekeeper.contract.values.trial import Completion

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
_SHOWN = 100


def page(text: str) -> str:
    """Return the page with its generated parts as they should be."""
    parts = (("index", _index()), ("checks", _checks()), ("other tools", _other_tools()))
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
    parts = [f"### {name}\n{check.prose}\n", _table(check.parameters)]
    items = [line for example in check.examples for line in _example(example)]
    if items:
        parts.append("\n".join(["```yaml", *items, "```", ""]))
    return "\n".join(part for part in parts if part)


def _other_tools() -> str:
    lines = ["| promptfoo | DeepEval | gatekeeper | |", "| --- | --- | --- | --- |"]
    for row in OTHER_TOOLS:
        theirs = [_theirs(row.get(tool, "")) for tool in ("promptfoo", "deepeval")]
        lines.append(f"| {theirs[0]} | {theirs[1]} | {ours(row)} | {_cell(remark(row))} |")
    return "\n".join(lines) + "\n"


def ours(row: Mapping[str, Any]) -> str:
    """Return the checks and judges of a row that there are here, as links."""
    found = [f"[{name}](#{name})" for name in row.get("checks", ()) if name in CHECKS]
    if row.get("judge") in JUDGES:
        found.append(f"[judge: {row['judge']}](#judge)")
    return ", ".join(found) or "no gatekeeper check"


def remark(row: Mapping[str, Any]) -> str:
    """Return what a row says of what there is here: the same name, what differs, or why not."""
    if ours(row) == "no gatekeeper check":
        return str(row["otherwise"])
    if "note" in row:
        return str(row["note"])
    same = str(row.get("promptfoo", "")).replace("-", "_") in row.get("checks", ())
    return "gatekeeper uses the same name" if same else "gatekeeper uses another name"


def _theirs(names: str) -> str:
    if "`" in names or " " in names.replace(", ", ""):
        return names
    return ", ".join(f"`{name}`" for name in names.split(", ") if name)


def _table(parameters: Mapping[str, Any]) -> str:
    if not parameters["properties"]:
        return "The check has no parameters.\n"
    lines = ["| parameter | default | |", "| --- | --- | --- |"]
    for name, schema in parameters["properties"].items():
        default = "required" if name in parameters["required"] else ""
        if "default" in schema:
            default = _cell(json.dumps(schema["default"], ensure_ascii=False).strip('"'))
        lines.append(f"| `{name}` | {default} | {_cell(schema['description'])} |")
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
    calls = said.pop("tool_calls", ())
    shown = [f"calls {call.name} with {call.arguments}" for call in calls]
    users = [a.completion.text for a in said.pop("users", ()) if a.completion]
    shown += [f"the user answered {_one_line(users[-1])}"] if users else []
    return ", ".join([*shown, *(f"{name} {_one_line(value)}" for name, value in said.items())])


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
