"""`--env-file`: environment variables from a file that a person names."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

from gatekeeper.errors import ContractError, Problem, UsageError

_MOST_BYTES = 1_000_000


def use_env_file(path: Path, folder: Path) -> None:
    """Set the variables of the file that the environment does not have, and have every report
    redact all values of the file.

    `folder` is in the repository of the command. Raises UsageError for a file that cannot be read
    or that git tracks, and ContractError for lines that are no variables.
    """
    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    from gatekeeper.reports.redact import keep_secret

    _refuse_tracked(path, folder)
    text = _read(path)
    wrong = [
        binding.original
        for binding in parse_stream(StringIO(text))
        if binding.error or (binding.key and (binding.value is None or "\0" in binding.value))
    ]
    if wrong:
        # The line itself is not quoted: it may be half of a key.
        what, fix = "this is not a variable", "write NAME=value, with quotes around several lines"
        raise ContractError([Problem(str(path), what, fix, _first_line(line)) for line in wrong])
    values = dotenv_values(stream=StringIO(text))
    keep_secret(value for value in values.values() if value)
    for name, value in values.items():
        if value is not None:
            os.environ.setdefault(name, value)


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
