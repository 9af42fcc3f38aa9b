"""What promptfoo's providers are called here, and the parameters that they send."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gatekeeper.contract.formats.known_keys import meant
from gatekeeper.contract.reading.model_traits import is_agent, refuses_sampling

_PREFIXES = {
    "openai:chat:": "openai/",
    "openai:responses:": "openai/",
    "openai:completion:": "text-completion-openai/",
    "openai:": "openai/",
    "anthropic:messages:": "anthropic/",
    "anthropic:": "anthropic/",
    "azure:chat:": "azure/",
    "azure:responses:": "azure/",
    "azure:": "azure/",
    "azureopenai:chat:": "azure/",
    "ollama:chat:": "ollama_chat/",
    "ollama:completion:": "ollama/",
    "ollama:": "ollama/",
    "bedrock:converse:": "bedrock/",
    "bedrock:": "bedrock/",
    "ai21:": "ai21_chat/",
    "aimlapi:chat:": "aiml/",
    "cerebras:": "cerebras/",
    "cohere:": "cohere_chat/",
    "deepseek:": "deepseek/",
    "fireworks:": "fireworks_ai/",
    "github:": "github/",
    "google:": "gemini/",
    "groq:": "groq/",
    "hyperbolic:": "hyperbolic/",
    "lambdalabs:chat:": "lambda_ai/",
    "litellm:chat:": "litellm_proxy/",
    "litellm:": "litellm_proxy/",
    "llamafile:chat:": "llamafile/",
    "mistral:": "mistral/",
    "openrouter:": "openrouter/",
    "perplexity:": "perplexity/",
    "togetherai:chat:": "together_ai/",
    "togetherai:": "together_ai/",
    "vertex:": "vertex_ai/",
    "xai:": "xai/",
}
_OWN = ("local", "recorded")
"""The providers of gatekeeper that promptfoo does not have."""
_VENDORS = frozenset(_PREFIXES.values())
_NAMED_HERE = re.compile(r"([^:/]+)([:/])(.+)")
_OTHER_KINDS = re.compile(
    r"(?:embedding|embeddings|image|moderation|realtime|assistant|audio|speech|transcription|video"
    r"|agents|codex\S*|completion|live|agent|knowledge-base\S*|kb|foundry-agent|chatkit|tts):",
    re.I,
)
_LIKE_OPENAI = frozenset(
    {
        *("openai", "azure", "aiml", "cerebras", "deepseek", "fireworks_ai", "github", "groq"),
        *("hyperbolic", "lambda_ai", "litellm_proxy", "llamafile", "openrouter", "perplexity"),
        *("together_ai", "xai"),
    }
)
"""The vendors for which promptfoo writes requests as for OpenAI."""
_DEFAULTS = {
    **{name: {"temperature": 0, "max_tokens": 1024} for name in (*_LIKE_OPENAI, "anthropic")},
    "mistral": {"top_p": 1, "max_tokens": 1024},
}
_THINKS_FIRST = re.compile(r"(?:.*/)?(?:o\d|gpt-5|codex)")
_FOR_REASONING = frozenset({"max_completion_tokens", "reasoning_effort", "verbosity"})
_REASONING = {
    "cerebras": re.compile(""),
    "groq": re.compile("gpt-oss|qwen"),
    "xai": re.compile(r"grok-(?:3-mini|4(?!.*non-reasoning)|build|code|latest)"),
}
"""The other models to which promptfoo sends `max_completion_tokens`."""

DEFAULT_JUDGES = {
    "openai": "openai/gpt-5.5-2026-04-23",
    "anthropic": "anthropic/claude-sonnet-4-6",
}
"""The models with which promptfoo 0.121 grades by default, by provider."""

PARAMETERS = {
    **{
        name: name
        for name in (
            "frequency_penalty",
            "logit_bias",
            "max_completion_tokens",
            "max_tokens",
            "min_p",
            "parallel_tool_calls",
            "presence_penalty",
            "reasoning_effort",
            "repetition_penalty",
            "response_format",
            "seed",
            "service_tier",
            "stop",
            "temperature",
            "thinking",
            "tool_choice",
            "tools",
            "top_k",
            "top_p",
            "verbosity",
        )
    },
    "maxOutputTokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "maxTokens": "max_tokens",
    "num_predict": "max_tokens",
    "stopSequences": "stop",
    "stop_sequences": "stop",
    "topK": "top_k",
    "topP": "top_p",
}
"""The keys of a provider's `config` that become parameters of the model."""

