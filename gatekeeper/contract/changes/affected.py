"""Finds the contracts that a change affects, with both versions loaded and the paths that caused
it.

A contract is only loaded if one of its files changed. It is affected if the meaning of a file
changed, and not only its text.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from gatekeeper.contract.changes.pairing import Side, is_in, pair_contracts
from gatekeeper.contract.changes.prompt_moves import PromptMoves, Watched, pair_prompts, places_of
from gatekeeper.contract.changes.readings import (
    as_base_shows,
    as_before,
    reading_weakenings,
    unused_readings,
)
from gatekeeper.contract.changes.renaming import edited_notice, with_ids_of
from gatekeeper.contract.changes.successors import Successors
from gatekeeper.contract.discovery.prompt_files import may_hold_text
from gatekeeper.contract.files.contract_document import file_of
from gatekeeper.contract.files.contract_files import (
    find_contracts,
    in_contract_folders,
    matching_contracts,
    near_miss_notices,
)
from gatekeeper.contract.files.references import References, Shapes, Sketch
from gatekeeper.contract.formats.foreign_suite import (
    NothingToRunError,
    contract_name,
    file_of_contract,
)
from gatekeeper.contract.loading.load import (
    SharedNameError,
    differs,
    every_problem,
    load_contract,
    load_contracts,
    require_known_files,
    shared_names,
)
from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.contract.policies.policy import POLICY_PATH, Policy
from gatekeeper.contract.prompts.instructions import front_matter_of
from gatekeeper.contract.prompts.reference import PromptReference, prompt_file, read_reference
from gatekeeper.contract.prompts.value_at_key import parse_data
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.reading.size_limits import require_few_contracts
from gatekeeper.contract.reading.specification_path import holds_specification
from gatekeeper.contract.syntax.schema_errors import shown
from gatekeeper.contract.syntax.yaml_positions import KeyPath
from gatekeeper.contract.values.change import AffectedBy, Change, Entry, PathChange, Revision
from gatekeeper.contract.values.definition import Contract, Target
from gatekeeper.errors import ContractError, Problem

_NOT_SET = object()
_BETWEEN_PATHS = re.compile(r"[\s:#\"'{}\[\],]")
_LIKE_A_PATH = re.compile(r"[^\s:#\"'{}\[\],]{0,300}[./][^\s:#\"'{}\[\],]{0,300}")


def overridden_settings(base: Contract, head: Contract) -> Iterator[str]:
    """Return a sentence for the model and each parameter that changed in the prompt's front matter,
    while the contract sets its own at base and at head; one for any change of a front matter that
    agents read as settings."""
    before, now = base.target.prompt, head.target.prompt
    if before.model != now.model and base.own_model and head.own_model:
        yield _sentence(head, "model", before.model or _NOT_SET, now.model or _NOT_SET)
    fronts = [front_matter_of(p.text, p.path) for p in (before, now) if p.style == "instructions"]
    if len(set(fronts)) > 1:
        yield (
            f"The front matter of {now.path} changed. The contract {head.name} does not test it, "
            "because it is not part of the system message."
        )
    for name in sorted(base.own_params.keys() & head.own_params.keys()):
        written = before.params.get(name, _NOT_SET), now.params.get(name, _NOT_SET)
        if len({_NOT_SET if value is _NOT_SET else canonical(value) for value in written}) > 1:
            yield _sentence(head, name, *written)


def _sentence(head: Contract, name: str, before: Any, now: Any) -> str:
    change = f"changed from {_shown(before)} to {_shown(now)}"
    return (
        f"`{name}` {change} in {head.target.prompt.path}. The change has no effect, because the "
        f"contract {head.name} sets its own value. Change or remove the value in the contract."
    )


def _shown(value: Any) -> str:
    return "none" if value is _NOT_SET else shown(value)


@dataclass(frozen=True, slots=True)
class AffectedContract:
    """One contract that the change affects. `base` is None if it is new or could not be loaded
    there, `head` if it was removed. `prompt_still_there` says whether the prompt, by its own path
    or the one it was renamed to, exists at head.

    `base_target` is what the base arm runs: the base contract's target; without one, the prompt as
    it was at base with head's model and parameters; None if there was no such prompt. `left_prompt`
    is the path at head of a prompt of the base contract, if it still exists and head's contract
    names another in its place. `left_as` says what replaced that prompt, such as a symbolic link;
    None if it is a regular file or removed. `broken` says what is wrong at head with the file of
    another tool that held the contract; it was as wrong at base if `base` is None. `is_foreign`
    says that such a file holds it. `is_new` says
    whether a pull request adds the contract (new_contracts.py). `successors` are files
    that may replace a removed prompt, not tested by the base contract: see successors.py,
    and new_contracts.py for a removed contract. `lost_prompt` is the prompt at base of a
    contract that could not be loaded there, if the prompt was removed and head's contract names
    another. `base_fault` says why it could not be, unless its file is of another tool.
    `part_of` names the contract that this is a group of (contract/changes/groups.py).
    `also_tested_by` names head's contracts that test every prompt of a removed contract.
    """

    name: str
    path: str
    base: Contract | None
    head: Contract | None
    affected_by: tuple[AffectedBy, ...]
    prompt_still_there: bool
    base_target: Target | None = None
    left_prompt: str | None = None
    left_as: str | None = None
    broken: Problem | None = None
    is_foreign: bool = False
    is_new: bool = False
    successors: tuple[str, ...] = ()
    lost_prompt: str | None = None
    part_of: str | None = None
    also_tested_by: tuple[str, ...] = ()
    base_fault: Problem | None = None


@dataclass(frozen=True, slots=True)
class Affected:
    """`uncovered` are added or modified prompts that no contract at head covers: files, and keys of
    data files. `unaffected` counts the contracts at head that need no run, and `others` names
    them; `prompts_of_others` counts their prompts."""

    contracts: tuple[AffectedContract, ...] = ()
    uncovered: tuple[str, ...] = ()
    unaffected: int = 0
    notices: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    prompts_of_others: Mapping[str, int] = field(default_factory=dict)


def every_contract(revision: Revision, policy: Policy, shapes: Shapes) -> Affected:
    """Return every contract of one revision, for the full suite. Raises ContractError."""
    sketches = find_contracts(References(revision, shapes), policy)
    loaded, failed = load_contracts(revision, [sketch.path for sketch in sketches], shapes)
    foreign = {sketch.path for sketch in sketches if sketch.is_foreign}
    suites = [s for s in sketches if s.path in failed and s.path in foreign] if loaded else []
    notices = [unusable_suite(sketch, failed.pop(sketch.path)) for sketch in suites]
    problems = every_problem(failed)
    names: dict[str, list[str]] = defaultdict(list)
    for path, contract in loaded.items():
        names[contract.name].append(path)
    problems += every_problem(shared_names(names))
    if problems:
        raise ContractError(problems)
    return Affected(
        tuple(
            AffectedContract(
                contract.name, path, None, contract, (), True, is_foreign=path in foreign
            )
            for path, contract in loaded.items()
        ),
        notices=(
            *notices,
            *near_miss_notices(revision, policy, in_contract_folders(revision.entries, policy)),
        ),
    )


def find_affected(change: Change, policy: Policy, shapes: Shapes) -> Affected:
    """Return the contracts that the change affects.

    Raises ContractError if one cannot be loaded at head.
    """
    return _Comparison(change, policy, shapes).affected()


@dataclass
class _Comparison:
    """Base against head. Entries are taken once: a revision may compute them."""

    change: Change
    policy: Policy
    shapes: Shapes
    notices: list[str] = field(default_factory=list)
    _faults_at_base: dict[str, ContractError] = field(default_factory=dict)
    _tests: Mapping[str, Set[str]] = field(default_factory=dict)
    """The prompts that each contract of head tests, by its name."""

    def __post_init__(self) -> None:
        self.before: Mapping[str, Entry] = self.change.base.entries
        self.after: Mapping[str, Entry] = self.change.head.entries
        self.prompts = PromptMoves(self.change, self.before, self.after)
        self.old_path = {new: old for old, new in self.change.renames.items()}
        self.changed = self.change.changed

    def affected(self) -> Affected:
        at_head = References(self.change.head, self.shapes)
        sketches = find_contracts(at_head, self.policy)
        suspects = self._suspects(sketches)
        loaded, failed = load_contracts(
            self.change.head, [sketch.path for sketch in suspects], self.shapes
        )
        for sketch in suspects:
            if sketch.path in loaded and sketch.sound:
                used = loaded[sketch.path].dependencies.keys()
                require_known_files(sketch.path, used, sketch.closure)
        unusable = [s for s in suspects if s.path in failed]
        unusable = [s for s in unusable if s.is_foreign or self._was_broken(s)]
        sketches = [sketch for sketch in sketches if sketch not in unusable]
        errors = [(sketch, failed.pop(sketch.path)) for sketch in unusable]
        names: dict[str, list[str]] = defaultdict(list)
        for sketch in sketches:
            name = loaded[sketch.path].name if sketch.path in loaded else sketch.name
            names[name or sketch.path].append(sketch.path)
        touched = {
            name: paths
            for name, paths in names.items()
            if not self.changed.isdisjoint(map(file_of_contract, paths))
        }
        problems = [*every_problem(failed), *every_problem(shared_names(touched))]
        if problems:
            raise ContractError(problems)
        shared = shared_names(names)
        apart = [sketch for sketch in sketches if sketch.path in shared]
        errors += [(replace(sketch, name=None), shared[sketch.path]) for sketch in apart]
        unusable += apart
        sketches = [sketch for sketch in sketches if sketch.path not in shared]
        loaded = {path: one for path, one in loaded.items() if path not in shared}
        prompts = {sketch.path: {*sketch.prompts} for sketch in sketches}
        self._tests = {n: prompts[paths[0]] for n, paths in names.items() if paths[0] in prompts}
        at_base = self._base_sketches([*sketches, *unusable])
        covered = self._covered(sketches, loaded)
        heads = {s.path: self._side(s, loaded[s.path]) for s in sketches if s.path in loaded}
        bases = {sketch.path: self._side_at_base(sketch) for sketch in at_base}
        uncovered = self._uncovered(covered, sketches)
        errors = [
            (s if isinstance(e, SharedNameError) else self._with_hidden_files(s, uncovered), e)
            for s, e in errors
        ]
        results = self._against_base(heads, bases, covered, errors)
        self.notices += self._near_misses()
        run = {result.path for result in results if result.head}
        aside = run | shared.keys()
        others = [name for name, paths in names.items() if paths[0] not in aside]
        return Affected(
            contracts=tuple(sorted(results, key=lambda result: result.name)),
            uncovered=uncovered,
            unaffected=len(others),
            notices=tuple(self.notices),
            others=tuple(sorted(others)),
            prompts_of_others=Counter(s.prompt for s in sketches if s.prompt and s.path not in run),
        )

    def _suspects(self, sketches: Sequence[Sketch]) -> list[Sketch]:
        """Return the contracts that a changed file may affect. Those of one foreign file are
        suspect together: another of its files may have added or removed one."""
        found = {s.file for s in sketches if not s.sound or s.depends_on(self.changed)}
        return [sketch for sketch in sketches if sketch.file in found]

    def _was_broken(self, sketch: Sketch) -> bool:
        """Return whether base has the same file of a contract that cannot be loaded at head, and
        cannot load it either: another pull request is to blame."""
        if sketch.file not in self.before or sketch.file in self.changed:
            return False
        try:
            load_contract(self.change.base, sketch.path, self.shapes)
        except ContractError:
            return True
        return False

    def _with_hidden_files(self, sketch: Sketch, uncovered: Sequence[str]) -> Sketch:
        """Return a broken contract with what may stand behind its mistake: each changed file that
        its text names, and each changed prompt without a contract if its own is not known."""
        if sketch.is_foreign:
            return sketch
        try:
            text = read_text(self.change.head, sketch.file)
        except UnreadableError:
            text = ""
        paths = (word.rstrip(".") for word in _LIKE_A_PATH.findall(text))
        words = {path.rpartition("/")[2] for path in paths}
        names = {path: path.rpartition("/")[2] for path in self.changed}
        spaced = {name for name in names.values() if _BETWEEN_PATHS.search(name) and name in text}
        named = {path for path, name in names.items() if name in words | spaced}
        is_known = sketch.prompt is not None and prompt_file(sketch.prompt) in self.after
        hidden = named if is_known else named.union(map(prompt_file, uncovered))
        return replace(sketch, closure=sketch.closure | hidden)

    def _near_misses(self) -> tuple[str, ...]:
        """Return notices about files that the change adds, and not about older ones."""
        changed = self.changed & self.after.keys()
        added = changed - self.before.keys() - self.old_path.keys()
        contracts = matching_contracts(self.old_path.values(), self.policy)
        moved = {new for new, old in self.old_path.items() if old in contracts}
        among = added | moved | set(in_contract_folders(changed, self.policy))
        return near_miss_notices(self.change.head, self.policy, among)

    def _base_sketches(self, at_head: Sequence[Sketch]) -> list[Sketch]:
        """Return the contracts at base that may differ: their own file changed, or a path of their
        closure. An unchanged file has the same closure on both sides."""
        references = References(self.change.base, self.shapes)
        written = matching_contracts(self.changed & self.before.keys(), self.policy)
        touched = {s.file for s in self._suspects(at_head) if s.file in self.before}
        require_few_contracts([*written | touched], self.policy.contracts, POLICY_PATH)
        sketches = references.sketches(sorted(written | touched))
        return [sketch for sketch in sketches if sketch.is_contract]

    def _side(self, sketch: Sketch, contract: Contract) -> Side:
        return Side(sketch, sketch.file, sketch.prompt, lambda: contract, True)

    def _side_at_base(self, sketch: Sketch) -> Side:
        @cache
        def load() -> Contract | None:
            try:
                return load_contract(self.change.base, sketch.path, self.shapes)
            except ContractError as error:
                self._faults_at_base[sketch.path] = error
                return None

        file = self.change.renames.get(sketch.file, sketch.file)
        return Side(sketch, file, self.prompts.now(sketch.prompt), load)

    def _against_base(
        self,
        heads: Mapping[str, Side],
        bases: Mapping[str, Side],
        covered: set[str],
        unusable: Sequence[tuple[Sketch, ContractError]],
    ) -> list[AffectedContract]:
        pairs = pair_contracts(heads, bases)
        self.notices += (f"The contract {old} is now called {new}." for old, new in pairs.renamed)
        loaded = {path: head for path, side in heads.items() if (head := side.load())}
        turned = [
            w
            for path, old in pairs.old.items()
            for w in self._watched(bases[old].sketch, loaded[path])
        ]
        following = Successors(self.change, self.policy, loaded, covered, turned)
        waiting = dict(bases)
        results = []
        for path, head in loaded.items():
            side = waiting.pop(pairs.old[path]) if path in pairs.old else None
            base = self._base_of(side, head) if side else None
            head = as_base_shows(base, head) if base else head
            watched = self._watched(base or (side.sketch if side else None), head)
            left = self._left(watched, heads, side)
            self.notices += overridden_settings(base, head) if base else ()
            unlisted = self._no_longer_shown(side.sketch, head) if side else None
            left_out = left or unlisted
            successors = () if left_out else following.of_all(watched, head)
            is_other = base is not None and (
                differs(base, head) or any(reading_weakenings(base.target, head.target))
            )
            if base is None or left_out or successors or is_other:
                gone = (w.reference for w in watched if base is None and self.prompts.is_lost(w))
                result = self._result(base, head, left)
                result = replace(result, is_foreign=heads[path].sketch.is_foreign)
                result = replace(result, left_prompt=result.left_prompt or unlisted)
                if side and base is None and not side.sketch.is_foreign:
                    fault = self._faults_at_base[side.sketch.path].problems[0]
                    result = replace(result, base_fault=fault)
                results.append(replace(result, lost_prompt=next(gone, None), successors=successors))
        broken, unknown, notices = broken_contracts(unusable, waiting, self.changed)
        self.notices += notices
        results += [
            self._unknown(sketch, unknown[sketch.path])
            for sketch, _ in unusable
            if sketch.path in unknown
        ]
        results += self._removed_broken(waiting.values(), covered, following)
        # A file without a name that can be read was no contract anybody could have relied on.
        named = [side for side in waiting.values() if side.sketch.name is not None]
        files = {sketch.file for sketch, _ in unusable}
        return results + [
            replace(self._removed(side, following), broken=broken.get(side.sketch.path))
            for side in named
            if side.file not in files or side.sketch.path in broken
        ]

    def _left(
        self, watched: Sequence[Watched], heads: Mapping[str, Side], old: Side | None
    ) -> Watched | None:
        """Return the first prompt that the contract left, although something is still there. A
        suite that holds its prompts itself may move them: the old place counts only if no contract
        of the suite tests it, and it does not name the file that the prompt moved to."""
        left = [(w, place) for w in watched if (place := self.prompts.left(w))]
        if old is not None and old.sketch.is_foreign:
            tested = [s.prompt for s in heads.values() if s.file == old.file and s.prompt]
            left = [
                (w, place)
                for w, place in left
                if prompt_file(place) != old.file
                or not (is_in(place, tested) or self.prompts.names_file(place))
            ]
        return left[0][0] if left else None

    def _base_of(self, side: Side, head: Contract) -> Contract | None:
        base = side.load()
        if base is None:
            self.notices.append(
                f"The contract {head.name} counts as new, because gatekeeper cannot load the "
                f"base version ({self._faults_at_base[side.sketch.path].problems[0]})."
            )
            return None
        base, edited = with_ids_of(base, head)
        self.notices += edited_notice(head.name, edited)
        return base

    def _watched(self, base: Contract | Sketch | None, head: Contract) -> tuple[Watched, ...]:
        return pair_prompts(places_of(base), places_of(head), self.prompts.now)

    def _no_longer_shown(self, before: Sketch, head: Contract) -> str | None:
        """Return a skill or a list of tools of head that base's contract would show to the model,
        and head's does not."""
        if before.is_foreign:
            return None
        found = [path for each in sorted(before.patterns) for path in matching(self.after, each)]
        found += [self.change.renames.get(path, path) for path in before.tools]
        return next((p for p in found if p in self.after and p not in head.dependencies), None)

    def _result(
        self, base: Contract | None, head: Contract, watched: Watched | None
    ) -> AffectedContract:
        """Return the affected contract; `watched` is the prompt that head's contract left."""
        causes = self._causes(base, head)
        left = self.prompts.left(watched) if watched else None
        left_file = prompt_file(left) if left else None
        now = prompt_file(watched.now) if watched and watched.now else None
        if left_file in self.changed and left_file not in head.dependencies:
            causes.append(AffectedBy(left_file, self._kind(left_file)))
        causes = sorted(causes, key=lambda cause: cause.path)
        file = file_of(self.change.head, head.path)
        causes = causes or [AffectedBy(file, self._kind(file))]
        target = base.target if base else self.prompts.target_at_base(head)
        if base is None and target is not None:
            own, head = head, as_before(target, head)
            self.notices += unused_readings(own, head)
        return AffectedContract(
            head.name,
            head.path,
            base,
            head,
            tuple(causes),
            prompt_still_there=True,
            base_target=target,
            left_prompt=left,
            left_as=self.prompts.paths.replacement(left_file, now) if left_file else None,
        )

    def _removed(self, side: Side, following: Successors) -> AffectedContract:
        sketch, base = side.sketch, side.load()
        prompts = tuple(places_of(base or sketch).values())
        kind: PathChange = "modified" if sketch.file in self.after else "deleted"
        files = [file for file in map(prompt_file, prompts) if file in self.before]
        replacement = next(filter(None, map(self.prompts.paths.replacement, files)), None)
        there = {self.prompts.now(prompt) for prompt in prompts if self.prompts.is_there(prompt)}
        others = [name for name, tested in self._tests.items() if there and there <= tested]
        return AffectedContract(
            sketch.name or sketch.path,
            sketch.path,
            base,
            None,
            (AffectedBy(sketch.file, kind),),
            prompt_still_there=replacement is not None or any(map(self.prompts.is_there, prompts)),
            base_target=base.target if base else None,
            left_as=replacement,
            successors=following.of_all([Watched(path, None) for path in prompts]),
            also_tested_by=() if replacement else tuple(sorted(others)),
        )

    def _removed_broken(
        self, left: Iterable[Side], covered: Set[str], following: Successors
    ) -> Iterator[AffectedContract]:
        """Yield each suite with a mistake at base that the change removes, although it changes what
        the suite should have tested, or a file that replaces it, and no other contract tests it.
        """
        open_ = (self.changed & self.after.keys()) - covered
        for side in left:
            sketch = side.sketch
            is_broken = sketch.is_foreign and sketch.name is None and side.file not in self.after
            if not is_broken or side.load() is not None:
                continue
            error = self._faults_at_base[sketch.path]
            replacing = following.of_all([Watched(path, None) for path in sorted(sketch.closure)])
            new = {path for path in open_.intersection(replacing) if not self._only_moved(path)}
            if not isinstance(error, NothingToRunError) and (new or sketch.depends_on(open_)):
                yield self._unknown(sketch, error.problems[0], new)

    def _unknown(
        self, sketch: Sketch, problem: Problem, new: Set[str] = frozenset()
    ) -> AffectedContract:
        """Return the contract of a suite that gatekeeper can use neither at base nor at head. Its
        name is one that a waiver can name."""
        paths = sorted(new or {path for path in self.changed if sketch.depends_on({path})})
        causes = tuple(AffectedBy(path, self._kind(path)) for path in paths)
        name = sketch.name or contract_name(sketch.path, "suite")
        result = AffectedContract(name, sketch.path, None, None, causes, True, broken=problem)
        return replace(result, is_foreign=sketch.is_foreign)

    def _causes(self, base: Contract | None, head: Contract) -> list[AffectedBy]:
        """Return the paths of both closures whose meaning differs, under their names at head."""
        if base is None:
            paths = sorted(self.changed & head.dependencies.keys())
            return [AffectedBy(path, self._kind(path)) for path in paths]
        causes = {}
        seen = set()
        own, own_at_base = (
            file_of(revision, contract.path)
            for revision, contract in ((self.change.head, head), (self.change.base, base))
        )
        for path, meaning in head.dependencies.items():
            old = path if path in base.dependencies else self.old_path.get(path, path)
            if path == own:
                old = own_at_base
            seen.add(old)
            same = base.dependencies.get(old) == meaning
            if not same and (path in self.changed or path == own):
                causes[path] = self._kind(path)
        for old in base.dependencies.keys() - seen:
            if old not in self.after:
                causes[old] = "deleted"
        return [AffectedBy(path, kind) for path, kind in sorted(causes.items())]

    def _kind(self, path: str) -> PathChange:
        if path in self.before:
            return "modified" if path in self.after else "deleted"
        return "renamed" if path in self.old_path else "added"

    def _covered(self, sketches: Sequence[Sketch], loaded: Mapping[str, Contract]) -> set[str]:
        """Return the paths that contracts test: of a skill that one only shows, if its text is that
        of base."""
        covered: set[str] = set()
        for sketch in sketches:
            contract, shown = loaded.get(sketch.path), sketch.shown.keys()
            covered |= sketch.tested
            covered |= contract.dependencies.keys() - shown if contract else set()
            covered.update(filter(self._has_old_text, shown))
        return covered

    def _uncovered(self, covered: set[str], sketches: Sequence[Sketch]) -> tuple[str, ...]:
        changed = {
            path
            for path in self.changed & self.after.keys()
            if self.after[path].kind == "file" and not self._only_moved(path)
        }
        prompts = {path for pattern in self.policy.prompts for path in matching(changed, pattern)}
        keys = uncovered_keys(self.change, sketches, prompts & covered)
        head = self.change.head
        others = {path for path in prompts - covered if not holds_specification(head, path)}
        named = set(self.policy.prompts)
        others = {path for path in others if path in named or may_hold_text(head, path)}
        return tuple(sorted({*others, *keys}))

    def _has_old_text(self, path: str) -> bool:
        """Return whether nothing but the front matter of a skill changed."""
        sides = (self.change.base, self.old_path.get(path, path)), (self.change.head, path)
        try:
            texts = [(read_text(revision, name), name) for revision, name in sides]
        except UnreadableError:
            return False
        return len({text.removeprefix(front_matter_of(text, name)) for text, name in texts}) == 1

    def _only_moved(self, path: str) -> bool:
        old = self.before.get(self.old_path.get(path, ""))
        return old is not None and old.id == self.after[path].id


