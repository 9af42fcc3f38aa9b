"""Finds the prompts that a file holds: the whole file, or texts inside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from posixpath import basename
from typing import Any, Literal

from gatekeeper.contract.discovery.places import (
    in_prompt_folder,
    is_crew,
    is_instructions,
    is_own,
    is_plain_text,
    is_prompt_named,
    is_prompt_text,
    is_test,
    is_tools,
)
from gatekeeper.contract.discovery.prompt_constants import (
    FEWEST_CHARACTERS,
    PromptConstant,
    dspy_signatures,
    holds_prose,
    python_prompts,
    typescript_prompts,
)
from gatekeeper.contract.prompts.kinds import GITHUB_PROMPT
from gatekeeper.contract.prompts.value_at_key import parse_data
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.reading.role_lines import ROLES
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, field_name
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.tools import as_function
from gatekeeper.errors import ContractError

PromptKind = Literal[
    "prompty", "GitHub prompt", "Markdown", "text", "messages", "key", "Python", "TypeScript",
    "instructions", "crewAI", "DSPy", "BAML", "tools",
]  # fmt: skip

PYTHON_SUFFIXES = (".py",)
TYPESCRIPT_SUFFIXES = (".ts", ".tsx", ".mts", ".js", ".mjs", ".jsx")
CODE_SUFFIXES = (*PYTHON_SUFFIXES, *TYPESCRIPT_SUFFIXES)
_TOML, _BAML = ".toml", ".baml"
_BAML_PROMPT = re.compile(r"^[ \t]*(?:function[ \t]+(?P<name>\w+)|prompt[ \t]+#*\")", re.MULTILINE)
_OF_CREW = (frozenset(("role", "goal", "backstory")), frozenset(("description", "expected_output")))
_OF_TOOLS = re.compile(r"(?:pyproject|cargo|poetry|uv|ruff|netlify|fly|wrangler)\.toml", re.I)
_DATA = (".yaml", ".yml", ".json", _TOML)
_MARKDOWN = (".md", ".markdown")
_HAS_MESSAGES = re.compile(r"[\"']?role[\"']?[ \t]*:")
_HOLE = re.compile(r"\{\s*[A-Za-z_][\w.]*\s*\}")
_FEWEST_WITHOUT_HOLE = 40
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class PromptSource:
    """One prompt of a file. `reference` is what a contract in the root folder would write as its
    `prompt`: a path, `FILE#key`, or `FILE.py:NAME`. `line` is its first line, counted from 1."""

    path: str
    reference: str
    kind: PromptKind
    line: int = 1


def may_hold_prompts(path: str) -> bool:
    """Return whether the file is worth reading for prompts, judged by its path alone."""
    name = path.lower()
    if not is_own(path):
        return name.endswith(GITHUB_PROMPT) and path.startswith(".github/")
    if name.endswith((".prompty", *GITHUB_PROMPT)):
        return True
    if is_test(path):
        return False
    if name.endswith(CODE_SUFFIXES):
        return not name.endswith((".d.ts", ".min.js"))
    if name.endswith(_DATA):
        return in_prompt_folder(path) or is_prompt_named(path) or is_crew(path) or is_tools(path)
    return name.endswith(_BAML) or is_prompt_text(path)


def may_hold_text(revision: Revision, path: str) -> bool:
    """Return whether a file that a pattern of `prompts` matches may hold a prompt: source code
    without a text of several words holds none."""
    if not path.lower().endswith(CODE_SUFFIXES):
        return True
    try:
        return holds_prose(path, read_text(revision, path))
    except UnreadableError:
        return True


def is_text_or_data(path: str) -> bool:
    """Return whether the file is data or BAML, or text that is one prompt."""
    return path.lower().endswith((*_DATA, _BAML)) or is_plain_text(path)


def kind_of_file(path: str) -> PromptKind:
    """Return the kind of a file that is one prompt, by its name."""
    name = path.lower()
    if name.endswith(".prompty"):
        return "prompty"
    if name.endswith(GITHUB_PROMPT):
        return "GitHub prompt"
    if name.endswith(_DATA):
        return "messages"
    if is_instructions(path):
        return "instructions"
    return "Markdown" if name.endswith(_MARKDOWN) else "text"


def prompts_in(path: str, text: str) -> Iterator[PromptSource]:
    """Yield the prompts of a file that `may_hold_prompts` accepts."""
    name = path.lower()
    if name.endswith(PYTHON_SUFFIXES):
        yield from _constants(path, python_prompts(text), "Python")
        yield from _constants(path, dspy_signatures(text), "DSPy")
    elif name.endswith(TYPESCRIPT_SUFFIXES):
        yield from _constants(path, typescript_prompts(text), "TypeScript")
    elif name.endswith(_BAML):
        yield from _in_baml(path, text)
    elif name.endswith(GITHUB_PROMPT) or not name.endswith(_DATA):
        if text.strip():
            yield PromptSource(path, path, kind_of_file(path))
    else:
        yield from _in_data(path, text)


def _in_baml(path: str, text: str) -> Iterator[PromptSource]:
    """Yield each function of a BAML file that has a prompt."""
    name, line, counted = "", 1, 0
    for found in _BAML_PROMPT.finditer(text):
        if found["name"]:
            line += text.count("\n", counted, found.start())
            name, counted = found["name"], found.start()
        elif name:
            yield PromptSource(path, f"{path}#{name}", "BAML", line)
            name = ""


def _constants(
    path: str, found: Iterator[PromptConstant], kind: PromptKind
) -> Iterator[PromptSource]:
    for constant in found:
        yield PromptSource(path, f"{path}:{constant.name}", kind, constant.line)


def _in_data(path: str, text: str) -> Iterator[PromptSource]:
    """Yield a file of messages as a whole, and else its texts that are plainly prompts."""
    try:
        document = parse_data("" if _OF_TOOLS.fullmatch(basename(path)) else text, path)
    except ContractError:
        return
    data = document.data
    if is_crew(path) and isinstance(data, dict):
        for name, value in data.items():
            if isinstance(value, dict) and any(keys <= value.keys() for keys in _OF_CREW):
                yield replace(_at_key(document, (str(name),)), kind="crewAI")
    if _list_of_tools(data):
        yield PromptSource(path, path, "tools")
        return
    if not (in_prompt_folder(path) or is_prompt_named(path)):
        return
    messages = data.get("messages") if isinstance(data, dict) else data
    if path.lower().endswith(_TOML):  # a prompt is always a part of it
        yield from _texts(document, (), data)
    elif _HAS_MESSAGES.search(text) and _are_messages(messages):
        yield PromptSource(path, path, "messages")
    elif isinstance(data, dict) and isinstance(data.get("template"), str) and "_type" in data:
        yield _at_key(document, ("template",))  # as LangChain saves a prompt
    elif isinstance(data, dict) and is_prompt_named(path) and not _is_json_schema(data):
        yield from _texts(document, (), data)


def _list_of_tools(data: Any) -> list[Any]:
    """Return the tools of a file: functions, or what an MCP server answers to `tools/list`; nothing
    of another file."""
    for name in ("result", "tools"):
        data = data.get(name, data) if isinstance(data, dict) else data
    found = data if isinstance(data, list) else []
    return found if all(map(_is_tool, found)) else []


def _is_tool(item: Any) -> bool:
    tool = as_function(item)
    function = tool.get("function") if isinstance(tool, dict) else None
    kinds = {"name": str, "parameters": dict}
    return isinstance(function, dict) and all(isinstance(function.get(k), kinds[k]) for k in kinds)


def _texts(document: Document, key: KeyPath, data: dict[Any, Any]) -> Iterator[PromptSource]:
    for name, value in data.items():
        if not isinstance(name, str):
            continue
        if isinstance(value, dict) and len(key) < _DEEPEST:
            yield from _texts(document, (*key, name), value)
        elif _is_prose(value) or _are_messages(value):
            yield _at_key(document, (*key, name))


def _is_json_schema(data: dict[Any, Any]) -> bool:
    return "json-schema.org" in str(data.get("$schema"))


def _is_prose(value: Any) -> bool:
    if not isinstance(value, str) or " " not in value.strip():
        return False
    fewest = FEWEST_CHARACTERS if _HOLE.search(value) else _FEWEST_WITHOUT_HOLE
    return len(value) >= fewest


def _at_key(document: Document, key: KeyPath) -> PromptSource:
    reference = f"{document.path}#{field_name(key)}"
    return PromptSource(document.path, reference, "key", document.position(key).line or 1)


def _are_messages(value: Any) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(
        isinstance(item, dict)
        and str(item.get("role", "")).lower() in ROLES
        and isinstance(item.get("content"), str)
        for item in value
    )
