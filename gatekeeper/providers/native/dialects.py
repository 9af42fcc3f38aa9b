"""How each provider's Chat Completions differ from OpenAI's, as litellm sends them.

A request is sent natively only if litellm would send the same. What a provider does not take, and
what litellm rewrites in a way that is not described here, goes through litellm: it refuses the
parameter, or translates it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.meaning.modes import Enforcement
from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.models.params import HOSTED_PARAMS, TOOL_PARAMS
from gatekeeper.contract.values.trial import Request
from gatekeeper.providers.models.price_list import price_entry
from gatekeeper.providers.native.call_cost import is_billed_by_tokens

_SHORTER_NAME: Mapping[str, str] = {"max_completion_tokens": "max_tokens"}
_LONGER_NAME: Mapping[str, str] = {"max_tokens": "max_completion_tokens"}
_PENALTIES = frozenset({"frequency_penalty", "presence_penalty"})
_LOGPROBS = frozenset({"logprobs", "top_logprobs"})
_REASONING = frozenset({"reasoning_effort", "thinking", "verbosity"})
_EFFORTS = frozenset({"low", "medium", "high"})
"""The efforts that every reasoning model takes; of the others the price list says which do."""

_ROLES = frozenset({"system", "user", "assistant", "tool"})
_O_SERIES = re.compile(r"(?:^|/)o\d")
"""OpenAI's models whose messages litellm rewrites."""

