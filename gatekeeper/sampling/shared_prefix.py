"""Which messages all requests of an arm begin with: a provider can keep them in its cache."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import SharedPrefix


def shared_prefixes(arms: Sequence[Collection[tuple[Message, ...]]]) -> list[SharedPrefix | None]:
    """Return the prefix that all conversations of each arm share; None for every arm if one of them
    shares nothing.

    Both arms are treated alike: if one were cached and the other not, its calls would seem cheaper
    and faster. So the size of the shorter prefix counts for both.
    """
    lengths = [_shared_messages(conversations) for conversations in arms]
    if not lengths or not all(lengths):
        return [None for _ in arms]
    size = min(
        _size(next(iter(conversations))[:length])
        for conversations, length in zip(arms, lengths, strict=True)
    )
    return [SharedPrefix(length, size) for length in lengths]


def _shared_messages(conversations: Collection[tuple[Message, ...]]) -> int:
    """Return how many messages the conversations begin with; 0 if there are not two of them."""
    distinct = set(conversations)
    if len(distinct) < 2:
        return 0
    shared = 0
    for messages in zip(*distinct, strict=False):
        if len(set(messages)) > 1:
            break
        shared += 1
    return shared


def _size(messages: Sequence[Message]) -> int:
    return sum(len(m.content.encode("utf-8", "surrogatepass")) for m in messages)
