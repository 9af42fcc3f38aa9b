"""Reads the files that a promptfoo file names: `file://` values, globs and test files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gatekeeper.contract.formats.reader import Node, SuiteFiles, root_of
from gatekeeper.contract.reading.read import UnreadableError, locate
from gatekeeper.contract.syntax.parsing import BrokenTextError, PythonFunction, read_functions
from gatekeeper.contract.syntax.yaml_positions import Document, parse

FILE = "file://"
_REMOTE = re.compile(r"(?:https?|huggingface|az|s3|gs|package|portkey|langfuse|helicone)://?", re.I)
_PROGRAM = re.compile(
    r"\.(?:js|cjs|mjs|ts|cts|mts|py|rb|sh|bash|exe|bat|cmd|ps1|pl)(?::\w+)?$", re.I
)
_MAGIC = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_ALTERNATIVES = 100


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

    def text(self, node: Node, reference: str) -> tuple[str, str]:
        """Return the path and the text of a file. Raises ContractError at the node."""
        return self.files.uncounted_text(node, reference.removeprefix(FILE), self.root.path)

    def document(self, node: Node, reference: str) -> Node:
        """Return the whole of a YAML or JSON file. Raises ContractError."""
        path, text = self.text(node, reference)
        return root_of(parse(text, path), follows=True)

    def items(self, node: Node, reference: str) -> Iterator[Node]:
        """Yield the items of a YAML or JSON file that holds a list, or else its whole."""
        whole = self.document(node, reference)
        yield from whole.each() if isinstance(whole.value, list) else (whole,)

    def value(self, node: Node, reference: str) -> Any:
        """Return what an assertion's `file://` value holds: data of JSON or YAML, or trimmed text.

        Raises ContractError, and CannotRunError for a program.
        """
        plain = reference.removeprefix(FILE)
        if is_program(plain) or ":" in plain:
            why = f"gatekeeper does not run the program `{plain[:200]}`"
            raise node.cannot_run("file", why)
        if plain.lower().endswith((".json", ".yaml", ".yml")):
            return self.plain(node, plain)
        return self.text(node, plain)[1].strip()

    def plain(self, node: Node, reference: str) -> Any:
        """Return the data of a YAML or JSON file, in which no `$ref` is followed."""
        path, text = self.text(node, reference)
        return parse(text, path).data

    def function(
        self, node: Node, reference: str, default: str, kind: str
    ) -> tuple[str, PythonFunction]:
        """Return `/FILE.py:NAME` and the function that `file://FILE.py:NAME` names, from the source
        alone. Without `:NAME`, it is the `default`.

        Raises ContractError if there is no such file, CannotRunError of the kind if it has no such
        function.
        """
        path, _, name = reference.removeprefix(FILE).partition(":")
        name = name or default
        located, text = self.text(node, path)
        try:
            found = [function for function in read_functions(text) if function.name == name]
        except BrokenTextError:
            raise node.cannot_run(kind, f"{located} is not Python") from None
        if not found:
            raise node.cannot_run(kind, f"{located} defines no function `{name}`")
        return f"/{located}:{name}", found[-1]

    def find(self, node: Node, reference: str, base: str | None = None) -> list[str]:
        """Return the paths that a reference names, from the repository root with a leading `/`: one
        file, or all that match a pattern. Raises ContractError if no file matches."""
        reference = reference.removeprefix(FILE)
        if is_remote(reference):
            fix = "copy the file into the repository, because gatekeeper downloads nothing"
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


def takes_two_values(function: PythonFunction) -> bool:
    """Return whether the function can be called with two values by position."""
    places = len(function.only_by_position) + len(function.by_position_or_name)
    required = places - function.defaults
    enough = places >= 2 or function.takes_any_number
    return required <= 2 and enough and not function.requires_names
