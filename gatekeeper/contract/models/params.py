"""The parameters that a contract or a prompt file may send to a model.

litellm takes `api_base`, `api_key`, `extra_headers` and many more as parameters, with which a pull
request could send the gate's key to a server of its own. The allowed names are therefore listed.

Of tools, only functions are taken, in the form of OpenAI's Chat Completions. Their calls end the
answer, and nobody runs them. The tools of a provider itself (web search, code execution, MCP
servers) would run while the model answers: they cost money without a limit, and an MCP server gets
what it is sent.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.reading.model_traits import refusal
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.values.definition import Position, Prompt
from gatekeeper.contract.values.unique_name import words
from gatekeeper.errors import Problem

LOCAL_PARAMS = words(
    "frequency_penalty grammar max_tokens min_p presence_penalty repeat_penalty response_format "
    "seed stop temperature top_k top_p"
)
TOOL_PARAMS = words("tools tool_choice parallel_tool_calls")
HOSTED_PARAMS = TOOL_PARAMS | words(
    "frequency_penalty logit_bias logprobs max_completion_tokens max_tokens min_p presence_penalty "
    "reasoning_effort repetition_penalty response_format safety_settings seed service_tier stop "
    "temperature thinking top_k top_logprobs top_p verbosity"
)
_OLD_TOOL_PARAMS = words("functions function_call")
WHOLE_PARAMS = words("max_completion_tokens max_tokens n seed top_k top_logprobs")
NUMBER_PARAMS = words(
    "frequency_penalty min_p presence_penalty repeat_penalty repetition_penalty temperature top_p"
)
ANSWER_LIMITS = ("max_completion_tokens", "max_tokens")
"""The parameters that limit the length of an answer."""
CHARACTERS_A_TOKEN = 4  # the usual rule of thumb for English

_CONNECTION = re.compile(
    r"^(?:(?:api|base)_?(?:key|base|url|type|version)"
    r"|.*(?:headers|auth_token|access_token|secret|credentials)|extra_(?:body|query)|organization|custom_llm_provider)$"
)

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_KEYS = frozenset({"name", "description", "parameters", "strict"})
_EFFORT = frozenset({"effort", "summary"})
_EXAMPLE = "write {type: function, function: {name: NAME, parameters: {a JSON Schema}}}"
_CHOICES = ("auto", "none", "required")
_OUTER = {"type", "function"}
_BOOLEAN = "write true or false"


def param_problems(
    model: str,
    document: Document,
    written: Mapping[str, Any],
    prompt: Prompt,
    inherited: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[Problem]:
    """Yield a problem for each parameter that cannot be sent to the model, with its line.

    Args:
        model: The contract's model, by its full name.
        document: The contract file.
        written: The contract's `params`.
        prompt: Its prompt, which may set parameters too.
        inherited: What a group of checks takes over from the contract.
    """
    sent = {**prompt.params, **inherited, **written}
    for name, value in written.items():
        fault = setting_fault(model, str(name), value, sent)
        if fault:
            yield document.problem(("params", name), *fault, at_key=True)
    for name, value in prompt.params.items():
        fault = setting_fault(model, name, value, {} if name in written else sent)
        if fault:
            yield Problem(prompt.path, *fault, _line_of(prompt.text, name), field=name)


def param_place(name: str, document: Document, prompt: Prompt) -> Position:
    """Return the place that sets a parameter: in the contract, or else in its prompt file."""
    written = document.data.get("params") if isinstance(document.data, dict) else None
    if isinstance(written, Mapping) and name in written:
        problem = document.problem(("params", name), "", "", at_key=True)
        return Position(problem.path, problem.line, problem.column)
    return Position(prompt.path, _line_of(prompt.text, name))


def setting_fault(
    model: str, name: str, value: object, sent: Mapping[str, Any]
) -> tuple[str, str] | None:
    """Return what is wrong with a parameter that a model gets among those that are `sent`, and how
    to correct it; None if nothing is."""
    return param_fault(model, name) or value_fault(name, value) or refusal(model, sent, name)


def param_fault(model: str, name: str) -> tuple[str, str] | None:
    """Return what is wrong with the name of a parameter and how to correct it; None if nothing
    is."""
    known = LOCAL_PARAMS if model.startswith("local/") else HOSTED_PARAMS
    if recording_path(model):
        # A recording may come from any provider, so only likely misspellings are reported.
        known = HOSTED_PARAMS | LOCAL_PARAMS | TOOL_PARAMS
        if name in known or not difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.8):
            return None
    if name in known:
        return None
    if name in TOOL_PARAMS:
        return "the model that comes with gatekeeper cannot call tools", (
            "remove the parameter, or use another model"
        )
    if name in _OLD_TOOL_PARAMS:
        return (
            f"`{name}` belongs to an older version of OpenAI's API",
            "write `tools` and `tool_choice`",
        )
    if _CONNECTION.match(name.lower()):
        fix = "give gatekeeper the provider's key and address as environment variables"
        what = "contracts and prompts cannot set the address or the key of a model"
        return what, f"{fix}; see docs/models.md"
    return "unknown parameter", nearest(name, known)


def value_fault(name: str, value: object) -> tuple[str, str] | None:
    """Return what is wrong with the value of a parameter and how to correct it; None if nothing is.

    Only numbers, tools and the keys of an effort are checked, because providers differ in all other
    values that they accept.
    """
    if name in TOOL_PARAMS and value is not None:
        return _tool_fault(name, value)
    if name == "reasoning_effort" and isinstance(value, Mapping):
        unknown = sorted(str(key) for key in value if key not in _EFFORT)
        fix = "write an effort such as high, or {effort: high, summary: auto}"
        return (f"the unknown key {unknown[0]!r}", fix) if unknown else None
    if value is None or name not in WHOLE_PARAMS | NUMBER_PARAMS:
        return None
    if name in WHOLE_PARAMS and (isinstance(value, bool) or not isinstance(value, int)):
        return f"{value!r} is not a whole number", "write a whole number, without quotes"
    try:
        is_number = isinstance(value, int | float) and math.isfinite(value)
        is_number = is_number and not isinstance(value, bool)
    except OverflowError:  # a whole number of hundreds of digits
        is_number = False
    if not is_number:
        return f"{value!r} is not a number", "write a number such as 0.7, without quotes"
    return None


def written_limits(params: Mapping[str, Any]) -> list[int]:
    """Return the limits above zero on the tokens of an answer that the parameters set; they come
    from the pull request, which must not make a call look as if it took nothing."""
    written = map(params.get, ANSWER_LIMITS)
    return [limit for limit in written if isinstance(limit, int) and limit > 0]


def advise_shorter_answers(every: Iterable[Mapping[str, Any]]) -> str:
    """Say which parameter to lower, by the name that the parameters of the requests set:
    `set a lower max_completion_tokens`. If one of them sets none, `set max_tokens`."""
    found = {next((name for name in ANSWER_LIMITS if params.get(name)), None) for params in every}
    if None in found or not found:
        return "set max_tokens"
    return f"set a lower {' or '.join(sorted(filter(None, found)))}"


def _line_of(text: str, name: str) -> int | None:
    """Return the line of a prompt file that sets the parameter, also in camel case or in quotes."""
    plain = name.replace("_", "")
    for number, line in enumerate(text.splitlines(), start=1):
        for key in re.findall(r"([A-Za-z_]\w*)[\"']?\s*:", line):
            if key.replace("_", "").lower() == plain.lower():
                return number
    return None


def _tool_fault(name: str, value: object) -> tuple[str, str] | None:
    """Return what is wrong with the value of `tools`, `tool_choice` or `parallel_tool_calls`, and
    how to correct it; None if nothing is."""
    if name == "parallel_tool_calls":
        return None if isinstance(value, bool) else (f"{value!r} must be true or false", _BOOLEAN)
    if name == "tool_choice":
        return _choice_fault(value)
    if not isinstance(value, list | tuple) or not value:
        return "`tools` must be a list with at least one tool", (
            f"{_EXAMPLE} for each tool, in a list"
        )
    return next(filter(None, map(_one_fault, value)), None)


def _one_fault(tool: object) -> tuple[str, str] | None:
    if not isinstance(tool, Mapping) or tool.get("type") != "function" or set(tool) != _OUTER:
        kind = tool.get("type") if isinstance(tool, Mapping) else None
        what = (
            f"gatekeeper cannot offer a tool of the type {kind!r} to a model"
            if kind
            else "a tool has no type"
        )
        return (what if kind != "function" else "a tool has unknown keys"), _EXAMPLE
    function = tool["function"]
    if not isinstance(function, Mapping):
        return "`function` of a tool is not a mapping", _EXAMPLE
    name, parameters = function.get("name"), function.get("parameters", {})
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return (
            "a tool's name is missing or not valid",
            "use at most 128 letters, digits, `_` and `-`",
        )
    unknown = sorted(set(map(str, function)) - _KEYS)
    if unknown:
        return f"the tool {name!r} has the unknown key {unknown[0]!r}", _EXAMPLE
    if not isinstance(parameters, Mapping):
        return f"the parameters of the tool {name!r} are not a JSON Schema", _EXAMPLE
    if not isinstance(function.get("description", ""), str):
        return f"the description of the tool {name!r} is not text", "put the description in quotes"
    strict = function.get("strict", False)
    return (
        None
        if isinstance(strict, bool)
        else (f"tool {name!r}: `strict` must be true or false", _BOOLEAN)
    )


def _choice_fault(value: object) -> tuple[str, str] | None:
    if value in _CHOICES:
        return None
    function = value.get("function") if isinstance(value, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if isinstance(value, Mapping) and value.get("type") == "function" and isinstance(name, str):
        return None
    return "this is not a valid value of `tool_choice`", (
        f"write {', '.join(_CHOICES)}, or {{type: function, function: {{name: NAME}}}}"
    )
