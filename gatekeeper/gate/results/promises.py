"""What a change does to the promises of a prompt, as a part of the result. All texts are as they
were found: each report escapes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
