"""litellm's price list, read as the JSON file that its package carries.

Importing litellm takes seconds; reading the file takes a twentieth of one. That is all that
commands without model calls need.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_FILE = "model_prices_and_context_window_backup.json"
_NOT_MODELS = ("sample_spec", "fallback_generalizations")

# These ask other providers' models, by those providers' prices.
_ANY_PROVIDER = frozenset({"litellm_proxy"})
_BEDROCK_ROUTE = re.compile(
    r"^(?:converse|converse_like|invoke|llama|deepseek_r1|openai|qwen2|qwen3)/"
)
_BEDROCK_REGION = re.compile(r"^[a-z]{2}(?:-[a-z]+)+-\d+/")
_BEDROCK_GEOGRAPHY = re.compile(r"^(?:us|us-gov|eu|apac|jp|au|ca|global)\.")
_FINE_TUNE = re.compile(r"(?::[^:]*){3}$")
_VERSION = re.compile(r"-\d+$")
RESPONSES_PREFIX = "responses/"
"""Before the name of a model of OpenAI or Azure that is asked through the Responses API."""
_DATE = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|20\d{6})$")


@lru_cache(maxsize=1)
def price_list() -> Mapping[str, Mapping[str, Any]]:
    """Read the entries by the models' names; none if this litellm carries no list."""
    # Finding a package does not import it; importlib.resources would.
    found = find_spec("litellm")
    for place in (found.submodule_search_locations if found else None) or ():
        try:
            entries = json.loads((Path(place) / _FILE).read_bytes())
        except (OSError, ValueError):
            continue
        return {name: entry for name, entry in entries.items() if name not in _NOT_MODELS}
    return {}


def release_price_list() -> None:
    """Give the list's memory back. Entries that were looked up are kept; another name reads the
    file again."""
    price_list.cache_clear()
    _names_by_lower_case.cache_clear()


@lru_cache(maxsize=256)
def price_entry(model: str) -> Mapping[str, Any] | None:
    """Find the entry by which litellm bills the model, with its name as `key`; None if the list
    has none. Names are compared without regard to case, as litellm does."""
    provider, slash, _ = model.partition("/")
    names = _names_by_lower_case()
    for candidate in _candidates(model):
        key = names.get(candidate.lower())
        if key is None:
            continue
        entry = price_list()[key]
        if not slash or _is_of(entry, provider):
            return {**entry, "key": key}
    return None


@lru_cache(maxsize=1)
def _names_by_lower_case() -> Mapping[str, str]:
    return {name.lower(): name for name in price_list()}


def _candidates(model: str) -> Iterator[str]:
    """Yield the names under which the list may have the model, the most exact one first."""
    provider, slash, name = model.partition("/")
    if not slash:
        provider, name = "", model
    if provider.startswith("bedrock"):
        name = _BEDROCK_REGION.sub("", _BEDROCK_ROUTE.sub("", name))
    if provider in ("openai", "azure") and name.startswith(RESPONSES_PREFIX):
        name = name.removeprefix(RESPONSES_PREFIX)
        model = f"{provider}/{name}"
    short = _without_variant(provider, name)
    yield model
    yield name
    if provider:
        yield f"{provider}/{short}"
    yield short
    if provider:
        yield f"{provider}/{model}"


def _without_variant(provider: str, name: str) -> str:
    """Return the model's name without region, version, date, or the account of a fine-tuned
    model."""
    if provider.startswith("bedrock"):
        return _BEDROCK_GEOGRAPHY.sub("", name)
    if provider in ("vertex_ai", "gemini", "databricks"):
        return _VERSION.sub("", name)
    return _FINE_TUNE.sub("", name) if "ft:" in name else _DATE.sub("", name)


def _is_of(entry: Mapping[str, Any], provider: str) -> bool:
    """Return whether the entry is the provider's own. Another server's model of the same name has
    another price."""
    owner = entry.get("litellm_provider")
    if not isinstance(owner, str) or provider in _ANY_PROVIDER:
        return True
    if owner == provider.replace("-", "_"):
        return True
    if provider == "azure_ai":
        return owner in ("azure", "openai")
    family = "bedrock" if provider.startswith("bedrock") else provider
    return family in ("bedrock", "vertex_ai", "fireworks_ai") and owner.startswith(family)


def mistyped_model(model: str) -> str | None:
    """Return the known model that the name may be a slip of; None if it has a price or no other
    is like it.

    A number that differs is another model, and new ones come before their prices do.
    """
    provider, slash, name = model.rpartition("/")
    if price_entry(model) or model.startswith(("local/", "recorded/")):
        return None
    digits = re.findall(r"\d+", name)
    known = [key for key in price_list() if "/" not in key] if not slash else _names_of(provider)
    near = (
        other
        for other in difflib.get_close_matches(name, known, n=5, cutoff=0.85)
        if re.findall(r"\d+", other) == digits
    )
    found = next(near, None)
    return found if found is None or not slash else f"{provider}/{found}"


def _names_of(provider: str) -> list[str]:
    return [
        key.removeprefix(f"{provider}/")
        for key, entry in price_list().items()
        if entry.get("litellm_provider") == provider
    ]
