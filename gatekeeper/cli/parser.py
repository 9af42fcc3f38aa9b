"""The parser of the command line, which suggests the nearest command, option or choice."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class Parser(argparse.ArgumentParser):
    """Parses arguments as argparse does, and names what a misspelt one was meant to be."""

    def parse_known_args(  # type: ignore[override]  # its overloads differ in the namespace alone
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse what is known. Exits with a suggestion if an unknown option is nearly a known
        one."""
        found, unknown = super().parse_known_args(args, namespace)
        self._refuse_misplaced_contract(unknown)
        for argument in unknown:
            name = argument.partition("=")[0]
            near = _nearest(name, self._option_string_actions) if name.startswith("--") else None
            if near:
                self.error(f"there is no option `{name}`; did you mean `{near}`?")
        return found, unknown

    def _refuse_misplaced_contract(self, unknown: Sequence[str]) -> None:
        """Exit if a contract is named without the option, or with one where none is needed."""
        if unknown and not any(argument.startswith("-") for argument in unknown):
            if "--contract" in self._option_string_actions:
                self.error(f"cannot use `{unknown[0]}`; did you mean `--contract {unknown[0]}`?")
        elif unknown[:1] == ["--contract"] and any(a.metavar == "CONTRACT" for a in self._actions):
            self.error("this command takes one contract; write its name without `--contract`")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # argparse suggests only from Python 3.14 on.
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError:
            near = _nearest(str(value), map(str, action.choices or ()))
            if near is None:
                raise
            text = f"there is no `{value}`; did you mean `{near}`?"
            raise argparse.ArgumentError(action, text) from None


def _nearest(name: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(name, list(known), n=1)
    return near[0] if near else None
