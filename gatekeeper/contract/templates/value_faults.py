"""Writes an expression that ends the rendering with a message, for values that a translated prompt
cannot use, and recognizes it in the error."""

from __future__ import annotations

_MARK = "Nunjucks and Jinja would write this value differently: "


class ValueFault(Exception):
    """A parameter's template that cannot be evaluated: `what` is wrong, and how to `fix` it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


def fault_expression(what: str) -> str:
    """Return an expression that is an error as soon as it is used, in any environment that is
    strict. `what` has no quotes and no backslash."""
    return f"''['{_MARK}{what}']"


def fault_in(message: str) -> str | None:
    """Return what `fault_expression` was given, from the error's message; None for others."""
    _, mark, what = message.partition(_MARK)
    return what.rstrip("'`") if mark else None
