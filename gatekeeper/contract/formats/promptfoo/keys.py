"""The keys of promptfoo's files, read in its sources in November 2026."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gatekeeper.contract.formats.known_keys import Keys, keys, unknown_keys, unknown_keywords
from gatekeeper.contract.formats.promptfoo.nodes import Node, Notes

_ATTACKS = "gatekeeper does not generate attacks; write each attack as a test"
_CONFIG = "gatekeeper does not pass this setting to functions"

KEYS: Mapping[str, Keys] = {
    "suite": keys(
        "prompts providers targets tests scenarios defaultTest evaluateOptions commandLineOptions",
        "metadata outputPath sharing tags tracing writeLatestResults assertionTemplates "
        "definitions $defs",
        not_run={
            "assertScoringFunction": (
                "promptfoo reads a scoring function only in `defaultTest` or in a test; move it "
                "there"
            ),
            "derivedMetrics": "gatekeeper does not compute metrics from other metrics",
            "env": "gatekeeper does not set environment variables from this file",
            "extensions": "gatekeeper does not run extensions, because they are programs",
            "nunjucksFilters": (
                "gatekeeper does not run custom filters of Nunjucks, because they are programs"
            ),
            "redteam": _ATTACKS,
            "strategies": _ATTACKS,
            "plugins": _ATTACKS,
        },
    ),
    "evaluateOptions": keys(
        "repeat",
        "cache delay eventSource generateSuggestions interactiveProviders isRedteam "
        "maxConcurrency maxEvalTimeMs showProgressBar silent timeoutMs",
    ),
    "commandLineOptions": keys(
        "repeat",
        "cache delay maxConcurrency noShare output progressBar share table tableCellMaxLength "
        "verbose watch write",
    ),
    "prompt": keys("id raw label config", "display"),
    "provider": keys(
        "id label config prompts transform transformResponse responseParser",
        "delay",
        not_run={"env": "gatekeeper does not set environment variables from this file"},
    ),
    "scenario": keys("config tests"),
    "tests of a file": keys("path", not_run={"config": "gatekeeper reads no other settings"}),
    "test": keys(
        "assert assertScoringFunction description options prompts provider providers "
        "providerOutput threshold vars metadata"
    ),
    "options": keys(
        "disableVarExpansion disableDefaultAsserts postprocess prefix provider repeat rubricPrompt "
        "suffix transform transformVars",
        "disableConversationVar runSerially",
    ),
    "assertion": keys(
        "type value threshold weight provider rubricPrompt metric transform contextTransform",
        not_run={"config": _CONFIG},
    ),
    "assert-set": keys("type assert weight metric threshold", not_run={"config": _CONFIG}),
    "is-sql value": keys("databaseType allowedTables allowedColumns"),
    "word-count value": keys("min max"),
    "is-xml value": keys("requiredElements"),
    "grader": keys(
        "id text embedding",
        "label classification moderation",
        not_run={"config": "gatekeeper's judges do not use these settings"},
    ),
}
_VALUES = {
    **dict.fromkeys(("is-sql", "contains-sql"), "is-sql value"),
    **dict.fromkeys(("is-xml", "contains-xml"), "is-xml value"),
    "word-count": "word-count value",
}


def note_keys(node: Node, kind: str, notes: Notes, own: Collection[str] = ()) -> None:
    """Add a note on each key of an object that is not run, unless it is among `own`. Promptfoo
    ignores keys that it does not know. Raises ContractError for a misspelt key."""
    for note in unknown_keys(node.document, node.key, node.value, KEYS[kind], own=own):
        notes.add(note)


def referred_keys(value: Any) -> Iterator[str]:
    """Yield the keys of the file from which `$ref` takes values."""
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            yield reference.split("/")[1]
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            yield from referred_keys(item)


def note_keys_of_assertion(node: Node, notes: Notes) -> None:
    """Add a note on each key of an assertion, of its value and of its provider that is not run.

    Raises ContractError for a misspelt key.
    """
    kind = str(node.get("type"))
    note_keys(node, "assert-set" if kind == "assert-set" else "assertion", notes)
    note_keys(node.child("provider"), "grader", notes)
    kind, value = kind.removeprefix("not-"), node.child("value")
    if kind in _VALUES:
        note_keys(value, _VALUES[kind], notes)
    if kind in ("is-json", "contains-json"):
        for note in unknown_keywords(value.document, value.key, value.value):
            notes.add(note)
    for part in node.child("assert").list() if kind == "assert-set" else ():
        note_keys_of_assertion(part, notes)
