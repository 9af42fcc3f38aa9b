"""Every error gatekeeper raises on purpose, and the exit code each one ends in.

    GatekeeperError
    ├── AuthorError            exit 2: the author can fix it
    │   ├── ContractError      a contract, prompt, fixture or policy file is wrong; carries Problems
    │   └── UsageError         a bad flag, an unknown ref, not a git repository
    └── MeasurementError       exit 3: the gate could not measure
        ├── CallFailed         one model call failed; may be worth another try
        │   └── NotRecorded    a recording has no answer: no model was called
        └── PublishError       an answer could not be delivered to GitHub

A check that fails on a model's output is not an error: it is evidence, and ends in exit 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in one place: where, which field, what, and how to fix it.

    `line` and `column` count from 1; None where the problem has no place in the text.
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
        return f"{place}:{field} {self.what}; {self.fix}"


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
    seconds the server asked for, None where it did not; `fatal` says that every other
    call to this model will fail in the same way (unknown model, refused key), so that
    the run can stop at once; `author` says that the fix is in the author's hands
    (an unknown model name), so that the run ends with exit 2 and not 3.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        fatal: bool = False,
        author: bool = False,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.fatal = fatal
        self.author = author


class NotRecorded(CallFailed):
    """The recording at `path` has no answer to the request. No model was called for it."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


class PublishError(MeasurementError):
    """GitHub did not take an answer. The verdict stands; only its delivery failed."""
