"""Packages that only some checks need, and that are installed on request."""

from __future__ import annotations

import importlib
from types import ModuleType

from gatekeeper.checks.check import ParameterError


def import_extra(module: str, extra: str, check: str) -> ModuleType:
    """Import a module of an optional dependency.

    Raises:
        ParameterError: It is not installed; the remedy names the extra.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"the check `{check}` needs the package `{error.name}`, which is not installed",
            f"run `pip install 'gatekeeper[{extra}]'`; in the action, add the "
            "package to the file that the input `requirements` names",
        ) from None
