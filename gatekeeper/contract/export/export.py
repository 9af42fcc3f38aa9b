"""Exports the contracts of a file to a file of another tool, and proves that it holds the same
requests before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import join
from types import ModuleType
from typing import Literal

from gatekeeper.contract.export.convert import ConvertedFile
from gatekeeper.contract.export.exported import Exported, rendered
from gatekeeper.contract.files.contract_document import (
    ContractDocument,
    is_prompt,
    read_contract_documents,
)
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.values.change import MemoryRevision, Revision
from gatekeeper.contract.values.definition import CheckShape, Contract, NotRun
from gatekeeper.errors import ContractError, Problem, UsageError

ExportFormat = Literal["github", "openai-evals"]
Shapes = Mapping[str, CheckShape]


@dataclass(frozen=True, slots=True)
class ExportedContract:
    """A contract, the files that hold it for the other tool, and how many fixtures and checks of it
    they hold. `not_exported` is what they lack, `differs` what the other tool does in another
    way."""

    contract: Contract
    files: tuple[ConvertedFile, ...]
    fixtures: int
    checks: int
    not_exported: tuple[NotRun, ...]
    differs: tuple[NotRun, ...]


def export_contracts(
    revision: Revision, file: str, folder: str, to: ExportFormat, shapes: Shapes
) -> tuple[ExportedContract, ...]:
    """Return the contracts of a file as files of another tool, to be written into a folder.

    Paths are from the repository root. Raises ContractError, also for a contract of which nothing
    can be exported, and UsageError for a file without contracts.
    """
    try:
        documents = read_contract_documents(revision, file)
    except UnreadableError as error:
        raise ContractError([Problem(file, error.what, error.fix, error.line)]) from None
    data = documents[0].document.data
    if not documents[0].is_foreign and isinstance(data, dict) and is_prompt(file, data):
        raise UsageError(
            f"{file} is a prompt without tests, so there is nothing to export; "
            "run `gatekeeper generate`, which writes a contract for this prompt"
        )
    found = [_exported(revision, read, folder, to, shapes) for read in documents]
    paths = [made.path for contract in found for made in contract.files]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        what = (
            f"two contracts of {file} have the same output file {twice}; rename one of the "
            "contracts"
        )
        raise UsageError(what)
    return tuple(found)


def _exported(
    revision: Revision, read: ContractDocument, folder: str, to: ExportFormat, shapes: Shapes
) -> ExportedContract:
    contract = load_contract(revision, read.document.path, shapes)
    if contract.target.steps:
        at = read.document.position(("steps",))
        what = (
            "gatekeeper cannot export a contract with `steps`, because other tools test only one "
            "prompt"
        )
        fix = "write a contract for one of these prompts, and export that contract"
        raise ContractError([at.problem(what, fix)])
    made = _format(to).export(contract, read.document)
    if not made.texts:
        raise ContractError([_nothing(contract, made)])
    checks = _prove(contract, made, shapes)
    missing = (*read.not_run, *made.not_exported)
    header = _header(contract, missing, made.differs)
    texts = {
        path: header + text if path.endswith((".yml", ".yaml")) else text
        for path, text in made.texts.items()
    }
    files = tuple(ConvertedFile(join(folder, path), text) for path, text in texts.items())
    fixtures = max(len(sent) for sent in made.read_back.values())
    return ExportedContract(contract, files, fixtures, checks, missing, made.differs)


def _format(to: ExportFormat) -> ModuleType:
    from gatekeeper.contract.export import github_prompt, openai_registry

    return github_prompt if to == "github" else openai_registry


def _nothing(contract: Contract, made: Exported) -> Problem:
    names = {check.name for check in contract.every_check()}
    first = next((part for part in made.not_exported if part.kind in names), None)
    first = first or made.not_exported[0]
    at = first.position
    what = (
        "no check of this contract can be exported to this format; for example, "
        f"`{first.kind}` cannot, because {first.why}"
    )
    fix = "export to another format, or add a check that this format supports"
    return at.problem(what, fix)


def _header(contract: Contract, missing: tuple[NotRun, ...], differs: tuple[NotRun, ...]) -> str:
    lines = [f"Exported from {contract.path} by `gatekeeper convert`."]
    for title, parts in (("Not exported", missing), ("Differs", differs)):
        for part in parts:
            at = f"{part.position.path}:{part.position.line or 1}"
            lines.append(f"{title}: {part.kind} ({at}): {part.why.rstrip('.')}.")
    return "".join(f"# {' '.join(line.split())}\n" for line in lines)


def _prove(contract: Contract, made: Exported, shapes: Shapes) -> int:
    """Return the number of checks that the files hold. Raises ContractError if gatekeeper does not
    read the same messages in them."""
    files = {path: text.encode("utf-8", "surrogatepass") for path, text in made.texts.items()}
    checks = 0
    for path, sent in made.read_back.items():
        read = load_contract(MemoryRevision(files), path, shapes)
        checks += len(read.checks)
        if rendered(read, read.fixtures) != sent:
            what = (
                "the messages of the exported file would differ from the messages of the contract"
            )
            fix = "report this difference as a bug of gatekeeper; gatekeeper wrote no file"
            raise ContractError([Problem(contract.path, what, fix)])
    return checks
