"""Reads `providers` of a promptfoo file: what its models are called here, and the parameters that
they send."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gatekeeper.contract.formats.foreign_suite import At, nothing_runs
from gatekeeper.contract.formats.promptfoo.assertion import Grading
from gatekeeper.contract.formats.promptfoo.keys import KEYS
from gatekeeper.contract.formats.promptfoo.prompts import PromptEntry, slug
from gatekeeper.contract.formats.promptfoo.sources import FILE, Sources, is_program
from gatekeeper.contract.formats.promptfoo.variables import has_template
from gatekeeper.contract.formats.reader import CannotRunError, Node, keys, meant
from gatekeeper.contract.reading.model_traits import is_agent, name_fault, refuses_sampling, thinks
from gatekeeper.contract.values.definition import NotRun
from gatekeeper.contract.values.tools import as_function
from gatekeeper.contract.values.unique_name import take_name

_NAMED_ALIKE = "cerebras deepseek github groq hyperbolic mistral openrouter perplexity xai"
_PREFIXES = {
    f"{prefix}:": f"{vendor}/"
    for vendor, prefixes in {
        "openai": "openai:chat openai",
        "openai/responses": "openai:responses",
        "text-completion-openai": "openai:completion",
        "anthropic": "anthropic:messages anthropic",
        "azure": "azure:chat azure azureopenai:chat",
        "azure/responses": "azure:responses",
        "ollama_chat": "ollama:chat",
        "ollama": "ollama:completion ollama",
        "bedrock": "bedrock:converse bedrock",
        "ai21_chat": "ai21",
        "aiml": "aimlapi:chat",
        "cohere_chat": "cohere",
        "fireworks_ai": "fireworks",
        "gemini": "google",
        "lambda_ai": "lambdalabs:chat",
        "litellm_proxy": "litellm:chat litellm",
        "llamafile": "llamafile:chat",
        "together_ai": "togetherai:chat togetherai",
        "vertex_ai": "vertex",
        **{name: name for name in _NAMED_ALIKE.split()},
    }.items()
    for prefix in prefixes.split()
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
_NOT_IN_RESPONSES = frozenset(
    {"frequency_penalty", "logit_bias", "presence_penalty", "seed", "stop", "top_k"}
)
"""What promptfoo does not send to OpenAI's Responses API."""
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

