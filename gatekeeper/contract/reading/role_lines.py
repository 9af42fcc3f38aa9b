"""Lines of a prompt file that begin a message, such as `user:`."""

from __future__ import annotations

import re

ROLES = ("system", "developer", "user", "assistant")
BY_ROLE_LINES = "(by role lines)"
"""The role of a template that becomes several messages. The template is rendered as a whole,
and each role line in the result then begins a message. No prompt can use this role."""

MOST_MESSAGES = 2_000
"""The most messages of a prompt, as it is written and as it is rendered."""

# The hashes hold the blanks apart: a line of blanks must not be parted in every possible way.
_ROLE_LINE = re.compile(
    rf"[ \t]*(?:#+[ \t]*)?({'|'.join(ROLES)})[ \t]*:[ \t]*", re.IGNORECASE | re.ASCII
)


def role_of_line(line: str) -> str | None:
    """Return the role that the line begins a message of; None if it is no role line."""
    match = _ROLE_LINE.fullmatch(line)
    return match.group(1).lower() if match else None
