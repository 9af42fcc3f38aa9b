"""Writes the contracts of a foreign file as native contracts.

A converted contract sends the same requests and evaluates the same checks: both are made of the
same document (contract/formats/foreign_suite.py). What is not run stands in its key `not_run`,
so that reports still name it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import join, relpath
from typing import Any

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
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import CheckShape, Contract, NotRun, Prompt
from gatekeeper.errors import ContractError, Problem, UsageError

Shapes = Mapping[str, CheckShape]

_NOT_RUN = "not_run:\n"


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """A file to write: `path` from the repository root, and `text`."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class ConvertedContract:
    """A contract of a foreign file, and the files that hold it now; the first is the contract."""

    contract: Contract
    files: tuple[ConvertedFile, ...]

    def keeps_prompt_of(self, file: str) -> bool:
        """Return whether the native contract uses the foreign file as its prompt."""
        return len(self.files) == 1 and self.contract.target.prompt.path == file


def convert(
    revision: Revision, file: str, folder: str, shapes: Shapes
) -> tuple[ConvertedContract, ...]:
    """Return the contracts of a foreign file as native ones, to be written into a folder.

    Paths are from the repository root. Raises ContractError, and UsageError for a file that is
    native already.
    """
    try:
        documents = read_contract_documents(revision, file)
    except UnreadableError as error:
        raise ContractError([Problem(file, error.what, error.fix, error.line)]) from None
    native = next((found for found in documents if not found.is_foreign), None)
    if native is not None:
        raise UsageError(_nothing_to_convert(file, native.document.data))
    return tuple(_converted(revision, document, folder, shapes) for document in documents)


def _nothing_to_convert(file: str, data: Any) -> str:
    """Say why a file has no contract of another tool, and what to do."""
    if isinstance(data, dict) and is_prompt(file, data):
        advice = "run `gatekeeper init`, which writes a contract for this prompt"
        if file.lower().endswith(GITHUB_PROMPT):
            advice = f"add `testData` and `evaluators` to this file, or {advice}"
        return f"{file} is a prompt without tests, so there is nothing to convert; {advice}"
    return f"gatekeeper does not recognise {file} as a file of another tool"


def _converted(
    revision: Revision, read: ContractDocument, folder: str, shapes: Shapes
) -> ConvertedContract:
    path = read.document.path
    contract = load_contract(revision, path, shapes)
    moved = _Moved(read.file, folder, shapes)
    data = moved.contract(read.document.data)
    prompt = contract.target.prompt
    files: list[ConvertedFile] = []
    place = locate_prompt(read.document.data["prompt"], path)
    if read.prompt is not None or (place.part and place.path == read.file):
        written = _prompt_file(prompt, folder, contract.name)
        files.append(written)
        data["prompt"] = relpath(written.path, folder or ".")
        data["template"] = "jinja"
    header = f"# Converted from {' '.join(read.file.split())}.\n"
    text = header + write_yaml(data) + _not_run_key(contract.not_run)
    made = ConvertedFile(join(folder, f"{contract.name}.yaml"), text)
    return ConvertedContract(contract, (made, *files))


def _not_run_key(not_run: tuple[NotRun, ...]) -> str:
    """Return the key `not_run`. Comments say where its entries come from."""
    text = _NOT_RUN if not_run else ""
    for part in not_run:
        place = f"{part.position.path}:{part.position.line or 1}"
        entry = write_yaml({"not_run": [{"kind": part.kind, "why": part.why}]})
        text += f"# {' '.join(place.split())}\n{entry.removeprefix(_NOT_RUN)}"
    return text


def _prompt_file(prompt: Prompt, folder: str, name: str) -> ConvertedFile:
    """Return a file with the messages of the prompt: text for one message of the user, and else a
    list of messages."""
    messages = [{"role": m.role, "content": m.content} for m in prompt.messages]
    if len(messages) == 1 and messages[0]["role"] == "user":
        # The line end at the end of a text file is removed when the file is read.
        content = f"{messages[0]['content']}\n"
        plain = ConvertedFile(join(folder, f"{name}.prompt.txt"), content)
        if _same_messages(plain, prompt):
            return plain
    text = json.dumps(messages, ensure_ascii=False, indent=2) + "\n"
    return ConvertedFile(join(folder, f"{name}.prompt.json"), text)


def _same_messages(file: ConvertedFile, prompt: Prompt) -> bool:
    read = parse_prompt(file.text, file.path, "jinja")
    return [(m.role, m.content) for m in read.messages] == [
        (m.role, m.content) for m in prompt.messages
    ]


@dataclass(frozen=True, slots=True)
class _Moved:
    """A contract whose paths are relative to another folder."""

    file: str
    folder: str
    shapes: Shapes

    def contract(self, data: Mapping[str, Any]) -> dict[str, Any]:
        moved = dict(data)
        place = locate_prompt(moved["prompt"], self.file)
        moved["prompt"] = self._path(f"/{place.path}") + place.part
        moved["fixtures"] = [self._fixture(item) for item in moved["fixtures"]]
        if moved.get("checks"):
            moved["checks"] = [*self._checks(moved["checks"])]
        if moved.get("groups"):
            moved["groups"] = {
                name: {**group, "checks": [*self._checks(group["checks"])]}
                for name, group in moved["groups"].items()
            }
        return moved

    def _fixture(self, item: Mapping[str, Any]) -> dict[str, Any]:
        moved = dict(item)
        if "vars" not in moved and isinstance(moved.get("file"), str):
            moved["file"] = self._path(moved["file"])
        if moved.get("checks"):
            moved["checks"] = [*self._checks(moved["checks"])]
        return moved

    def _checks(self, checks: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        for item in checks:
            moved = dict(item)
            kind = moved.get("type") or next((k for k in ("judge", "python") if k in moved), "")
            shape = self.shapes.get(str(kind))
            for name in shape.paths if shape else ():
                if isinstance(moved.get(name), str):
                    moved[name] = self._path(moved[name])
            if shape and shape.code and isinstance(moved.get(shape.code), str):
                code, colon, function = moved[shape.code].rpartition(":")
                moved[shape.code] = f"{self._path(code)}{colon}{function}"
                if "modules" in moved:
                    moved["modules"] = [self._path(module) for module in moved["modules"]]
            if shape and shape.composed:
                moved["checks"] = [*self._checks(moved["checks"])]
            yield moved

    def _path(self, reference: str) -> str:
        """Return a path relative to the other folder, or from the root if it leads out of it."""
        located = locate(reference, self.file)
        found = relpath(located, self.folder or ".")
        return f"/{located}" if found.startswith("../") else found
