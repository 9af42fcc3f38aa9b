"""What a pull request does with the prompts of the base contract: which it leaves without a
contract, which are gone, and what they were.

A program that reads `prompts/a.md` follows symbolic links and submodules. The gate does not. A path
that leads through one may therefore give the program another prompt than the one that was tested.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from gatekeeper.contract.files.references import Sketch
from gatekeeper.contract.prompts.load import has_prompt, load_prompt
from gatekeeper.contract.prompts.reference import prompt_file, read_reference
from gatekeeper.contract.prompts.value_at_key import find_value, parse_data
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.values.change import Change, Entry
from gatekeeper.contract.values.definition import Contract, Prompt, Target, TemplateStyle
from gatekeeper.errors import ContractError


@dataclass(frozen=True)
class PromptMoves:
    """The prompts of both revisions of a change. `before` and `after` are their entries."""

    change: Change
    before: Mapping[str, Entry]
    after: Mapping[str, Entry]

    @cached_property
    def paths(self) -> WatchedPaths:
        return WatchedPaths(self.after)

    def now(self, reference: str | None) -> str | None:
        """Return the reference with its file's path at head."""
        if not reference:
            return None
        path = prompt_file(reference)
        return self.change.renames.get(path, path) + reference.removeprefix(path)

    def left(self, watched: Watched) -> str | None:
        """Return a prompt of the base contract, if head's contract names another in its place and a
        program still finds something at its path.

        A link to a copy counts, also if git calls the copy the prompt's new name.
        """
        old, now = watched
        file = prompt_file(old)
        if file not in self.before or old == now:
            return None
        if self.paths.replacement(file, known=prompt_file(now) if now else None):
            return old
        place = self.now(old)
        if place is None or place == now or not self._is_file(prompt_file(place)):
            return None
        return place if has_prompt(self.change.head, place) else None

    def is_there(self, reference: str | None) -> bool:
        """Return whether the prompt exists at head, by its own path or the one that it has now."""
        now = self.now(reference)
        return now is not None and has_prompt(self.change.head, now)

    def names_file(self, place: str) -> bool:
        """Return whether there is nothing at a place of head but the path of a file there, which
        may have a label."""
        reference = read_reference(place)
        try:
            document = parse_data(read_text(self.change.head, reference.path), reference.path)
            value = find_value(document, reference.key or ())
            if isinstance(value, dict) and "raw" not in value:
                value = value.get("id")
            named = value.removeprefix("file://") if isinstance(value, str) else ""
            return self._is_file(locate(named, reference.path))
        except (UnreadableError, ContractError):
            return False

    def is_lost(self, watched: Watched) -> bool:
        """Return whether the prompt is gone, and head's contract names another in its place."""
        old, now = watched
        if self.is_there(old) or not has_prompt(self.change.base, old):
            return False
        file, new_file = prompt_file(old), prompt_file(now or "")
        same_part = old.removeprefix(file) == (now or "").removeprefix(new_file)
        return not (same_part and self.paths.is_same_name(file, new_file))

    def target_at_base(self, head: Contract) -> Target | None:
        """Return the contract's prompt as it was at base, at its path there; each step too, if
        there was one."""
        target, style = head.target, head.template
        prompt = self._at_base(target.prompt, style)
        if prompt is None:
            return None
        steps = (
            replace(s, prompt=self._at_base(s.prompt, style) or s.prompt) for s in target.steps
        )
        return replace(target, prompt=prompt, appended="", steps=tuple(steps))

    def _at_base(self, prompt: Prompt, style: TemplateStyle | None) -> Prompt | None:
        old_path = {new: old for old, new in self.change.renames.items()}
        path = old_path.get(prompt.path, prompt.path)
        if path not in self.before:
            return None
        try:
            return load_prompt(self.change.base, path + prompt.part, style)
        except (UnreadableError, ContractError):
            return None

    def _is_file(self, path: str) -> bool:
        return path in self.after and self.after[path].kind == "file"


_KINDS = {"symlink": "symbolic link", "submodule": "submodule"}


@dataclass(frozen=True)
class WatchedPaths:
    """The paths of a pull request's head, to find what is now at a path of its base."""

    entries: Mapping[str, Entry]

    def replacement(self, path: str, known: str | None = None) -> str | None:
        """Describe what a program finds at the path instead of a regular file of that name.

        None if the path is a regular file, or if nothing is there. Letter case and the form of
        accents do not count: file systems of macOS and Windows do not tell them apart. The file
        `known` is left out, because it is watched under its own name.
        """
        entry = self.entries.get(path)
        if entry is not None and entry.kind == "file":
            return None
        folded = _folded(path)
        for part in accumulate(folded.split("/"), "{}/{}".format):
            for name in self._links.get(part, ()):
                kind = _KINDS[self.entries[name].kind]
                place = "now a" if part == folded else f"reached through `{name}`, now a"
                return f"{place} {kind}"
        if folded in self._folders:
            return "now a folder"
        others = [name for name in self._files.get(folded, ()) if name != known]
        return f"now `{others[0]}`, which differs only in upper and lower case" if others else None

    @staticmethod
    def is_same_name(path: str, other: str) -> bool:
        """Return whether the paths differ at most in letter case and in the form of accents."""
        return _folded(path) == _folded(other)

    @cached_property
    def _links(self) -> Mapping[str, list[str]]:
        return _by_folded(path for path, entry in self.entries.items() if entry.kind != "file")

    @cached_property
    def _files(self) -> Mapping[str, list[str]]:
        return _by_folded(path for path, entry in self.entries.items() if entry.kind == "file")

    @cached_property
    def _folders(self) -> frozenset[str]:
        parts = (_folded(path).rpartition("/")[0] for path in self.entries)
        return frozenset(
            folder
            for parent in set(parts)
            for folder in accumulate(parent.split("/"), "{}/{}".format)
        )


def _by_folded(paths: Iterable[str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(_folded(path), []).append(path)
    return found


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


Places = Mapping[str | None, str]
"""The reference of each prompt by the name of its step; None for the contract's own prompt."""


class Watched(NamedTuple):
    """The reference of a prompt of the base contract, and of the one at the same place of head's:
    None if head's contract does not have that place."""

    reference: str
    now: str | None


def places_of(contract: Contract | Sketch | None) -> Places:
    """Return the prompts of a contract, as far as they are known."""
    if contract is None:
        return {}
    if isinstance(contract, Sketch):
        last, steps = contract.prompt, contract.steps
    else:
        last = contract.target.prompt.reference
        steps = tuple((step.name, step.prompt.reference) for step in contract.target.steps)
    places: dict[str | None, str] = {} if last is None else {None: last}
    places.update(steps)
    return places


def pair_prompts(
    base: Places, head: Places, new_name: Callable[[str], str | None]
) -> tuple[Watched, ...]:
    """Return each prompt of base with that of head at the same place. A step with a new name counts
    as the same place if its prompt is the same file; `new_name` gives a prompt's reference at head.

    Places and not paths: head could put a copy of the old prompt anywhere in its steps.
    """
    renamed = {path: place for place, path in head.items() if place not in base}
    found = []
    for place, path in base.items():
        now = head.get(place)
        if place not in head and renamed.pop(new_name(path) or path, None) is not None:
            now = new_name(path)
        found.append(Watched(path, now))
    return tuple(found)