RUN_BY_PROVIDER = frozenset({"mcp", "search_parameters", "web_search_options"})
"""The keys of a `config` with which the provider searches or calls tools itself."""

WITHOUT_EFFECT = frozenset({"cost", "inputCost", "outputCost", "showThinking", "maxRetries"})
"""The keys of a `config` that do not change the request."""


def model_of(provider: str) -> str | None:
    """Return the model that a provider's id names, or that is named as gatekeeper does, such as
    `local/smollm2`; None if it is not called here."""
    for prefix in sorted(_PREFIXES, key=len, reverse=True):
        if provider.startswith(prefix):
            name = provider.removeprefix(prefix)
            called = name and not _is_other(prefix, name) and not is_agent(name)
            return f"{_PREFIXES[prefix]}{name}" if called else None
    match = _NAMED_HERE.fullmatch(provider)
    known = match and (match[1] in _OWN or (match[2] == "/" and f"{match[1]}/" in _VENDORS))
    return f"{match[1]}/{match[3]}" if match and known else None


def vendor_meant(provider: str) -> str | None:
    """Return the vendor that a provider's id likely means if its own is unknown; else None."""
    vendor = re.split("[:/]", provider, maxsplit=1)[0]
    known = {name.partition(":")[0] for name in _PREFIXES}
    known |= {name.rstrip("/") for name in _VENDORS}
    return meant(vendor, known | {*_OWN})


def _is_other(prefix: str, name: str) -> bool:
    """Return whether what follows the prefix is another kind of service, such as an image."""
    return _OTHER_KINDS.match(name) is not None and prefix.count(":") == 1


def embedding_model_of(provider: str) -> str | None:
    """Return the embedding model that a provider's id names; None if it is not called here."""
    vendor, _, name = provider.partition(":")
    for mark in ("embeddings:", "embedding:"):
        if name.startswith(mark) and f"{vendor}:" in _PREFIXES:
            return _PREFIXES[f"{vendor}:"] + name.removeprefix(mark)
    return None


def may_embed(provider: str) -> bool:
    """Return whether promptfoo may compute embeddings with a provider. It asks its own embedding
    model if it cannot."""
    return _EMBEDS.search(provider) is not None


_EMBEDS = re.compile(
    r"embed|feature-extraction|sentence-similarity|^(?:voyage|file|python|golang|ruby):", re.I
)


def default_parameters(model: str) -> dict[str, Any]:
    """Return what promptfoo sends to the model if the file does not say."""
    vendor, _, name = model.partition("/")
    if vendor in _LIKE_OPENAI and _THINKS_FIRST.match(name):
        return {}
    defaults = dict(_DEFAULTS.get(vendor, {}))
    if vendor == "anthropic" and refuses_sampling(name):
        defaults.pop("temperature")
    return defaults


def left_out(model: str, config: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys of a `config` that promptfoo does not send to the model."""
    vendor, _, name = model.partition("/")
    if vendor in _LIKE_OPENAI and _THINKS_FIRST.match(name):
        return frozenset({"temperature", "max_tokens"})
    if vendor in ("openai", "azure"):
        return _FOR_REASONING - ({"reasoning_effort"} if "gpt-oss" in name else set())
    if vendor in _LIKE_OPENAI and not (vendor in _REASONING and _REASONING[vendor].search(name)):
        return frozenset({"max_completion_tokens"})
    if vendor in ("ollama", "ollama_chat"):
        return frozenset({"max_completion_tokens", "max_tokens"})
    if vendor != "anthropic":
        return frozenset()
    if refuses_sampling(name):
        return frozenset({"temperature", "top_k", "top_p"})
    if thinks(config.get("thinking")):
        return frozenset({"temperature", "top_k"})
    return frozenset({"temperature"} if config.get("top_p") is not None else ())


def thinks(thinking: Any) -> bool:
    """Return whether the `thinking` of a `config` lets Claude think."""
    return isinstance(thinking, Mapping) and thinking.get("type") in ("enabled", "adaptive")
