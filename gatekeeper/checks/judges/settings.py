"""Which models judge, and with which parameters they are called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gatekeeper.checks.check import ParameterError, Parameters
from gatekeeper.checks.judges.panel import Decide
from gatekeeper.contract.models.params import param_fault, value_fault

_MOST_TOKENS = 512
_MOST_TOKENS_OF_LISTS = 2048
"""For a judge that lists every claim, and does not give one verdict with a short reason."""
_MOST_TOKENS_THINKING = 8192
_REFUSED = frozenset({"tools", "tool_choice", "parallel_tool_calls", "n", "stop"})
_THINKING = re.compile(r"(?:^|/)(?:o\d|gpt-[56](?!-chat))")
"""Models that think before they answer, and take no temperature."""
_TAKES_SCHEMA = re.compile(
    r"(?:openai|azure|openrouter|hosted_vllm|lm_studio|llamafile|gemini|local|recorded)/"
    r"|(?:gpt-|o\d|chatgpt-)"
)
_TAKES_NO_SCHEMA = re.compile(r"(?:^|/)gpt-(?:3\.5|4)(?:$|-(?!o|1|5))")


def panel_settings(
    params: Parameters, schema: Mapping[str, Any]
) -> tuple[tuple[str, ...], Decide, int, Mapping[str, Mapping[str, Any]]]:
    """Return the judges, how they decide, how often each is asked, and the parameters of each.

    Raises ParameterError if no judge is named, or a parameter cannot be sent.
    """
    models = tuple(params.get("models", ())) or tuple(filter(None, [params.get("model")]))
    if not models:
        raise ParameterError(
            "no model is named that judges",
            "add `model: provider/name` here, or `judge: {model: provider/name}` to the contract",
        )
    if "model" in params and "models" in params:
        raise ParameterError("`model` and `models` are both set", "keep one of them")
    if len(set(models)) < len(models):
        raise ParameterError(
            "models: one is named twice", "use `repeat` to ask the same model several times"
        )
    settings = {model: _params_of(model, params, schema) for model in models}
    return models, params.get("decide", "majority"), int(params.get("repeat", 1)), settings


def _params_of(model: str, params: Parameters, schema: Mapping[str, Any]) -> dict[str, Any]:
    written = params.get("params", {})
    for name, value in written.items():
        if name in _REFUSED:
            raise ParameterError(f"params.{name} has no use for a judge", f"remove `{name}`")
        fault = param_fault(model, str(name)) or value_fault(str(name), value)
        if fault:
            raise ParameterError(f"params.{name}: {fault[0]}", fault[1])
    thinks = _THINKING.search(model) is not None
    defaults: dict[str, Any] = {} if thinks else {"temperature": 0}
    if not {"max_tokens", "max_completion_tokens"} & written.keys():
        lists = any(part.get("type") == "array" for part in schema["properties"].values())
        most = _MOST_TOKENS_OF_LISTS if lists else _MOST_TOKENS
        defaults["max_tokens"] = _MOST_TOKENS_THINKING if thinks else most
    if params.get("structured", takes_schema(model)):
        form = {"name": "verdict", "strict": True, "schema": schema}
        defaults["response_format"] = {"type": "json_schema", "json_schema": form}
    merged = {**defaults, **written}
    return {name: value for name, value in merged.items() if value is not None}


def takes_schema(model: str) -> bool:
    """Return whether the provider is known to take a JSON Schema for the answer. A recording may be
    of any provider, and is taken to be of one that does."""
    return bool(_TAKES_SCHEMA.match(model)) and not _TAKES_NO_SCHEMA.search(model)
