"""The names of models on GitHub Models, as `.prompt.yml` files write them: `publisher/model`."""

from __future__ import annotations

_PREFIX = "github/"
_PUBLISHERS = ("ai21-labs/", "core42/", "meta/", "microsoft/", "mistral-ai/")
"""The publishers that are no providers: only GitHub answers for their models by these names. A
model such as `openai/gpt-4o` is asked at OpenAI."""


def from_github_name(name: str) -> str:
    """Return the model that a `.prompt.yml` names: `github/meta/…` for `meta/…`."""
    return f"{_PREFIX}{name}" if name.startswith(_PUBLISHERS) else name


def to_github_name(model: str) -> str:
    """Return the name of a model as a `.prompt.yml` writes it: `meta/…` for `github/meta/…`."""
    name = model.removeprefix(_PREFIX)
    return name if name.startswith(_PUBLISHERS) else model
