"""Gatekeeper decides whether a prompt change may merge."""

from __future__ import annotations

__version__ = "0.1.0"


class Fail:
    """What a check of your own returns if the output fails it: `return Fail("no greeting")`."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        """Say what is wrong.

        Args:
            message: Short, for the reader of the report: what was expected, and what was found.
        """
        self.message = message

    def __bool__(self) -> bool:
        return False
