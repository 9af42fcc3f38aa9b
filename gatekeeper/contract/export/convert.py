"""Writes the contracts of a file as native ones, or for another tool.

A converted contract sends the same requests and evaluates the same checks: both are made of the
same document (contract/formats/foreign_suite.py). What is not run stands in its key `not_run`,
so that reports still name it. That an exported file holds the same requests is proved before
anything is written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from posixpath import join, relpath
from types import ModuleType
from typing import Any, Literal

from gatekeeper.contract.export.exported import Exported, rendered
from gatekeeper.contract.files.contract_document import (
    ContractDocument,
    is_prompt,
    read_contract_documents,
)
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.prompts.kinds import GITHUB_PROMPT
from gatekeeper.contract.prompts.load import parse_prompt
from gatekeeper.contract.prompts.reference import locate_prompt
from gatekeeper.contract.reading.read import UnreadableError, locate
from gatekeeper.contract.syntax.yaml_text import write_yaml
from gatekeeper.contract.values.change import MemoryRevision, Revision
from gatekeeper.contract.values.definition import CheckShape, Contract, NotRun, Prompt
from gatekeeper.errors import ContractError, Problem, UsageError

ExportFormat = Literal["github", "openai-evals"]
Shapes = Mapping[str, CheckShape]

_NOT_RUN = "not_run:\n"


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """A file to write: `path` from the repository root, and `text`."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Converted:
    """A contract, and the files that hold it now, the first of which is the contract.

    `checks` is how many checks the files hold, and `fixtures` how many fixtures. `left_out` is what
    they lack or gatekeeper does not run, `differs` what the other tool does in another way.
    """

    contract: Contract
    files: tuple[ConvertedFile, ...]
    fixtures: int
    checks: int
    left_out: tuple[NotRun, ...]
    differs: tuple[NotRun, ...] = ()

    def keeps_prompt_of(self, file: str) -> bool:
        """Return whether the native contract uses the foreign file as its prompt."""
        return len(self.files) == 1 and self.contract.target.prompt.path == file


def convert(
    revision: Revision, file: str, folder: str, shapes: Shapes, to: ExportFormat | None = None
) -> tuple[Converted, ...]:
    """Return the contracts of a file as native ones, or `to` the format of another tool, to be
    written into a folder.

    Paths are from the repository root. Raises ContractError, also for a contract of which nothing
    can be exported, and UsageError for a file of which there is nothing to convert.
    """
    try:
        documents = read_contract_documents(revision, file)
    except UnreadableError as error:
        raise ContractError([Problem(file, error.what, error.fix, error.line)]) from None
    for read in documents:
        nothing = None if read.is_foreign else _nothing_to_convert(file, read.document.data, to)
        if nothing is not None:
            raise UsageError(nothing)
    if to is None:
        return tuple(_as_native(revision, read, folder, shapes) for read in documents)
    found = [_exported(revision, read, folder, to, shapes) for read in documents]
    paths = [made.path for contract in found for made in contract.files]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise UsageError(
            f"two contracts of {file} have the same output file {twice}; rename one of the "
            "contracts"
        )
    return tuple(found)


def _nothing_to_convert(file: str, data: Any, to: ExportFormat | None) -> str | None:
    """Say why a file that is no suite of another tool cannot be converted, and what to do; None if
    it is a contract that can be exported."""
    if isinstance(data, dict) and is_prompt(file, data):
        end, command = ("export", "generate") if to else ("convert", "init")
        advice = f"run `gatekeeper {command}`, which writes a contract for this prompt"
        if to is None and file.lower().endswith(GITHUB_PROMPT):
            advice = f"add `testData` and `evaluators` to this file, or {advice}"
        return f"{file} is a prompt without tests, so there is nothing to {end}; {advice}"
    return None if to else f"gatekeeper does not recognise {file} as a file of another tool"


def _as_native(
    revision: Revision, read: ContractDocument, folder: str, shapes: Shapes
) -> Converted:
    path, data = read.document.path, read.document.data
    contract = load_contract(revision, path, shapes)
    moved = _Moved(read.file, folder, shapes)
    prompt, place = contract.target.prompt, locate_prompt(data["prompt"], path)
    own = {"prompt": moved.path(f"/{place.path}") + place.part}
    files: list[ConvertedFile] = []
    if read.prompt is not None or (place.part and place.path == read.file):
        files.append(_prompt_file(prompt, folder, contract.name))
        own = {"prompt": relpath(files[0].path, folder or "."), "template": "jinja"}
    fixtures = [moved.checks_of(item) for item in data["fixtures"]]
    written = {**moved.checks_of(data), **own, "fixtures": fixtures}
    header = f"# Converted from {' '.join(read.file.split())}.\n"
    text = header + write_yaml(written) + _not_run_key(contract.not_run)
    made = (ConvertedFile(join(folder, f"{contract.name}.yaml"), text), *files)
    return Converted(contract, made, len(fixtures), len(contract.checks), contract.not_run)


