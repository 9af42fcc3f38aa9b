"""What one answered call cost, by litellm's price list and without litellm.

The list has a price for each kind of token: input, cached input, what is written to the cache,
output, reasoning. Some prices depend on the length of the input or on the service tier.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time
from typing import Any

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.values.kept_results import kept_by_identity
from gatekeeper.providers.models.price_list import price_entry
from gatekeeper.providers.native.endings import TokenUsage

_NONE: Mapping[str, Any] = {}


def off_peak_prices(entry: Mapping[str, Any], moment: datetime) -> Mapping[str, Any]:
    """Return the prices that replace a model's usual ones at the moment; none outside those hours.

    Args:
        entry: The model's entry in the price list.
        moment: When the call is billed, with a time zone.
    """
    block = entry.get("off_peak_pricing")
    if not isinstance(block, Mapping):
        return _NONE
    now = moment.astimezone(UTC)
    return block if any(_contains(window, now.time()) for window in _windows(block, now)) else _NONE


def knows_off_peak(entry: Mapping[str, Any]) -> bool:
    """Return whether the hours have a known form: in UTC, by numbered weekdays."""
    block = entry.get("off_peak_pricing")
    return block is None or (isinstance(block, Mapping) and "weekday_timezone" not in block)


def _windows(block: Mapping[str, Any], now: datetime) -> Iterator[str]:
    """Return the hours of the day, such as `16:30-00:30`."""
    rules = [{"hours_utc": block.get("hours_utc")}, *(block.get("windows") or ())]
    for rule in rules:
        hours, days = rule.get("hours_utc"), rule.get("weekdays")
        if days is None or now.isoweekday() in days:
            yield from ([hours] if isinstance(hours, str) else hours or ())


def _contains(window: str, now: time) -> bool:
    """Return whether the hours include the time. They may go past midnight; equal ends are the
    whole day."""
    start, end = (time.fromisoformat(part.strip()) for part in window.split("-"))
    return start <= now < end if start < end else now >= start or now < end


_THRESHOLD = re.compile(r"_above_(\d+)(k?)_tokens$")
_TIERS: Mapping[str, str] = {
    "flex": "_flex",
    "balanced": "_balanced",
    "priority": "_priority",
    "fast": "_priority",
    "ultrafast": "_ultrafast",
}
_MOST_USD = 1_000_000.0
"""The highest amount for one call. Servers also report amounts, and a sum of values such as 1e308
would overflow."""

_BATCHES = "_batches"
_SHARE_OF_A_BATCH = 0.5
"""The share of the usual price that OpenAI and Anthropic charge for a token of a batch, if the list
has no price for it."""

_INPUT, _OUTPUT = "input_cost_per_token", "output_cost_per_token"
_CACHED, _WRITTEN = "cache_read_input_token_cost", "cache_creation_input_token_cost"
_WRITTEN_1H = "cache_creation_input_token_cost_above_1hr"
_REASONING = "output_cost_per_reasoning_token"
_IMAGE, _AUDIO = "input_cost_per_image_token", "input_cost_per_audio_token"

_CHAT_MODES = frozenset({"chat", "completion", "responses"})
"""An answer that names a model of another mode was not made by it: a price of images or of sounds
says nothing of its tokens."""

# Billed by stages of length, by citation or by search.
_SPECIAL = (
    "tiered_pricing",
    "citation_cost_per_token",
    "input_cost_per_request",
)


def is_billed_by_tokens(model: str) -> bool:
    """Return whether tokens alone, and prices that `call_cost` understands, make up the price of a
    call. This is true of a model that is not in the list: its price is unknown."""
    entry = price_entry(model)
    return entry is None or _by_tokens(model, entry)


def _by_tokens(model: str, entry: Mapping[str, Any]) -> bool:
    special = "search" in model or any(name in entry for name in _SPECIAL)
    return not special and knows_off_peak(entry)


def call_cost(
    model: str, answered_by: object, usage: TokenUsage, moment: datetime | None = None
) -> float | None:
    """Return what a call cost, in US dollars; None if the price is not known.

    Args:
        model: The model that was asked.
        answered_by: The model's name in the answer. Its price counts if it is that of a model that
            chats: an alias, or a deployment's name, stands for a model.
        usage: The tokens of the call.
        moment: When it is billed, for models whose price depends on the hour; None: now.
    """
    entry = _entry(model, answered_by)
    if entry is None or usage.other or not _by_tokens(model, entry) or not usage.is_sound:
        return None
    tier = _TIERS.get((usage.tier or "").lower(), "")
    share = 1.0
    if usage.batched:
        is_listed = all(f"{kind}{_BATCHES}" in entry for kind in (_INPUT, _OUTPUT))
        tier, share = (_BATCHES, 1.0) if is_listed else ("", _SHARE_OF_A_BATCH)
    price = _Prices(entry, usage.prompt, tier, moment or datetime.now(UTC))
    paid_input, paid_output = price.of(_INPUT), price.of(_OUTPUT)
    if paid_input is None and paid_output is None:
        return None
    paid_input, paid_output = paid_input or 0.0, paid_output or 0.0
    written = price.of(_WRITTEN, paid_input)
    of_files = _cost_of_files(price, usage)
    plain = usage.prompt - usage.cached - usage.cache_writes - usage.images - usage.audio
    if of_files is None or plain < 0:
        return None
    reasoning = usage.reasoning or 0
    cost = (
        plain * paid_input
        + of_files
        + usage.cached * price.of(_CACHED, _cached_default(entry, paid_input))
        + (usage.cache_writes - usage.cache_writes_1h) * written
        + usage.cache_writes_1h * price.of(_WRITTEN_1H, written)
        + max(usage.completion - reasoning, 0) * paid_output
        + reasoning * _reasoning_price(price, paid_output)
    )
    cost *= share
    for name in usage.surcharges:
        cost *= _factor(entry, name)
    return believed_cost(cost)


def _cost_of_files(price: _Prices, usage: TokenUsage) -> float | None:
    """Return what pictures and sounds cost; None if the list has no price for them."""
    cost = 0.0
    for tokens, kind in ((usage.images, _IMAGE), (usage.audio, _AUDIO)):
        paid = price.of(kind) if tokens else 0.0
        if paid is None:
            return None
        cost += tokens * paid
    return cost


def believed_cost(said: object) -> float | None:
    """Return the price of a call in US dollars; None if the value cannot be one."""
    if isinstance(said, bool) or not isinstance(said, int | float) or not 0 <= said <= _MOST_USD:
        return None
    return float(said)


class _Prices:
    """The prices of one model for an input of so many tokens, under a service tier, at a time."""

    def __init__(self, entry: Mapping[str, Any], tokens: int, tier: str, moment: datetime) -> None:
        self.entry = entry
        self.tier = tier
        self._off_peak = off_peak_prices(entry, moment)
        self._crossed = _crossed_thresholds(entry, tokens)

    def of(self, kind: str, default: Any = None) -> Any:
        """Return the price of a token of that kind; the default if the list has none."""
        price = self._number(kind + self.tier, self._number(kind, default))
        for threshold in self._crossed:
            price = self._number(
                f"{kind}{threshold}{self.tier}", self._number(kind + threshold, price)
            )
        return self._off_peak.get(kind, price)

    def has(self, kind: str) -> bool:
        """Return whether the list has a price with exactly that name."""
        return self._number(kind, None) is not None

    def _number(self, name: str, default: Any) -> Any:
        price = self.entry.get(name)
        if isinstance(price, bool) or not isinstance(price, int | float):
            return default
        return float(price)


def _entry(model: str, answered_by: object) -> Mapping[str, Any] | None:
    if isinstance(answered_by, str) and answered_by:
        found = price_entry(f"{read_model_name(model).provider}/{answered_by}")
        if found is not None and found.get("mode") in _CHAT_MODES:
            return found
    return price_entry(model)


def _crossed_thresholds(entry: Mapping[str, Any], tokens: int) -> list[str]:
    """Return the parts of names such as `_above_272k_tokens` whose prices apply to an input of that
    length, the highest last."""
    sizes = _threshold_sizes(entry)
    return sorted((part for part, size in sizes.items() if tokens > size), key=sizes.__getitem__)


@kept_by_identity
def _threshold_sizes(entry: Mapping[str, Any]) -> Mapping[str, int]:
    """Return the length of input that each part such as `_above_272k_tokens` names."""
    found = {match[0]: match for name in entry if (match := _THRESHOLD.search(name))}
    return {part: int(m[1]) * (1000 if m[2] else 1) for part, m in found.items()}


def _cached_default(entry: Mapping[str, Any], paid_input: float) -> float:
    """Return Fireworks' price of cached input: half the price if the list does not say
    otherwise."""
    return paid_input / 2 if entry.get("litellm_provider") == "fireworks_ai" else paid_input


def _reasoning_price(price: _Prices, paid_output: float) -> Any:
    by_tier = price.tier and price.has(_OUTPUT + price.tier)
    if by_tier and not price.has(_REASONING + price.tier):
        return paid_output
    return price.of(_REASONING, paid_output)


def _factor(entry: Mapping[str, Any], surcharge: str) -> float:
    """Return the factor by which a region or a speed makes the price higher."""
    factor = (entry.get("provider_specific_entry") or {}).get(surcharge)
    return float(factor) if isinstance(factor, int | float) else 1.0
