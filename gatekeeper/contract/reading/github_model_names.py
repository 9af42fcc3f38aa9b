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


def explain_github_name(model: str) -> str | None:
    """Say what to write for a model that keeps its name, because a `.prompt.yml` has no name that
    Gatekeeper would read as this model; None for others."""
    name = to_github_name(model)
    if not name.startswith(_PREFIX):
        return None
    return (
        f"GitHub does not know the name `{name}`; for GitHub, write "
        f"`{name.removeprefix(_PREFIX)}` in the exported file, but gatekeeper would read this name "
        "as a model of another provider"
    )
