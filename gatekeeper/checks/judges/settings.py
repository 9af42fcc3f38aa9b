"""Which models judge, and with which parameters they are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatekeeper.checks.check import ParameterError, Parameters
from gatekeeper.checks.judges.panel import Decide
from gatekeeper.contract.models.answer_params import Answer, answer_params, takes_schema
from gatekeeper.contract.models.params import setting_fault

_MOST_TOKENS = 512
_MOST_TOKENS_OF_LISTS = 2048
"""The most tokens for a judge that lists every claim. Other judges give one verdict with a
short reason."""
_REFUSED = frozenset({"tools", "tool_choice", "parallel_tool_calls", "n", "stop"})


def panel_settings(
    params: Parameters, schema: Mapping[str, Any]
) -> tuple[tuple[str, ...], Decide, int, Mapping[str, Mapping[str, Any]]]:
    """Return the judges, how they decide, how often each is asked, and the parameters of each.

    Raises ParameterError if no judge is named, or a parameter cannot be sent.
    """
    models = tuple(params.get("models", ())) or tuple(filter(None, [params.get("model")]))
    if not models:
        raise ParameterError(
            "the check does not name the model of the judge",
            "add `model: provider/name` to the check, or add `judge: {model: provider/name}` to "
            "the contract",
        )
    if "model" in params and "models" in params:
        raise ParameterError("`model` and `models` are both set", "keep one of them")
    if len(set(models)) < len(models):
        raise ParameterError(
            "models: the same model is named twice",
            "use `repeat` to ask the same model several times",
        )
    settings = {model: _params_of(model, params, schema) for model in models}
    return models, params.get("decide", "majority"), int(params.get("repeat", 1)), settings


def _params_of(model: str, params: Parameters, schema: Mapping[str, Any]) -> dict[str, Any]:
    written = params.get("params", {})
    for name, value in written.items():
        if name in _REFUSED:
            raise ParameterError(f"a judge cannot use `params.{name}`", f"remove `params.{name}`")
        fault = setting_fault(model, str(name), value, written)
        if fault:
            raise ParameterError(f"params.{name}: {fault[0]}", fault[1])
    lists = any(part.get("type") == "array" for part in schema["properties"].values())
    most = _MOST_TOKENS_OF_LISTS if lists else _MOST_TOKENS
    structured = params.get("structured", takes_schema(model))
    return answer_params(model, written, most, Answer("verdict", schema) if structured else None)
