"""Finds the files of a pull request that may replace a removed prompt.

Git decides by similarity alone that one file is the new name of another. The author of an exact
copy of a prompt can therefore decide which file this is. So renames of git are not used here:
a copy that the contract names must not hide the file that programs will read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from posixpath import basename

from gatekeeper.contract.changes.prompt_moves import Watched
from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.prompts.load import has_prompt, parse_prompt
from gatekeeper.contract.prompts.reference import PromptReference, prompt_file, read_reference
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.values.change import Change, Entry, FileTooLargeError, prefetch
from gatekeeper.contract.values.definition import Contract, Prompt
from gatekeeper.errors import ContractError

LIKE = 0.6
"""Two texts count as similar from this similarity on, from 0 to 1."""
MOST_BYTES = 200_000
"""The most bytes of a file that is compared. A larger file counts as a successor if it is a
prompt."""
MOST_COMPARED = 50_000_000
"""The most bytes of all comparisons of a change. Files beyond it count as successors."""

_FEW = 8
# Chinese, Japanese, Korean and Thai put no spaces between words.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+")


@dataclass(frozen=True)
class Words:
    """A text as its words, without regard to case, layout and invisible characters."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Words:
        """Split a text into its words."""
        plain = unicodedata.normalize("NFKC", text).casefold()
        seen = "".join(c for c in plain if c.isascii() or unicodedata.category(c) != "Cf")
        return cls(tuple(_WORD.findall(seen)))

    def likeness(self, other: Words) -> float:
        """Return how similar the other text is to this one, from 0 to 1: the share of the words
        that both have in the same order, or the share of this text that the other contains,
        whichever is higher.

        Words and not letters: any two English texts have half of their letters in common.
        """
        from rapidfuzz.distance import Indel

        if not self.words or not other.words:
            return 0.0
        common = Indel.normalized_similarity(self.words, other.words, score_cutoff=LIKE)
        if common >= LIKE or len(self._triples) < _FEW:
            return common
        return max(common, len(self._triples & other._triples) / len(self._triples))

    @cached_property
    def _triples(self) -> frozenset[tuple[str, str, str]]:
        return frozenset(zip(self.words, self.words[1:], self.words[2:], strict=False))


