"""Reads the variables of promptfoo's tests: files, lists that multiply, and names in values."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gatekeeper.contract.formats.promptfoo.sources import FILE, Sources, is_program, is_remote
from gatekeeper.contract.formats.reader import Node
from gatekeeper.contract.reading.size_limits import MOST_FIXTURES

_NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d{1,6}\])*"
_PLACE = re.compile(r"\{\{-?\s*(" + _NAME + r")\s*-?\}\}")
_WORD = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)
_MARKS = re.compile(r"\{\{|\{%|\{#")
_ENVIRONMENT = re.compile(r"\{[{%][^}]*\benv\b\s*[.\[]")
# promptfoo sends a value with such an open tag as it is.
_OPEN_TAG = re.compile(r"\{%[^%]*$|\{\{[^}]*$|\{#[^#]*$", re.M)
_ROUNDS = 5
_LONGEST = 1_000_000
_BINARY = re.compile(
    r"\.(?:pdf|png|jpe?g|gif|webp|bmp|tiff?|ico|avif|hei[cf]|svg|mp[34]|wav|ogg|flac|m4a|webm|mov"
    r"|avi|xlsx?|docx?)$",
    re.I,
)


MISSING = object()
"""No value of this name."""


def refuse_environment(node: Node, text: str) -> None:
    """Raise ContractError if a template reads the environment: a key could reach a prompt."""
    if _ENVIRONMENT.search(text):
        what = "`{{ env.… }}` reads an environment variable"
        raise node.problem(what, "write the value, or use a variable of the tests")


def has_template(text: str) -> bool:
    """Return whether promptfoo would render the text."""
    return _MARKS.search(text) is not None


def is_simple(text: str) -> bool:
    """Return whether the text is a template of names alone, such as `Dear {{ user.name }}`."""
    return not _MARKS.search(_PLACE.sub("", text))


def names_in(text: str) -> set[str]:
    """Return the variables that a simple template names."""
    return {re.split(r"[.\[]", match[1])[0] for match in _PLACE.finditer(text)}


def find_value(variables: Mapping[str, Any], name: str) -> Any:
    """Return the value at a name such as `user.tags[0]`; MISSING if there is none."""
    value: Any = variables
    for step in re.findall(r"\w+", name):
        if isinstance(value, Mapping):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value


def substitute(node: Node, text: str, variables: Mapping[str, Any]) -> str:
    """Fill in a simple template. Raises ContractError for a name that has no value, and
    CannotRunError for other templates."""
    refuse_environment(node, text)
    if not is_simple(text):
        why = "the value is a template that computes something; write the final value"
        raise node.cannot_run(str(node.get("type") or "template"), why)

    def value_of(match: re.Match[str]) -> str:
        value = find_value(variables, match[1])
        if value is MISSING:
            what = f"this test has no variable `{{{{ {match[1]} }}}}`"
            raise node.problem(what, "add the variable to `vars`, or correct the name")
        return script_text(value)

    filled = _filled(text, value_of)
    if filled is None:
        what = f"the text has more than {_LONGEST:,} characters after its variables are filled in"
        raise node.problem(what, "write a shorter value")
    return filled


def script_text(value: Any) -> str:
    """Write a value as JavaScript does in a text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(script_text, value))
    if isinstance(value, Mapping):
        return "[object Object]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def script_number(value: Any) -> Any:
    """Return a number as JavaScript has it: 4.0 is 4. Other values stay."""
    whole = isinstance(value, float) and math.isfinite(value) and value.is_integer()
    return int(value) if whole and abs(value) < 1e15 else value


def combinations(
    sources: Sources,
    case: Node,
    written: Mapping[str, Node],
    *,
    multiply: bool,
    in_json: bool = False,
) -> list[dict[str, Any]]:
    """Return the variables of every fixture that a test case stands for. `in_json` says that the
    prompt is JSON, in which promptfoo renders no templates of values.

    Raises ContractError, and CannotRunError if a value comes from a program.
    """
    choices = {name: _choices(sources, node, multiply) for name, node in written.items()}
    count = math.prod(map(len, choices.values()))
    if count > MOST_FIXTURES:
        what = f"the lists in `vars` make {count:,} tests, but the limit is {MOST_FIXTURES:,}"
        raise case.problem(what, "shorten the lists")
    made = []
    for values in itertools.product(*choices.values()):
        chosen = dict(zip(choices, values, strict=True))
        _resolve(case, chosen, written)
        made.append(chosen if in_json else _rendered(case, chosen, written))
    return made


