"""Finds models that cannot be called, retire soon, or are likely misspelt, without calling any."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gatekeeper.contract.models.faults import ModelFault
from gatekeeper.contract.models.names import is_hosted, read_model_name
from gatekeeper.contract.reading.model_traits import is_agent
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.providers.models import retirement
from gatekeeper.providers.models.catalogue import CATALOGUE, EMBEDDED_MODEL
from gatekeeper.providers.models.price_list import mistyped_model, price_list

_OWN_SERVER = (
    "for your own server that speaks OpenAI's protocol, write openai/NAME and set "
    "OPENAI_BASE_URL, or write hosted_vllm/NAME and set HOSTED_VLLM_API_BASE"
)
_PUBLISHERS = ("ai21-labs", "core42", "meta", "microsoft", "mistral-ai")
"""Who made models that only GitHub Models had under these names, as `.prompt.yml` files name
them."""
_ELSEWHERE = "`azure_ai/NAME` or `openrouter/PUBLISHER/NAME`"
_MOST_NAMED = 3


def find_model_fault(model: str) -> ModelFault | None:
    """Say what is wrong with a model's name; None if nothing is."""
    if model.startswith("local/"):
        return _local_fault(model)
    if not is_hosted(model):
        return None
    try:
        provider = read_model_name(model).provider
    except ValueError as error:
        other = mistyped_model(model)
        fix = f"did you mean `{other}`?" if other else str(error)
        return ModelFault(f"`{model[:100]}` cannot be called", fix, True)
    if is_agent(model.rpartition("/")[2]):
        what = f"`{model[:100]}` is an agent, and gatekeeper calls only models"
        return ModelFault(what, "write the model that the agent calls", True)
    if provider not in CATALOGUE and not asks_a_proxy(os.environ):
        return ModelFault(f"`{model}`: {no_provider(provider)}", known_providers(model), True)
    other = mistyped_model(model)
    if other:
        return ModelFault(f"no price is known for `{model}`", f"did you mean `{other}`?", False)
    ends = retirement.retires_soon(model)
    return ModelFault(ends.text, ends.advice, False) if ends else None


def asks_a_proxy(environ: Mapping[str, str]) -> bool:
    """Return whether litellm uses its proxy for every model, whatever the provider."""
    return environ.get("USE_LITELLM_PROXY", "").lower() == "true"


def no_provider(provider: str) -> str:
    """Say why no model of the provider can be called."""
    if provider == "github":
        return "GitHub Models closed on 2026-07-30"
    if provider in _PUBLISHERS:
        return f"`{provider}` named a model of GitHub Models, which closed on 2026-07-30"
    return f"there is no provider `{provider}`"


def known_providers(model: str) -> str:
    """Say how to write a model whose provider is not known or gone: with the providers that have
    it, with the nearest known provider, or with one of all of them."""
    if model.startswith(("github/", *(f"{name}/" for name in _PUBLISHERS))):
        found = ", ".join(f"`{name}`" for name in _same_elsewhere(model))
        return f"name the same model at another provider, such as {found or _ELSEWHERE}"
    fix = nearest(model.partition("/")[0], (*CATALOGUE, "local", "recorded"))
    return fix if fix.endswith("?") else f"{fix}; {_OWN_SERVER}"


def _same_elsewhere(model: str) -> list[str]:
    """Return models of known providers that the price list has under the same last name."""
    wanted = model.rpartition("/")[2].casefold()
    found: dict[str, str] = {}
    for key, entry in price_list().items():
        provider = str(entry.get("litellm_provider"))
        if provider in CATALOGUE and key.rpartition("/")[2].casefold() == wanted:
            found.setdefault(provider, key if "/" in key else f"{provider}/{key}")
    return [found[name] for name in CATALOGUE if name in found][:_MOST_NAMED]


def _local_fault(model: str) -> ModelFault | None:
    if model == EMBEDDED_MODEL:
        return None
    return ModelFault(f"there is no embedded model `{model}`", f"use {EMBEDDED_MODEL}", True)
