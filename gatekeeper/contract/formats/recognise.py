"""Recognises foreign files by their content, and reads each of them once.

The table of formats is here. A file with the key `contract` is a native contract and never looked
at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from gatekeeper.contract.formats.foreign_suite import (
    BrokenSuiteError,
    ForeignContract,
    nothing_runs,
)
from gatekeeper.contract.formats.reader import SuiteFiles, root_of
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.reading.read import UnreadableError, locate
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.values.change import Revision
from gatekeeper.errors import ContractError

_MOST_KEPT = 128
_MOST_CONTRACTS = 500
"""The most contracts in one foreign file. The combinations of prompts and models can be any
number."""
_MOST_VALUES = 10_000
_LONGEST_PATH = 300


@cache
def known_formats() -> tuple[ModuleType, ...]:
    """Return the formats in the order in which they are tried. Only a file that is no native
    contract needs them; foreign_suite.py says what their modules have."""
    from gatekeeper.contract.formats import (
        github_prompt,
        harness,
        openai_evals,
        openai_registry,
        pcsl,
        promptfoo,
        prompty,
    )

    return (promptfoo, github_prompt, prompty, pcsl, harness, openai_evals, openai_registry)


@dataclass(frozen=True, slots=True)
class ReadSuite:
    """A foreign file as read: its contracts, and the files and patterns that they depend on, its
    own file not among them."""

    contracts: tuple[ForeignContract, ...]
    paths: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()


def find_format(path: str, data: object) -> ModuleType | None:
    """Return the format of a foreign file; None for a native contract and anything else."""
    if not isinstance(data, dict | list) or "contract" in data:
        return None
    return next((known for known in known_formats() if known.recognises(path, data)), None)


def read_suite(revision: Revision, document: Document) -> ReadSuite | None:
    """Return the contracts of a foreign file; None if it is none. Raises BrokenSuiteError.

    The last files are kept: the sketch of a contract, its loading, and base and head all read the
    same one.
    """
    found = find_format(document.path, document.data)
    if found is None:
        return None
    for known, suite, state in reversed(_kept):
        if known is document and state == _state(revision, suite):
            return suite
    files = SuiteFiles(revision)
    try:
        contracts = _contracts(found, files, document)
    except BrokenSuiteError as error:
        _note_named(files, document)
        error.paths, error.patterns = frozenset(files.paths), frozenset(files.patterns)
        raise
    paths = frozenset(files.paths - {document.path})
    suite = ReadSuite(contracts, paths, frozenset(files.patterns))
    _kept.append((document, suite, _state(revision, suite)))
    return suite


def _note_named(files: SuiteFiles, document: Document) -> None:
    """Remember the files that a suite names but that were not read, because of a mistake in it."""
    values: list[Any] = [document.data]
    for value in values:  # it grows by what is inside
        if isinstance(value, dict | list) and len(values) <= _MOST_VALUES:
            values += value.values() if isinstance(value, dict) else value
        elif isinstance(value, str) and len(value) <= _LONGEST_PATH:
            with suppress(UnreadableError):
                path = locate(value.removeprefix("file://"), document.path)
                (files.patterns if "*" in path else files.paths).add(path)


def _contracts(
    found: ModuleType, files: SuiteFiles, document: Document
) -> tuple[ForeignContract, ...]:
    try:
        contracts: tuple[ForeignContract, ...] = found.read(files, root_of(document))
        _require_sound(document, contracts)
    except RecursionError:
        what = "the file has too many nested levels for gatekeeper"
        problem = document.problem((), what, "flatten the file")
        raise BrokenSuiteError([problem]) from None
    except BrokenSuiteError:
        raise
    except ContractError as error:
        raise BrokenSuiteError(error.problems) from None
    return contracts


def _require_sound(document: Document, contracts: tuple[ForeignContract, ...]) -> None:
    if not contracts:
        what, fix = "this file tests nothing", "add a prompt and at least one test"
        raise ContractError([document.problem((), what, fix)])
    if len(contracts) > _MOST_CONTRACTS:
        what = f"the file makes {len(contracts):,} contracts, but the limit is {_MOST_CONTRACTS}"
        raise ContractError([document.problem((), what, "split the file")])
    for contract in contracts:
        if contract.not_run and not _has_checks(contract.document.data):
            first = contract.not_run[0]
            what = (
                "gatekeeper can run nothing in this file; for example, gatekeeper does not run "
                f"`{first.kind}`, because {first.why}"
            )
            fix = "add a check that gatekeeper supports, or take the file out of `contracts`"
            raise nothing_runs(ContractError([document.problem((), what, fix)]), contract.not_run)
    paths = [contract.document.path for contract in contracts]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        what = f"two contracts in this file have the name `{twice.rpartition('#')[2]}`"
        raise ContractError([document.problem((), what, "give each contract its own name")])


def _has_checks(data: Mapping[str, Any]) -> bool:
    fixtures = (item for item in data.get("fixtures", ()) if isinstance(item, Mapping))
    return bool(data.get("checks")) or any(item.get("checks") for item in fixtures)


_kept: deque[tuple[Document, ReadSuite, object]] = deque(maxlen=_MOST_KEPT)
"""The suites that were read last, each with the document and the files that it was made of."""


def _state(revision: Revision, suite: ReadSuite) -> object:
    """Return the files on which a suite depends: as long as they are the same, so is the suite."""
    entries = revision.entries
    ids = {path: entries[path].id if path in entries else None for path in suite.paths}
    return ids, {pattern: set(matching(entries, pattern)) for pattern in suite.patterns}
