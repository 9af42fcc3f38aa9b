"""Finds misspelt keys, columns and names of promptfoo files by the known names that are alike."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from gatekeeper.contract.formats.promptfoo.nodes import Node

_ALIKE = 0.8
"""How similar a name must be to count as a misspelling, from 0 to 1. Files may hold keys of
their own, such as names of YAML anchors, so gatekeeper ignores less similar names."""

TOP_LEVEL = frozenset(
    {
        *("assertScoringFunction", "assertionTemplates", "commandLineOptions"),
        *("defaultTest", "derivedMetrics", "description", "env", "evaluateOptions", "extensions"),
        *("metadata", "nunjucksFilters", "outputPath", "plugins", "prompts", "providers"),
        *("redteam", "scenarios", "sharing", "strategies", "tags", "targets", "tests", "tracing"),
        *("writeLatestResults",),
    }
)
"""The keys of promptfoo's configuration."""


def meant(name: str, known: Collection[str]) -> str | None:
    """Return the known name that a misspelt one is likely meant to be; None for a known name, and
    for one that is like none of them."""
    if name in known:
        return None
    lower = {other.lower(): other for other in sorted(known)}
    close = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=_ALIKE)
    return lower[close[0]] if close else None


def require_spelt(node: Node, known: Collection[str]) -> None:
    """Raise ContractError at the first misspelt key of a mapping, unless the key that is likely
    meant stands beside it."""
    for name, value in node.items():
        other = meant(name, known) if isinstance(name, str) else None
        if other is not None and other not in node.value:
            raise value.problem(f"unknown key `{name[:100]}`", f"did you mean `{other}`?")
