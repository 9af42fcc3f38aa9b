"""Change -> the contracts it affects, each with both sides loaded and the paths that did it.

A path that did not change cannot affect anything, so a contract is only loaded where a path of
its closure changed; what it then means, not how it is written, decides.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gatekeeper.contract.change import AffectedBy, Change, Entry, PathChange, Revision
from gatekeeper.contract.globs import matching
from gatekeeper.contract.identity import contract_digest
from gatekeeper.contract.load import load_contract
from gatekeeper.contract.model import CheckShape, Contract, Target
from gatekeeper.contract.policy import Policy
from gatekeeper.contract.prompt import load_prompt
from gatekeeper.contract.read import UnreadableError
from gatekeeper.contract.references import References, Sketch, recording_path
from gatekeeper.errors import ContractError, Problem, UsageError

Shapes = Mapping[str, CheckShape]


@dataclass(frozen=True, slots=True)
class AffectedContract:
    """One contract that the change affects. `base` is None where it is new or could not be
    loaded there, `head` where it was removed. `prompt_still_there` says whether the prompt,
    by its own path or the one it was renamed to, exists at head.

    `base_target` is what the base arm runs: the base contract's, or where there is none to be
    had, the prompt as it was at base with head's model and parameters; None where there was no
    such prompt. `left_prompt` is the path at head of the prompt that the base contract watched,
    where it is still there and head's contract watches another.
    """

    name: str
    path: str
    base: Contract | None
    head: Contract | None
    affected_by: tuple[AffectedBy, ...]
    prompt_still_there: bool
    base_target: Target | None = None
    left_prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Affected:
    """`uncovered` are added or modified prompts that no contract at head covers; `unaffected`
    counts the contracts at head that need no run, and `others` names them."""

    contracts: tuple[AffectedContract, ...] = ()
    uncovered: tuple[str, ...] = ()
    unaffected: int = 0
    notices: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def contract_paths(
    revision: Revision, policy: Policy, shapes: Shapes | None = None
) -> tuple[str, ...]:
    """The contract files of the revision, by the policy's pattern. A file that the pattern
    matches but that a contract refers to (its fixtures, its prompt, with `shapes` also its
    schemas) is none."""
    references = References(revision, shapes or {})
    return tuple(sketch.path for sketch in _contracts(references, policy))


def every_contract(revision: Revision, policy: Policy, shapes: Shapes) -> Affected:
    """Every contract of one revision, for the full suite. Raises ContractError."""
    sketches = _contracts(References(revision, shapes), policy)
    loaded, problems = _load_all(revision, [sketch.path for sketch in sketches], shapes)
    names: dict[str, list[str]] = defaultdict(list)
    for path, contract in loaded.items():
        names[contract.name].append(path)
    problems += _shared_names(names)
    if problems:
        raise ContractError(problems)
    return Affected(
        tuple(
            AffectedContract(contract.name, path, None, contract, (), prompt_still_there=True)
            for path, contract in loaded.items()
        )
    )


def find_affected(change: Change, policy: Policy, shapes: Shapes) -> Affected:
    """The contracts that the change affects. Raises ContractError where one is broken at head."""
    return _Comparison(change, policy, shapes).affected()


def named(affected: Affected, names: Sequence[str]) -> tuple[AffectedContract, ...]:
    """The affected contracts of those names; all where none is given.

    Raises UsageError for a name that no contract of the repository has.
    """
    known = {contract.name for contract in affected.contracts} | set(affected.others)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = (
                f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(known))}"
            )
            raise UsageError(f"{name}: no contract has that name; {hint}")
    return tuple(c for c in affected.contracts if not names or c.name in names)


def _contracts(references: References, policy: Policy) -> list[Sketch]:
    paths = sorted(matching(references.revision.entries, policy.contracts))
    sketches = references.sketches(paths)
    if all(sketch.is_contract for sketch in sketches):
        return sketches
    used = {path for sketch in sketches for path in sketch.closure if path != sketch.path}
    return [sketch for sketch in sketches if sketch.is_contract or sketch.path not in used]


def _load_all(
    revision: Revision, paths: Sequence[str], shapes: Shapes
) -> tuple[dict[str, Contract], list[Problem]]:
    loaded: dict[str, Contract] = {}
    problems: list[Problem] = []
    for path in paths:
        try:
            loaded[path] = load_contract(revision, path, shapes)
        except ContractError as error:
            problems.extend(error.problems)
    return loaded, list(dict.fromkeys(problems))


def _shared_names(names: Mapping[str, Sequence[str]]) -> list[Problem]:
    fix = "give each contract a name of its own"
    return [
        Problem(path, f"the name `{name}` is taken by {paths[0]}", fix, field="name")
        for name, paths in names.items()
        for path in paths[1:]
    ]


def _meaning(contract: Contract) -> tuple[str, str | None]:
    """What it would run and judge, and the answers of a model that is a recording."""
    recording = recording_path(contract.target.model)
    answers = contract.dependencies.get(recording) if recording else None
    return contract_digest(contract), answers


@dataclass
class _Comparison:
    """Base against head. Entries are taken once: a revision may compute them."""

    change: Change
    policy: Policy
    shapes: Shapes
    notices: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.before: Mapping[str, Entry] = self.change.base.entries
        self.after: Mapping[str, Entry] = self.change.head.entries
        self.old_path = {new: old for old, new in self.change.renames.items()}
        gone = self.before.keys() - self.after.keys()
        self.changed = gone | {
            path for path, entry in self.after.items() if self.before.get(path) != entry
        }

    def affected(self) -> Affected:
        at_head = References(self.change.head, self.shapes)
        sketches = _contracts(at_head, self.policy)
        suspects = [s for s in sketches if not s.sound or s.closure & self.changed]
        loaded, problems = _load_all(
            self.change.head, [sketch.path for sketch in suspects], self.shapes
        )
        names: dict[str, list[str]] = defaultdict(list)
        for sketch in sketches:
            name = loaded[sketch.path].name if sketch.path in loaded else sketch.name
            names[name or sketch.path].append(sketch.path)
        problems += _shared_names(names)
        if problems:
            raise ContractError(problems)
        at_base = self._base_sketches(sketches)
        results = self._against_base(loaded, at_base)
        run = {result.path for result in results if result.head}
        covered = {path for sketch in sketches for path in sketch.closure}
        covered |= {path for contract in loaded.values() for path in contract.dependencies}
        others = [name for name, paths in names.items() if paths[0] not in run]
        return Affected(
            contracts=tuple(sorted(results, key=lambda result: result.name)),
            uncovered=self._uncovered(covered),
            unaffected=len(others),
            notices=tuple(self.notices),
            others=tuple(sorted(others)),
        )

    def _base_sketches(self, at_head: Sequence[Sketch]) -> list[Sketch]:
        """The contracts at base that may differ: their own file changed, or a path of their
        closure. An unchanged file has the same closure on both sides."""
        references = References(self.change.base, self.shapes)
        written = set(matching(self.changed & self.before.keys(), self.policy.contracts))
        touched = {
            sketch.path
            for sketch in at_head
            if sketch.path in self.before and (not sketch.sound or sketch.closure & self.changed)
        }
        sketches = references.sketches(sorted(written | touched))
        return [sketch for sketch in sketches if sketch.is_contract]

    def _against_base(
        self, loaded: Mapping[str, Contract], at_base: Sequence[Sketch]
    ) -> list[AffectedContract]:
        waiting = {sketch.path: sketch for sketch in at_base}
        pairs = self._pairs(loaded, waiting)
        results = []
        for path, head in loaded.items():
            old = pairs.get(path)
            base = self._load_base(waiting.pop(old), head.name) if old else None
            left = self._left_prompt(base, head) if base else None
            if base is None or left or _meaning(base) != _meaning(head):
                results.append(self._result(base, head, left))
        # A file without a name that can be read was no contract anybody could have relied on.
        removed = [self._removed(sketch) for sketch in waiting.values() if sketch.name is not None]
        return results + removed

    def _pairs(
        self, loaded: Mapping[str, Contract], waiting: Mapping[str, Sketch]
    ) -> dict[str, str]:
        """Path at head -> path at base of the same contract: the one of the same name; else
        the file it was, if that is left over and has the same prompt (a new name)."""
        by_name: dict[str | None, list[str]] = defaultdict(list)
        for old_path, old_sketch in waiting.items():
            by_name[old_sketch.name].append(old_path)
        pairs: dict[str, str] = {}
        for path, head in loaded.items():
            same = by_name.get(head.name, [])
            old = self.old_path.get(path, path)
            if same:
                pairs[path] = old if old in same else same[0]
        for path, head in loaded.items():
            sketch = waiting.get(self.old_path.get(path, path))
            if path in pairs or sketch is None or sketch.path in pairs.values():
                continue
            if self._now(sketch.prompt) == head.target.prompt.path or sketch.name is None:
                pairs[path] = sketch.path
                if sketch.name is not None:
                    self.notices.append(f"The contract {sketch.name} is called {head.name} now.")
        return pairs

    def _now(self, path: str | None) -> str | None:
        return self.change.renames.get(path, path) if path else None

    def _load_base(self, sketch: Sketch, name: str) -> Contract | None:
        try:
            return load_contract(self.change.base, sketch.path, self.shapes)
        except ContractError as error:
            self.notices.append(
                f"The contract {name} is judged as new: at base it could not be loaded "
                f"({error.problems[0]})."
            )
            return None

    def _left_prompt(self, base: Contract, head: Contract) -> str | None:
        """A contract that is pointed at a copy no longer watches the prompt that is in use."""
        path = self._now(base.target.prompt.path)
        if path is None or path == head.target.prompt.path or path not in self.after:
            return None
        return path if self.after[path].kind == "file" else None

    def _result(self, base: Contract | None, head: Contract, left: str | None) -> AffectedContract:
        causes = self._causes(base, head)
        if left in self.changed and left not in head.dependencies:
            causes.append(AffectedBy(left, self._kind(left)))
        causes = sorted(causes, key=lambda cause: cause.path)
        causes = causes or [AffectedBy(head.path, self._kind(head.path))]
        return AffectedContract(
            head.name,
            head.path,
            base,
            head,
            tuple(causes),
            prompt_still_there=True,
            base_target=base.target if base else self._target_at_base(head.target),
            left_prompt=left,
        )

    def _target_at_base(self, target: Target) -> Target | None:
        """The same prompt as it was at base, by the path it then had."""
        path = self.old_path.get(target.prompt.path, target.prompt.path)
        if path not in self.before:
            return None
        try:
            prompt = load_prompt(self.change.base, path)
        except (UnreadableError, ContractError):
            return None
        return Target(prompt, target.model, target.params)

    def _removed(self, sketch: Sketch) -> AffectedContract:
        try:
            base = load_contract(self.change.base, sketch.path, self.shapes)
        except ContractError:
            base = None
        prompt = base.target.prompt.path if base else sketch.prompt
        kind: PathChange = "modified" if sketch.path in self.after else "deleted"
        return AffectedContract(
            sketch.name or sketch.path,
            sketch.path,
            base,
            None,
            (AffectedBy(sketch.path, kind),),
            prompt_still_there=self._now(prompt) in self.after,
            base_target=base.target if base else None,
        )

    def _causes(self, base: Contract | None, head: Contract) -> list[AffectedBy]:
        """The paths of both closures whose meaning differs, under their names at head."""
        if base is None:
            paths = sorted(self.changed & head.dependencies.keys())
            return [AffectedBy(path, self._kind(path)) for path in paths]
        causes = {}
        seen = set()
        for path, meaning in head.dependencies.items():
            old = path if path in base.dependencies else self.old_path.get(path, path)
            if path == head.path:
                old = base.path
            seen.add(old)
            same = base.dependencies.get(old) == meaning
            if not same and (path in self.changed or path == head.path):
                causes[path] = self._kind(path)
        for old in base.dependencies.keys() - seen:
            if old not in self.after:
                causes[old] = "deleted"
        return [AffectedBy(path, kind) for path, kind in sorted(causes.items())]

    def _kind(self, path: str) -> PathChange:
        if path in self.before:
            return "modified" if path in self.after else "deleted"
        return "renamed" if path in self.old_path else "added"

    def _uncovered(self, covered: set[str]) -> tuple[str, ...]:
        changed = {
            path
            for path in self.changed & self.after.keys()
            if self.after[path].kind == "file" and not self._only_moved(path)
        }
        prompts = {path for pattern in self.policy.prompts for path in matching(changed, pattern)}
        contracts = set(matching(prompts, self.policy.contracts))
        return tuple(sorted(prompts - covered - contracts))

    def _only_moved(self, path: str) -> bool:
        old = self.before.get(self.old_path.get(path, ""))
        return old is not None and old.id == self.after[path].id
