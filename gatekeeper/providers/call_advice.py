"""Finds what calls to a model will meet, without a call: parameters that its provider refuses, and
a price that nobody knows.

Only what is certain is said, by litellm's lists of parameters and models and the published
interfaces. What is missing here is not thereby accepted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gatekeeper.contract.models.names import ModelName, is_hosted, read_model_name
from gatekeeper.contract.reading.model_traits import reasons
from gatekeeper.providers.models.catalogue import CATALOGUE
from gatekeeper.providers.models.cost_estimate import FREE
from gatekeeper.providers.models.model_faults import asks_a_proxy
from gatekeeper.providers.models.price_list import price_entry
from gatekeeper.providers.native import responses
from gatekeeper.providers.native.dialects import DIALECTS

_PENALTIES = frozenset({"frequency_penalty", "presence_penalty"})
_LOGPROBS = frozenset({"logprobs", "top_logprobs"})
_OF_OTHERS = frozenset({"min_p", "repetition_penalty", "safety_settings"})
"""What no large provider takes except the few that are missing in the table."""

REFUSED: Mapping[str, frozenset[str]] = {
    "openai": _OF_OTHERS | {"thinking", "top_k"},
    "azure": _OF_OTHERS | {"thinking", "top_k"},
    "anthropic": _OF_OTHERS | _PENALTIES | _LOGPROBS | {"logit_bias", "seed", "verbosity"},
    "mistral": _OF_OTHERS | _PENALTIES | _LOGPROBS | {"logit_bias", "service_tier", "top_k"},
    "groq": _OF_OTHERS | {"top_k", "verbosity"},
    "deepseek": _OF_OTHERS | {"top_k", "verbosity"},
    "xai": _OF_OTHERS | {"service_tier", "thinking", "top_k", "verbosity"},
    "perplexity": frozenset({"min_p", "repetition_penalty", "safety_settings"})
    | {"logit_bias", "seed", "stop", "tool_choice", "tools", "verbosity"},
    "cerebras": _OF_OTHERS | _PENALTIES | _LOGPROBS | {"logit_bias", "top_k", "verbosity"},
}
"""The parameters that no model of the provider takes."""

_REASONING = frozenset({"reasoning_effort", "verbosity"})
_GROK = re.compile(r"grok-(?:3-mini|4|code-fast)")
"""Models of xAI that take no `stop`; of these, those after Grok 3 take no `frequency_penalty`."""

_INSTEAD: Mapping[str, tuple[str, ...]] = {
    "repetition_penalty": ("frequency_penalty",),
    "top_k": ("top_p",),
    "min_p": ("top_p",),
    "thinking": ("reasoning_effort",),
    "verbosity": ("max_tokens",),
}


@dataclass(frozen=True, slots=True)
class CallAdvice:
    """What is doubtful about calls to a model, and what to do. `param` is the parameter it is
    about; None if it is the model itself."""

    what: str
    fix: str
    param: str | None = None


def advise_on_calls(
    model: str, params: Mapping[str, Any], environ: Mapping[str, str] | None = None
) -> Iterator[CallAdvice]:
    """Yield the parameters that the model's provider refuses, and whether its price is unknown.
    Nothing is said of a model behind an address or a proxy that the environment sets."""
    environ = os.environ if environ is None else environ
    if not is_hosted(model) or model.startswith(FREE) or asks_a_proxy(environ):
        return
    try:
        name = read_model_name(model)
    except ValueError:
        return
    known = CATALOGUE.get(name.provider)
    if known is None or known.keyless:
        return
    is_addressed = any(environ.get(place) for place in known.addresses)
    if known.address and is_addressed:
        return
    sent = {param: value for param, value in params.items() if value is not None}
    refused = refused_by(name)
    for param in filter(refused.__contains__, sent):
        yield CallAdvice(
            f"`{model}` does not take `{param}`, so its calls would fail",
            _advice(name.provider, param),
            param,
        )
    if responses.is_asked_here(str(name), sent, None):
        for param in responses.refused_params(sent):
            what = f"{responses.refusal(model, param)}, so its calls would fail"
            yield CallAdvice(what, f"remove `{param}`", param)
    effort = None if "reasoning_effort" in refused else _refused_effort(model, name.provider, sent)
    if effort is not None:
        yield CallAdvice(
            f"`{model}` does not take `reasoning_effort: {effort}`, so its calls would fail",
            "use another effort, such as `high`",
            "reasoning_effort",
        )
    if price_entry(model) is None and not is_addressed:
        yield CallAdvice(
            f"no price is known for `{model}`, so `limits.cost_usd` cannot limit its calls",
            "correct the name of the model, or set `limits.calls` instead",
        )


def refused_by(name: ModelName) -> frozenset[str]:
    """Return the parameters that the model takes in none of its APIs."""
    refused = REFUSED.get(name.provider, frozenset())
    entry = price_entry(str(name))
    if name.provider in _EFFORTS_ARE_KNOWN and entry and not entry.get("supports_reasoning"):
        refused |= frozenset() if reasons(name.name) else _REASONING
    if name.provider == "xai" and (grok := _GROK.search(name.name)):
        refused |= {"stop"} if "3" in grok[0] else {"frequency_penalty", "stop"}
    return refused


_EFFORTS_ARE_KNOWN = ("azure", "openai", "xai")


def _refused_effort(model: str, provider: str, sent: Mapping[str, Any]) -> str | None:
    """Return the effort that the model refuses, by the price list; None if it may take it."""
    effort, _ = responses.effort_and_summary(sent)
    row = price_entry(model) or {}
    known = provider in _EFFORTS_ARE_KNOWN and isinstance(effort, str)
    return effort if known and row.get(f"supports_{effort}_reasoning_effort") is False else None


def takes_no_seed(model: str) -> bool:
    """Return whether a seed is left out of the requests to the model, because its provider takes
    none."""
    try:
        provider = read_model_name(model).provider
    except ValueError:
        return False
    dialect = DIALECTS.get(provider)
    refused = REFUSED.get(provider, frozenset()) | (dialect.refused if dialect else frozenset())
    return "seed" in refused


def _advice(provider: str, param: str) -> str:
    instead = [name for name in _INSTEAD.get(param, ()) if name not in REFUSED.get(provider, ())]
    return f"use `{instead[0]}`, or remove `{param}`" if instead else f"remove `{param}`"
