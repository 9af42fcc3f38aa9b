"""Calls git through GitPython for a repository that exists to speak to a remote.

A remote may never answer. GitPython ends git, and the programs that git started such as ssh, after
a time. Its import takes 0.15 s, so reading revisions does without it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from gatekeeper.errors import UsageError
from gatekeeper.git.command import NO_GIT, GitCommand, is_hidden

MOST_SECONDS = 300.0
"""How long one git command may take. A branch of data is fetched and pushed in a few seconds."""


class RemoteCommand(GitCommand):
    """git, ended after MOST_SECONDS. A command that was ended counts as failed; its error says
    so."""

    def _call(
        self, command: str, arguments: Sequence[str], stdin: IO[bytes] | None, option: str | None
    ) -> tuple[int, bytes, str]:
        git = _git_class()(self._folder)
        from git.exc import GitCommandNotFound

        try:
            with _hidden_variables():
                status, output, error = git.execute(
                    self._command_line(command, arguments, option),
                    istream=stdin,
                    env=self._environment(),
                    with_extended_output=True,
                    with_exceptions=False,
                    stdout_as_string=False,
                    strip_newline_in_stdout=False,
                    kill_after_timeout=MOST_SECONDS,
                )
        except GitCommandNotFound as missing:
            raise UsageError(NO_GIT) from missing
        if status == -signal.SIGKILL:
            return status, output, f"no answer within {MOST_SECONDS:g} seconds"
        return status, output, error.strip()


@contextmanager
def _hidden_variables() -> Iterator[None]:
    # GitPython copies os.environ for each call and can add to it, but take nothing away.
    hidden = {name: value for name, value in os.environ.items() if is_hidden(name)}
    for name in hidden:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(hidden)


def _git_class() -> Any:  # its overloads do not know this combination of arguments
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
