"""The keys of promptfoo's files, read in its sources in November 2026."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gatekeeper.contract.formats.promptfoo.assertion_types import ROWS, SET
from gatekeeper.contract.formats.reader import Keys, Node, Notes, keys

_ATTACKS = "gatekeeper does not generate attacks; write each attack as a test"
_CONFIG = "gatekeeper does not pass this setting to functions"

KEYS: Mapping[str, Keys] = {
    "suite": keys(
        "prompts providers targets tests scenarios defaultTest evaluateOptions commandLineOptions",
        "metadata outputPath sharing tags tracing writeLatestResults assertionTemplates "
        "definitions $defs",
        assertScoringFunction=(
            "promptfoo reads a scoring function only in `defaultTest` or in a test; move it there"
        ),
        derivedMetrics="gatekeeper does not compute metrics from other metrics",
        env="gatekeeper does not set environment variables from this file",
        extensions="gatekeeper does not run extensions, because they are programs",
        nunjucksFilters=(
            "gatekeeper does not run custom filters of Nunjucks, because they are programs"
        ),
        redteam=_ATTACKS,
        strategies=_ATTACKS,
        plugins=_ATTACKS,
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
        env="gatekeeper does not set environment variables from this file",
    ),
    "scenario": keys("config tests"),
    "tests of a file": keys("path", config="gatekeeper reads no other settings"),
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
        config=_CONFIG,
    ),
    SET: keys("type assert weight metric threshold", config=_CONFIG),
    "grader": keys(
        "id text embedding",
        "label classification moderation",
        config="gatekeeper's judges do not use these settings",
    ),
    **{f"{row.kinds[0]} value": row.keys for row in ROWS.values() if row.keys},
}


def note_keys(node: Node, kind: str, notes: Notes, own: Collection[str] = ()) -> None:
    """Add a note on each key of an object that is not run, unless it is among `own`. Promptfoo
    ignores keys that it does not know. Raises ContractError for a misspelt key."""
    notes.add(*node.unknown_keys(KEYS[kind], own=own))


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
    note_keys(node, SET if kind == SET else "assertion", notes)
    note_keys(node.child("provider"), "grader", notes)
    kind, value = kind.removeprefix("not-"), node.child("value")
    table = ROWS[kind].keys if kind in ROWS else None
    if table:
        notes.add(*value.unknown_keys(table))
    if kind in ("is-json", "contains-json"):
        notes.add(*value.unknown_keywords())
    for part in node.child("assert").each() if kind == SET else ():
        note_keys_of_assertion(part, notes)
