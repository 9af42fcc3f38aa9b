"""What the tools that help authors add to a result: the edits that made a contract worse, and
how the promises of a prompt changed. All texts are as they were found: each report escapes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# Which edits of a change made a contract worse, and which revert repairs it, as a part of the
# result. All texts are as they were found: each report escapes them.


@dataclass(frozen=True, slots=True)
class HarmfulEdit:
    """An edit, in words, and the lines of head where it is. A deletion is at the line of head that
    follows it. None for a setting that the prompt file does not contain."""

    text: str
    path: str
    line: int | None
    end_line: int | None


@dataclass(frozen=True, slots=True)
class HarmfulCause:
    """Edits that break fixtures together, or one edit that does so alone; `text` is a sentence."""

    text: str
    edits: tuple[HarmfulEdit, ...]


@dataclass(frozen=True, slots=True)
class LineReplacement:
    """What to write in place of the lines `start` to `end` of a file at head; nothing removes them.

    `file_id` is git's name of the file's content at head. `digest` is that of the lines as they
    were tested, so that lines which were changed since, such as by a redaction, are recognised.
    """

    path: str
    start: int
    end: int
    lines: tuple[str, ...]
    file_id: str
    digest: str

    @property
    def is_exact(self) -> bool:
        """Return whether the lines are those that were tested."""
        return lines_digest(self.lines) == self.digest


def lines_digest(lines: Sequence[str]) -> str:
    """Return the digest of lines, in hexadecimal."""
    return hashlib.sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class ProposedRevert:
    """The smallest revert that was found to restore base's pass rate.

    `diff` leads from head to the reverted files. With the revert, `passed` of the `measured`
    fixtures that the change broke pass; both are None if it makes the prompt that of base.
    `replacement` is None if it does not fit into one range of lines.
    """

    diff: str
    passed: int | None
    measured: int | None
    replacement: LineReplacement | None


@dataclass(frozen=True, slots=True)
class ContractBlame:
    """The causes of one contract's regression. `no_revert` says why no revert is proposed."""

    contract: str
    causes: tuple[HarmfulCause, ...] = ()
    revert: ProposedRevert | None = None
    no_revert: str | None = None


# What a change does to the promises of a prompt, as a part of the result. All texts are as they
# were found: each report escapes them.


PromisesState = Literal["added", "removed", "changed", "outdated"]


@dataclass(frozen=True, slots=True)
class Reworded:
    """A promise whose text changed."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Promises:
    """How sentences of one kind changed."""

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    reworded: tuple[Reworded, ...] = ()

    @property
    def changed(self) -> int:
        """Return the number of sentences that changed."""
        return len(self.added) + len(self.dropped) + len(self.reworded)


@dataclass(frozen=True, slots=True)
class PromptPromises:
    """The promises of one prompt before and after a change, by its `NAME.spec.yaml`.

    `state` says whether the change adds, removes or changes the specification, or changes the
    prompt and leaves the specification as it is (`outdated`). `unsettled` are the rules that follow
    from lines which an `outdated` specification does not know.
    """

    prompt: str
    specification: str
    state: PromisesState
    rules: Promises = Promises()
    input: Promises = Promises()
    unsettled: tuple[str, ...] = ()
