"""Reads the contracts of a file as documents: one native contract, or those that a foreign file
holds.

Whoever needs a contract by its path comes here: `FILE` is a file of its own, `FILE#name` one of the
contracts of a foreign file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from gatekeeper.contract.formats.foreign_suite import file_of_contract
from gatekeeper.contract.formats.recognise import read_suite
from gatekeeper.contract.prompts.kinds import without_template_suffix
from gatekeeper.contract.prompts.load import front_matter_document
from gatekeeper.contract.prompts.skills import SkillRouting, read_routing
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.syntax.yaml_positions import Document, parse_once
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import NotRun, Prompt
from gatekeeper.errors import ContractError, Problem

_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class ContractDocument:
    """The data of one contract. `file` is the file that holds it, `paths` and `patterns` what else
    was read to translate it; `prompt` is its prompt if no file holds that as it is sent. `not_run`
    is what a foreign file asks for and gatekeeper does not do, or what a native contract lists."""

    document: Document
    file: str
    is_foreign: bool = False
    not_run: tuple[NotRun, ...] = ()
    paths: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    prompt: Prompt | None = None
    parts: tuple[str, ...] = ()
    """What a suite of another tool calls the prompt and the model."""
    routing: SkillRouting | None = None
    """What a contract with `skills` was made of."""

    @property
    def shown(self) -> Mapping[str, str]:
        """Return the files of which only a part matters, and that part."""
        return self.routing.shown if self.routing else {}


def read_contract_documents(revision: Revision, file: str) -> tuple[ContractDocument, ...]:
    """Return the contracts of a file: one, as it is, unless the file is foreign.

    Raises UnreadableError and ContractError.
    """
    document = _parse(read_text(revision, file), file)
    if routing := read_routing(revision, document):
        found = ContractDocument(routing.document, file, prompt=routing.prompt, routing=routing)
        return (replace(found, patterns=routing.patterns),)
    suite = read_suite(revision, document)
    if suite is None:
        return (ContractDocument(document, file, not_run=_listed_as_not_run(document)),)
    return tuple(
        ContractDocument(
            contract.document,
            file,
            True,
            contract.not_run,
            suite.paths,
            suite.patterns,
            contract.prompt,
            contract.parts,
        )
        for contract in suite.contracts
    )


def read_contract_document(revision: Revision, path: str) -> ContractDocument:
    """Return the contract at `FILE` or `FILE#name`.

    Raises ContractError, also if the file holds several and none of them is named.
    """
    file = file_of(revision, path)
    try:
        found = read_contract_documents(revision, file)
    except UnreadableError as error:
        raise ContractError([Problem(file, error.what, error.fix, error.line)]) from None
    paths = [contract.document.path for contract in found]
    if path in paths:
        return found[paths.index(path)]
    names = ", ".join(f"`{known}`" for known in paths[:_MOST_NAMED])
    what = "the file holds several contracts" if path == file else f"there is no contract `{path}`"
    raise ContractError([Problem(file, what, f"name one of {names}")])


def _listed_as_not_run(document: Document) -> tuple[NotRun, ...]:
    """Return what a native contract lists as `not_run`, which `gatekeeper convert` writes. Leaves
    out broken entries, which the schema reports when the contract is loaded."""
    listed = document.data.get("not_run") if isinstance(document.data, dict) else None
    return tuple(
        NotRun(part["kind"], document.position(("not_run", index)), part["why"])
        for index, part in enumerate(listed if isinstance(listed, list) else ())
        if isinstance(part, dict)
        and isinstance(part.get("kind"), str)
        and isinstance(part.get("why"), str)
    )


def is_prompt(file: str, data: Mapping[str, Any]) -> bool:
    """Return whether the file is a prompt without tests: a `.prompty`, a `.prompt.yml`, or the
    prompt or checks of a PCSL triple without its profile."""
    if "contract" in data:
        return False
    return (
        _is_prompty(file)
        or "pcsl" in data
        or ("prompt" not in data and isinstance(data.get("messages"), list))
    )


def file_of(revision: Revision, path: str) -> str:
    """Return the file that holds the contract at the path."""
    return path if path in revision.entries else file_of_contract(path)


def contract_paths_of(revision: Revision, path: str) -> list[str]:
    """Return the paths of every contract that the path names: several for a foreign file; the path
    itself if the file cannot be read, which loading it reports."""
    if path not in revision.entries:
        return [path]
    try:
        return [found.document.path for found in read_contract_documents(revision, path)]
    except (UnreadableError, ContractError):
        return [path]


def _parse(text: str, path: str) -> Document:
    if _is_prompty(path):
        return _front_matter(text, path)
    return parse_once(text, path)


def _is_prompty(path: str) -> bool:
    return without_template_suffix(path).endswith(".prompty")


_front_matter = lru_cache(maxsize=256)(front_matter_document)