# What a suite of another tool that cannot be used at head means for the contracts that it held.
#
# One such suite does not stop the gate for the others. But a pull request must not remove a
# contract by breaking its suite. Contracts that share a name since before the change, and those
# whose unchanged file was as wrong at base, are such files, too.


def unusable_suite(sketch: Sketch, error: ContractError) -> str:
    """Return a notice on contracts of a file that are not run."""
    what = "the contracts" if sketch.path == sketch.file else f"the contract {sketch.name}"
    return f"Gatekeeper does not run {what} of {sketch.file}: {error.problems[0]}"


def broken_contracts(
    unusable: Sequence[tuple[Sketch, ContractError]], left: Mapping[str, Side], changed: Set[str]
) -> tuple[dict[str, Problem], dict[str, Problem], list[str]]:
    """Map each contract of base whose suite can no longer be used at head to what is wrong there,
    and each file with a mistake on both sides of which the change touches a file. `left` are the
    contracts of base that no contract of head continues.

    Return notices, too: on other suites that could not be used at base either, and on new ones of
    which gatekeeper can run nothing. Raises ContractError for a mistake in a suite that base does
    not have.
    """
    broken: dict[str, Problem] = {}
    unknown: dict[str, Problem] = {}
    notices: list[str] = []
    problems: list[Problem] = []
    for sketch, error in unusable:
        if isinstance(error, SharedNameError):
            if sketch.depends_on(changed):
                unknown[sketch.path] = error.problems[0]
            else:
                notices.append(unusable_suite(sketch, error))
            continue
        before = [side for side in left.values() if side.file == sketch.file]
        usable = [side.sketch.path for side in before if side.load() is not None]
        if usable:
            broken |= dict.fromkeys(usable, error.problems[0])
            continue
        known = before or not sketch.is_foreign
        if isinstance(error, NothingToRunError) or (known and not sketch.depends_on(changed)):
            notices.append(unusable_suite(sketch, error))
        elif known:
            unknown[sketch.path] = error.problems[0]
        else:
            problems += error.problems
    if problems:
        raise ContractError(list(dict.fromkeys(problems)))
    return broken, unknown, notices