def _not_run_key(not_run: tuple[NotRun, ...]) -> str:
    """Return the key `not_run`. Comments say where its entries come from."""
    text = _NOT_RUN if not_run else ""
    for part in not_run:
        entry = write_yaml({"not_run": [{"kind": part.kind, "why": part.why}]})
        text += f"# {_place(part)}\n{entry.removeprefix(_NOT_RUN)}"
    return text


def _place(part: NotRun) -> str:
    return " ".join(f"{part.position.path}:{part.position.line or 1}".split())


def _prompt_file(prompt: Prompt, folder: str, name: str) -> ConvertedFile:
    """Return a file with the messages of the prompt: text for one message of the user, and else a
    list of messages."""
    messages = [{"role": m.role, "content": m.content} for m in prompt.messages]
    if len(messages) == 1 and messages[0]["role"] == "user":
        # The line end at the end of a text file is removed when the file is read.
        plain = ConvertedFile(join(folder, f"{name}.prompt.txt"), f"{messages[0]['content']}\n")
        read = parse_prompt(plain.text, plain.path, "jinja")
        if [{"role": m.role, "content": m.content} for m in read.messages] == messages:
            return plain
    text = json.dumps(messages, ensure_ascii=False, indent=2) + "\n"
    return ConvertedFile(join(folder, f"{name}.prompt.json"), text)


@dataclass(frozen=True, slots=True)
class _Moved:
    """The parts of a contract of a file, with paths that are relative to another folder."""

    file: str
    folder: str
    shapes: Shapes

    def path(self, reference: str) -> str:
        """Return a path relative to the other folder, or from the root if it leads out of it."""
        located = locate(reference, self.file)
        found = relpath(located, self.folder or ".")
        return f"/{located}" if found.startswith("../") else found

    def checks_of(self, holder: Mapping[str, Any]) -> dict[str, Any]:
        """Return a contract, a fixture or a check with the checks that it holds."""
        checks = holder.get("checks")
        return {**holder, **({"checks": [self._check(item) for item in checks]} if checks else {})}

    def _check(self, item: Mapping[str, Any]) -> dict[str, Any]:
        moved = self.checks_of(item)
        kind = moved.get("type") or next((k for k in ("judge", "python") if k in moved), "")
        shape = self.shapes[str(kind)]
        for name in shape.paths:
            if isinstance(moved.get(name), str):
                moved[name] = self.path(moved[name])
        if shape.code and isinstance(moved.get(shape.code), str):
            code, colon, function = moved[shape.code].rpartition(":")
            moved[shape.code] = f"{self.path(code)}{colon}{function}"
        return moved


def _exported(
    revision: Revision, read: ContractDocument, folder: str, to: ExportFormat, shapes: Shapes
) -> Converted:
    contract = load_contract(revision, read.document.path, shapes)
    if contract.target.steps:
        at = read.document.position(("steps",))
        what = "other tools test only one prompt, so a contract with `steps` cannot be exported"
        fix = "write a contract for one of these prompts, and export that contract"
        raise ContractError([at.problem(what, fix)])
    made = _format(to).export(contract, read.document)
    if not made.texts:
        raise ContractError([_nothing(contract, made)])
    checks = _prove(contract, made, shapes)
    missing = (*read.not_run, *made.not_exported)
    header = _header(contract, missing, made.differs)
    files = tuple(
        ConvertedFile(
            join(folder, path), (header if path.endswith((".yml", ".yaml")) else "") + text
        )
        for path, text in made.texts.items()
    )
    fixtures = max(len(sent) for sent in made.read_back.values())
    return Converted(contract, files, fixtures, checks, missing, made.differs)


def _format(to: ExportFormat) -> ModuleType:
    from gatekeeper.contract.export import github_prompt, openai_registry

    return github_prompt if to == "github" else openai_registry


def _nothing(contract: Contract, made: Exported) -> Problem:
    names = {check.name for check in contract.every_check()}
    first = next((p for p in made.not_exported if p.kind in names), made.not_exported[0])
    what = (
        "no check of this contract can be exported to this format; for example, "
        f"`{first.kind}` cannot, because {first.why}"
    )
    fix = "export to another format, or add a check that this format supports"
    return first.position.problem(what, fix)


def _header(contract: Contract, missing: Sequence[NotRun], differs: Sequence[NotRun]) -> str:
    lines = [f"Exported from {contract.path} by `gatekeeper convert`."]
    for title, parts in (("Not exported", missing), ("Differs", differs)):
        lines += [f"{title}: {p.kind} ({_place(p)}): {p.why.rstrip('.')}." for p in parts]
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
            what = "the exported file would send other messages than the contract"
            fix = "report this difference as a bug of gatekeeper; gatekeeper wrote no file"
            raise ContractError([Problem(contract.path, what, fix)])
    return checks
