"""The modes of a contract: how far outputs may be repaired before the checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.errors import Problem

_PLANNED = ("assist", "auto")
"""Accepted once, while they did what `repair` does and said otherwise."""


def mode_problems(document: Document, data: Mapping[str, Any]) -> list[Problem]:
    """Find a mode that does not do yet what it says."""
    mode = data.get("mode")
    if mode not in _PLANNED:
        return []
    what = f"`{mode}` does not do yet what it says: it only applied the steps of `repair`"
    return [document.problem(("mode",), what, "write `mode: repair`, or leave the line out")]