_GPT_REASONING = re.compile(r"^gpt-[56](?!-chat)")
WITHOUT_FORMAT = frozenset({"gpt-4", "gpt-3.5-turbo-16k"})
_JSON_OBJECT = {"type": "json_object"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one provider takes.

    `refused` are the parameters that it does not take, besides those of reasoning; a seed among
    them is not sent. `renamed` are those that it calls otherwise. `schemas` says that it takes
    every `response_format`, and not `json_object` alone. `guessed` says that litellm guesses the
    price of a model whose price is not in its list. `counts_streams` says that it takes
    `stream_options`, by which a streamed answer ends with its tokens. `tools` are those that
    litellm sends as they are.
    """

    refused: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)
    schemas: bool = False
    guessed: bool = False
    named: bool = False
    hottest: float = math.inf
    counts_streams: bool = True
    tools: Literal["every", "not strict", "none"] = "every"


_SAME = Dialect(schemas=True)
_RENAMED = Dialect(renamed=_SHORTER_NAME, named=True)
_SERVER = Dialect(schemas=True, named=True)
_FEW = _PENALTIES | _LOGPROBS | {"logit_bias", "service_tier"}
DIALECTS: Mapping[str, Dialect] = {
    "openai": _SAME,
    "azure": Dialect(frozenset({"service_tier"}), schemas=True),
    "openrouter": _SAME,
    "mistral": Dialect(
        _FEW,
        {**_SHORTER_NAME, "seed": "random_seed"},
        counts_streams=False,
        tools="none",
    ),
    "deepseek": Dialect(),
    "groq": Dialect(renamed=_SHORTER_NAME),
    "together_ai": Dialect(guessed=True),
    "fireworks_ai": Dialect(renamed=_SHORTER_NAME, guessed=True, named=True, tools="none"),
    "cerebras": Dialect(_FEW, _SHORTER_NAME, named=True, counts_streams=False, tools="none"),
    "deepinfra": Dialect(
        _LOGPROBS | {"seed", "service_tier"},
        _SHORTER_NAME,
        named=True,
        counts_streams=False,
        tools="none",
    ),
    "nvidia_nim": Dialect(
        _LOGPROBS | {"logit_bias", "service_tier"},
        _SHORTER_NAME,
        named=True,
        counts_streams=False,
    ),
    "moonshot": replace(_RENAMED, hottest=1.0, tools="none"),
    "sambanova": Dialect(_FEW | {"seed"}, _SHORTER_NAME, named=True, tools="none"),
    "hyperbolic": Dialect(
        _LOGPROBS | {"logit_bias", "max_completion_tokens", "service_tier"},
        named=True,
        counts_streams=False,
        tools="none",
    ),
    "lambda_ai": _RENAMED,
    "nebius": _RENAMED,
    "novita": Dialect(named=True),
    "vercel_ai_gateway": Dialect(named=True),
    "hosted_vllm": replace(_SAME, tools="not strict"),
    "lm_studio": _SERVER,
    "llamafile": _SERVER,
}


def chat_fields(provider: str, name: str, request: Request) -> dict[str, Any] | None:
    """Return the fields of a request other than model and messages; None if litellm must send it.

    Args:
        provider: The provider's name.
        name: The model's name without it.
        request: The request. Its seed is added if the provider takes one.
    """
    dialect = DIALECTS.get(provider)
    if dialect is None or not _is_plain_model(provider, name, dialect):
        return None
    if not all(message.role in _ROLES for message in request.messages):
        return None
    if provider == "mistral" and not _is_plain_conversation(request):
        return None
    fields = dict(request.params)
    if request.seed is not None and "seed" not in dialect.refused:
        fields.setdefault("seed", request.seed)
    reasoning = provider in ("openai", "azure") and _GPT_REASONING.match(name) is not None
    taken = _taken_by
    if reasoning:
        rests = _rests(provider, name, fields.get("reasoning_effort"))
        taken = partial(_taken_by_reasoning, rests)
    if not all(taken(dialect, name, field, value) for field, value in fields.items()):
        return None
    renamed = _LONGER_NAME if reasoning else dialect.renamed
    if any(new in fields for old, new in renamed.items() if old in fields):
        return None
    return {renamed.get(field, field): value for field, value in fields.items()}


def _is_plain_model(provider: str, name: str, dialect: Dialect) -> bool:
    """Return whether Chat Completions answer for the model, and tokens are what is billed."""
    model = f"{provider}/{name}"
    if provider in ("openai", "azure") and _O_SERIES.search(name):
        return False
    if provider == "azure" and "/" in name:
        return False
    if provider == "mistral" and "magistral" in name:
        return False  # litellm adds a system message to it
    entry = price_entry(model)
    if dialect.guessed and (entry is None or "input_cost_per_token" not in entry):
        return False
    if entry is None:
        return True
    return entry.get("mode") in (None, "chat") and is_billed_by_tokens(model)


def _is_plain_conversation(request: Request) -> bool:
    """Return whether litellm leaves the messages to Mistral as they are: it removes empty ones, and
    marks the last one of an assistant as the beginning of the answer."""
    messages = request.messages
    return all(m.content.strip() for m in messages) and messages[-1].role != "assistant"


def _taken_by(dialect: Dialect, name: str, field: str, value: object) -> bool:
    if value is None or field in dialect.refused or field in _REASONING:
        return False
    if field == "response_format":
        sound = dialect.schemas or value == _JSON_OBJECT
        return isinstance(value, Mapping) and sound and name not in WITHOUT_FORMAT
    if field in TOOL_PARAMS:
        return dialect.tools == "every" or (dialect.tools != "none" and not _is_strict(value))
    if field == "temperature":
        return isinstance(value, int | float) and value <= dialect.hottest
    return field in HOSTED_PARAMS


def _is_strict(tools: object) -> bool:
    offered = tools if isinstance(tools, list | tuple) else ()
    return any("strict" in tool.get("function", {}) for tool in offered)


_REFUSED_BY_REASONING = _PENALTIES | _LOGPROBS | {"logit_bias", "stop", "temperature", "top_p"}


_TAKEN_AT_REST = frozenset({"temperature", "top_p"})


def _taken_by_reasoning(
    rests: bool | None, dialect: Dialect, name: str, field: str, value: object
) -> bool:
    """Return whether a model that reasons takes a parameter. `rests` says whether it is asked not
    to reason; None if it may refuse the effort that is asked of it."""
    if field == "reasoning_effort":
        return rests is not None
    if field == "verbosity":
        return isinstance(value, str)
    refused = field in _REFUSED_BY_REASONING and not (rests and field in _TAKEN_AT_REST)
    return not refused and _taken_by(dialect, name, field, value)


def _rests(provider: str, name: str, effort: object) -> bool | None:
    """Return whether a model is asked not to reason; None for an effort that it may refuse."""
    row = price_entry(f"{provider}/{name}") or {}
    known = isinstance(effort, str) and row.get(
        f"supports_{effort}_reasoning_effort", effort in _EFFORTS
    )
    return effort == "none" if known or effort is None else None


# Which models can be made to answer in a given form. Known without a call.


_TAKES = ("anthropic", "ollama", "ollama_chat")
"""Providers for which litellm sends a schema of any model: as their own format, or as a tool that
the model is made to call."""


def find_enforcement(model: str) -> Enforcement:
    """Return what the model can be made to answer."""
    if model.startswith("local/"):
        return Enforcement(True, True, "the embedded model follows a grammar")
    if recording_path(model):
        return Enforcement(
            True, False, "gatekeeper assumes that the recorded model takes a JSON Schema"
        )
    try:
        provider, name = read_model_name(model).provider, read_model_name(model).name
    except ValueError as error:
        return Enforcement(False, False, str(error))
    takes = Enforcement(True, False, f"{model} takes a JSON Schema")
    if provider in _TAKES:
        return takes
    if provider in ("openai", "azure") and name in WITHOUT_FORMAT:
        return Enforcement(False, False, f"{model} takes no `response_format`")
    entry = price_entry(model)
    dialect = DIALECTS.get(provider)
    if entry is None:
        known = dialect is not None and dialect.schemas
    else:
        known = entry.get("supports_response_schema") is True
    if known:
        return takes
    return Enforcement(
        False, False, f"gatekeeper does not know whether {model} takes a JSON Schema"
    )
