"""How many calls a run made and saved, in words."""

from __future__ import annotations

from gatekeeper import numbers
from gatekeeper.gate.result import Calls


def describe_calls(calls: Calls) -> str:
    """Say what became of the calls: `400 calls made, 120 saved`. What is zero is left out."""
    # Each retry is a call; a request counts once, when its last try has failed.
    made = f"{numbers.count(calls.made, 'call')} made{', retries included' if calls.failed else ''}"
    unanswered = "request not answered" if calls.failed == 1 else "requests not answered"
    others = {
        "saved": calls.saved,
        "cached": calls.cached,
        "not recorded": calls.unrecorded,
        unanswered: calls.failed,
        "cancelled after the decision": calls.surplus,
        "refused because of the provider's load": calls.throttled,
    }
    words = [f"{amount:,} {word}" for word, amount in others.items() if amount]
    return ", ".join([made, *words])
