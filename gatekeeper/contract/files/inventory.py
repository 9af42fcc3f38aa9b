"""Lists the prompts, contracts and suites of a revision, and which contract covers which prompt.

Prompts are those that the policy's patterns match, those that a contract names, and those that
files plainly hold: see contract/discovery/.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from gatekeeper import numbers
from gatekeeper.contract.discovery.places import (
    is_for_agents,
    is_of_agents,
    is_plain_text,
    may_hold_suite,
)
from gatekeeper.contract.discovery.prompt_files import (
    CODE_SUFFIXES,
    PromptKind,
    PromptSource,
    is_text_or_data,
    kind_of_file,
    may_hold_prompts,
    prompts_in,
)
from gatekeeper.contract.discovery.suites import SUITE_SUFFIXES, SuiteKind, suite_kind
from gatekeeper.contract.files.contract_files import find_contracts
from gatekeeper.contract.files.references import References, Shapes, Sketch
from gatekeeper.contract.policies.folder_policies import policy_paths
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.reading.specification_path import is_specification
from gatekeeper.contract.values.change import Entry, Revision, prefetch
from gatekeeper.contract.values.definition import Prompt, TemplateStyle

MOST_SUITE_FILES = 2_000
"""The most files of data that are read to find suites."""
MOST_CODE_FILES = 2_000
"""The most source files that are read to find prompts."""
MOST_PROMPT_FILES = 5_000
MOST_CHARACTERS = 1_000_000
"""The most bytes of a prompt or suite. A larger file counts as data."""

_BOTH = (".prompty", ".prompt.yml", ".prompt.yaml")  # a prompt and its suite in one file


_MADE_WHEN_IT_RUNS: Mapping[PromptKind, str] = {
    "crewAI": "name one text of it by its key, or put what crewAI sends into a prompt file",
    "DSPy": "put the docstring into a file, and name the file as `instructions`",
    "BAML": "put what BAML sends into a prompt file",
    "tools": "name the file as `tools` of the contract of the prompt that is sent with it",
}
"""Kinds of prompts that another tool puts together, so that no contract can name them as they
are, and what to do instead."""


@dataclass(frozen=True, slots=True)
class InventoryPrompt:
    """One prompt. `reference` is what a contract names, from the root: a path, `FILE#key`, or
    `FILE.py:NAME`. `watched` says that the policy's `prompts` match its file. `contracts` are the
    paths of the contracts that depend on it."""

    path: str
    reference: str
    kind: PromptKind
    line: int
    watched: bool
    contracts: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """Return the folder of its file, from the root; `.` for the root itself."""
        return self.path.rpartition("/")[0] or "."

    def load(self, revision: Revision) -> Prompt:
        """Load the prompt. Raises UnreadableError and ContractError if no contract can name it."""
        if self.kind in _MADE_WHEN_IT_RUNS:
            what = f"{self.kind} puts this prompt together when it runs"
            what = "models read the tools of this list" if self.kind == "tools" else what
            raise UnreadableError(what, _MADE_WHEN_IT_RUNS[self.kind], self.line)
        style: TemplateStyle | None = "instructions" if self.kind == "instructions" else None
        return load_prompt(revision, self.reference, style)


@dataclass(frozen=True, slots=True)
class InventorySuite:
    """One contract, or one suite of another tool. `used` says that the policy's `contracts` match
    it, so that the gate runs it. `name` is None if it has none, or if it was not read further.
    `prompts` are the references of its prompts, as far as they are known."""

    path: str
    kind: SuiteKind
    used: bool
    name: str | None = None
    prompts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderCoverage:
    """How many prompts a folder has, and for how many of them there is a contract."""

    folder: str
    prompts: int
    covered: int


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything found, in the order of paths. `unread` counts files that were left out because
    there are too many. `of_agents` are texts for agents that work on the repository, which are no
    prompts of the program, unless a contract or a pattern names them."""

    prompts: tuple[InventoryPrompt, ...] = ()
    suites: tuple[InventorySuite, ...] = ()
    unread: int = 0
    of_agents: tuple[str, ...] = ()
    shows_skills: bool = False
    """Whether a contract tests which skill a model picks."""

    @property
    def about_agents(self) -> str:
        """Return a sentence on the texts for agents; "" without any."""
        if not self.of_agents:
            return ""
        texts = numbers.count(len(self.of_agents), "text")
        return (
            f"Not counted: {texts} for agents that work here, such as {self.of_agents[0]}. "
            "`gatekeeper init --from FILE` proposes a contract for one."
        )

    @property
    def uncovered(self) -> tuple[InventoryPrompt, ...]:
        """Return the prompts without a contract that the gate runs."""
        return tuple(prompt for prompt in self.prompts if not prompt.contracts)

    @property
    def unused(self) -> tuple[InventorySuite, ...]:
        """Return the suites that the gate does not run."""
        return tuple(suite for suite in self.suites if not suite.used)

    def by_folder(self) -> tuple[FolderCoverage, ...]:
        """Return the coverage of each folder with prompts, in the order of their names."""
        found: dict[str, list[InventoryPrompt]] = defaultdict(list)
        for prompt in self.prompts:
            found[prompt.folder].append(prompt)
        return tuple(
            FolderCoverage(folder, len(inside), sum(bool(prompt.contracts) for prompt in inside))
            for folder, inside in sorted(found.items())
        )