def _choices(sources: Sources, node: Node, multiply: bool) -> Sequence[Any]:
    value = node.value
    if isinstance(value, str) and value.startswith(FILE):
        plain = value.removeprefix(FILE)
        _refuse_programs(node, plain)
        return [_load(sources, node, path) for path in sources.find(node, plain)]
    if multiply and isinstance(value, list) and value and isinstance(value[0], str):
        return [
            _load(sources, node, item) if isinstance(item, str) and item.startswith(FILE) else item
            for item in value
        ]
    return [value]


def _load(sources: Sources, node: Node, reference: str) -> Any:
    _refuse_programs(node, reference.removeprefix(FILE))
    if reference.lower().endswith((".yaml", ".yml")):
        data = sources.plain(node, reference)
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return sources.text(node, reference)[1].strip()


def _refuse_programs(node: Node, reference: str) -> None:
    if is_program(reference) or is_remote(reference):
        why = f"gatekeeper does not run or download `{reference[:200]}`"
        raise node.cannot_run("vars", why)
    if _BINARY.search(reference):
        why = f"`{reference[:200]}` is not text; write it in `files` of a contract's fixture"
        raise node.cannot_run("vars", why)


def _resolve(case: Node, chosen: dict[str, Any], written: Mapping[str, Node]) -> None:
    """Fill in the names of other variables, as often as promptfoo does: in each round the first
    name of each value, if there is a variable of this name."""
    for name, value in chosen.items():
        if isinstance(value, str):
            refuse_environment(written[name], value)
            chosen[name] = value.removesuffix("\n")
        elif value is None:
            chosen[name] = ""
        else:
            chosen[name] = script_number(value)
    for _ in range(_ROUNDS):
        for name, value in chosen.items():
            first = _WORD.search(value) if isinstance(value, str) else None
            if first and first[1] in chosen:
                text = script_text(chosen[first[1]])
                chosen[name] = value.replace(first[0], text, 1)
                _require_short(case, name, chosen[name])


def _rendered(case: Node, chosen: Mapping[str, Any], written: Mapping[str, Node]) -> dict[str, Any]:
    """Return the variables as promptfoo renders them for a prompt of text: a value with a variable
    that does not exist, or with an open tag, stays as it is."""
    made: dict[str, Any] = {}
    for name, value in chosen.items():
        made[name] = value
        if not isinstance(value, str) or not has_template(value) or _OPEN_TAG.search(value):
            continue
        if is_simple(value):
            if names_in(value) <= set(chosen):
                made[name] = _filled(value, lambda match: _known(match, chosen))
                _require_short(case, name, made[name])
            continue
        why = f"`{name}` is a template that computes something; write the final value"
        raise written[name].cannot_run("vars", why)
    return made


def _require_short(case: Node, name: str, value: str | None) -> None:
    if value is None or len(value) > _LONGEST:
        what = f"the value of the variable `{name}` becomes longer than {_LONGEST:,} characters"
        raise case.problem(what, "do not write variables into the values of other variables")


def _filled(text: str, value_of: Callable[[re.Match[str]], str]) -> str | None:
    """Fill in the names of a template; None if the text would become too long."""
    parts: list[str] = []
    length = end = 0
    for match in _PLACE.finditer(text):
        for part in (text[end : match.start()], value_of(match)):
            parts.append(part)
            length += len(part)
        end = match.end()
        if length > _LONGEST:
            return None
    return "".join([*parts, text[end:]])


def _known(match: re.Match[str], variables: Mapping[str, Any]) -> str:
    value = find_value(variables, match[1])
    return "" if value is MISSING else script_text(value)
