"""Which models can be made to answer in a given form. Known without a call."""

from __future__ import annotations

from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.meaning.modes import Enforcement
from gatekeeper.contract.models.names import read_model_name
from gatekeeper.providers.models.price_list import price_entry
from gatekeeper.providers.native.dialects import DIALECTS, WITHOUT_FORMAT

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
