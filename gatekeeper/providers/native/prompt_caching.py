"""Which prompts are marked for Anthropic's cache.
https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching

A mark says that the request up to it is kept for five minutes. Writing costs a quarter more than
reading the input, each later use a tenth. Below a length that depends on the model nothing is kept,
and nothing more is billed. OpenAI and most others keep prefixes without a mark.
"""

from __future__ import annotations

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.values.trial import Request
from gatekeeper.providers.models.price_list import price_entry

MARK = {"type": "ephemeral"}

_BYTES_PER_TOKEN = 4  # of English; of other languages it is less, so that fewer are marked


def is_marked(request: Request) -> bool:
    """Return whether the messages that other requests share are written to the provider's cache:
    they are long enough, and the price list knows what that costs."""
    shared = request.shared_prefix
    if shared is None or read_model_name(request.model).provider != "anthropic":
        return False
    entry = price_entry(request.model) or {}
    least = entry.get("prompt_cache_min_tokens")
    known = entry.get("supports_prompt_caching") and "cache_creation_input_token_cost" in entry
    if not known or not isinstance(least, int):
        return False
    return shared.size // _BYTES_PER_TOKEN >= least


def marked_message(request: Request) -> int | None:
    """Return the index of the message that gets the mark; None if none does."""
    shared = request.shared_prefix
    return shared.messages - 1 if shared is not None and is_marked(request) else None
