"""Finds the files that a contract refers to, without validating it: enough to see that nothing
changed.

Finding these files needs no jsonschema, and Jinja2 only for prompts that may include a file, so
hundreds of contracts that a pull request does not change cost very little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal

from gatekeeper.contract.checks.check_specs import (
    SCHEMA_SUFFIXES,
    check_type,
    named_code,
    schema_references,
)
from gatekeeper.contract.checks.judge_settings import judges_named_in
from gatekeeper.contract.files.contract_document import (
    ContractDocument,
    is_prompt,
    read_contract_documents,
)
from gatekeeper.contract.fixtures.attachments import SUFFIXES, written_files
from gatekeeper.contract.fixtures.fixtures import own_checks, read_rows
from gatekeeper.contract.formats.foreign_suite import BrokenSuiteError
from gatekeeper.contract.prompts.kinds import may_hide_words, may_include, prompt_kind
from gatekeeper.contract.prompts.load import parse_prompt, parse_written
from gatekeeper.contract.prompts.reference import (
    PromptReference,
    locate_prompt,
    read_reference,
    written_prompt,
)
from gatekeeper.contract.prompts.styles.evidence import declared_style
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.reading.size_limits import (
    MOST_APPLIED,
    MOST_FIXTURE_FILES,
    MOST_FIXTURES,
    MOST_STEPS,
)
from gatekeeper.contract.syntax.yaml_positions import parse, parse_once
from gatekeeper.contract.templates.client import NotATemplate, find_included
from gatekeeper.contract.values.change import Revision, prefetch
from gatekeeper.contract.values.definition import CheckShape, TemplateStyle
from gatekeeper.errors import ContractError

Shapes = Mapping[str, CheckShape]

# Rows can only have checks or files of their own if the word stands in the text, plain or escaped;
# a prompt file can only name a recording if that word does.
_CHECKS = "checks"
_FILES = "files"
_RECORDED = "recorded"
_RECORDING = "recorded/"

_Kind = Literal["prompt", "include", "fixtures", "schema", "data"]
# What a file of each kind refers to is of this kind.
_REFERRED: dict[_Kind, _Kind] = {
    "prompt": "include",
    "include": "include",
    "fixtures": "schema",
    "schema": "schema",
    "data": "data",
}
# The files of a contract, each with what it is taken for: one file may be taken for several.
_Closure = set[tuple[str, _Kind]]


def recording_path(model: str) -> str | None:
    """Return the path from the repository root that a model `recorded/PATH` answers from."""
    return model.removeprefix(_RECORDING) if model.startswith(_RECORDING) else None


@dataclass(frozen=True, slots=True)
class Sketch:
    """A short description of a contract file. `closure` is every path that it depends on, itself
    included.

    `sound` is False if something could not be read or followed: only loading the contract tells
    what is wrong with it. `readable` is False if this is the file itself, which may be a contract
    or not.
    """

    path: str
    name: str | None
    prompt: str | None
    closure: Set[str]
    sound: bool
    is_contract: bool = True
    readable: bool = True
    file: str = ""
    patterns: Set[str] = frozenset()
    is_foreign: bool = False
    is_prompt: bool = False
    steps: tuple[tuple[str, str], ...] = ()
    """The name of each step and the reference of its prompt."""
    parts: tuple[str, ...] = ()
    """What a suite of another tool calls the prompt and the model."""
    shown: Mapping[str, str] = field(default_factory=dict)
    """The files of which it shows a part alone, and that part: the description of a skill."""
    tools: tuple[str, ...] = ()
    """The files of `tools`, whose descriptions are prompts too."""

    @property
    def tested(self) -> Set[str]:
        """Return the files that it tests as a whole."""
        return self.closure - self.shown.keys()

    @property
    def prompts(self) -> tuple[str, ...]:
        """The reference of every prompt that is known, the contract's own first."""
        return (*([self.prompt] if self.prompt else []), *(prompt for _, prompt in self.steps))

    def depends_on(self, changed: Set[str]) -> bool:
        """Return whether one of the changed paths is in the closure or matches a pattern."""
        if not self.closure.isdisjoint(changed):
            return True
        return any(True for pattern in self.patterns for _ in matching(changed, pattern))


