"""`--env-file`: environment variables from a file that a person names."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.errors import ContractError, Problem, UsageError

if TYPE_CHECKING:
    from dotenv.parser import Binding

_MOST_BYTES = 1_000_000
_LONGEST_VALUE = 32_000
"""Characters, of up to four bytes: Linux starts no program with a variable of 131,072 bytes."""


def use_env_file(path: Path, folder: Path) -> None:
    """Set the variables of the file that the environment does not have, and have every report
    redact all values of the file.

    `folder` is in the repository of the command. Raises UsageError for a file that cannot be read
    or that git tracks, and ContractError for lines that are no variables.
    """
    from dotenv.parser import parse_stream

    from gatekeeper.reports.redact import keep_secret

    _refuse_tracked(path, folder)
    found = list(parse_stream(StringIO(_read(path))))
    wrong = [each.original for each in found if each.error or not _is_variable(each)]
    if wrong:
        # The line itself is not quoted: it may be half of a key.
        what, fix = "this is not a variable", "write NAME=value, with quotes around several lines"
        raise ContractError([Problem(str(path), what, fix, _first_line(line)) for line in wrong])
    values = _values(path, found)
    keep_secret(filter(None, values.values()))
    for name, value in values.items():
        os.environ.setdefault(name, value)


def _is_variable(binding: Binding) -> bool:
    """Return whether this process can have the variable; true for a comment, which is none."""
    name, value = binding.key, binding.value
    return not name or ("=" not in name and value is not None and "\0" not in name + value)


def _values(path: Path, found: Iterable[Binding]) -> dict[str, str]:
    """Return the values by name, with those that they mention as `${NAME}`."""
    from dotenv.variables import parse_variables

    values: dict[str, str] = {}
    known, size = ChainMap(values, os.environ), 0
    for binding in found:
        if not binding.key:
            continue
        written = binding.value or ""
        short = len(written) <= _LONGEST_VALUE
        parts = [part.resolve(known) for part in parse_variables(written)] if short else [written]
        length = sum(map(len, parts))
        size += length
        if length > _LONGEST_VALUE or size > _MOST_BYTES:
            said = f"{binding.key} has more than {_LONGEST_VALUE:,} characters"
            if size > _MOST_BYTES:
                said = f"the values have more than {_MOST_BYTES:,} characters"
            raise UsageError(f"--env-file {path}: {said}; remove what gatekeeper does not need")
        values[binding.key] = "".join(parts)
    return values


def _first_line(original: tuple[str, int]) -> int:
    """Return the line of a binding, which begins with the empty lines before it."""
    text, line = original
    return line + text[: len(text) - len(text.lstrip())].count("\n")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"--env-file {path}: {why}; name a file of lines NAME=value") from None
    if len(content) > _MOST_BYTES:
        raise UsageError(f"--env-file {path}: the file is larger than {_MOST_BYTES:,} bytes")
    return text


def _refuse_tracked(path: Path, folder: Path) -> None:
    """Raise UsageError for a file that git tracks: a pull request could send the keys of this
    machine to an address that it writes there."""
    from gatekeeper.git import Repository
    from gatekeeper.history.tampering import paths_in_repository

    try:
        opened = Repository.open(folder)
    except UsageError:
        return  # the command says what is wrong, if it needs a repository
    with opened as repository:
        if repository.tracks(paths_in_repository(str(path), repository.root or Path())):
            raise UsageError(
                f"--env-file {path}: git tracks this file, so a pull request can change it; keep "
                "the variables in a file that .gitignore names"
            )
