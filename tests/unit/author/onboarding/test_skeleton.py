"""The contract that is written for a prompt: its name, and fixtures that YAML reads back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.onboarding.skeleton import list_item, propose_name
from gatekeeper.contract.syntax.yaml_positions import parse_yaml

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=80)
NAMES = st.text("abcxyz_", min_size=1, max_size=9)
VALUES = st.recursive(
    TEXT | st.integers(-(10**6), 10**6) | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc_", min_size=1), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_a_fixture_is_read_back_as_it_was(values: dict[str, Any]) -> None:
    row = {"vars": values}
    written = "\n".join(["fixtures:", *list_item(row)]) + "\n"
    assert parse_yaml(written, "a.yaml").data == {"fixtures": [row]}


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("prompts/Summary.prompt.yml", "summary"),
        ("src/app.py:SYSTEM_PROMPT", "app-system-prompt"),
        ("src/app.ts:systemPrompt", "app-system-prompt"),
        ("config/prompts.yaml#news.title", "prompts-news-title"),
        ("prompts/größe.md", "grosse"),
        ("prompts/日本.md", "prompt"),
        ("skills/review/SKILL.md", "review-skill"),
        ("SKILL.md", "skill"),
        ("patterns/rate/system.md", "rate-system"),
        ("app/chat/route.ts:SYSTEM_PROMPT", "chat-route-system-prompt"),
        # A name that begins with the file's own does not repeat it.
        ("src/classifier.ts:classifierPrompt", "classifier-prompt"),
        ("settings/review_prompts.toml#review_prompt.system", "review-prompt-system"),
        ("src/app.py:append_prompt", "app-append-prompt"),
    ],
)
def test_a_name_says_which_prompt_it_is(reference: str, name: str) -> None:
    assert propose_name(reference, set()) == name


def test_a_name_that_is_taken_gets_the_folder_or_a_number() -> None:
    taken: set[str] = set()
    names = [propose_name(path, taken) for path in ("a/x.md", "b/x.md", "x.md", "x.txt")]
    assert names == ["x", "b-x", "x-2", "x-3"]
    assert taken == set(names)
