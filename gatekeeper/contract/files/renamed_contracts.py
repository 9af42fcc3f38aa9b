"""Finds what contracts of an earlier commit are called now, so that their past stays theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from gatekeeper.contract.files.contract_files import find_contracts
from gatekeeper.contract.files.references import References, Shapes, Sketch
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.prompts.reference import prompt_file
from gatekeeper.contract.values.change import Change


def renamed_contracts(change: Change, policy: Policy, shapes: Shapes) -> dict[str, str]:
    """Return the names at base of contracts that have another name at head, by the new name: of
    those in the same file, or the file that git says it became, and else of those that alone take
    over the prompt of one that is gone."""
    before, now = (
        {s.name: s for s in find_contracts(References(revision, shapes), policy) if s.name}
        for revision in (change.base, change.head)
    )
    gone = [sketch for name, sketch in before.items() if name not in now]
    new = [sketch for name, sketch in now.items() if name not in before]

    def path_of(sketch: Sketch) -> str:
        return sketch.path

    def prompt_of(sketch: Sketch) -> str | None:
        return sketch.prompt

    found = _same(change, gone, new, path_of)
    gone = [sketch for sketch in gone if sketch.name not in found.values()]
    new = [sketch for sketch in new if sketch.name not in found]
    return found | _same(change, gone, new, prompt_of)


def _same(
    change: Change,
    gone: Sequence[Sketch],
    new: Sequence[Sketch],
    place: Callable[[Sketch], str | None],
) -> dict[str, str]:
    """Pair the contracts of one place; none of those that share it with others."""
    old_names: dict[str, list[str]] = defaultdict(list)
    new_names: dict[str, list[str]] = defaultdict(list)
    for sketch in gone:
        path = place(sketch)
        file = prompt_file(path) if path else ""
        moved = change.renames.get(file, file) + (path or "").removeprefix(file)
        old_names[moved].append(sketch.name or "")
    for sketch in new:
        new_names[place(sketch) or ""].append(sketch.name or "")
    both = (set(old_names) & set(new_names)) - {""}
    single = (path for path in both if len(old_names[path]) == len(new_names[path]) == 1)
    return {new_names[path][0]: old_names[path][0] for path in single}
