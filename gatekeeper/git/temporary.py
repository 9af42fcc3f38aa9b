"""Temporary files and folders for git, with an error message if the machine has no space for
them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gatekeeper.errors import MeasurementError


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder for as long as it is needed. Raises MeasurementError."""
    import tempfile

    try:
        made = tempfile.TemporaryDirectory(prefix="gatekeeper-")
    except OSError as error:
        raise _unusable(error) from error
    with made as folder:
        yield Path(folder)


@contextmanager
def temporary_lines(lines: Iterable[bytes]) -> Iterator[IO[bytes]]:
    """Keep the lines in a file that is open for reading. Raises MeasurementError."""
    import tempfile

    try:
        listing = tempfile.TemporaryFile()  # noqa: SIM115  (what is read from it is not ours)
    except OSError as error:
        raise _unusable(error) from error
    with listing:
        try:
            listing.writelines(line + b"\n" for line in lines)
            listing.seek(0)
        except OSError as error:
            raise _unusable(error) from error
        yield listing


def _unusable(error: OSError) -> MeasurementError:
    return MeasurementError(
        "the folder for temporary files cannot be used "
        f"({error.strerror or error}); free some space in it, or set TMPDIR to a "
        "folder where you may write"
    )
