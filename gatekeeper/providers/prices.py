"""What a request may cost before it is made."""

from __future__ import annotations

from gatekeeper.contract.trial import Request

_CHARACTERS_PER_TOKEN = 4  # the usual rule of thumb for English
_ASSUMED_ANSWER_TOKENS = 256


def estimated_cost(request: Request) -> float | None:
    """US dollars: the answer is taken to use up `max_tokens`, or 256 tokens where unset.

    None where the price is not known. An embedded or recorded model costs nothing.
    """
    if request.model.startswith(("local/", "recorded/")):
        return 0.0
    from gatekeeper.providers.quiet_litellm import load_litellm

    characters = sum(len(message.content) for message in request.messages)
    longest = request.params.get("max_completion_tokens", request.params.get("max_tokens"))
    try:
        prices = load_litellm().cost_per_token(
            model=request.model,
            prompt_tokens=-(-characters // _CHARACTERS_PER_TOKEN),
            completion_tokens=longest or _ASSUMED_ANSWER_TOKENS,
        )
    except Exception:  # litellm raises a bare Exception for a model it has no price of
        return None
    return float(sum(prices))
