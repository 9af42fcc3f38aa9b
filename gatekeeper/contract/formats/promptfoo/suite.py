"""Translates a promptfoo file: one native contract for each prompt and provider."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gatekeeper.contract.formats.foreign_suite import (
    ForeignContract,
    ForeignSuite,
    NothingToRunError,
    SuiteFiles,
    build_document,
    contract_path,
)
from gatekeeper.contract.formats.known_keys import meant
from gatekeeper.contract.formats.promptfoo.cases import Case, read_cases
from gatekeeper.contract.formats.promptfoo.contracts import ContractWriter
from gatekeeper.contract.formats.promptfoo.keys import note_keys, referred_keys
from gatekeeper.contract.formats.promptfoo.nodes import Node, Notes, root_of
from gatekeeper.contract.formats.promptfoo.prompts import PromptEntry, read_prompts, slug
from gatekeeper.contract.formats.promptfoo.providers import ProviderEntry, read_providers
from gatekeeper.contract.formats.promptfoo.sources import CannotRunError, Sources
from gatekeeper.contract.syntax.yaml_positions import Document

_MOST_CONTRACTS = 500
_LONGEST_NAME = 100
_NAME = "promptfooconfig"
_PROVIDERS = ("providers", "targets")


def recognises(path: str, data: object) -> bool:
    """Return whether the data is a configuration of promptfoo."""
    if not isinstance(data, dict):
        return False
    if not ("providers" in data or "targets" in data or _is_misspelt(path, data)):
        return False
    parts = ("prompts", "tests", "scenarios", "defaultTest")
    return any(part in data for part in parts) and "messages" not in data


def _is_misspelt(path: str, data: dict[Any, Any]) -> bool:
    """Return whether the file has promptfoo's name and a key that is likely its providers."""
    named = posixpath.basename(path).startswith(_NAME)
    return named and any(meant(str(key), _PROVIDERS) for key in data)


def read(files: SuiteFiles, document: Document) -> ForeignSuite:
    """Translate the file. Raises ContractError."""
    root = root_of(document)
    sources = Sources(files, document)
    notes = Notes()
    note_keys(root, "suite", notes, own=frozenset(referred_keys(document.data)))
    for name in ("evaluateOptions", "commandLineOptions"):
        note_keys(root.child(name), name, notes)
    prompts = read_prompts(sources, root, notes)
    for prompt in prompts if root.get("prompts") else ():
        note_keys(prompt.node, "prompt", notes)
    providers, left_out = read_providers(sources, root)
    for note in left_out:
        notes.add(note)
    cases = read_cases(sources, root, notes)
    pairs = [
        (prompt, provider)
        for prompt in prompts
        for provider in providers
        if prompt.is_named(provider.prompts)
    ]
    if len(pairs) > _MOST_CONTRACTS:
        what = (
            f"{len(prompts)} prompts and {len(providers)} providers make {len(pairs):,} "
            f"contracts, but the limit is {_MOST_CONTRACTS}"
        )
        raise root.problem(what, "remove prompts or providers, or split the file")
    return _translated(sources, root, notes, pairs, cases)


def _translated(
    sources: Sources,
    root: Node,
    notes: Notes,
    pairs: Sequence[tuple[PromptEntry, ProviderEntry]],
    cases: Sequence[Case],
) -> ForeignSuite:
    single, common, left_out = len(pairs) == 1, notes, Notes(dict(notes.found), notes.left_out)
    prompts = {prompt.short for prompt, _ in pairs}
    providers = {provider.short for _, provider in pairs}
    stem = _stem(root.document.path)
    made: list[ForeignContract] = []
    for prompt, provider in pairs:
        parts = [stem]
        parts += [prompt.short] if len(prompts) > 1 else []
        parts += [provider.short] if len(providers) > 1 else []
        name = "-".join(parts)[:_LONGEST_NAME].rstrip("-._")
        own = Notes(dict(common.found), common.left_out)
        try:
            data = ContractWriter(sources, root, own, prompt, provider).data(name, cases)
        except CannotRunError as error:
            own.add(error.note)
            data = None
        if data is None:
            for note in own.found.values():
                left_out.add(note)
            continue
        short = "-".join(parts[1:]) or name
        path = contract_path(root.document.path, short, single=single)
        translated = build_document(path, data, root.position)
        called = (prompt.short, provider.label or provider.model)
        made.append(ForeignContract(translated, own.all(), prompt.made, called))
    if not made:
        raise _nothing(root, left_out)
    others = [note for key, note in left_out.found.items() if key not in common.found]
    return ForeignSuite(
        tuple(replace(one, not_run=tuple(dict.fromkeys((*one.not_run, *others)))) for one in made)
    )


def _nothing(root: Node, notes: Notes) -> NothingToRunError:
    found = notes.all()
    named = "; ".join(f"line {n.position.line}: `{n.kind}`: {n.why}" for n in found[:5])
    what = "gatekeeper can run none of the tests in this file" + (f" ({named})" if named else "")
    fix = "correct one of these parts, or add a test with an assertion that gatekeeper can run"
    problem = root.child("tests").problem(what, fix if named else fix.partition(", or ")[2])
    return NothingToRunError(problem.problems)


def _stem(path: str) -> str:
    """Return a name for the suite: its folders, and the file's own name if it is not the usual."""
    folder, name = posixpath.split(path)
    stem = posixpath.splitext(name)[0]
    parts = [part for part in folder.split("/") if part]
    if not stem.startswith(_NAME):
        parts.append(stem)
    elif stem != _NAME:
        parts.append(stem.removeprefix(_NAME).strip("-._"))
    return slug("-".join(parts), 60) or "promptfoo"
