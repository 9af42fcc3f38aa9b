"""Reads what the files around a prompt say of it: the call that sends it, and a file of inputs.

A guess that is wrong costs a line that a person corrects, so text is searched and no code is run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from posixpath import basename, dirname
from typing import Any

from gatekeeper.contract.discovery.places import is_own, is_test
from gatekeeper.contract.discovery.prompt_files import CODE_SUFFIXES
from gatekeeper.contract.files.inventory import MOST_CODE_FILES, InventoryPrompt
from gatekeeper.contract.fixtures.fixtures import read_rows
from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.values.change import Revision, prefetch
from gatekeeper.errors import ContractError

MOST_ROWS = 500
"""The most rows of a file of inputs that `init` proposes: each run sends all of them twice."""
_LONGEST = 100_000
_MOST_FILES, _MOST_NAMED = 20, 50
_FACTORIES = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "gemini",
    "mistral": "mistral",
}
_MODEL = re.compile(
    r"\bmodel(?:_?(?:name|id))?[\"']?\s{0,9}[=:]\s{0,9}"
    rf"(?:(?P<factory>{'|'.join(_FACTORIES)})(?:\.\w+)?\(\s{{0,9}})?"
    r"(?:[\"'`](?P<name>[\w.:/@-]{2,100})[\"'`]|(?P<constant>[A-Za-z_]\w*)\s*[,)}\n])",
    re.IGNORECASE,
)
_TEMPERATURE = re.compile(r"\btemperature[\"']?\s{0,9}[=:]\s{0,9}(?P<value>\d(?:\.\d{1,3})?)\b")
_NO_CHAT = re.compile(r"embed|whisper|tts|dall-e|rerank|moderation|image|audio|realtime", re.I)
_NEAR, _SAME_CALL = 4_000, 600
_SETTINGS = re.compile(
    r"(?:.*/)?(?:\.env[\w.-]*|(?:docker-)?compose[\w.-]*\.ya?ml|Dockerfile|README\.md)"
    r"|\.github/workflows/[^/]+\.ya?ml"
)
_ADDRESS = re.compile(r"\bOPENAI_(?:BASE_URL|API_BASE)\b")


@dataclass(frozen=True, slots=True)
class CallSite:
    """The call that seems to send a prompt: where its model is named, the model, and parameters."""

    place: str
    model: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file with a row for each input of a prompt; or without, and then `fault` says why. Every
    row has a value for each of `variables`."""

    path: str
    rows: Sequence[Mapping[str, Any]]
    fault: str = ""
    variables: Set[str] = frozenset()


