"""The modes of a contract: which repairs an output may get before the checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.errors import Problem

_PLANNED = ("assist", "auto")
"""Modes that are planned but not supported."""


def mode_problems(document: Document, data: Mapping[str, Any]) -> list[Problem]:
    """Return a problem if the contract has a mode that is planned but not supported."""
    mode = data.get("mode")
    if mode not in _PLANNED:
        return []
    what = f"the mode `{mode}` is not supported yet"
    return [document.problem(("mode",), what, "write `mode: repair`, or remove the line")]
