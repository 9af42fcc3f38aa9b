"""Reads the files that a promptfoo file names: `file://` values, globs and test files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gatekeeper.contract.fixtures.fixtures import csv_lines
from gatekeeper.contract.formats.foreign_suite import SuiteFiles
from gatekeeper.contract.formats.promptfoo.nodes import Node, root_of
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.syntax.yaml_positions import Document, parse, parse_json, parse_yaml
from gatekeeper.contract.values.definition import NotRun
from gatekeeper.errors import ContractError, Problem

FILE = "file://"
_REMOTE = re.compile(r"(?:https?|huggingface|az|s3|gs|package|portkey|langfuse|helicone)://?", re.I)
_PROGRAM = re.compile(
    r"\.(?:js|cjs|mjs|ts|cts|mts|py|rb|sh|bash|exe|bat|cmd|ps1|pl)(?::\w+)?$", re.I
)
_MAGIC = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_ALTERNATIVES = 100


class CannotRunError(Exception):
    """A part of the suite that gatekeeper does not run; the rest of it can go on."""

    def __init__(self, note: NotRun) -> None:
        super().__init__(note.why)
        self.note = note


def cannot_run(node: Node, kind: str, why: str) -> CannotRunError:
    """Return the error that names something at this place as not run."""
    return CannotRunError(node.not_run(kind, why))


def is_remote(reference: str) -> bool:
    """Return whether the reference names something outside of the repository."""
    return _REMOTE.match(reference) is not None


def is_program(reference: str) -> bool:
    """Return whether the reference names a program, by its suffix."""
    return _PROGRAM.search(reference) is not None or reference.startswith("exec:")


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of one suite. Paths in values are relative to its own file, wherever they stand."""

    files: SuiteFiles
    root: Document

    def text(self, node: Node, reference: str, base: str | None = None) -> tuple[str, str]:
        """Return the path and the text of a file. Raises ContractError at the node."""
        try:
            path = locate(reference.removeprefix(FILE), base or self.root.path)
            self.files.paths.add(path)
            return path, read_text(self.files, path)
        except UnreadableError as error:
            raise node.problem(error.what, error.fix) from None

    def document(self, node: Node, reference: str, base: str | None = None) -> Document:
        """Return a YAML or JSON file, parsed. Raises ContractError."""
        path, text = self.text(node, reference, base)
        return parse(text, path)

    def find(self, node: Node, reference: str, base: str | None = None) -> list[str]:
        """Return the paths that a reference names, from the repository root with a leading `/`: one
        file, or all that match a pattern. Raises ContractError if no file matches."""
        reference = reference.removeprefix(FILE)
        if is_remote(reference):
            fix = (
                "copy the file into the repository and write the path of the copy; gatekeeper "
                "downloads nothing"
            )
            raise node.problem(f"`{reference[:200]}` is not in the repository", fix)
        try:
            path = locate(reference, base or self.root.path)
        except UnreadableError as error:
            raise node.problem(error.what, error.fix) from None
        if not _MAGIC.search(path) or path in self.files.entries:
            return ["/" + path]
        found = [
            name for pattern in _without_braces(node, path) for name in self.files.find(pattern)
        ]
        if not found:
            raise node.problem(f"no file matches `{reference}`", "correct the pattern")
        return ["/" + name for name in dict.fromkeys(found)]

    def cases(self, node: Node, reference: str, base: str | None = None) -> Iterator[Node]:
        """Yield the test cases of the test files that a reference names.

        Raises ContractError for a file that cannot be read, CannotRunError for a program.
        """
        plain = reference.removeprefix(FILE)
        if is_program(plain):
            why = "gatekeeper does not run programs that write tests; write the tests into a file"
            raise cannot_run(node, "tests", f"`{plain[:200]}`: {why}")
        for path in self.find(node, plain, base):
            yield from self._file_cases(node, path)

    def _file_cases(self, node: Node, reference: str) -> Iterator[Node]:
        lower = reference.lower()
        if is_program(reference):
            why = "gatekeeper does not run programs that write tests; write the tests into a file"
            raise cannot_run(node, "tests", f"`{reference}`: {why}")
        path, text = self.text(node, reference)
        if lower.endswith(".csv"):
            from gatekeeper.contract.formats.promptfoo.csv_tests import row_case

            for line, row in csv_rows(text, path):
                yield row_case(row, path, line)
        elif lower.endswith(".jsonl"):
            for number, line_text in enumerate(text.split("\n"), start=1):
                if line_text.strip():
                    yield root_of(parse_json(line_text, path, number))
        elif lower.endswith((".yaml", ".yml", ".json")):
            whole = root_of(
                parse_json(text, path) if lower.endswith(".json") else parse_yaml(text, path)
            )
            yield from whole.list() if isinstance(whole.value, list) else (whole,)
        else:
            fix = "use a file of the type .csv, .jsonl, .json or .yaml"
            raise node.problem(f"gatekeeper cannot read tests from `{path}`", fix)


def csv_rows(text: str, path: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the line and the cells of each row. Raises ContractError."""
    header: list[str] | None = None
    for line, cells in csv_lines(text.removeprefix("\ufeff"), path):
        if header is None:
            header = [cell.strip() for cell in cells]
            continue
        if len(cells) != len(header):
            what = f"the header has {len(header)} columns, but this row has {len(cells)}"
            fix = "if a cell contains a comma or a line break, put the cell in double quotes"
            raise ContractError([Problem(path, what, fix, line)])
        yield line, dict(zip(header, cells, strict=True))


def _without_braces(node: Node, pattern: str) -> list[str]:
    """Return the patterns that `{a,b}` in a pattern stands for."""
    patterns = [pattern]
    while any(_BRACES.search(one) for one in patterns):
        parted: list[str] = []
        for one in patterns:
            match = _BRACES.search(one)
            if match is None:
                parted.append(one)
                continue
            before, after = one[: match.start()], one[match.end() :]
            parted += [posixpath.normpath(before + a + after) for a in match[1].split(",")]
        patterns = parted
        if len(patterns) > _MOST_ALTERNATIVES:
            what = f"the pattern has more than {_MOST_ALTERNATIVES} alternatives"
            raise node.problem(what, "write a simpler pattern")
    return patterns


def file_value(sources: Sources, node: Node, reference: str) -> Any:
    """Return what an assertion's `file://` value holds: data of JSON or YAML, or trimmed text.

    Raises ContractError, and CannotRunError for a program.
    """
    plain = reference.removeprefix(FILE)
    if is_program(plain) or ":" in plain:
        why = f"gatekeeper does not run the program `{plain[:200]}`"
        raise cannot_run(node, "file", why)
    if plain.lower().endswith((".json", ".yaml", ".yml")):
        return sources.document(node, plain).data
    return sources.text(node, plain)[1].strip()
