"""Where the specification of a prompt is: a file that is neither a prompt nor a contract."""

from __future__ import annotations

SUFFIX = ".spec.yaml"


def is_specification(path: str) -> bool:
    """Return whether the path is that of a specification, by its name alone."""
    return path.lower().endswith(SUFFIX)
