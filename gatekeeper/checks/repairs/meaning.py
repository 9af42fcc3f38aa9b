"""Compares what an output means before and after a repair."""

from __future__ import annotations

from typing import Any

from gatekeeper.checks.output import NotJson, parse_json, same_json
from gatekeeper.checks.repairs.extract_json import extract_json
from gatekeeper.checks.repairs.loose_json import json_loose_parse
from gatekeeper.checks.repairs.markdown_fences import strip_markdown_fences
from gatekeeper.contract.trial import Meaning


def compare_meaning(before: str, after: str) -> Meaning:
    """Return whether a repair changed the meaning: `same`, `changed` or `unknown`.

    Two texts with JSON in them are compared as JSON. Other texts that differ in white space alone
    mean the same; of all others it is unknown.
    """
    if before.split() == after.split() and isinstance(parse_json(after), NotJson):
        return "same"
    then, now = _json_in(before), _json_in(after)
    if isinstance(then, NotJson) or isinstance(now, NotJson):
        return "unknown"
    return "same" if same_json(then, now) else "changed"


def _json_in(text: str) -> Any | NotJson:
    """Return the JSON of a text: all of it, or the document in a block of code or in prose."""
    for candidate in (text, extract_json(strip_markdown_fences(text.strip()))):
        for read in (candidate, json_loose_parse(candidate)):
            found = parse_json(read)
            if not isinstance(found, NotJson):
                return found
    return found
