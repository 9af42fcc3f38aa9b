"""The parameters of a request that is answered with one JSON object, to a judge or a simulated
user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gatekeeper.contract.models.params import ANSWER_LIMITS
from gatekeeper.contract.reading.model_traits import refusal

_MOST_TOKENS_THINKING = 8192
_THINKING = re.compile(r"(?:^|/)(?:o\d|gpt-[56](?!-chat))")
"""Models that reason before they answer, also at providers that leave out a temperature."""
_TAKES_SCHEMA = re.compile(
    r"(?:openai|azure|openrouter|hosted_vllm|lm_studio|llamafile|gemini|local|recorded)/"
    r"|(?:gpt-|o\d|chatgpt-)"
)
_TAKES_NO_SCHEMA = re.compile(r"(?:^|/)gpt-(?:3\.5|4)(?:$|-(?!o|1|5))")


@dataclass(frozen=True, slots=True)
class Answer:
    """The form of an answer: a `name` for it, and its JSON Schema."""

    name: str
    schema: Mapping[str, Any]


def answer_params(
    model: str, written: Mapping[str, Any], most_tokens: int, answer: Answer | None
) -> dict[str, Any]:
    """Return the parameters of a request: those that are `written`, and defaults. The form of the
    answer is sent with the request, unless it is None."""
    thinks = _THINKING.search(model) is not None
    cold = {"temperature": 0, **written}
    takes_none = thinks or any(refusal(model, cold, name) for name in cold)
    defaults: dict[str, Any] = {} if takes_none else {"temperature": 0}
    if written.keys().isdisjoint(ANSWER_LIMITS):
        defaults["max_tokens"] = _MOST_TOKENS_THINKING if thinks else most_tokens
    if answer is not None:
        form = {"name": answer.name, "strict": True, "schema": answer.schema}
        defaults["response_format"] = {"type": "json_schema", "json_schema": form}
    merged = {**defaults, **written}
    return {name: value for name, value in merged.items() if value is not None}


def takes_schema(model: str) -> bool:
    """Return whether the provider is known to take a JSON Schema for the answer. A recording may be
    of any provider, and is taken to be of one that does."""
    return bool(_TAKES_SCHEMA.match(model)) and not _TAKES_NO_SCHEMA.search(model)