def take_inventory(revision: Revision, policy: Policy, shapes: Shapes | None = None) -> Inventory:
    """Read the revision's files as far as needed. Raises ContractError if the policy's patterns
    match too many contracts. `shapes` are those of checks, to know a contract's schema files."""
    return _Inventory(revision, policy, shapes or {}).taken()


@dataclass
class _Inventory:
    revision: Revision
    policy: Policy
    shapes: Shapes
    files: Sequence[str] = ()
    watched: Set[str] = frozenset()
    covering: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unread: int = 0

    def taken(self) -> Inventory:
        entries: Mapping[str, Entry] = self.revision.entries
        self.files = [path for path, entry in entries.items() if entry.kind == "file"]
        sketches = find_contracts(References(self.revision, self.shapes), self.policy)
        closures = {path for sketch in sketches for path in sketch.tested}
        suites = [*self._contracts(sketches), *self._other_suites(closures)]
        taken = {suite.path.partition("#")[0] for suite in suites}
        taken.update(policy_paths(self.files))
        self.watched = {p for w in self.policy.prompts for p in matching(self.files, w)}
        self.covering = _covering(sketches)
        prompts = {prompt.reference: prompt for prompt in self._prompts(sketches, taken)}
        known = taken.union(closures, (prompt.path for prompt in prompts.values()))
        return Inventory(
            tuple(sorted(prompts.values(), key=lambda prompt: (prompt.path, prompt.line))),
            tuple(sorted(suites, key=lambda suite: suite.path)),
            self.unread,
            tuple(sorted(path for path in self.files if is_of_agents(path) and path not in known)),
            any(sketch.shown for sketch in sketches),
        )

    def _contracts(self, sketches: Sequence[Sketch]) -> Iterator[InventorySuite]:
        for sketch in sketches:
            file = self._file_of(sketch.path)
            kind = suite_kind(file, self._text(file) or "") or "contract"
            yield InventorySuite(sketch.path, kind, True, sketch.name, sketch.prompts)

    def _other_suites(self, closures: set[str]) -> Iterator[InventorySuite]:
        """Yield what looks like a suite, and is neither one that runs nor a part of one."""
        found = [
            path
            for path in self.files
            if path.lower().endswith(SUITE_SUFFIXES)
            and may_hold_suite(path)
            and path not in closures
            and not is_specification(path)
        ]
        for path, text in self._read(found, MOST_SUITE_FILES):
            kind = suite_kind(path, text)
            if kind:
                yield InventorySuite(path, kind, False)

    def _prompts(self, sketches: Sequence[Sketch], suites: set[str]) -> Iterator[InventoryPrompt]:
        """Yield the prompts by all three ways; the caller keeps the last of each reference."""
        watched = self.watched
        named = {prompt for sketch in sketches for prompt in sketch.prompts}
        parts = self.covering.keys() - named
        named_here = set(self.policy.prompts)
        for path in watched - parts - suites:
            if not is_plain_text(path) and not (is_for_agents(path) and path in named_here):
                continue
            yield self._prompt(PromptSource(path, path, kind_of_file(path)))
        held = [path for path in self.files if path in watched or may_hold_prompts(path)]
        held = [path for path in held if path not in suites or path.lower().endswith(_BOTH)]
        code = [path for path in held if path.lower().endswith(CODE_SUFFIXES)]
        texts = [path for path in held if is_text_or_data(path)]
        for path, text in (
            *self._read(texts, MOST_PROMPT_FILES),
            *self._read(code, MOST_CODE_FILES),
        ):
            for source in prompts_in(path, text):
                if source.reference != path or path not in parts:
                    yield self._prompt(source)
        for reference in named:
            path = self._file_of(reference)
            if path in self.revision.entries:
                yield self._named(reference, path)

    def _named(self, reference: str, path: str) -> InventoryPrompt:
        """Return the prompt that a contract names."""
        whole = reference == path
        for source in prompts_in(path, self._text(path) or "") if not whole else ():
            if source.reference == reference:
                return self._prompt(source)
        name = path.lower()
        inside: PromptKind = "Python" if name.endswith(".py") else "TypeScript"
        if not name.endswith(CODE_SUFFIXES):
            inside = "key"
        kind = kind_of_file(path) if whole else inside
        return self._prompt(PromptSource(path, reference, kind))

    def _prompt(self, source: PromptSource) -> InventoryPrompt:
        return InventoryPrompt(
            source.path,
            source.reference,
            source.kind,
            source.line,
            source.path in self.watched,
            self._contracts_of(source),
        )

    def _contracts_of(self, source: PromptSource) -> tuple[str, ...]:
        found = self.covering.get(source.reference, ())
        if source.kind == "crewAI":  # or those that name one of its texts
            inner = f"{source.reference}."
            paths = {
                path
                for name, each in self.covering.items()
                for path in each
                if name.startswith(inner)
            }
            return tuple(sorted({*found, *paths}))
        return found

    def _read(self, paths: Sequence[str], most: int) -> Iterator[tuple[str, str]]:
        """Yield the texts of the files that can be read, as many as `most`, in their order."""
        chosen = sorted(paths)[:most]
        self.unread += len(paths) - len(chosen)
        prefetch(self.revision, chosen)
        for path in chosen:
            text = self._text(path)
            if text is not None and len(text) <= MOST_CHARACTERS:
                yield path, text

    def _text(self, path: str) -> str | None:
        """Return the text of a file; None if it cannot be read. It is not kept: the revision keeps
        what is small, and a repository may have thousands of large files of data."""
        try:
            return read_text(self.revision, path)
        except UnreadableError:
            return None

    def _file_of(self, reference: str) -> str:
        """Return the file of a reference: the part before `#key` or `:NAME`."""
        if reference in self.revision.entries:
            return reference
        before = reference.partition("#")[0]
        return before if before in self.revision.entries else before.rpartition(":")[0]


def _covering(sketches: Sequence[Sketch]) -> dict[str, tuple[str, ...]]:
    """Map each path of a closure, and each prompt by its reference, to the contracts' paths."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for sketch in sketches:
        inside = {path for path in sketch.tested if path != sketch.path}
        for name in (*inside, *sketch.prompts):
            found[name][sketch.path] = None
    return {name: tuple(sorted(paths)) for name, paths in found.items()}
