"""Calls git through GitPython, in an environment that the caller's shell or hooks cannot change.

GitPython takes a tenth of a second to import, so that happens with the first repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.git.temporary import temporary_lines

if TYPE_CHECKING:
    from git.cmd import Git

# Variables that say how to reach a remote and where configuration lies. Every other GIT_
# variable is hidden from git: inside a hook they name another repository and index.
_KEPT_VARIABLES = (
    "GIT_ALLOW_PROTOCOL",
    "GIT_ASKPASS",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_KEY_",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_VALUE_",
    "GIT_EXEC_PATH",
    "GIT_PROXY_",
    "GIT_PYTHON_",
    "GIT_SSH",
    "GIT_SSL_",
    "GIT_TRACE",
)


Option = tuple[str, str]
"""A name and a value of git's configuration."""


class GitCommand:
    """git, run in `folder`. `trusted` is a folder that is used, whoever owns it. Not for several
    threads.

    `secret` are options that hold for these calls alone. They travel in the environment: the
    arguments of a process can be read by every user of the machine.
    """

    def __init__(self, folder: Path, *, trusted: Path, secret: Sequence[Option] = ()) -> None:
        self.secret = tuple(secret)
        self._git = _git_class()(folder)
        # In a container the work tree belongs to another user. Trust goes to the folder that
        # was named and not to a repository found above it, which anybody who may write to a
        # shared folder such as /tmp could have put there.
        configuration = [
            f"safe.directory={trusted}",
            "core.fsmonitor=false",
            f"core.hooksPath={os.devnull}",
            "gc.auto=0",
            "maintenance.auto=false",
            "http.lowSpeedLimit=1",
            "http.lowSpeedTime=60",
        ]
        self._git.set_persistent_git_options(
            C=str(folder), c=configuration, no_replace_objects=True
        )
        self._git.update_environment(
            GIT_TERMINAL_PROMPT="0", GIT_OPTIONAL_LOCKS="0", **_by_environment(secret)
        )

    def run(self, command: str, *arguments: str, lines: Iterable[str] | None = None) -> bytes:
        """Run a git command that should not fail, and return its output."""
        status, output, error = self.attempt(command, *arguments, lines=lines)
        if status:
            raise MeasurementError(f"git {command} ended with {status}: {error}")
        return output

    def attempt(
        self,
        command: str,
        *arguments: str,
        lines: Iterable[str] | None = None,
        option: str | None = None,
    ) -> tuple[int, bytes, str]:
        """Run a git command that may fail; return its exit status, output and error text.

        `lines` is its input, and `option` one more `name=value` of configuration.
        """
        if lines is None:
            return self._call(command, arguments, None, option)
        with temporary_lines(map(os.fsencode, lines)) as listing:
            return self._call(command, arguments, listing, option)

    def _call(
        self, command: str, arguments: Sequence[str], stdin: IO[bytes] | None, option: str | None
    ) -> tuple[int, bytes, str]:
        from git.exc import GitCommandNotFound

        call = getattr(self._git(c=option) if option else self._git, command.replace("-", "_"))
        try:
            with _own_environment():
                status, output, error = call(
                    *arguments,
                    istream=stdin,
                    with_extended_output=True,
                    with_exceptions=False,
                    stdout_as_string=False,
                    strip_newline_in_stdout=False,
                )
        except GitCommandNotFound as missing:
            raise UsageError(
                "the git command was not found; install git 2.30 or later, or set PATH"
            ) from missing
        return status, output, error.strip()

    def object_format(self) -> str:
        """Return the hash that names this repository's objects: sha1 or sha256."""
        return self.run("rev-parse", "--show-object-format").decode().strip()

    def blob(self, name: str, most: int) -> bytes | int | None:
        """Return the content of a blob, or its size in bytes if that is more than `most`, or None
        if it is missing. All blobs are read by the same git processes."""
        if len(name) == 64:  # GitPython's reader knows only SHA-1.
            status, output, _ = self.attempt("cat-file", "-s", name)
            if status or int(output) > most:
                return None if status else int(output)
            status, output, _ = self.attempt("cat-file", "blob", name)
            return None if status else output
        try:
            with _own_environment():
                # Asked first: what is once announced is read to its end, whoever wants it or not.
                size = self._git.get_object_header(name)[2]
                return size if size > most else self._git.get_object_data(name)[3]
        except (ValueError, OSError):
            # git itself ends when it cannot fetch a blob that a partial clone left out.
            self.close()
            return None

    def sizes(self, names: Sequence[str]) -> dict[str, int]:
        """Return the sizes in bytes of those blobs that the clone has."""
        _, output, _ = self.attempt("cat-file", "--batch-check", "--buffer", lines=names)
        found = (line.split(" ") for line in output.decode().splitlines())
        return {parts[0]: int(parts[2]) for parts in found if len(parts) == 3}

    def blobs(self, names: Sequence[str]) -> dict[str, bytes]:
        """Return the contents of those blobs that can be read, by a separate git process."""
        _, output, _ = self.attempt("cat-file", "--batch", "--buffer", lines=names)
        found: dict[str, bytes] = {}
        start = 0
        while (end := output.find(b"\n", start)) >= 0:
            # `NAME blob SIZE`, the content and a line end; `NAME missing` has none.
            header = output[start:end].split(b" ")
            start = end + 1
            if len(header) == 3:
                size = int(header[2])
                found[header[0].decode()] = output[start : start + size]
                start += size + 1
        return found

    def close(self) -> None:
        """End the process that reads blobs. Reading again starts another."""
        self._git.clear_cache()


def _by_environment(options: Sequence[Option]) -> dict[str, str]:
    """Return the variables that give git these options, after those that the caller sets."""
    if not options:
        return {}
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    variables = {"GIT_CONFIG_COUNT": str(first + len(options))}
    for number, (name, value) in enumerate(options, first):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


@contextmanager
def _own_environment() -> Iterator[None]:
    # GitPython copies os.environ for each call and can add to it, but take nothing away.
    hidden = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("GIT_") and not name.startswith(_KEPT_VARIABLES)
    }
    for name in hidden:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(hidden)


def _git_class() -> type[Git]:
    # Without `quiet` a missing git fails the import itself, with advice for programmers.
    given = os.environ.get("GIT_PYTHON_REFRESH")
    os.environ["GIT_PYTHON_REFRESH"] = "quiet"
    try:
        from git.cmd import Git
    finally:
        if given is None:
            del os.environ["GIT_PYTHON_REFRESH"]
        else:
            os.environ["GIT_PYTHON_REFRESH"] = given
    return Git
