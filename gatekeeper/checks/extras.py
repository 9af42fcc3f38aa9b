"""Packages that only some checks need, and that are installed on request."""

from __future__ import annotations

import importlib
from types import ModuleType

from gatekeeper.checks.check import ParameterError


def import_extra(module: str, check: str) -> ModuleType:
    """Import a module of the extra `text`.

    Raises:
        ParameterError: It is not installed; the remedy says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"the check `{check}` needs the package `{error.name}`, which is not installed",
            "run `pip install 'gatekeeper[text]'`; in the action, add the "
            "package to the file that the input `requirements` names",
        ) from None