@dataclass
class Successors:
    """The files that a change adds, and which of them may replace a removed prompt.

    `loaded` are the contracts at head that the change affects, `covered` the paths that any
    contract at head depends on, `turned` the prompts at base of the loaded contracts that have a
    base version.
    """

    change: Change
    policy: Policy
    loaded: Mapping[str, Contract]
    covered: Set[str]
    turned: Sequence[Watched]
    _compared: int = 0
    _words: dict[tuple[bool, PromptReference], Words | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._before: Mapping[str, Entry] = self.change.base.entries
        self._after: Mapping[str, Entry] = self.change.head.entries

    def of_all(self, watched: Sequence[Watched], head: Contract | None = None) -> tuple[str, ...]:
        """Return the paths that may replace removed prompts of one contract; `head` is None if the
        contract was removed as well."""
        return tuple(sorted({path for one in watched for path in self._of(*one, head)}))

    def _of(self, watched: str, now: str | None, head: Contract | None) -> tuple[str, ...]:
        """Return the paths that may replace a removed prompt of base, without the one that its
        contract at head names in its place.

        A file counts if it resembles the prompt, or has its name while the contract's prompt has
        another, or is a prompt without a contract. If the contract's present prompt does not
        resemble the old one, every prompt that the change adds counts.
        """
        if not self._is_gone(watched):
            return ()
        used = prompt_file(now) if now else None
        pool = [path for path in self._pool if path != used and not self._moved(path, watched)]
        alike = [path for path in pool if self._resembles(path, watched)]
        if head is None:
            return tuple(path for path in alike if not self._goes_on(path, watched))
        kept = now is not None and self._likeness(watched, read_reference(now)) >= LIKE
        # A step is a prompt of its own, and no part of the one that follows it.
        steps = {step.prompt.path for step in head.target.steps}
        parts = [path for path in alike if path in head.dependencies and path not in steps]
        if not kept and len(parts) == 1:
            alike.remove(parts[0])  # the text is now in a part of the new prompt
        found = {path for path in alike if not self._goes_on(path, watched)}
        for path in pool:
            if path in self._before or path in head.dependencies or self._goes_on(path, watched):
                continue
            named = _stem(path) == _stem(prompt_file(watched)) != _stem(used or "")
            open_ = path in self._prompts and (not kept or path not in self.covered)
            if open_ or (path in self._prompts and named):
                found.add(path)
        return tuple(sorted(found))

    @cached_property
    def _prompts(self) -> Set[str]:
        """The files at head that are prompts by the policy's patterns or by a contract."""
        watched = {p.path for contract in self.loaded.values() for p in contract.target.prompts}
        patterns = self.policy.prompts
        return watched | {path for p in patterns for path in matching(self._after, p)}

    @cached_property
    def _pool(self) -> list[str]:
        """Return the files that the change adds or edits, prompts first. Recordings contain
        prompts, but are left out."""
        changed = {
            path
            for path, entry in self._after.items()
            if entry.kind == "file" and self._before.get(path) != entry
        }
        models = (contract.target.model for contract in self.loaded.values())
        changed -= {path for path in map(recording_path, models) if path}
        return sorted(changed, key=lambda path: (path not in self._prompts, path))

    @cached_property
    def _gone(self) -> Mapping[str, Set[str]]:
        """Return the paths that do not exist at head any more, by their content."""
        found: dict[str, set[str]] = {}
        for path in self._before.keys() - self._after.keys():
            found.setdefault(self._before[path].id, set()).add(path)
        return found

    def _moved(self, path: str, watched: str) -> bool:
        """Return whether the file is another one of base under a new name, byte by byte."""
        same = self._gone.get(self._after[path].id, set())
        return path not in self._before and bool(same) and prompt_file(watched) not in same

    def _is_gone(self, reference: str) -> bool:
        """Return whether base has the prompt and head, at that path, has not."""
        change = self.change
        return has_prompt(change.base, reference) and not has_prompt(change.head, reference)

    def _goes_on(self, path: str, watched: str) -> bool:
        """Return whether a contract of base uses the file as the successor of its own prompt, which
        was removed as well and is at least as similar to the file."""
        for old, now in self.turned:
            if now is None or prompt_file(now) != path or old == watched:
                continue
            place = PromptReference(path)
            if self._is_gone(old) and self._likeness(old, place) >= self._likeness(watched, place):
                return True
        return False

    def _resembles(self, path: str, watched: str) -> bool:
        if self._compared > MOST_COMPARED:
            return path not in self._before
        place = PromptReference(path)
        text = self._text(place, at_head=True)
        if text is None:
            return path in self._prompts and path not in self._before
        if self._likeness(watched, place) < LIKE:
            return False
        was, old = self._text(read_reference(watched)), self._text_before(path, watched)
        return old is None or was is None or was.likeness(old) < LIKE

    def _text_before(self, path: str, watched: str) -> Words | None:
        """Return the words of the file at base, without the prompt if that is a part of it."""
        if path not in self._before:
            return None
        place = read_reference(watched)
        prompt = self._prompt(place) if place.part and place.path == path else None
        if prompt is None:
            return self._text(PromptReference(path))
        count = {m: m.content.count("\n") + 1 for m in prompt.messages}
        own = {m.line_at(n) for m, lines in count.items() for n in range(1, lines + 1)}
        lines = read_text(self.change.base, path).split("\n")
        rest = (line for number, line in enumerate(lines, start=1) if number not in own)
        return Words.of("\n".join(rest))

    def _likeness(self, watched: str, new: PromptReference) -> float:
        """Return how similar a file or prompt of head is to a prompt of base. A file is one by its
        path alone, whatever is in its name."""
        old = read_reference(watched)
        before, after = self._before.get(old.path), self._after.get(new.path)
        same = before is not None and after is not None and before.id == after.id
        if same and old.part == new.part == "":
            return 1.0
        was, now = self._text(old), self._text(new, at_head=True)
        if was is None or now is None:
            return 0.0
        self._compared += sum(map(len, now.words)) + sum(map(len, was.words))
        return was.likeness(now)

    def _prompt(self, place: PromptReference, *, at_head: bool = False) -> Prompt | None:
        """Return the prompt of a reference to a part of a file; None if it cannot be read."""
        revision = self.change.head if at_head else self.change.base
        try:
            return parse_prompt(read_text(revision, place.path), str(place))
        except (UnreadableError, ContractError):
            return None

    def _text(self, place: PromptReference, *, at_head: bool = False) -> Words | None:
        """Return the words of a prompt or a file; None if it is too large or no text."""
        known = (at_head, place)
        if known not in self._words:
            text = self._written(place, at_head=at_head)
            short = text is not None and len(text) <= MOST_BYTES
            self._words[known] = Words.of(text) if text is not None and short else None
        return self._words[known]

    def _written(self, place: PromptReference, *, at_head: bool) -> str | None:
        if place.part:
            prompt = self._prompt(place, at_head=at_head)
            return prompt.text if prompt else None
        if at_head and not any(at for at, _ in self._words):
            prefetch(self.change.head, self._pool)
        try:
            content = (self.change.head if at_head else self.change.base).read(place.path)
            return content.decode("utf-8-sig") if len(content) <= MOST_BYTES else None
        except (FileNotFoundError, FileTooLargeError, UnicodeDecodeError):
            return None


def _stem(path: str) -> str:
    return basename(path).split(".")[0].casefold()