_CONFIG = keys(
    "frequency_penalty logit_bias max_completion_tokens max_tokens min_p parallel_tool_calls "
    "presence_penalty reasoning_effort repetition_penalty response_format seed service_tier stop "
    "temperature thinking tool_choice tools top_k top_p verbosity",
    "cost inputCost outputCost showThinking maxRetries",
)
"""The keys of a provider's `config` that are sent as they are, and those without an effect on the
request."""
PARAMETERS = {
    **{name: name for name in _CONFIG.read},
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

_DECLARED = ("functionDeclarations", "function_declarations")
_MOST_WITH_THINKING = 2048
"""What promptfoo sends as Claude's `max_tokens` if Claude thinks and the file does not say."""
_PROGRAMS = (
    *("exec:", "python:", "golang:", "ruby:", "package:", "http:", "https:", "webhook:", "ws:"),
    *("wss:", "websocket", "browser", "file:", "manual-input", "sequence"),
)


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """A provider: the model it is called here, its parameters with their places, and the names by
    which tests refer to it."""

    node: Node
    id: str
    label: str | None
    model: str
    params: dict[str, At]
    short: str
    prompts: Any = None
    transform: Node | None = None
    notes: tuple[NotRun, ...] = ()

    def is_named(self, names: Any) -> bool:
        """Return whether a list of ids and labels allows this provider; no list allows all."""
        if not isinstance(names, list):
            return True
        return any(self._matches(str(name)) for name in names)

    def _matches(self, name: str) -> bool:
        known = [self.id, *([self.label] if self.label else [])]
        start = name[:-1] if name.endswith("*") else f"{name}:"
        return name in known or any(one.startswith(start) for one in known)

    def grades(self) -> str | None:
        """Return the model that promptfoo grades with if no other is named."""
        return DEFAULT_JUDGES.get(self.model.partition("/")[0])


def read_providers(sources: Sources, root: Node) -> tuple[list[ProviderEntry], list[NotRun]]:
    """Return the providers that can be called, and why the others cannot.

    Raises ContractError if none can.
    """
    node = root.child("providers" if "providers" in root.value else "targets")
    found: list[ProviderEntry] = []
    notes: list[NotRun] = []
    for item in _items(sources, node):
        try:
            found.append(_entry(sources, item))
        except CannotRunError as error:
            notes += error.notes
    if not found:
        why = f": {notes[0].why}" if notes else ""
        what = f"gatekeeper can call none of the providers{why}"
        raise nothing_runs(node.problem(what, "add a provider that is a model"), notes)
    taken: set[str] = set()
    return [replace(entry, short=take_name(entry.short, taken)) for entry in found], notes


def _items(sources: Sources, node: Node) -> Iterator[Node]:
    if isinstance(node.value, str | dict):
        yield node
    for item in node.each():
        named = isinstance(item.value, str) and item.value.startswith(FILE)
        if named and item.value.lower().endswith((".yaml", ".yml", ".json")):
            yield from sources.items(item, item.value)
        else:
            yield item


def _entry(sources: Sources, item: Node) -> ProviderEntry:
    node = item
    if isinstance(item.value, dict) and "id" not in item.value and len(item.value) == 1:
        (identity,) = item.value
        node = item.child(identity)
        identity = node.get("id") or identity
    else:
        identity = item.value if isinstance(item.value, str) else item.get("id")
    if not isinstance(identity, str):
        fix = "write an id such as `openai:gpt-4o-mini`"
        raise item.problem("a provider has no id", fix)
    model = _model(item, identity)
    config = node.child("config")
    params, notes = _parameters(sources, config, model)
    notes += node.unknown_keys(KEYS["provider"])
    label = node.get("label")
    short = slug(str(label or model.rpartition("/")[2]), 40) or "model"
    if config.get("omitDefaults") is not True:
        params = {name: item.at(v) for name, v in _defaults(model, params).items()} | params
    return ProviderEntry(
        node=item,
        id=identity,
        label=label if isinstance(label, str) else None,
        model=model,
        params=params,
        short=short,
        prompts=node.get("prompts"),
        transform=_transform(node),
        notes=tuple(notes),
    )


def _defaults(model: str, params: dict[str, At]) -> dict[str, Any]:
    defaults = default_parameters(model)
    if model.startswith("anthropic/") and ("top_p" in params or "thinking" in params):
        defaults.pop("temperature", None)
    if "thinking" in params and thinks(params["thinking"].value):
        defaults["max_tokens"] = _MOST_WITH_THINKING
    if "max_completion_tokens" in params:
        defaults.pop("max_tokens", None)
    return defaults


def _transform(node: Node) -> Node | None:
    for holder in (node, node.child("config")):
        for name in ("transform", "transformResponse", "responseParser"):
            if isinstance(holder.value, dict) and holder.get(name) is not None:
                return holder.child(name)
    return None


def _model(node: Node, identity: str) -> str:
    shown, model, why = f"the provider `{identity[:100]}`", model_of(identity), ""
    if has_template(identity):
        why = f"{shown} is a template, and environment variables are not filled in; write its id"
    elif is_program(identity) or identity.lower().startswith(_PROGRAMS):
        why = f"{shown} is a program or an address, not a model"
    elif identity == "echo":
        why = f"{shown} calls no model"
    elif is_agent(identity.partition(":")[2]):
        why = f"{shown} is an agent, but gatekeeper calls only models"
    elif model is None:
        other = vendor_meant(identity)
        why = f"gatekeeper cannot call {shown}" + (f"; did you mean `{other}`?" if other else "")
    elif fault := name_fault(model, *model.split("/", 1)):
        why = f"gatekeeper cannot call {shown}: {fault}"
    if why or model is None:
        raise node.cannot_run("provider", why)
    return model


def _parameters(sources: Sources, config: Node, model: str) -> tuple[dict[str, At], list[NotRun]]:
    params: dict[str, At] = {}
    notes: list[NotRun] = []
    dropped = left_out(model, config.value if isinstance(config.value, dict) else {})
    for name, value in config.items():
        if name in RUN_BY_PROVIDER and value.value:
            raise _run_by_provider(value, name)
        if name in dropped and value.value is not None:
            why = f"gatekeeper does not send `{name}` to this model, as promptfoo does not"
            notes.append(value.not_run(f"config.{name}", why))
        elif name in ("generationConfig", "options", "passthrough") and isinstance(
            value.value, dict
        ):
            inner, more = _parameters(sources, value, model)
            params |= inner
            notes += more
        elif name == "reasoning" and isinstance(value.value, dict) and value.get("effort"):
            params["reasoning_effort"] = value.at(value.get("effort"))
        elif name in PARAMETERS and value.value is not None:
            loaded = _loaded(sources, value)
            if name == "tools" and isinstance(loaded, list):
                each = (one for tool in loaded for one in _functions_of(tool))
                loaded = [_as_function(value, one) for one in each]
            params[PARAMETERS[name]] = value.at(loaded)
        elif name not in _CONFIG.harmless and name not in ("omitDefaults", "transform"):
            why = f"`{name}` is not sent; for an address or a key, set an environment variable"
            notes.append(value.not_run(f"config.{name}"[:100], why))
    return params, notes


def _loaded(sources: Sources, value: Node) -> Any:
    """Return a value with what its `file://` parts hold. Raises ContractError."""
    found = value.value
    if isinstance(found, str) and found.startswith(FILE):
        if is_program(found):
            why = f"`{found[:100]}` is a program, which gatekeeper does not run"
            raise value.cannot_run("config", why)
        return sources.plain(value, found)
    if isinstance(found, str) and has_template(found):
        what = "a parameter of the model contains a template"
        raise value.problem(what, "write the value; environment variables are not filled in")
    if isinstance(found, list):
        flat: list[Any] = []
        for part in value.each():
            loaded, written = _loaded(sources, part), part.value
            is_file = isinstance(written, str) and written.startswith(FILE)
            flat += loaded if is_file and isinstance(loaded, list) else [loaded]
        return flat
    if isinstance(found, dict):
        return {name: _loaded(sources, part) for name, part in value.items()}
    return found


def _run_by_provider(node: Node, kind: str) -> CannotRunError:
    why = f"the provider itself runs `{kind[:100]}`, and gatekeeper offers a model only functions"
    return node.cannot_run("provider", why)


def _functions_of(tool: Any) -> list[Any]:
    """Return the functions that a tool of Google's form declares; any other tool as it is."""
    if not isinstance(tool, dict) or len(tool) != 1:
        return [tool]
    ((name, functions),) = tool.items()
    if name not in _DECLARED or not isinstance(functions, list):
        return [tool]
    return [_declared(one) if isinstance(one, dict) else one for one in functions]


def _declared(function: dict[str, Any]) -> dict[str, Any]:
    schema = function.get("parameters", function.get("parametersJsonSchema"))
    return function if schema is None else {**function, "parameters": _lower_types(schema)}


def _lower_types(schema: Any) -> Any:
    """Return one of Google's schemas with the types of JSON Schema, in lower case."""
    if isinstance(schema, list):
        return [_lower_types(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        name: part if name in ("enum", "default", "example") else _lower_types(part)
        for name, part in schema.items()
    }
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {n: _lower_types(part) for n, part in schema["properties"].items()}
    kind = schema.get("type")
    return {**found, "type": kind.lower()} if isinstance(kind, str) else found


def _as_function(node: Node, tool: Any) -> Any:
    """Return a tool in OpenAI's form, which is sent to every provider. Raises CannotRunError for
    a tool that the provider runs."""
    if not isinstance(tool, dict):
        return tool
    kind = tool.get("type", "function" if {"name", "function"} & set(tool) else None)
    if kind not in ("function", "custom"):
        raise _run_by_provider(node, str(kind or next(iter(tool), "a tool without a name")))
    return as_function(tool)


def tools_of(entry: ProviderEntry, prompt: PromptEntry) -> Any:
    """Return the tools that the prompt's own `config`, or else the provider's, offers."""
    own = prompt.config.get("tools") if prompt.config else None
    known = entry.params.get("tools")
    return own if own is not None else known.value if known else None


def prompt_parameters(
    sources: Sources, entry: ProviderEntry, prompt: PromptEntry
) -> tuple[dict[str, At], list[NotRun]]:
    """Return the parameters of the provider, with those that the prompt sets itself."""
    if prompt.config is None:
        return entry.params, []
    own, notes = _parameters(sources, prompt.config, entry.model)
    return {**entry.params, **own}, notes


def grading_of(node: Node, grading: Grading) -> Grading:
    """Return the grading with what a `provider` for grading says: an id, or a mapping with `id`, or
    with `text` and `embedding`. What cannot be called fails only the assertions that need it."""
    value = node.value
    if value is None:
        return grading
    if isinstance(value, dict) and not value.get("id"):
        for name in ("text", "embedding"):
            grading = _graded_by(node.child(name), grading, name)
        return grading
    return _graded_by(node, grading, "text")


def _graded_by(node: Node, grading: Grading, kind: str) -> Grading:
    identity = node.value if isinstance(node.value, str) else node.get("id")
    if node.value is None or not isinstance(identity, str):
        return grading
    embedding = embedding_model_of(identity)
    if embedding is not None:
        return replace(grading, embedding=embedding, embedding_fault=None)
    if kind == "embedding" or may_embed(identity):
        why = f"gatekeeper cannot use `{identity[:100]}` as an embedding model"
        grading = replace(grading, embedding_fault=why)
    if kind == "embedding":
        return grading
    try:
        return replace(grading, judge=_model(node, identity), judge_fault=None)
    except CannotRunError as error:
        return replace(grading, judge_fault=str(error))


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
    absent = _NOT_IN_RESPONSES if name.startswith("responses/") else frozenset()
    if vendor in _LIKE_OPENAI and _THINKS_FIRST.match(name):
        return absent | {"temperature", "max_tokens"}
    if vendor in ("openai", "azure"):
        return absent | _FOR_REASONING - ({"reasoning_effort"} if "gpt-oss" in name else set())
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
