"""The repair steps by name, and how they are applied to an output.

Each application is noted in a ledger: the step, digests of the text before and after it, and
whether the meaning changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from gatekeeper.checks.reading.output import NotJson, parse_json
from gatekeeper.checks.repairs.extract_json import extract_json
from gatekeeper.checks.repairs.letter_case import lowercase, lowercase_fields
from gatekeeper.checks.repairs.loose_json import json_loose_parse
from gatekeeper.checks.repairs.markdown_fences import strip_markdown_fences
from gatekeeper.contract.reading.same_json import same_json
from gatekeeper.contract.reading.thoughts import without_thoughts
from gatekeeper.contract.values.definition import RepairMode, RepairPolicy
from gatekeeper.contract.values.trial import AppliedRepair, Meaning

_LINE_ENDS = re.compile(r"\r\n?")


def strip_whitespace(text: str) -> str:
    """Remove the white space around the text."""
    return text.strip()


def normalize_newlines(text: str) -> str:
    """Write every line end as a line feed."""
    return _LINE_ENDS.sub("\n", text)


Step = Callable[[str], str]

STRIP_THOUGHTS = "strip_thoughts"

STEPS: Mapping[str, Step] = {
    STRIP_THOUGHTS: without_thoughts,
    "strip_whitespace": strip_whitespace,
    "normalize_newlines": normalize_newlines,
    "strip_markdown_fences": strip_markdown_fences,
    "extract_json": extract_json,
    "json_loose_parse": json_loose_parse,
    "lowercase": lowercase,
}
"""The steps that need nothing but the text."""

LOWERCASE_FIELDS = "lowercase_fields"
NAMES = (*STEPS, LOWERCASE_FIELDS)


@dataclass(frozen=True, slots=True)
class Repaired:
    """An output after the repairs. `texts` are the texts before each applied step, the raw output
    first; `ledger` says what each one did."""

    output: str
    texts: tuple[str, ...] = ()
    ledger: tuple[AppliedRepair, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the steps that changed the text, in order."""
        return tuple(applied.step for applied in self.ledger)


def repair(text: str, policy: RepairPolicy, mode: RepairMode) -> Repaired:
    """Apply the steps of a contract to a text, in order.

    At most `policy.max_steps` steps change the text. In mode `observe` none does. Raises KeyError
    for a step that does not exist, which the contract's schema already refuses.
    """
    if mode == "observe":
        return Repaired(text)
    texts: list[str] = []
    ledger: list[AppliedRepair] = []
    for name in policy.steps:
        if len(ledger) >= policy.max_steps:
            break
        repaired = _step(name, policy)(text)
        if repaired != text:
            # Thoughts are no part of what the answer means.
            meaning = "same" if name == STRIP_THOUGHTS else compare_meaning(text, repaired)
            ledger.append(AppliedRepair(name, _digest(text), _digest(repaired), meaning))
            texts.append(text)
            text = repaired
    return Repaired(text, tuple(texts), tuple(ledger))


def _step(name: str, policy: RepairPolicy) -> Step:
    if name == LOWERCASE_FIELDS:
        return partial(lowercase_fields, fields=policy.lowercase_fields)
    return STEPS[name]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


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
