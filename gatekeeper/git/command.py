"""Calls git in an environment that the caller's shell or hooks cannot change."""

from __future__ import annotations

import contextlib
import os
import subprocess
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.git.temporary import temporary_lines

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
    "GIT_SSH",
    "GIT_SSL_",
    "GIT_TRACE",
)
# Where git is, if it is not on PATH.
_PROGRAM = "GIT_PYTHON_GIT_EXECUTABLE"

NO_GIT = (
    "the git command was not found; install git 2.30 or later, or add the folder of git to PATH"
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
        self._folder = folder
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
        self._options = ["-C", str(folder), "--no-replace-objects", *_options(configuration)]
        self._reader: subprocess.Popen[bytes] | None = None

    def run(self, command: str, *arguments: str, lines: Iterable[str] | None = None) -> bytes:
        """Run a git command that should not fail, and return its output."""
        status, output, error = self.attempt(command, *arguments, lines=lines)
        if status:
            raise MeasurementError(f"git {command} ended with exit code {status}: {error}")
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
        git = self._start(
            self._command_line(command, arguments, option), stdin or subprocess.DEVNULL
        )
        with git:
            try:
                output, error = git.communicate()
            except BaseException:
                git.kill()
                raise
        return git.returncode, output, error.decode("utf-8", "surrogateescape").strip()

    def _command_line(
        self, command: str, arguments: Sequence[str], option: str | None = None
    ) -> list[str]:
        program = os.environ.get(_PROGRAM) or "git"
        options = _options([option] if option else [])
        return [program, *self._options, *options, command, *arguments]

    def _start(
        self,
        command_line: Sequence[str],
        stdin: IO[bytes] | int,
        errors: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603
                command_line,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=self._environment(),
                # git's own option -C changes to it too, and says why it cannot.
                cwd=self._folder if os.access(self._folder, os.X_OK) else None,
            )
        except FileNotFoundError as missing:
            raise UsageError(NO_GIT) from missing

    def _environment(self) -> dict[str, str]:
        variables = {name: value for name, value in os.environ.items() if not is_hidden(name)}
        # In English: messages of git are recognised by their words.
        variables |= {"LANGUAGE": "C", "LC_ALL": "C"}
        variables |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
        return variables | _by_environment(self.secret)

    def object_format(self) -> str:
        """Return the hash that names this repository's objects: sha1 or sha256."""
        return self.run("rev-parse", "--show-object-format").decode().strip()

    def blob(self, name: str, most: int) -> bytes | int | None:
        """Return the content of a blob, or its size in bytes if that is more than `most`, or None
        if it is missing. All blobs are read by the same git process."""
        if self._reader is None:
            batch = self._command_line("cat-file", ["--batch"])
            self._reader = self._start(batch, subprocess.PIPE, subprocess.DEVNULL)
            self._end_reader = weakref.finalize(self, _end, self._reader)
        asked, answers = self._reader.stdin, self._reader.stdout
        assert asked is not None  # noqa: S101
        assert answers is not None  # noqa: S101
        try:
            asked.write(name.encode() + b"\n")
            asked.flush()
            # `NAME blob SIZE`, the content and a line end; `NAME missing` has none.
            header = answers.readline().split()
            if header[1:] == [b"missing"]:
                return None
            size = int(header[2])
            if size > most:
                self.close()  # git would write all of it
                return size
            content = answers.read(size)
            if len(content) == size and answers.read(1):
                return content
        except (OSError, IndexError, ValueError):
            pass
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
        if self._reader is not None:
            self._reader = None
            self._end_reader()


def is_hidden(variable: str) -> bool:
    """Return whether git must not see this variable of the environment."""
    return variable.startswith("GIT_") and not variable.startswith(_KEPT_VARIABLES)


def _end(reader: subprocess.Popen[bytes]) -> None:
    reader.kill()
    with contextlib.suppress(OSError), reader:  # what is left to write, it does not take
        pass


def _options(configuration: Iterable[str]) -> list[str]:
    return [part for option in configuration for part in ("-c", option)]


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
