"""The files that a check of a team's own names: `python: checks.py:polite` and its `modules`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatekeeper.contract.reading.read import locate
from gatekeeper.contract.values.definition import CheckShape

MODULES = "modules"
"""The parameter that names further files."""


def code_paths(params: Mapping[str, Any], shape: CheckShape) -> tuple[str, ...]:
    """Return the paths from the repository root of a loaded check's code, its own file first."""
    if shape.code is None:
        return ()
    return (params[shape.code].rpartition(":")[0], *params.get(MODULES, ()))


def located_code(params: Mapping[str, Any], shape: CheckShape, written_in: str) -> dict[str, Any]:
    """Return the parameters that name code, with paths from the repository root.

    Raises UnreadableError for a path that leads out of the repository.
    """
    if shape.code is None:
        return {}
    path, _, function = params[shape.code].rpartition(":")
    modules = [locate(module, written_in) for module in params.get(MODULES, ())]
    located = {shape.code: f"{locate(path, written_in)}:{function}"}
    return located | ({MODULES: modules} if modules else {})


def named_code(item: Mapping[str, Any], shape: CheckShape | None, written_in: str) -> list[str]:
    """Return the paths of the code that a check names, if it is written as it should be.

    Raises UnreadableError for a path that leads out of the repository.
    """
    written = item.get(shape.code) if shape and shape.code else None
    modules = item.get(MODULES, ())
    if not isinstance(written, str):
        return []
    named = [written.rpartition(":")[0], *(modules if isinstance(modules, list) else ())]
    return [locate(path, written_in) for path in named if isinstance(path, str)]
