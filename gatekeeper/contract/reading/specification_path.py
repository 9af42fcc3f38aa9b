"""Which files are specifications of prompts: neither prompts nor contracts."""

from __future__ import annotations

import re

from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.values.change import Revision

SUFFIX = ".spec.yaml"
KEYS = (
    "version", "prompt", "intent", "input", "rules", "questions", "scenarios", "instructions",
    "metrics", "made",
)  # fmt: skip
"""All keys of a specification."""
_OTHER = re.compile(rf"^(?!(?:{'|'.join(KEYS)}):|[ #]|-(?: |$)|$)", re.MULTILINE)
_REQUIRED = tuple(re.compile(rf"^{key}: *[^\s{{[|>&*!]", re.MULTILINE) for key in KEYS[:2])


def is_specification(path: str) -> bool:
    """Return whether the path is that of a specification, by its name alone."""
    return path.lower().endswith(SUFFIX)


def holds_specification(revision: Revision, path: str) -> bool:
    """Return whether the path and the keys of the file are those of a specification: with other
    keys, a program can use the file as a prompt."""
    if not is_specification(path):
        return False
    try:
        text = read_text(revision, path)
    except UnreadableError:
        return False
    return all(key.search(text) for key in _REQUIRED) and not _OTHER.search(text)
