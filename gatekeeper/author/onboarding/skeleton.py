"""Writes the first contract of a prompt that has none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import relpath
from typing import Any, Literal

from gatekeeper.author.onboarding.demands import Demand, find_demands
from gatekeeper.author.onboarding.example_values import example_values, prompt_variables
from gatekeeper.author.onboarding.surroundings import CallSite, InputFile, Surroundings
from gatekeeper.contract.discovery.places import is_system_text
from gatekeeper.contract.files.inventory import InventoryPrompt
from gatekeeper.contract.fixtures.unused_variables import EXAMPLES
from gatekeeper.contract.prompts.instructions import TASK
from gatekeeper.contract.prompts.styles.format_fields import count_fields
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.syntax.yaml_positions import parse
from gatekeeper.contract.syntax.yaml_text import write_flow, write_yaml
from gatekeeper.contract.values.definition import Prompt, TemplateStyle
from gatekeeper.contract.values.unique_name import take_name
from gatekeeper.errors import ContractError

_STRICT = "# With few fixtures, every fixture has to pass.\ngate: {tolerance: 1}\n"
_LIMITS = """\
# How much more a call may cost, and how much slower it may be, than on the base branch. A limit on
# cost needs 20 fixtures with distinct inputs, one on latency_p95 needs 40. As keys of `gate`:
# gate: {cost: +20%, latency_p95: +25%}
"""
"""The limits that docs/objectives.md describes."""
DEFAULT_MODEL = "openai/gpt-5.4-mini"
_NO_WORD = re.compile(r"[^a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WIDTH = 100
_SAYS_NOTHING = ("agents", "claude", "gemini", "index", "page", "route", "skill", "system")
"""Names of files that say nothing without the folder above them."""
_NAMED_SYSTEM = re.compile(r"(?:^|[/_.-])system[_.-][^/]*$", re.IGNORECASE)
_ROWS = ("testData", "sample", "samples")
Source = Literal["to replace", "from its samples", "from a file", "without a variable"]
"""Where the fixtures of a proposed contract are from."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A contract to write: `path` and `text`, how many fixtures it has and of what kind, and the
    demands that became checks."""

    path: str
    name: str
    text: str
    fixtures: int
    demands: tuple[Demand, ...]
    source: Source


def write_skeleton(
    found: InventoryPrompt,
    prompt: Prompt,
    name: str,
    folder: str,
    model: str,
    around: Surroundings,
) -> Skeleton:
    """Return a contract for the prompt.

    Its checks are what the prompt plainly demands. Its fixtures are the samples of the prompt file,
    or a file of inputs beside it, or else examples that a person replaces.

    Args:
        found: Where the prompt is.
        prompt: The prompt as loaded.
        name: The contract's name.
        folder: The folder for the contract, from the root.
        model: The model if neither the prompt nor the call that sends it names one.
        around: What the files around the prompt say of it.
    """
    style = unseen_style(prompt)
    prompt = prompt.read_as(style) if style else prompt
    demands = _demands(found, prompt)
    variables = prompt_variables(prompt)
    is_system = _is_system(found, prompt, variables)
    variables = (TASK,) if is_system else variables
    rows = _samples(prompt, variables) if not is_system else ()
    inputs = around.inputs_of(found, variables) if not rows else None
    fault = f"# Not used as fixtures: {inputs.fault}" if inputs and inputs.fault else ""
    inputs = None if fault else inputs
    call = around.call_of(found) if not prompt.model else None
    file = [{"file": relpath(inputs.path, folder or ".")}] if inputs else []
    fixtures = rows or file or _examples(prompt, variables)
    right = _right_answer(inputs, variables, demands) if inputs else ()
    lines = [
        f"# Proposed by `gatekeeper init` for {found.reference}.",
        *_about_fixtures(rows, variables, inputs),
        *([fault.replace("\n", " ")] if fault else []),
        "contract: 1",
        f"name: {name}",
        _place(found, folder, "instructions" if is_system else "prompt"),
        *([f"template: {style}"] if style else []),
        *([] if prompt.model or call else [f"model: {model}"]),
        *(_called_with(call, prompt) if call else []),
        "",
        "fixtures:",
        *(line for row in fixtures for line in list_item(row)),
        "",
        "checks:",
        *_checks(demands),
        *right,
        "",
        _LIMITS if len(right) == 1 else _STRICT + _LIMITS,  # a model gets some labels wrong
    ]
    path = f"{folder}/{name}.yaml" if folder else f"{name}.yaml"
    source: Source = "from its samples" if rows else "from a file" if inputs else "to replace"
    source = source if variables or rows else "without a variable"
    count = len(inputs.rows) if inputs else len(fixtures)
    return Skeleton(path, name, "\n".join(lines), count, demands, source)


def _demands(found: InventoryPrompt, prompt: Prompt) -> tuple[Demand, ...]:
    """Return what the prompt demands of an answer. What AGENTS.md demands is demanded of commits
    and code."""
    if found.kind == "instructions":
        return ()
    return find_demands("\n".join(message.content for message in prompt.messages))


def _place(found: InventoryPrompt, folder: str, key: str) -> str:
    return f"{key}: {write_flow(relpath(found.reference, folder or '.'))}"


def _is_system(found: InventoryPrompt, prompt: Prompt, variables: Sequence[str]) -> bool:
    """Return whether the prompt is the system message of a task that it does not contain."""
    alone = not variables and not prompt.part and len(prompt.messages) == 1
    named = is_system_text(found.path) or _NAMED_SYSTEM.search(found.path)
    return found.kind == "instructions" or bool(alone and named)


def _called_with(call: CallSite, prompt: Prompt) -> Iterator[str]:
    yield f"# {call.place} seems to send this prompt."
    yield f"model: {call.model}"
    params = {name: value for name, value in call.params.items() if name not in prompt.params}
    if params:
        yield f"params: {write_flow(params)}"


def _right_answer(
    inputs: InputFile, variables: Sequence[str], demands: Sequence[Demand]
) -> Sequence[str]:
    """Return the check of each row's own label: that of `expected`, or of another column that only
    has labels of the prompt. A column `category` is no variable, so that it has to be renamed."""
    known = next((demand.check["values"] for demand in demands if "values" in demand.check), ())
    labels = {str(label).casefold() for label in known}
    for name in ("expected", *inputs.rows[0]):
        answers = {str(row.get(name, "")).casefold() for row in inputs.rows}
        if name in variables or not answers <= labels:
            continue
        shown = "expected" if name == "category" else name
        check = {"type": "equals", "value": f"{{{{ {shown} }}}}", "ignore_case": True}
        line = f"  - {write_flow(check | {'name': 'is the right label'})}"
        if name == shown:
            return [line]
        why = "  # If the column `category` is the right answer, rename it to `expected`, and add:"
        return [why, line.replace("  -", "  # -", 1)]
    return ()


def _about_fixtures(
    rows: Sequence[object], variables: Sequence[str], inputs: InputFile | None
) -> Iterator[str]:
    if inputs is not None:
        if not all(row.get("id") for row in inputs.rows):
            yield "# With a column `id`, a row keeps its name when it is edited."
        return
    if not variables:
        yield "# The prompt has no variables, so all fixtures would send the same request. With"
        yield "# `turns`, a fixture adds what the user says next: see"
        yield "# gatekeeper's docs/contracts.md."
    elif not rows:
        yield "# Replace these fixtures with real inputs, 20 or more if possible."


def contract_folder(patterns: Sequence[str]) -> str:
    """Return the first folder in which the patterns find a new `NAME.yaml`; `contracts` if they
    name none."""
    for pattern in patterns:
        folder = re.split(r"[*?\[]", pattern.removeprefix("/"))[0].rpartition("/")[0]
        if folder and any(matching([f"{folder}/name.yaml"], pattern)):
            return folder
    return "contracts"


def propose_name(reference: str, taken: set[str]) -> str:
    """Return a name for the contract of a prompt, which none of the others has. It is added to
    them."""
    file, mark, part = reference.partition("#")
    if not mark:
        file, _, part = reference.partition(":")
    *folders, last = file.split("/")
    stem = last.split(".")[0] if not last.startswith(".") else last
    start = _slug(stem).removesuffix("s")
    repeats = part and re.match(rf"{start}s?-", _slug(part))
    words = [part] if repeats else [stem, *filter(None, [part])]
    nearest = 1 if stem.lower() in _SAYS_NOTHING else 0
    longer = (folders[len(folders) - depth :] for depth in range(nearest, len(folders) + 1))
    names = [_slug("-".join([*above, *words])) for above in longer]
    names = names or [_slug("-".join(words))]
    return take_name(next((name for name in names if name not in taken), names[0]), taken)


def unseen_style(prompt: Prompt) -> TemplateStyle | None:
    """Return the style that the contract has to declare, because a file of text does not show it:
    that of a format string, if there are names in single braces and no other template."""
    if prompt.style not in ("jinja", "text") or prompt_variables(prompt):
        return None
    counts = [count_fields(message.content) for message in prompt.messages]
    return "fstring" if any(counts) and None not in counts else None


def _samples(prompt: Prompt, variables: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    """Return the fixtures that the prompt file itself has: GitHub's `testData`, and the `sample` of
    a `.prompty`."""
    data = _front_matter(prompt)
    for key in _ROWS:
        written = data.get(key)
        rows = written if isinstance(written, list) else [written]
        samples = (_sample(row, variables) for row in rows if isinstance(row, dict))
        found = [sample for sample in samples if sample is not None]
        if found:
            return found
    return []


def _sample(row: Mapping[str, Any], variables: Sequence[str]) -> dict[str, Any] | None:
    if not set(variables) <= row.keys():
        return None
    fixture: dict[str, Any] = {"vars": {name: row[name] for name in variables}}
    if "expected" in row and "expected" not in variables:
        fixture["expected"] = row["expected"]
    return fixture


def _front_matter(prompt: Prompt) -> Mapping[str, Any]:
    text, path = prompt.text, prompt.path
    if path.lower().endswith(".prompty"):
        parts = text.split("\n---", 1)
        text, path = parts[0].removeprefix("---"), "front.yaml"
    elif not path.lower().endswith((".yaml", ".yml", ".json")):
        return {}
    try:
        data = parse(text, path).data
    except ContractError:
        return {}
    return data if isinstance(data, dict) else {}


def _examples(prompt: Prompt, variables: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    if not variables:
        return [{"id": "only", "vars": {}}]
    return [{"vars": example_values(prompt, variables, text)} for text in EXAMPLES]


def _checks(demands: Sequence[Demand]) -> Iterator[str]:
    if not demands:
        yield "  # Say here what a good answer must be; gatekeeper's docs/checks.md has all checks."
        yield "  - {type: length, min: 1, name: says something}"
    for demand in demands:
        yield f'  # The prompt says: "{demand.words}"'
        yield f"  - {write_flow(demand.check)}"


def list_item(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of an item of a YAML list: one, or a block if that is too long."""
    line = f"  - {write_flow(row)}"
    if len(line) <= _WIDTH and line.isprintable():
        yield line
        return
    block = write_yaml(row)
    first, *rest = block.splitlines()
    yield f"  - {first}"
    yield from (f"    {more}" if more else "" for more in rest)


def _slug(text: str) -> str:
    letters = unicodedata.normalize("NFKD", _CAMEL.sub("-", text).casefold())
    plain = letters.encode("ascii", "ignore").decode()
    return _NO_WORD.sub("-", plain).strip("-")[:80].strip("-") or "prompt"
