"""What a request may cost before it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatekeeper.contract.trial import Request

_CHARACTERS_PER_TOKEN = 4  # the usual rule of thumb for English
_ASSUMED_ANSWER_TOKENS = 256
_MOST_TOKENS = 1_000_000_000


def estimated_cost(request: Request) -> float | None:
    """US dollars: the answer is taken to use up `max_tokens`, or 256 tokens where unset.

    None where the price is not known. An embedded or recorded model costs nothing.
    """
    if request.model.startswith(("local/", "recorded/")):
        return 0.0
    from gatekeeper.providers.quiet_litellm import load_litellm

    characters = sum(len(message.content) for message in request.messages)
    longest = _longest_answer(request.params)
    try:
        prices = load_litellm().cost_per_token(
            model=request.model,
            prompt_tokens=-(-characters // _CHARACTERS_PER_TOKEN),
            completion_tokens=longest,
        )
    except Exception:  # litellm raises a bare Exception for a model it has no price of
        return None
    return float(sum(prices))


def _longest_answer(params: Mapping[str, Any]) -> int:
    """What the head of a fork writes here must not make a forecast cheap, let alone negative."""
    written = (params.get(name) for name in ("max_completion_tokens", "max_tokens"))
    counts = [w for w in written if isinstance(w, int | float) and w is not True and w > 0]
    return int(min(max(counts, default=_ASSUMED_ANSWER_TOKENS), _MOST_TOKENS))
