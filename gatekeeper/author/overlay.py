"""A revision with files that are not written yet."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gatekeeper.contract.values.change import Entry, Revision


@dataclass(frozen=True)
class Overlay:
    """A revision as if these texts, by their paths, stood in it too."""

    below: Revision
    texts: Mapping[str, str]
    sha: str = "proposed"

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        own = {
            path: Entry(hashlib.sha256(t.encode()).hexdigest()) for path, t in self.texts.items()
        }
        return {**self.below.entries, **own}

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError and FileTooLargeError."""
        text = self.texts.get(path)
        return self.below.read(path) if text is None else text.encode()
