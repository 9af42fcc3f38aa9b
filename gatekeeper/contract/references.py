"""What a contract refers to, read without validating it: enough to see that nothing changed.

Finding the closure needs neither jsonschema nor Jinja2, so that hundreds of contracts which a
pull request does not touch cost next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gatekeeper.contract.change import Revision, prefetch
from gatekeeper.contract.check_specs import SCHEMA_SUFFIXES, schema_references
from gatekeeper.contract.fixtures import read_rows
from gatekeeper.contract.model import CheckShape
from gatekeeper.contract.positions import parse, parse_once
from gatekeeper.contract.prompt import parse_prompt
from gatekeeper.contract.read import UnreadableError, locate, read_text
from gatekeeper.errors import ContractError

# A statement that may name another file. Names in quotes are found one by one.
_STATEMENT = re.compile(r"\{%[-+]?\s*(?:include|import|from|extends)\b(.*?)%\}", re.DOTALL)
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)

# Rows can only have checks of their own where the word stands, plain or escaped.
_MAY_HAVE_CHECKS = re.compile(r"checks|\\u00[4-7]|\\x[4-7]|\\U")


# A prompt file can only name a recording where the word stands, plain or escaped.
_MAY_NAME_A_RECORDING = re.compile(r"recorded|\\[uUx]")
_RECORDED = "recorded/"


def recording_path(model: str) -> str | None:
    """The path from the repository root that a model `recorded/PATH` answers from."""
    return model.removeprefix(_RECORDED) if model.startswith(_RECORDED) else None


@dataclass(frozen=True, slots=True)
class Sketch:
    """A contract file at a glance. `closure` is every path it depends on, itself included.

    `sound` is False where something could not be read or followed: only loading the contract
    tells what is wrong with it.
    """

    path: str
    name: str | None
    prompt: str | None
    closure: frozenset[str]
    sound: bool
    is_contract: bool = True


@dataclass
class References:
    """Finds what contracts of one revision refer to. Each file is looked into once."""

    revision: Revision
    shapes: Mapping[str, CheckShape]
    _sketches: dict[str, Sketch] = field(default_factory=dict)
    _inside: dict[tuple[str, str], frozenset[str] | None] = field(default_factory=dict)

    def sketches(self, paths: Sequence[str]) -> list[Sketch]:
        """The contract files at a glance, after reading them and what they name at once."""
        prefetch(self.revision, paths)
        prefetch(self.revision, [named for path in paths for named in self._named(path)])
        return [self.sketch(path) for path in paths]

    def _named(self, path: str) -> Iterator[str]:
        """The prompt and the fixture files, as far as they can be told."""
        try:
            data = parse_once(read_text(self.revision, path), path).data
        except (UnreadableError, ContractError):
            return
        if isinstance(data, dict):
            files = (item.get("file") for item in _items(data.get("fixtures")))
            located = (self._located(name, path)[0] for name in (data.get("prompt"), *files))
            yield from (name for name in located if name is not None)

    def sketch(self, path: str) -> Sketch:
        if path not in self._sketches:
            self._sketches[path] = self._look(path)
        return self._sketches[path]

    def _look(self, path: str) -> Sketch:
        try:
            data = parse_once(read_text(self.revision, path), path).data
        except (UnreadableError, ContractError):
            return Sketch(path, None, None, frozenset({path}), sound=False)
        if not isinstance(data, dict):
            return Sketch(path, None, None, frozenset({path}), sound=False, is_contract=False)
        closure: set[str] = {path}
        prompt, sound = self._located(data.get("prompt"), path)
        if prompt is not None:
            sound &= self._add(prompt, "prompt", closure)
        for item in _items(data.get("fixtures")):
            sound &= self._add_fixtures(item, path, closure)
        sound &= self._add_checks(data.get("checks"), path, closure)
        closure |= self._recording(data.get("model"), prompt)
        name = data.get("name")
        return Sketch(
            path,
            name if isinstance(name, str) else None,
            prompt,
            frozenset(closure),
            sound and isinstance(name, str),
            "contract" in data,
        )

    def _recording(self, model: Any, prompt: str | None) -> frozenset[str]:
        """What the contract's model answers from, or else the prompt's."""
        if not model and prompt is not None:
            if (prompt, "model") not in self._inside:
                self._inside[prompt, "model"] = self._prompt_recording(prompt)
            return self._inside[prompt, "model"] or frozenset()
        recording = recording_path(model) if isinstance(model, str) else None
        return frozenset({recording}) if recording else frozenset()

    def _prompt_recording(self, prompt: str) -> frozenset[str]:
        try:
            text = read_text(self.revision, prompt)
            named = _MAY_NAME_A_RECORDING.search(text)
            model = parse_prompt(text, prompt).model if named else None
        except (UnreadableError, ContractError):
            return frozenset()  # loading the contract tells what is wrong
        return self._recording(model, None)

    def _add_fixtures(self, item: dict[str, Any], path: str, closure: set[str]) -> bool:
        if "file" not in item or "vars" in item:
            return self._add_checks(item.get("checks"), path, closure)
        fixtures, sound = self._located(item["file"], path)
        return sound and fixtures is not None and self._add(fixtures, "fixtures", closure)

    def _add_checks(self, checks: Any, path: str, closure: set[str]) -> bool:
        sound = True
        for item in _items(checks):
            shape = self.shapes.get(str(item.get("type")))
            for value in [item.get(name) for name in shape.paths] if shape else []:
                if isinstance(value, str):
                    schema, found = self._located(value, path)
                    sound &= found and schema is not None and self._add(schema, "schema", closure)
                else:
                    sound &= self._add_all(_schema_files(value, path), "schema", closure)
        return sound

    def _located(self, reference: Any, path: str) -> tuple[str | None, bool]:
        try:
            return (locate(reference, path), True) if isinstance(reference, str) else (None, False)
        except UnreadableError:
            return None, False

    def _add(self, path: str, kind: str, closure: set[str]) -> bool:
        """The file and all that it refers to; False where that cannot be told."""
        if path in closure:
            return True
        closure.add(path)
        if (path, kind) not in self._inside:
            self._inside[path, kind] = self._read_inside(path, kind)
        return self._add_all(
            self._inside[path, kind], "schema" if kind != "prompt" else kind, closure
        )

    def _add_all(self, paths: frozenset[str] | None, kind: str, closure: set[str]) -> bool:
        if paths is None:
            return False
        # A list, so that the closure is whole even where one file is not to be had.
        return False not in [self._add(path, kind, closure) for path in paths]

    def _read_inside(self, path: str, kind: str) -> frozenset[str] | None:
        try:
            text = read_text(self.revision, path)
            if kind == "prompt":
                return _template_files(text, path)
            if kind == "schema":
                known = path.lower().endswith(SCHEMA_SUFFIXES)
                return _schema_files(parse(text, path).data, path) if known else frozenset()
            return self._row_files(text, path)
        except (UnreadableError, ContractError):
            return None

    def _row_files(self, text: str, path: str) -> frozenset[str] | None:
        if not _MAY_HAVE_CHECKS.search(text):
            return frozenset()
        found: set[str] = set()
        for row in read_rows(text, path):
            checks = row.data.get("checks") if isinstance(row.data, dict) else None
            if not self._add_checks(checks, path, found):
                return None
        return frozenset(found)


def _items(value: Any) -> Iterator[dict[str, Any]]:
    return (
        (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
    )


def _template_files(text: str, path: str) -> frozenset[str] | None:
    """Every quoted name in a statement that takes files. More than are really included does
    no harm: the contract is then loaded, and compared in full."""
    found: set[str] = set()
    # A structured prompt file writes its templates with quotes and escapes of its own.
    if "{%" in text and path.lower().removesuffix(".j2").endswith(SCHEMA_SUFFIXES):
        text = "\n".join(_texts(parse(text, path).data))
    for statement in _STATEMENT.finditer(text):
        for match in _QUOTED.finditer(statement.group(1)):
            name = match.group(1) if match.group(1) is not None else match.group(2)
            if "\\" in name:
                return None
            try:
                found.add(locate(name, path))
            except UnreadableError:
                return None
    return frozenset(found)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _texts(item)


def _schema_files(schema: Any, path: str) -> frozenset[str] | None:
    found: set[str] = set()
    for reference in schema_references(schema):
        target = reference.split("#", 1)[0]
        try:
            if target and "://" not in target:
                found.add(locate(target, path))
        except UnreadableError:
            return None
    return frozenset(found)
