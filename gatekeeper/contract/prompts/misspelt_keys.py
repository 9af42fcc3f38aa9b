"""Finds misspelt keys of GitHub's `.prompt.yml`: an unknown key is metadata, so nothing else would
say that parameters, or all tests, are ignored."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.syntax.yaml_positions import parse_once
from gatekeeper.contract.values.change import Revision
from gatekeeper.errors import ContractError, Problem

PROMPT_FILES = (".prompt.yml", ".prompt.yaml")

_KNOWN = (
    "model",
    "modelParameters",
    "messages",
    "testData",
    "evaluators",
    "responseFormat",
    "jsonSchema",
    "name",
    "description",
)
_ALSO_READ = ("params",)
_OTHER_FILES = ("contract", "pcsl")
"""The keys of files whose keys are checked elsewhere, because they are not prompts."""
_ALIKE = 0.75
"""How similar a key must be to count as a misspelling, from 0 to 1."""


def misspelt_keys(revision: Revision, path: str) -> Iterator[Problem]:
    """Yield each key of a `.prompt.yml` that is nearly a known one which the file does not have;
    nothing for any other file, or one that cannot be read."""
    if not path.lower().endswith(PROMPT_FILES):
        return
    try:
        document = parse_once(read_text(revision, path), path)
    except (UnreadableError, ContractError):
        return  # loading it says so
    data = document.data
    if not isinstance(data, dict) or any(key in data for key in _OTHER_FILES):
        return
    absent = {key.lower(): key for key in _KNOWN if key not in data}
    for key in data:
        if not isinstance(key, str) or key in _KNOWN or key in _ALSO_READ:
            continue
        near = difflib.get_close_matches(_letters(key), sorted(absent), n=1, cutoff=_ALIKE)
        if near:
            what, fix = (
                f"gatekeeper ignores the unknown key `{key}`",
                f"did you mean `{absent[near[0]]}`?",
            )
            yield document.problem((key,), what, fix, at_key=True)


def _letters(key: str) -> str:
    """Return the key in lower case without separators: `test_data` is meant as `testData`."""
    return key.lower().replace("_", "").replace("-", "")
