"""Knows models by their names: agents, and the parameters that a model refuses although its
provider takes them. These are the reasoning models of OpenAI, Claude from version 4.7, and each
Claude that thinks.

Sources: OpenAI's and Azure's documentation of the reasoning models, Anthropic's guides to Claude
Opus 4.7 and to thinking, and the parameters that litellm 1.106 takes for each model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_AGENT = re.compile(
    r"(?:claude-code|codex|codex-desktop|chatkit|openclaw|opencode|.*-sdk|.*-app-server)(?::.*)?",
    re.I,
)
_OPENAI = frozenset({"openai", "azure", "azure_ai"})
_GPT = re.compile(r"(?:.*/)?(?:ft:)?gpt-(?P<major>[5-9])(?:\.(?P<minor>\d+))?(?P<rest>[^/]*)")
_O_SERIES = re.compile(r"(?:.*/)?(?:ft:)?o(?P<number>\d)(?![a-z0-9])")
_CLAUDE = re.compile(r"(?:.*[/.])?claude-[a-z]+-(?P<major>\d)(?:-(?P<minor>\d)(?!\d))?(?!\d)")
_CLAUDES = frozenset({"anthropic", "azure_ai", "bedrock", "vertex_ai", ""})
"""Providers that call Claude as Anthropic does. Others may leave out what Claude refuses."""

_SAMPLING = frozenset({"logprobs", "temperature", "top_logprobs", "top_p"})
_BY_REASONING = _SAMPLING | {"frequency_penalty", "logit_bias", "presence_penalty"}
_BY_CLAUDE = frozenset({"temperature", "top_k", "top_p"})
_ONE_OF_BOTH = (4, 1)
"""The first Claude that takes either `temperature` or `top_p`."""
_ALWAYS_REASONS = ("astra", "chat", "codex", "pro", "search")


def is_agent(name: str) -> bool:
    """Return whether the name, without its provider, is that of an agent: a program that calls
    models and tools, such as `claude-agent-sdk`."""
    return _AGENT.fullmatch(name) is not None


def refusal(model: str, params: Mapping[str, Any], name: str) -> tuple[str, str] | None:
    """Return what is wrong with sending the parameter to the model, and how to correct it; None if
    the model may take it."""
    value = params.get(name)
    if value is None or (name == "temperature" and value == 1):
        return None
    provider, _, plain = model.partition("/") if "/" in model else ("", "", model)
    what = f"`{model}` does not take `{name}`, so its calls would fail"
    if provider in _CLAUDES and "claude" in plain:
        fix = _fix_for_claude(plain, params, name)
        return (what, fix) if fix else None
    if provider not in _OPENAI | {""} or not reasons(plain):
        return None
    o_series = _O_SERIES.match(plain)
    refused = name in _BY_REASONING or (name == "stop" and not (o_series and o_series[1] == "1"))
    if not refused:
        return None
    always = any(word in plain for word in _ALWAYS_REASONS)
    may_rest = (gpt_version(plain) or (0, 0)) > (5, 0) and not always
    if name not in _SAMPLING or not may_rest:
        return what, f"remove `{name}`"
    if params.get("reasoning_effort") == "none":
        return None
    return what, f"remove `{name}`, or add `reasoning_effort: none`"


def _fix_for_claude(plain: str, params: Mapping[str, Any], name: str) -> str | None:
    """Say what to do about a parameter that Claude refuses; None if it may take it."""
    version = _claude_version(plain) or (0, 0)
    if name not in _BY_CLAUDE:
        return None
    if refuses_sampling(plain):
        return f"remove `{name}`"
    if name != "top_p" and thinks(params.get("thinking")):
        return f"remove `{name}`, or remove `thinking`"
    both = name == "top_p" and params.get("temperature") is not None
    return "remove `top_p`, or remove `temperature`" if both and version >= _ONE_OF_BOTH else None


def thinks(thinking: Any) -> bool:
    """Return whether this value of `thinking` lets Claude think."""
    return isinstance(thinking, Mapping) and thinking.get("type") in ("enabled", "adaptive")


def reasons(name: str) -> bool:
    """Return whether the name is that of a model of OpenAI that reasons before it answers."""
    gpt = _GPT.match(name)
    if gpt:
        return bool(gpt["minor"]) or not gpt["rest"].startswith("-chat")
    return _O_SERIES.match(name) is not None


def gpt_version(name: str) -> tuple[int, int] | None:
    """Return the version of a GPT that reasons before it answers; None for other models."""
    gpt = _GPT.match(name)
    return (int(gpt["major"]), int(gpt["minor"] or 0)) if gpt and reasons(name) else None


def refuses_sampling(name: str) -> bool:
    """Return whether the name is that of a Claude that takes no `temperature`, `top_p` and
    `top_k`."""
    return (_claude_version(name) or (0, 0)) >= (4, 7)


def _claude_version(name: str) -> tuple[int, int] | None:
    claude = _CLAUDE.match(name)
    return (int(claude["major"]), int(claude["minor"] or 0)) if claude else None


MAX_CHARACTERS = 200
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9_-]*")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
# A tag after a colon (`llama3.2:1b`, `ft:gpt-4o-mini:org::id`), a version after an at sign. The
# version has no dot (`claude-3-5-sonnet@20240620`), so it is no name of a host.
_LAST_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*(?::[A-Za-z0-9._+-]*)*(?:@[A-Za-z0-9_-]+)?")
_ARN = re.compile(r"(?:^|[/:])arn:", re.IGNORECASE)


def name_fault(model: str, provider: str, name: str) -> str | None:
    """Return what is wrong with the name of a model and how to write it; None if nothing is."""
    if len(model) > MAX_CHARACTERS:
        return f"a model's name has at most {MAX_CHARACTERS} characters"
    if "://" in model:
        return "this is an address, not a model's name; write the model as provider/model"
    if _ARN.search(model):
        return "this is an ARN, not a model's name; use the model's ID"
    if provider and not _PROVIDER.fullmatch(provider):
        return f"`{provider}` is not a provider's name; write the model as provider/model"
    *parts, last = name.split("/")
    whole = all(_PART.fullmatch(part) for part in parts) and _LAST_PART.fullmatch(last)
    if whole and ".." not in name:
        return None
    return (
        "this is not a model's name; use letters, digits, `.`, `_`, `+` and `-`, with `/` between "
        "the parts, and write `:` and `@` only in the last part"
    )
