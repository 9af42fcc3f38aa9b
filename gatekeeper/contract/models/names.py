"""Names of hosted models, as `provider/name`: read, checked, and matched against patterns.

litellm builds addresses and decides on keys from the parts of a name, and a pull request writes
the name. So a name has a strict form here, and the same name means the same provider everywhere:
in the policy, in the table of providers, and in the call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gatekeeper.contract.reading.model_traits import name_fault

_RECORDED = "recorded/"
_NOT_HOSTED = ("local/", _RECORDED)

# Whose a name without a provider is. litellm has lists of thousands; these are their rules.
_BARE = (
    (
        re.compile(r"(?:ft:)?(?:gpt-|chatgpt-|o[134](?:-|$)|computer-use-|davinci|babbage)"),
        "openai",
    ),
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"(?:[a-z]+\.)?(?:anthropic|amazon|meta|mistral)\.[a-z]"), "bedrock"),
    (re.compile(r"command-"), "cohere_chat"),
)


@dataclass(frozen=True, slots=True)
class ModelName:
    """A hosted model: `provider` decides on key and address, `name` is the provider's own."""

    provider: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


def is_hosted(model: str) -> bool:
    """Return whether calling the model needs a key or a network: not for `local/` and
    `recorded/`."""
    return not model.startswith(_NOT_HOSTED)


def is_recorded(model: str) -> bool:
    """Return whether a recording gives the answers, so that no model is called."""
    return model.startswith(_RECORDED)


@lru_cache(maxsize=256)
def read_model_name(model: str) -> ModelName:
    """Read a hosted model's name; `gpt-4o-mini` is `openai/gpt-4o-mini`.

    Raises ValueError that says what is wrong with the name and how to write it.
    """
    provider, slash, name = model.partition("/")
    if not slash:
        name = model
        provider = next((owner for rule, owner in _BARE if rule.match(model)), "")
    wrong = name_fault(model, provider, name)
    if wrong:
        raise ValueError(wrong)
    if not provider:
        raise ValueError(
            "gatekeeper does not know the provider of this model; write the model as "
            "provider/model, for example openai/gpt-4o-mini"
        )
    return ModelName(provider, name)


def matches(model: ModelName, pattern: str) -> bool:
    """Return whether a pattern such as `openai/*` or `anthropic/claude-*` matches the whole name.

    `*` stands for any text, also with slashes in it.
    """
    fit = ".*".join(re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(fit, str(model), re.DOTALL) is not None
