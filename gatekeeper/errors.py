"""Every error gatekeeper raises on purpose, and the exit code each one ends in.

    GatekeeperError
    ├── AuthorError            exit 2: the author can fix it
    │   ├── ContractError      a contract, prompt, fixture or policy file is wrong; carries Problems
    │   └── UsageError         a bad flag, an unknown ref, not a git repository
    └── MeasurementError       exit 3: the gate could not measure
        ├── CallFailed         one model call failed; may be worth another try
        │   └── NotRecorded    a recording has no answer: no model was called
        ├── PublishError       an answer could not be delivered to GitHub
        ├── WriteError         a file or stream could not be written
        └── Bug                anything else: a mistake in gatekeeper

A check that fails on a model's output is not an error: it is evidence, and ends in exit 1.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in one place: where, which field, what, and how to fix it.

    `line` and `column` count from 1; None if the problem has no place in the text.
    """

    path: str
    what: str
    fix: str
    line: int | None = None
    column: int | None = None
    field: str | None = None

    def __str__(self) -> str:
        place = ":".join(
            str(part) for part in (self.path, self.line, self.column) if part is not None
        )
        field = f" {self.field}:" if self.field else ""
        # What is quoted of a file may have lines of its own, which would look like other problems.
        return f"{place}:{field} {self.what}; {self.fix}".replace("\n", "⏎")


class GatekeeperError(Exception):
    """The root of the tree. `exit_code` is what the process ends with."""

    exit_code = 3


class AuthorError(GatekeeperError):
    """The author of the contract, prompt, policy or command line can fix this."""

    exit_code = 2


class ContractError(AuthorError):
    """Files that cannot be used, with every problem found, not only the first."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageError(AuthorError):
    """A flag, a ref or a folder that cannot be used."""


class MeasurementError(GatekeeperError):
    """The gate could not measure. Never a failed check, never a pass."""


class CallFailed(MeasurementError):
    """One model call failed.

    `retryable` says whether another try may succeed; `retry_after` is the number of
    seconds that the server requested, None if it did not; `fatal` says that every other
    call to this model will fail in the same way (unknown model, refused key), so that
    the run can stop at once; `author` says that the fix is in the author's hands
    (an unknown model name), so that the run ends with exit 2 and not 3; `billable` says that the
    provider may bill the call, because it got the request and may have answered; `throttled` says
    that the provider refused the call because of load, so that fewer calls at a time are due.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        fatal: bool = False,
        author: bool = False,
        billable: bool = False,
        throttled: bool = False,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.fatal = fatal
        self.author = author
        self.billable = billable
        self.throttled = throttled


class NotRecorded(CallFailed):
    """The recording at `path` has no answer to the request. No model was called for it."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


class PublishError(MeasurementError):
    """GitHub did not take an answer. The verdict stands; only its delivery failed."""


_ANOTHER = ", or use another folder"
_REMEDIES: Mapping[int, str] = {
    errno.ENOSPC: f"free space on the disk{_ANOTHER}",
    errno.EDQUOT: f"free space within your quota{_ANOTHER}",
    errno.EFBIG: f"raise the file size limit (`ulimit -f`){_ANOTHER}",
    errno.EROFS: f"make the file system writable{_ANOTHER}",
    errno.EACCES: f"allow the current user to write to the folder{_ANOTHER}",
    errno.EPERM: f"allow the current user to write to the folder{_ANOTHER}",
    errno.EISDIR: f"remove the folder that has the name of the file{_ANOTHER}",
    errno.ENOTEMPTY: f"remove the folder that has the name of the file{_ANOTHER}",
    errno.ENOTDIR: f"remove the file that has the name of the folder{_ANOTHER}",
    errno.EEXIST: f"remove the file that has the name of the folder{_ANOTHER}",
    errno.ENAMETOOLONG: "use a folder with a shorter path",
    errno.ELOOP: "use a folder without circular links",
    errno.EIO: f"check the disk for faults{_ANOTHER}",
    errno.ESTALE: f"mount the file system again{_ANOTHER}",
    errno.ENXIO: f"remove the device or pipe that has the name of the file{_ANOTHER}",
    errno.EMFILE: "raise the limit on open files (`ulimit -n`)",
    errno.ENFILE: "close files in other programs",
}
"""The remedy for each fault of the machine; other faults are likely bugs of gatekeeper."""


class WriteError(MeasurementError):
    """A file or stream could not be written. The verdict stands; only its record is missing.

    `result` is the GateResult if the reports of `check` or `run` of the library could not be
    written.
    """

    result: Any = None

    def __init__(self, what: object, error: OSError, remedy: str | None = None) -> None:
        remedy = remedy or _REMEDIES.get(error.errno or 0, "name another folder")
        super().__init__(f"{what}: cannot be written ({error.strerror or error}); {remedy}")


class Bug(MeasurementError):
    """An error that nobody expected: neither a pass nor a fail of the prompt. `trace` is for the
    log."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: this is a bug in gatekeeper, please report it")
        self.trace = "".join(traceback.format_exception(error)).rstrip()


def as_told(error: Exception) -> GatekeeperError:
    """Return the error as one with a text for people and an exit code, in every way to start a run:
    itself, a fault of a disk, a permission or a limit, or a bug."""
    if isinstance(error, GatekeeperError):
        return error
    if isinstance(error, OSError) and error.errno in _REMEDIES:
        return WriteError(error.filename or "a file", error)
    return Bug(error)
