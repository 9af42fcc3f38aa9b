"""Finds models that cannot be called, or are likely misspelt, without calling any."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gatekeeper.contract.models.faults import ModelFault
from gatekeeper.contract.models.names import is_hosted, read_model_name
from gatekeeper.contract.reading.model_traits import from_github_name, is_agent
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.providers.models.catalogue import CATALOGUE, EMBEDDED_MODEL
from gatekeeper.providers.models.price_list import mistyped_model

_OWN_SERVER = (
    "for your own server that speaks OpenAI's protocol, write openai/NAME and set "
    "OPENAI_BASE_URL, or write hosted_vllm/NAME and set HOSTED_VLLM_API_BASE"
)


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
        what = f"`{model}`: there is no provider `{provider}`"
        return ModelFault(what, known_providers(model), True)
    other = mistyped_model(model)
    if other is None:
        return None
    return ModelFault(f"no price is known for `{model}`", f"did you mean `{other}`?", False)


def asks_a_proxy(environ: Mapping[str, str]) -> bool:
    """Return whether litellm uses its proxy for every model, whatever the provider."""
    return environ.get("USE_LITELLM_PROXY", "").lower() == "true"


def known_providers(model: str) -> str:
    """Say how to write a model whose provider is not known: with the nearest known provider, or
    with one of all of them."""
    on_github = from_github_name(model)
    if on_github != model:
        return f"for a model of GitHub Models, write `{on_github}`"
    fix = nearest(model.partition("/")[0], (*CATALOGUE, "local", "recorded"))
    return fix if fix.endswith("?") else f"{fix}; {_OWN_SERVER}"


def _local_fault(model: str) -> ModelFault | None:
    if model == EMBEDDED_MODEL:
        return None
    return ModelFault(f"there is no embedded model `{model}`", f"use {EMBEDDED_MODEL}", True)