@dataclass
class Surroundings:
    """The files of one revision around its prompts."""

    revision: Revision
    usable: Callable[[str], bool]
    """Says whether a model can be called."""
    _calls: dict[str, list[tuple[int, CallSite]]] = field(default_factory=dict)
    _inputs: dict[str, InputFile] = field(default_factory=dict)

    def call_of(self, prompt: InventoryPrompt) -> CallSite | None:
        """Return the call nearest to a use of the prompt, in its own file or in one that names
        it."""
        own = self.code.get(prompt.path) if prompt.kind in ("Python", "TypeScript") else None
        name = prompt.reference.removeprefix(prompt.path)[1:].split(".")[0]
        stem = basename(prompt.path).split(".")[0]
        sought = re.escape(basename(prompt.path))
        if name:  # but not what gives it its value
            sought = rf"\b{re.escape(name)}\b(?!\s*(?::[^=\n]{{0,60}})?=[^=])"
        if not name and len(stem) > 3:
            sought += rf"|[\"'/`]{re.escape(stem)}[\"'.`]"
        files = {prompt.path: own} if own else self.code
        near = (each for path, text in files.items() for each in self._near(path, text, sought))
        found = min(near, key=lambda each: each[0], default=None)
        return found[1] if found else None

    def _near(self, path: str, text: str, sought: str) -> Iterator[tuple[int, CallSite]]:
        """Yield each call of a file with its distance from what is sought, if it is near, or the
        only one."""
        uses = [found.start() for found in islice(re.finditer(sought, text), _MOST_NAMED)]
        calls = self._calls_in(path, text) if uses else []
        alone = len({call.model for _, call in calls}) == 1
        for at, call in calls:
            distance = min(abs(at - use) for use in uses)
            if alone or distance < _NEAR:
                yield distance, call

    def _calls_in(self, path: str, text: str) -> list[tuple[int, CallSite]]:
        if path not in self._calls:
            matches = [*islice(_MODEL.finditer(text), _MOST_NAMED)]
            named = [(found, model) for found in matches if (model := _model(found))]
            self._calls[path] = [
                (found.start(), CallSite(place, model, _params(text, found, matches)))
                for found, model in named
                if self.usable(model)
                for place in [f"{path}:{text.count(chr(10), 0, found.start()) + 1}"]
            ]
        return self._calls[path]

    @cached_property
    def code(self) -> Mapping[str, str]:
        """The source files that name a model."""
        paths = (p for p in self._files if p.lower().endswith(CODE_SUFFIXES))
        own = [path for path in paths if is_own(path) and not is_test(path)]
        texts = self._texts(own[:MOST_CODE_FILES])
        return {path: text for path, text in texts if len(text) < _LONGEST and _MODEL.search(text)}

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """The variables that set the address of OpenAI's models, as far as the repository names
        them."""
        others = [path for path in self._files if _SETTINGS.fullmatch(path)][:_MOST_FILES]
        texts = (*self.code.values(), *(text for _, text in self._texts(others)))
        found = (name.group() for text in texts if (name := _ADDRESS.search(text)))
        return tuple(sorted(set(found)))[-1:]

    def inputs_of(self, prompt: InventoryPrompt, variables: Sequence[str]) -> InputFile | None:
        """Return a file beside the prompt, or with its name, that has a value for each variable;
        else the first that cannot be used although it seems to be one."""
        if not variables:
            return None
        stem = basename(prompt.path).split(".")[0]
        same = [path for path in self._tables if basename(path).split(".")[0] == stem]
        beside = [path for path in self._tables if dirname(path) == dirname(prompt.path)]
        chosen = [*dict.fromkeys([*same, *beside])][:_MOST_FILES]
        for path, text in self._texts([path for path in chosen if path not in self._inputs]):
            self._inputs[path] = _inputs(text, path)
        found = [self._inputs[path] for path in chosen if path in self._inputs]
        usable = (file for file in found if file.variables >= set(variables))
        return next(usable, next((file for file in found if file.fault), None))

    @cached_property
    def _tables(self) -> list[str]:
        return [path for path in self._files if path.lower().endswith((".csv", ".jsonl"))]

    @cached_property
    def _files(self) -> list[str]:
        return sorted(path for path, entry in self.revision.entries.items() if entry.kind == "file")

    def _texts(self, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
        prefetch(self.revision, paths)
        for path in paths:
            try:
                yield path, read_text(self.revision, path)
            except UnreadableError:
                continue


def _inputs(text: str, path: str) -> InputFile:
    try:
        rows = [row.data for row in read_rows(text, path, MOST_ROWS)]
    except ContractError as error:
        return InputFile(path, (), str(error.problems[0]))
    if len(rows) > MOST_ROWS:
        fault = f"{path}: more than {MOST_ROWS} rows; choose those that matter, and name that file"
        return InputFile(path, (), fault)
    if not all(isinstance(row, dict) for row in rows):
        return InputFile(path, (), f"{path}: not a table")
    values = [row.get("vars", row) for row in rows]
    keys = [set(each) if isinstance(each, dict) else set[str]() for each in values]
    return InputFile(path, rows, variables=set.intersection(*keys))


def _model(found: re.Match[str]) -> str | None:
    """Return the model that a match names; None if that is no model for text."""
    name = found["name"]
    if name is None:
        value = re.search(
            rf"^[ \t]*(?:export[ \t]+)?(?:const[ \t]+)?{found['constant']}\b[^=\n]{{0,40}}=[ \t]*"
            r"(?:os\.(?:getenv|environ\.get)\([^,\n]{1,60},[ \t]*"
            r"|process\.env\.\w{1,60}[ \t]*(?:\|\||\?\?)[ \t]*)?[\"']([\w.:/@-]{2,100})[\"']",
            found.string,
            re.MULTILINE,
        )
        name = value[1] if value else ""
    maker, _, rest = name.partition(":")
    if maker in _FACTORIES and rest:  # as LangChain writes it
        name = f"{_FACTORIES[maker]}/{rest}"
    elif found["factory"]:
        name = f"{_FACTORIES[found['factory'].lower()]}/{name}"
    elif name.startswith("gemini-"):
        name = f"gemini/{name}"
    try:
        return None if _NO_CHAT.search(name) else str(read_model_name(name))
    except ValueError:
        return None


def _params(text: str, model: re.Match[str], models: Sequence[re.Match[str]]) -> dict[str, Any]:
    """Return the temperature that stands nearest to the model, in the same paragraph, and nearer
    than to another model."""
    start, end = max(0, model.start() - _SAME_CALL), model.end() + _SAME_CALL
    for found in _TEMPERATURE.finditer(text, start, end):
        between = text[min(found.end(), model.end()) : max(found.start(), model.start())]
        nearest = min(models, key=lambda each: abs(each.start() - found.start()))
        if nearest is model and "\n\n" not in between:
            number = float(found["value"])
            return {"temperature": int(number) if number.is_integer() else number}
    return {}
