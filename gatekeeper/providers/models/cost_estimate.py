"""Estimates what a request may cost before it is made, by litellm's price list.

There are two numbers, for two questions. `expected_cost` is for planning: the approximate cost of a
check. `worst_cost` is for limits: the highest possible cost of one request. It is often a hundred
times as much, because few answers are as long as they may be.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeGuard

from gatekeeper.contract.models.params import ANSWER_LIMITS, CHARACTERS_A_TOKEN
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.kept_results import kept_by_identity
from gatekeeper.contract.values.trial import Request
from gatekeeper.providers.models.price_list import price_entry

_ASSUMED_ANSWER_TOKENS = 256
_MOST_TOKENS = 1_000_000_000

# What a provider puts around the messages is not ours to see: roles and separators, a system prompt
# of its own, and instructions for tools and formats (Anthropic counts 346 tokens for tools).
_TOKENS_AROUND_A_REQUEST = 512
_TOKENS_AROUND_A_MESSAGE = 32

FREE = ("local/", "recorded/", "ollama/", "ollama_chat/")
"""Models on this machine or from a file. litellm would request the price, 0, from ollama's
server."""

# No list says how many tokens a picture takes. Claude's take up to 1,600, or 4,784 of high
# resolution; GPT-4o mini counts 2,833 and eight tiles of 5,667.
_TOKENS_OF_A_PICTURE, _MOST_OF_A_PICTURE = 1_600, 50_000

_INPUT = ("input_cost_per_token", "cache_creation_input_token_cost")
_OF_FILES = ("input_cost_per_audio_token", "input_cost_per_image_token")
_OUTPUT = ("output_cost_per_token", "output_cost_per_reasoning_token")
_THRESHOLD = re.compile(r"_above_(\d+)(k?)_tokens")
_UPLIFT = re.compile(r"regional_(?:processing|endpoint)_uplift_multiplier")
_BATCHES = "_batches"
_PLAIN_TIERS = frozenset({"default", "standard", "standard_only", "flex"})


def expected_cost(request: Request, *, batched: bool = False) -> float | None:
    """Return the approximate cost of the request in US dollars, for a person to plan with.

    The answer is taken to use up `max_tokens`, or 256 tokens if it is not set: an answer of the
    model's maximum is rare. A picture is taken to be 1,600 tokens. None if the price is not known,
    as that of a document or a sound. An embedded or recorded model costs
    nothing. In a batch, a token costs half as much if the list does not say otherwise.
    """
    if request.model.startswith(FREE):
        return 0.0
    entry = price_entry(request.model)
    if entry is None:
        return None
    if len(request.files) > _pictures(request):
        return None
    tokens, answer = _expected_tokens(request)
    paid_input, paid_output = _plain_rates(request.model, tokens, batched)
    if paid_input is None and paid_output is None:
        return None
    cost = (paid_input or 0.0) * tokens + (paid_output or 0.0) * answer
    return cost + _fee_per_request(entry)


def worst_cost(request: Request, *, batched: bool = False) -> float | None:
    """Return the highest possible cost of the request in US dollars, as limits need it.

    Every byte of the input is counted as a token, and the answer is as long as it may be: by
    `max_tokens` or `max_completion_tokens`, else by the model's own maximum. Documents and sounds
    take all that the model reads, a picture 50,000 tokens. Of several prices
    for a token the highest counts that the request can come under. None if no price is known;
    infinite if there is a price and nothing bounds the answer. An embedded or recorded model
    costs nothing. In a batch, a token costs at most half as much, or what the list says if that is
    more.

    A provider that answers with more tokens than requested can still cost more.
    """
    if request.model.startswith(FREE):
        return 0.0
    entry = price_entry(request.model)
    if entry is None:
        return None
    tier = request.params.get("service_tier")
    known = tier if tier is None or isinstance(tier, str) else repr(tier)
    tokens = _most_input_tokens(request)
    if tokens is None:
        return None
    files = bool(request.files)
    paid_input, paid_output = _highest_rates(request.model, tokens, known, batched, files)
    if paid_input is None and paid_output is None:
        return None
    if _has_unbounded_fees(entry, request.params):
        return math.inf
    answer = 0.0
    if paid_output:
        answer = paid_output * _longest_answer(entry, request.params)
    cost = _uplift(entry) * ((paid_input or 0.0) * tokens + answer)
    fee = entry.get("input_cost_per_image")
    cost += _pictures(request) * (fee if _is_number(fee) else 0.0)
    return cost + _fee_per_request(entry)


def _pictures(request: Request) -> int:
    return sum(file.media_type.startswith("image/") for file in request.files)


_Rates = tuple[float | None, float | None]
"""The prices of an input and of an output token; None for one that is not known."""


@lru_cache(maxsize=4096)
def _plain_rates(model: str, tokens: int, batched: bool) -> _Rates:
    """Return the prices without a service tier. Kept, because every request of a run asks twice."""
    entry = price_entry(model) or {}
    listed = entry.get(f"{_INPUT[0]}{_BATCHES}"), entry.get(f"{_OUTPUT[0]}{_BATCHES}")
    if batched and all(map(_is_number, listed)):
        return listed
    share = 0.5 if batched else 1.0
    prices = (max(_rates(entry, k[:1], tokens, "default"), default=None) for k in (_INPUT, _OUTPUT))
    paid_input, paid_output = (None if price is None else price * share for price in prices)
    return paid_input, paid_output


@lru_cache(maxsize=4096)
def _highest_rates(model: str, tokens: int, tier: str | None, batched: bool, files: bool) -> _Rates:
    """Return the highest prices that the request can come under. Kept like `_plain_rates`."""
    entry = price_entry(model) or {}

    def highest(kinds: tuple[str, ...]) -> float | None:
        found = max(_rates(entry, kinds, tokens, "default" if batched else tier), default=None)
        if found is None or not batched:
            return found
        listed = (entry.get(f"{kind}{_BATCHES}") for kind in kinds)
        return max(found / 2, *filter(_is_number, listed), 0.0)

    return highest((*_INPUT, *_OF_FILES) if files else _INPUT), highest(_OUTPUT)


def count_tokens(request: Request) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the tokens of the request and those of its answer: about, as `expected_cost` takes
    them to be, and at most, as `worst_cost` does. Infinite if nothing bounds the answer."""
    longest = _longest_answer(price_entry(request.model) or {}, request.params)
    most = _most_input_tokens(request)
    return _expected_tokens(request), (math.inf if most is None else most, longest)


