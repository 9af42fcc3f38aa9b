"""Names of models: of hosted ones as `provider/name`, read, checked, and matched against patterns,
and the family that a name says a model is of.

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

_FAMILIES = (
    ("GPT", re.compile(r"(?:^|[/._:-])(?:gpt|chatgpt|o\d(?:-|$)|davinci|codex)", re.IGNORECASE)),
    ("Claude", re.compile(r"claude", re.IGNORECASE)),
    ("Gemini", re.compile(r"gemini|gemma|palm-", re.IGNORECASE)),
    ("DeepSeek", re.compile(r"deepseek", re.IGNORECASE)),
    ("Qwen", re.compile(r"qwen|qwq", re.IGNORECASE)),
    ("Mistral", re.compile(r"mi[sx]tral|pixtral|magistral|codestral|ministral", re.IGNORECASE)),
    ("Llama", re.compile(r"(?<!o)llama(?!file|fil|_)", re.IGNORECASE)),
    ("Grok", re.compile(r"grok", re.IGNORECASE)),
    ("Command", re.compile(r"(?:^|[/.])command(?:-|$)", re.IGNORECASE)),
    ("Nova", re.compile(r"nova-(?:micro|lite|pro|premier)", re.IGNORECASE)),
    ("Phi", re.compile(r"(?:^|[/._-])phi-?\d", re.IGNORECASE)),
    ("SmolLM", re.compile(r"smollm", re.IGNORECASE)),
)
"""Models that were trained by the same maker and share their taste. A judge prefers the answers of
its own family: Panickssery, A., Bowman, S. R. and Feng, S. (2024), LLM Evaluators Recognize and
Favor Their Own Generations, NeurIPS 37."""


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
            "provider/model, for example openai/gpt-5.4-mini"
        )
    return ModelName(provider, name)


def matches(model: ModelName, pattern: str) -> bool:
    """Return whether a pattern such as `openai/*` or `anthropic/claude-*` matches the whole name.

    `*` stands for any text, also with slashes in it.
    """
    fit = ".*".join(re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(fit, str(model), re.DOTALL) is not None


def family_of(model: str) -> str | None:
    """Return the family that a model's name says it is of; None if it says none, as that of a
    recording, and for an embedding model, which has no taste.

    A name such as `deepseek-r1-distill-llama-70b` is of the family that is named first here.
    """
    if model.startswith("recorded/") or "embed" in model.lower():
        return None
    return next((name for name, pattern in _FAMILIES if pattern.search(model)), None)
