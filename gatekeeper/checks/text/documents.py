"""Reads the documents that models write in a child process with limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatekeeper.checks.text.overlap.references import LONGEST
from gatekeeper.sandbox.frames import FrameError
from gatekeeper.sandbox.process import LimitedProcess, Limits

_CHILD = LimitedProcess(
    "gatekeeper.checks.text.document_worker:answer",
    ("markdown_it", "mdurl", "sqlglot", "yaml"),
    # Importing sqlglot takes a second, once.
    Limits(cpu=6, wall=20),
)


class UnreadableError(Exception):
    """Reading a text takes more time or memory than it may."""


def read_document(kind: str, text: str, **options: Any) -> Mapping[str, Any]:
    """Return the response of `document_worker.answer`.

    Raises:
        UnreadableError: It has more than LONGEST characters, or takes too much time or memory.
    """
    if len(text) > LONGEST:
        raise UnreadableError(f"the document has {len(text):,} characters, more than {LONGEST:,}")
    try:
        answers = _CHILD.ask({"format": kind, "text": text, **options})
    except FrameError as error:
        raise UnreadableError(str(error)) from None
    if answers.overrun is not None:
        raise UnreadableError(answers.overrun)
    response: Mapping[str, Any] = answers.responses[0]
    if "fault" in response:
        raise UnreadableError(f"reading takes too much {response['fault']}")
    return response
