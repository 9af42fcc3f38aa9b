"""Draw mutants of modules at random, with mutmut's operators; print them as JSON.

    build/mutmut/bin/python scripts/mutation/list_mutants.py --seed 1 --logic 200 --other 100 \\
        gatekeeper/stats/*.py > build/mutants.json

mutmut is no dependency of this project: install it into a virtual environment of its own, for
example build/mutmut. Unlike mutmut's own runs, this mutates module constants and decorated
functions too, because `run_mutants.py` changes the source file and needs no trampolines.

Mutants come in two groups. `logic` mutates comparisons, arithmetic, numbers, conditions and
keywords. `other` mutates strings and arguments, and replaces assigned values by None: most of these
end in an exception and are found by any test that runs the line.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation import mutators
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.pragma_handling import IgnoredCode

OTHER = {
    "operator_string",
    "operator_arg_removal",
    "operator_dict_arguments",
    "operator_assignment",
    "operator_lambda",
}


class AllFunctions(MutationVisitor):
    """Visit decorated functions as well; their decorators stay as they are."""

    def _skip_node_and_children(self, node: libcst.CSTNode) -> bool:
        if isinstance(node, libcst.FunctionDef):
            return False
        return bool(super()._skip_node_and_children(node))


class Module:
    """One module, and what the operators of one group make of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        wrapper = MetadataWrapper(libcst.parse_module(path.read_text("utf-8")))
        self.tree = wrapper.module
        self._places = wrapper.resolve(PositionProvider)
        self._wrapper = wrapper

    def mutations(self, group: str) -> Iterator[tuple[Any, str]]:
        """Yield each mutation with the name of its operator."""
        for kind, operator in mutators.mutation_operators:
            if (operator.__name__ in OTHER) is not (group == "other"):
                continue
            visitor = AllFunctions([(kind, operator)], IgnoredCode(set(), set(), set()))
            self._wrapper.visit(visitor)
            for mutation in visitor.mutations:
                if not isinstance(mutation.original_node, libcst.AnnAssign):
                    yield mutation, operator.__name__

    def mutant(self, mutation: Any, operator: str) -> dict[str, Any]:
        """Return the mutated module and the lines that differ."""
        place = self._places[mutation.original_node]
        changed = self.tree.deep_replace(mutation.original_node, mutation.mutated_node)
        return {
            "file": str(self.path),
            "operator": operator.removeprefix("operator_"),
            "first": place.start.line,
            "last": place.end.line,
            "code": changed.code,
        }


def main() -> None:
    """Print the mutants that were drawn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logic", type=int, default=200, help="mutants of logic")
    parser.add_argument("--other", type=int, default=100, help="mutants of strings and arguments")
    parser.add_argument("paths", nargs="+", type=Path)
    options = parser.parse_args()
    modules = [Module(path) for path in sorted(options.paths)]
    drawn = []
    for group in ("logic", "other"):
        found = [(module, *each) for module in modules for each in module.mutations(group)]
        size = min(len(found), getattr(options, group))
        print(f"{group}: {size} of {len(found)} mutants", file=sys.stderr)
        order = random.Random(options.seed)  # noqa: S311
        for module, mutation, operator in order.sample(found, size):
            drawn.append({"group": group, **module.mutant(mutation, operator)})
    json.dump([mutant for mutant in drawn if mutant["code"] != _text(mutant)], sys.stdout)


def _text(mutant: dict[str, Any]) -> str:
    return Path(mutant["file"]).read_text("utf-8")


if __name__ == "__main__":
    main()
