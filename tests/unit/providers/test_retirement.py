"""When models retire, by litellm's price list, and what follows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.providers.models import price_list, retirement
from gatekeeper.providers.models.model_faults import find_model_fault
from gatekeeper.providers.models.retirement import Retirement, find_retirement, retires_soon

END = "2027-01-14"
LATER = "2027-04-01"


def of(provider: str, *names: str, **ends: str) -> dict[str, dict[str, Any]]:
    """Entries of a provider; `ends` are dates by names with underscores."""
    found: dict[str, dict[str, Any]] = {
        name: {"litellm_provider": provider, "mode": "chat"} for name in names
    }
    for name, end in ends.items():
        found[name.replace("_", "-").replace("--", ".")]["deprecation_date"] = end
    return found


LIST: Mapping[str, dict[str, Any]] = {
    **of(
        "openai",
        *("gpt-4o-mini", "gpt-4o-mini-2024-07-18", "gpt-5.4-mini", "gpt-5-mini", "gpt-6.1-mini"),
        *("gpt-5-mini-2025-08-07", "gpt-5.4-mini-2026-03-17", "o3-mini", "gpt-4.1-nano"),
        *("ft:gpt-4o-mini-2024-07-18", "gpt-4o", "gpt-4o-2024-05-13", "gpt-4o-2024-11-20"),
        **{
            "gpt-4o-mini-2024-07-18": END,
            "gpt-5-mini-2025-08-07": LATER,
            "o3-mini": END,
            "ft:gpt-4o-mini-2024-07-18": END,
            "gpt-4o-2024-05-13": "2026-10-23",
            "gpt-4.1-nano": "soon",
        },
    ),
    **of(
        "anthropic",
        *("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-sonnet-4-6", "claude-opus-9"),
        **{"claude-sonnet-4-5": END},
    ),
    **of(
        "bedrock",
        "anthropic.claude-3-haiku-20240307-v1:0",
        **{
            "anthropic.claude-3-haiku-20240307-v1:0": END,
        },
    ),
}


@pytest.fixture(autouse=True)
def listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def forget() -> None:
        for kept in (price_list._names_by_lower_case, price_list.price_entry, find_retirement):
            kept.cache_clear()

    forget()
    for module in (price_list, retirement):
        monkeypatch.setattr(module, "price_list", lambda: LIST)
    yield
    forget()


@pytest.mark.parametrize(
    ("model", "day", "successor"),
    [
        ("openai/gpt-4o-mini-2024-07-18", END, "openai/gpt-5.4-mini"),
        ("gpt-4o-mini", END, "gpt-5.4-mini"),
        ("OpenAI-Mini", None, None),
        ("openai/gpt-5-mini", LATER, "openai/gpt-5.4-mini"),
        ("openai/o3-mini", END, None),
        ("openai/ft:gpt-4o-mini-2024-07-18:org::id", END, None),
        ("anthropic/claude-sonnet-4-5", END, "anthropic/claude-sonnet-4-6"),
        ("bedrock/us.anthropic.claude-3-haiku-20240307-v1:0", END, None),
        # One of its dated versions has no end; its date is none; another version's price.
        ("openai/gpt-4o", None, None),
        ("openai/gpt-4.1-nano", None, None),
        ("openai/o3-mini-2025-01-31", None, None),
        ("anthropic/claude-sonnet-4-5-20991231", None, None),
        ("azure/gpt-4o-mini", None, None),
        ("local/smollm2", None, None),
        ("recorded/gpt-4o-mini", None, None),
        ("no such name", None, None),
    ],
)
def test_the_end_and_what_follows(model: str, day: str | None, successor: str | None) -> None:
    found = find_retirement(model)
    told = (found.day.isoformat(), found.successor) if found else (None, None)
    assert told == (day, successor)


@pytest.mark.parametrize(
    ("left", "words"),
    [(91, None), (90, "(in 90 days)"), (1, "(in 1 day)"), (0, "(today)"), (-1, "retired on 2027")],
)
def test_a_model_is_doubted_within_ninety_days(
    left: int, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = date.fromisoformat(END) - timedelta(left)
    monkeypatch.setattr(retirement, "today", lambda: now)
    fault = find_model_fault("openai/gpt-4o-mini")
    assert (fault is None) == (words is None)
    if fault and words:
        assert not fault.certain
        assert words in fault.what
        assert "`gatekeeper migrate --to openai/gpt-5.4-mini`" in fault.fix
    assert find_model_fault("openai/gpt-5.4-mini") is None


@given(st.dates(), st.dates())
def test_a_model_retires_soon_until_ever_after(day: date, now: date) -> None:
    found = Retirement("openai/x", day, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retirement, "today", lambda: now)
        assert found.text.startswith("`openai/x` retire")
        assert (" retired " in found.text) == (day < now)


def test_nothing_is_soon_without_a_date() -> None:
    assert retires_soon("openai/gpt-6.1-mini") is None
