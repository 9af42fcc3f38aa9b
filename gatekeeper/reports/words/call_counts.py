"""How many calls a run made, how many it did not need, and what was forecast, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.gate.results.parts import Calls, JudgeCalls
from gatekeeper.gate.results.result import GateResult

if TYPE_CHECKING:
    from gatekeeper.gate.forecast.estimate import ContractEstimate, RunEstimate


def describe_calls(calls: Calls) -> str:
    """Say what became of the calls: `400 calls made, 120 not needed`. What is zero is left out."""
    # Each retry is a call; a request counts once, when its last try has failed.
    retried = ", retries included" if 0 < calls.failed < calls.made else ""
    made = f"{numbers.count(calls.made, 'call')} made{retried}{_to_others(calls)}"
    failed = "request failed" if calls.failed == 1 else "requests failed"
    others = {
        "not needed": calls.saved,
        "cached": calls.cached,
        "not recorded": calls.unrecorded,
        failed: calls.failed,
        "not used for the decision": calls.surplus,
        "refused because of the provider's load": calls.throttled,
    }
    words = [f"{amount:,} {word}" for word, amount in others.items() if amount]
    if calls.tokens:
        words.append(f"{numbers.count(calls.tokens, 'token')} used")
    if calls.cached_tokens:
        words.append(
            f"{numbers.count(calls.cached_tokens, 'token')} read from the provider's cache"
        )
    if calls.reasoning_tokens:
        words.append(f"{numbers.count(calls.reasoning_tokens, 'output token')} used for reasoning")
    if calls.judge:
        words += _of_others(calls.judge, "judges")
    if calls.user:
        words += _of_others(calls.user, "simulators")
    return ", ".join([made, *words])


def _to_others(calls: Calls) -> str:
    """Say how many of the calls were to judges and simulators, and what these cost for 100
    samples."""
    parts = []
    for who, found in (("judges", calls.judge), ("simulators", calls.user)):
        if found is not None and found.made:
            cost = found.cost_per_100_samples
            priced = "" if cost is None else f", {numbers.dollars(cost)} for 100 samples"
            parts.append(f"{found.made:,} to {who}{priced}")
    return f" ({'; '.join(parts)})" if parts else ""


def _of_others(calls: JudgeCalls, who: str) -> list[str]:
    words = []
    if calls.cached:
        words.append(f"{numbers.count(calls.cached, 'answer')} of {who} cached")
    if calls.failed:
        words.append(f"{numbers.count(calls.failed, 'unanswered question')} to {who}")
    return words


def describe_cost(result: GateResult) -> str:
    """Say what the run cost."""
    return f"cost {numbers.dollars(result.cost_usd)}"


def describe_forecast(result: GateResult) -> str:
    """Say what the run was forecast to take: `expected 120 calls, 31,000 tokens, 0.012 USD; at most
    200 calls, …`. Empty without a forecast. A call that gets no answer is made once more at the
    end."""
    if result.forecast is None:
        return ""
    each = (result.forecast.expected, result.forecast.most)
    expected, most = (_amounts(found.calls, found.tokens, found.cost_usd) for found in each)
    return f"expected {expected}; at most {most}, plus one more try of calls without an answer"


def estimate_text(forecast: ContractEstimate | RunEstimate) -> str:
    """Return the expected and the highest possible numbers: `expected 130 calls, 52,000 tokens,
    0.0081 USD; at most 400 calls, …`."""
    expected = _amounts(forecast.expected_calls, forecast.tokens, forecast.cost_usd)
    most = _amounts(forecast.calls, forecast.most_tokens, forecast.worst_cost_usd)
    fewest = ""
    if forecast.fewest_calls < forecast.expected_calls:
        fewest = f" (at least {numbers.count(forecast.fewest_calls, 'call')})"
    others = (("judges", forecast.judge_calls), ("simulators", forecast.user_calls))
    asked = " and ".join(f"{calls:,} of the calls to {who}" for who, calls in others if calls)
    return f"expected {expected}{fewest}; at most {most}{', ' if asked else ''}{asked}"


def nothing_affected(unaffected: int) -> str:
    """Return what is said of a change that affects none of so many contracts."""
    untouched = numbers.count(unaffected, "contract")
    return f"This change affects no contract ({untouched} unaffected), so no model is called."


def _amounts(calls: int, tokens: int | None, cost_usd: float | None) -> str:
    cost = f"cost {numbers.UNKNOWN}" if cost_usd is None else numbers.dollars(cost_usd)
    taken = f"{numbers.UNKNOWN} tokens" if tokens is None else numbers.count(tokens, "token")
    return f"{numbers.count(calls, 'call')}, {taken}, {cost}"
