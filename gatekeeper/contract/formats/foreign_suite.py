"""Types of the seam between foreign files and native contracts.

A format is a module with two functions:

    def recognises(path: str, data: object) -> bool: ...
    def read(files: SuiteFiles, root: Node) -> tuple[ForeignContract, ...]: ...

`recognises` looks at the parsed data and is called for every file that the policy's patterns match
and that is no native contract; it must be quick. `read` translates the document to native
contracts, and raises ContractError with positions in the foreign file. It reads other files
through `files` alone, which is also a Revision, so that a change of any of them affects the
contracts. Name the module in `recognise.py`. `reader.py` reads fields and their places, and
`rows.py` says how a table of assertions is written.

To write a translated document, build the data of a native contract in which values are wrapped in
`At(value, position)`, and give it to `build_document`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from posixpath import basename
from typing import Any

from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, field_name
from gatekeeper.contract.values.definition import NotRun, Position, Prompt
from gatekeeper.errors import ContractError, Problem

# The name of a contract has no slash, and the files have one of these suffixes.
_IN_FILE = re.compile(
    r"(?P<file>.+\.(?:ya?ml|json|jsonl|prompty)(?:\.j2|\.jinja2?)?)#[A-Za-z0-9][A-Za-z0-9._-]*",
    re.I,
)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._]+")
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class ForeignContract:
    """A contract that a foreign file holds. `document` has the data of a native contract with
    positions in foreign files; its path is that of the file, or `FILE#name` if the file holds
    several. `not_run` lists what the file asks for and gatekeeper does not do.

    `prompt` is for a prompt that no file holds as it is sent, such as one to which a program
    appends the input. Its `path` is the file that has its text, which the key `prompt` of the
    document names too; its templates are Jinja. `parts` is what the suite calls the prompt and the
    model: they stay the same if the suite gets further ones, which the name may not.
    """

    document: Document
    not_run: tuple[NotRun, ...] = ()
    prompt: Prompt | None = None
    parts: tuple[str, ...] = ()


class BrokenSuiteError(ContractError):
    """A foreign file that cannot be translated. `paths` and `patterns` are other files that belong
    to it."""

    paths: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()


class NothingToRunError(BrokenSuiteError):
    """A foreign file without a mistake, of which gatekeeper can run nothing."""


def nothing_runs(error: ContractError, notes: Sequence[NotRun]) -> ContractError:
    """Return an error that stands at the first part that is not run, if that is why there is
    nothing to run."""
    if not notes:
        return error
    at, problem = notes[0].position, error.problems[0]
    return NothingToRunError([replace(problem, path=at.path, line=at.line, column=at.column)])


@dataclass(frozen=True, slots=True)
class At:
    """A value of a translated document, and the place in a foreign file that it comes from."""

    value: Any
    position: Position


@dataclass(frozen=True, slots=True)
class TranslatedDocument(Document):
    """A native contract that no file holds as such. `origins` maps values to their places in the
    foreign files; a value without one has that of the nearest value around it."""

    origins: Mapping[KeyPath, Position] = field(default_factory=dict)

    def position(self, key: KeyPath = ()) -> Position:
        """Return the place in a foreign file that the value comes from."""
        while key and key not in self.origins:
            key = key[:-1]
        return self.origins.get(key, Position(file_of_contract(self.path), 1, 1))

    def problem(
        self,
        key: KeyPath,
        what: str,
        fix: str,
        *,
        at_key: bool = False,  # noqa: ARG002
    ) -> Problem:
        """Return a problem at the place in the foreign file that the value comes from: keys have
        no place of their own."""
        at = self.position(key)
        return Problem(at.path, what, fix, at.line, at.column, field_name(key) or None)


def file_of_contract(path: str) -> str:
    """Return the file of a contract's path: `FILE` of `FILE#name`, and else the path itself."""
    match = _IN_FILE.fullmatch(path)
    return match["file"] if match else path


def contract_name(text: str, otherwise: str) -> str:
    """Return a text as the name of a contract, such as `sentiment-v1` for `Sentiment (v1)`."""
    plain = _NOT_IN_A_NAME.sub("-", text.strip()).strip("-._").lower()[:_LONGEST_NAME].strip("-._")
    return plain or otherwise


def name_of_contract(written: object, path: str, otherwise: str) -> str:
    """Return the name that a file gives its contract, or else a name for the file itself."""
    own = written if isinstance(written, str) else ""
    return contract_name(own, contract_name(basename(path).split(".")[0], otherwise))


def name_of_model(name: str) -> str:
    """Return a model with its provider: without one, it is a model of OpenAI."""
    return name if "/" in name else f"openai/{name}"


def build_document(path: str, tree: Mapping[str, Any], at: Position) -> TranslatedDocument:
    """Build the document of a translated contract.

    `tree` is the data of a native contract, in which any value may be wrapped in `At`. `at` is the
    place of the whole.
    """
    origins: dict[KeyPath, Position] = {(): at}

    def unwrap(value: Any, key: KeyPath) -> Any:
        if isinstance(value, At):
            origins[key] = value.position
            return unwrap(value.value, key)
        if isinstance(value, Mapping):
            return {name: unwrap(item, (*key, name)) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [unwrap(item, (*key, index)) for index, item in enumerate(value)]
        return value

    return TranslatedDocument(path, unwrap(tree, ()), origins=origins)