@dataclass
class References:
    """Finds the files that contracts of one revision refer to. Each file is read once."""

    revision: Revision
    shapes: Shapes
    _inside: dict[tuple[str, _Kind], frozenset[str] | None] = field(default_factory=dict)
    _recordings: dict[str, frozenset[str]] = field(default_factory=dict)

    def sketches(self, files: Sequence[str]) -> list[Sketch]:
        """Return a short description of each contract of the files, after reading the files and
        those that they name at once."""
        prefetch(self.revision, files)
        prefetch(self.revision, [named for file in files for named in self._named(file)])
        return [sketch for file in files for sketch in self._look(file)]

    def _named(self, path: str) -> Iterator[str]:
        """Return the prompt and the fixture files, as far as they are known."""
        try:
            data = parse_once(read_text(self.revision, path), path).data
        except (UnreadableError, ContractError):
            return
        if isinstance(data, dict):
            items = islice(_items(data.get("fixtures")), MOST_FIXTURE_FILES)
            files = (self._located(item.get("file"), path)[0] for item in items)
            prompt, _ = _located_prompt(written_prompt(data), path)
            places = (prompt, *(place for _, place in _steps(data, path)))
            yield from filter(None, (*(place.path for place in places if place), *files))

    def _look(self, file: str) -> list[Sketch]:
        try:
            found = read_contract_documents(self.revision, file)
        except BrokenSuiteError as error:
            # What is wrong in a file that it reads may be mended there alone.
            paths = {file, *error.paths, *(problem.path for problem in error.problems)}
            broken = Sketch(file, None, None, paths, sound=False, file=file, is_foreign=True)
            return [replace(broken, patterns=error.patterns)]
        except (UnreadableError, ContractError):
            return [Sketch(file, None, None, {file}, sound=False, readable=False, file=file)]
        return [self._sketch(contract) for contract in found]

    def _sketch(self, contract: ContractDocument) -> Sketch:
        document, file = contract.document, contract.file
        path, data = document.path, document.data
        if not isinstance(data, dict):
            return Sketch(path, None, None, {file}, sound=False, is_contract=False, file=file)
        if is_prompt(file, data):
            nothing = Sketch(path, None, None, {file}, sound=True, is_contract=False, file=file)
            return replace(nothing, is_prompt=True)
        closure: _Closure = set()
        place, sound = _located_prompt(written_prompt(data), path)
        prompt = str(place) if place else None
        style = declared_style(data)
        if place is not None and contract.prompt is None and contract.routing is None:
            sound &= self._add_prompt(place, style, closure)
        steps = _steps(data, path)
        for _, step in steps:
            sound &= step is not None and self._add_prompt(step, style, closure)
        user = data.get("user")
        if isinstance(user, dict) and "prompt" in user:
            text, found = self._located(user["prompt"], path)
            sound &= found and text is not None and self._add(text, "schema", closure)
        tools: list[str] = []
        for key in ("tools", "tool_results"):
            named = data.get(key)
            for reference in named if isinstance(named, list) else [named]:
                if isinstance(reference, str):
                    text, found = self._located(reference, path)
                    sound &= found and text is not None and self._add(text, "data", closure)
                    tools += [text] if text and key == "tools" else []
        files = 0
        for item in _items(data.get("fixtures")):
            files += "file" in item
            if files > MOST_FIXTURE_FILES:
                sound = False  # loading the contract refuses it
                break
            sound &= self._add_fixtures(item, path, closure)
        groups = data.get("groups")
        parts = [*groups.values()] if isinstance(groups, dict) else []
        parts += _items(data.get("steps"))
        for checks in (data.get("checks"), *(part.get("checks") for part in _items(parts))):
            sound &= self._add_checks(checks, path, closure)
        judges = map(recording_path, judges_named_in(data))
        name = data.get("name")
        paths = {file, *contract.paths, *contract.shown, *(named for named, _ in closure)}
        sound &= not (contract.routing and contract.routing.problems)
        return Sketch(
            path,
            name if isinstance(name, str) else None,
            prompt,
            paths.union(self._recording(data.get("model"), prompt), filter(None, judges)),
            sound and isinstance(name, str),
            "contract" in data,
            file=file,
            patterns=contract.patterns,
            shown=contract.shown,
            is_foreign=contract.is_foreign,
            parts=contract.parts,
            steps=tuple((name, str(step)) for name, step in steps if step is not None),
            tools=tuple(tools),
        )

    def _recording(self, model: Any, prompt: str | None) -> frozenset[str]:
        """Return the recording of the contract's model, or else of the prompt's."""
        if not model and prompt is not None:
            if prompt not in self._recordings:
                self._recordings[prompt] = self._prompt_recording(prompt)
            return self._recordings[prompt]
        recording = recording_path(model) if isinstance(model, str) else None
        return frozenset({recording}) if recording else frozenset()

    def _prompt_recording(self, prompt: str) -> frozenset[str]:
        try:
            place = read_reference(prompt)
            if place.part:
                return frozenset()  # a part of a file names no model
            text = read_text(self.revision, prompt)
            named = _RECORDED in text or may_hide_words(text)
            model = parse_written(text, prompt).model if named else None
        except (UnreadableError, ContractError):
            return frozenset()  # loading the contract tells what is wrong
        return self._recording(model, None)

    def _add_prompt(self, place: PromptReference, style: Any, closure: _Closure) -> bool:
        """Add the file of a prompt, and what that prompt includes. Only Jinja includes files, and
        not in a constant of code; other parts of its file are no part of the prompt."""
        if style not in (None, "jinja") or place.constant:
            closure.add((place.path, "prompt"))
            return True
        if not place.part and style is None:
            return self._add(place.path, "prompt", closure)
        closure.add((place.path, "prompt"))
        known: tuple[str, _Kind] = (f"{place} {style}", "prompt")
        if known not in self._inside:
            self._inside[known] = self._read_prompt(place, style)
        return self._add_all(self._inside[known], "include", closure)

    def _read_prompt(
        self, place: PromptReference, style: TemplateStyle | None = None
    ) -> frozenset[str] | None:
        try:
            return _prompt_files(read_text(self.revision, place.path), place, style)
        except (UnreadableError, ContractError):
            return None

    def _add_fixtures(self, item: dict[str, Any], path: str, closure: _Closure) -> bool:
        if "file" not in item or "vars" in item:
            sound = self._add_checks(item.get("checks"), path, closure)
            return self._add_all(_attached(item, path), "schema", closure) and sound
        fixtures, sound = self._located(item["file"], path)
        return sound and fixtures is not None and self._add(fixtures, "fixtures", closure)

    def _add_checks(self, checks: Any, path: str, closure: _Closure) -> bool:
        sound = True
        for item in _items(checks):
            shape = self.shapes.get(str(check_type(item)))
            try:
                sound &= self._add_all(frozenset(named_code(item, shape, path)), "schema", closure)
            except UnreadableError:
                sound = False
            if shape and shape.composed:
                sound &= self._add_checks(item.get("checks"), path, closure)
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

    def _add(self, path: str, kind: _Kind, closure: _Closure) -> bool:
        """Add the file and all that it refers to; return False if the references are not known."""
        if (path, kind) in closure:
            return True
        closure.add((path, kind))
        if (path, kind) not in self._inside:
            self._inside[path, kind] = self._read_inside(path, kind)
        return self._add_all(self._inside[path, kind], _REFERRED[kind], closure)

    def _add_all(self, paths: frozenset[str] | None, kind: _Kind, closure: _Closure) -> bool:
        if paths is None:
            return False
        # A list, so that the closure is whole even if one file is not to be had.
        return False not in [self._add(path, kind, closure) for path in paths]

    def _read_inside(self, path: str, kind: _Kind) -> frozenset[str] | None:
        try:
            if kind == "prompt":
                return self._read_prompt(PromptReference(path))
            if kind == "data" or path.lower().endswith(SUFFIXES):  # these name no other file
                return frozenset() if path in self.revision.entries else None
            text = read_text(self.revision, path)
            if kind == "include":
                # An included file is one template, whatever its suffix.
                named = may_include(text, "text")
                return _included_files([text], path) if named else frozenset()
            if kind == "fixtures":
                return self._row_files(text, path)
            known = path.lower().endswith(SCHEMA_SUFFIXES)
            return _schema_files(parse(text, path).data, path) if known else frozenset()
        except (UnreadableError, ContractError):
            return None

    def _row_files(self, text: str, path: str) -> frozenset[str] | None:
        if not any(word in text for word in (_CHECKS, _FILES)) and not may_hide_words(text):
            return frozenset()
        found: _Closure = set()
        rows = read_rows(text, path, MOST_FIXTURES)
        if len(rows) > MOST_FIXTURES or sum(map(own_checks, rows)) > MOST_APPLIED:
            return None  # loading the contract refuses it
        for row in rows:
            checks = row.data.get("checks") if isinstance(row.data, dict) else None
            sound = self._add_checks(checks, path, found)
            if not self._add_all(_attached(row.data, path), "schema", found) or not sound:
                return None
        return frozenset(schema for schema, _ in found)


