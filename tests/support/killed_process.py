"""A process that is killed while it replaces files, without a process."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Killed(BaseException):
    """Stands for a signal that no process survives."""


@contextmanager
def killed_at_second_replacement(names: Collection[str]) -> Iterator[None]:
    """End what runs inside before the second file of these names is replaced. From then on, no file
    is replaced or removed: nothing is tidied up after a signal."""
    replace, unlink = Path.replace, Path.unlink
    replaced: list[str] = []
    is_killed = False

    def replace_one(self: Path, target: Path) -> Path:
        nonlocal is_killed
        is_killed = is_killed or (target.name in names and len(replaced) == 1)
        if is_killed:
            raise Killed
        replaced.extend({target.name} & set(names))
        return replace(self, target)

    def remove_one(self: Path, missing_ok: bool = False) -> None:
        if not is_killed:
            unlink(self, missing_ok)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", replace_one)
        patch.setattr(Path, "unlink", remove_one)
        with pytest.raises(Killed):
            yield