def uncovered_keys(
    change: Change, sketches: Sequence[Sketch], paths: Collection[str]
) -> Iterator[str]:
    """Yield a reference to each text of the changed files that is new or different at head, and
    that is no part of a contract's prompt. A single word is no prompt. Files that a contract uses
    as a whole are covered as a whole."""
    old_path = {new: old for old, new in change.renames.items()}
    for path in sorted(paths):
        covered = _covered_keys(sketches, path)
        if not covered:
            continue
        before = dict(_texts(change.base, old_path.get(path, path)))
        for key, text in _texts(change.head, path):
            inside = any(key[: len(known)] == known for known in covered)
            if not inside and before.get(key) != text and len(text.split()) > 1:
                yield str(PromptReference(path, key))


def _covered_keys(sketches: Sequence[Sketch], path: str) -> list[KeyPath]:
    """Return the keys of the file that are prompts of contracts; none if a contract uses the file
    in another way."""
    keys: list[KeyPath] = []
    for sketch in sketches:
        if path in sketch.closure:
            named = [read_reference(prompt) for prompt in sketch.prompts]
            own = [place.key for place in named if place.path == path and place.key is not None]
            if sketch.file == path or not own:
                return []
            keys += own
    return keys


def _texts(revision: Revision, path: str) -> Iterator[tuple[KeyPath, str]]:
    """Yield each text of a data file with its key; nothing if it cannot be read."""
    try:
        data = parse_data(read_text(revision, path), path).data
    except (UnreadableError, ContractError):
        return
    waiting: list[tuple[KeyPath, Any]] = [((), data)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, dict):
            waiting += [((*key, name), inner) for name, inner in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*key, at), inner) for at, inner in reversed([*enumerate(value)])]