def _attached(row: Any, path: str) -> frozenset[str] | None:
    """Return the files that a fixture sends; None if one cannot be located."""
    try:
        return frozenset(locate(name, path) for name in written_files(row))
    except UnreadableError:
        return None


def _items(value: Any) -> Iterator[dict[str, Any]]:
    return (
        (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
    )


def _located_prompt(reference: Any, path: str) -> tuple[PromptReference | None, bool]:
    try:
        return (
            (locate_prompt(reference, path), True) if isinstance(reference, str) else (None, False)
        )
    except UnreadableError:
        return None, False


def _steps(data: Mapping[str, Any], path: str) -> list[tuple[str, PromptReference | None]]:
    """Return the name of each step and its prompt, None if that is not known."""
    return [
        (str(item.get("name")), _located_prompt(item.get("prompt"), path)[0])
        for item in islice(_items(data.get("steps")), MOST_STEPS)
    ]


def _prompt_files(
    text: str, place: PromptReference, style: TemplateStyle | None
) -> frozenset[str] | None:
    """Return the files that the messages of a prompt include, as the loader reads them; also of
    text that may be Jinja, because base or head may show that it is."""
    if not may_include(text, "structured" if place.part else prompt_kind(place.path)):
        return frozenset()
    prompt = parse_prompt(text, str(place), style or "jinja")
    return _included_files([m.content for m in prompt.messages], place.path)


def _included_files(sources: Sequence[str], path: str) -> frozenset[str] | None:
    """Return the included files; None if a template does not parse, or names a file by anything but
    literal text."""
    try:
        named = [name for source in sources for name, _ in find_included(source)]
    except (NotATemplate, RecursionError):
        return None
    known = [name for name in named if name is not None]
    return frozenset(locate(name, path) for name in known) if len(known) == len(named) else None


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