def _expected_tokens(request: Request) -> tuple[int, int]:
    characters = sum(map(len, _texts(request.messages)))
    answer = _written_maximum(request.params) or _ASSUMED_ANSWER_TOKENS
    earlier = request.inserted * answer + _pictures(request) * _TOKENS_OF_A_PICTURE
    return -(-characters // CHARACTERS_A_TOKEN) + earlier, answer


@kept_by_identity
def _written_maximum(params: Mapping[str, Any]) -> int | None:
    """Return the most tokens that the parameters allow; None if they set no valid maximum. What the
    head of a fork sets must not make a price low or negative."""
    written = map(params.get, ANSWER_LIMITS)
    counts = [w for w in written if _is_number(w) and w > 0]
    return int(min(max(counts), _MOST_TOKENS)) or 1 if counts else None


def _longest_answer(entry: Mapping[str, Any], params: Mapping[str, Any]) -> float:
    written = _written_maximum(params)
    if written is None:
        known = entry.get("max_output_tokens") or entry.get("max_tokens")
        return float(known) if _is_number(known) and known > 0 else math.inf
    thinking = params.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    return max(written, min(budget, _MOST_TOKENS)) if _is_number(budget) else written


def _most_input_tokens(request: Request) -> int | None:
    """Return the number of bytes, because no tokenizer makes more tokens than that. An answer or
    output of an earlier call that is inserted is as long as it may be. None if nothing bounds the
    tokens of a file."""
    pictures = _pictures(request)
    if pictures < len(request.files):
        known = (price_entry(request.model) or {}).get("max_input_tokens")
        return int(known) if _is_number(known) else None
    around = _TOKENS_AROUND_A_REQUEST + _TOKENS_AROUND_A_MESSAGE * len(request.messages)
    earlier = request.inserted
    if earlier:
        longest = _longest_answer(price_entry(request.model) or {}, request.params)
        around += earlier * int(min(longest, _MOST_TOKENS))
    around += pictures * _MOST_OF_A_PICTURE
    return _message_bytes(request.messages) + _param_bytes(request.params) + around


@kept_by_identity
def _message_bytes(messages: tuple[Message, ...]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in _texts(messages))


def _texts(messages: Iterable[Message]) -> Iterator[str]:
    """Yield all that is written in the messages: also tool calls, and thoughts that go back."""
    for message in messages:
        yield message.content
        yield from (text for call in message.calls for text in (call.name, call.arguments))
        if message.opaque:
            yield message.opaque


@kept_by_identity
def _param_bytes(params: Mapping[str, Any]) -> int:
    # Tools and formats are sent as input too; with ASCII escapes JSON is at its longest.
    return len(json.dumps(dict(params), default=str))


def _rates(
    entry: Mapping[str, Any], kinds: tuple[str, ...], tokens: int, tier: object
) -> Iterator[float]:
    """Yield each price of a token of these kinds that can apply to the request."""
    for name, price in _prices(entry, tokens):
        kind = next((kind for kind in kinds if name.startswith(kind)), None)
        if kind is None or not _is_number(price):
            continue
        variant = name.removeprefix(kind)
        threshold = _THRESHOLD.search(variant)
        if threshold:
            if tokens <= int(threshold[1]) * (1000 if threshold[2] else 1):
                continue
            variant = variant.replace(threshold[0], "")
        if _is_possible(variant.removeprefix("_"), tier, entry):
            yield float(price)


def _prices(entry: Mapping[str, Any], tokens: int) -> Iterator[tuple[str, Any]]:
    yield from entry.items()
    for stage in entry.get("tiered_pricing") or ():
        start = (stage.get("range") or [0])[0]
        if start <= tokens:
            yield from stage.items()


def _is_possible(variant: str, tier: object, entry: Mapping[str, Any]) -> bool:
    """Return whether a request of that service tier may be billed by that variant of a price.
    Without a tier, OpenAI uses the settings of the project, which may say priority."""
    if not variant:
        return True
    if tier in (None, "auto"):
        by_project = tier == "auto" or entry.get("litellm_provider") == "openai"
        return variant == "priority" and by_project
    return not (isinstance(tier, str) and tier in _PLAIN_TIERS)


@kept_by_identity
def _uplift(entry: Mapping[str, Any]) -> float:
    """Return the factor, at least 1, by which a region can make the price higher."""
    regions = [entry[name] for name in entry if _UPLIFT.match(name)]
    places = entry.get("provider_specific_entry") or {}
    regions += [factor for name, factor in places.items() if name != "fast"]
    return max([1.0, *(float(factor) for factor in regions if _is_number(factor))])


@kept_by_identity
def _fee_per_request(entry: Mapping[str, Any]) -> float:
    """Return what a request costs beyond its tokens: models that always search bill each search."""
    fees = entry.get("input_cost_per_request")
    cost = float(fees) if _is_number(fees) else 0.0
    name = f"{entry.get('litellm_provider')} {entry.get('key')}"
    if "perplexity" in name or "search" in name:
        searches = (entry.get("search_context_cost_per_query") or {}).values()
        cost += max((float(price) for price in searches if _is_number(price)), default=0.0)
    return cost


def _has_unbounded_fees(entry: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
    """Return whether fees depend on how often the model uses citations or the provider's own tools,
    such as a web search."""
    tools = params.get("tools")
    own = isinstance(tools, list | tuple) and any(
        not isinstance(tool, Mapping) or tool.get("type") != "function" for tool in tools
    )
    return own or "citation_cost_per_token" in entry


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value
