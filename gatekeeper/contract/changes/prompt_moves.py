"""What a pull request does with the prompts of the base contract: which it leaves without a
contract, which are gone, and what they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from gatekeeper.contract.changes.watched_paths import WatchedPaths
from gatekeeper.contract.changes.watched_prompts import Watched
from gatekeeper.contract.prompts.existing import has_prompt
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.prompts.reference import prompt_file, read_reference
from gatekeeper.contract.prompts.value_at_key import find_value, parse_data
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.values.change import Change, Entry
from gatekeeper.contract.values.definition import Contract, Prompt, Target, TemplateStyle
from gatekeeper.errors import ContractError


@dataclass(frozen=True)
class PromptMoves:
    """The prompts of both revisions of a change. `before` and `after` are their entries."""

    change: Change
    before: Mapping[str, Entry]
    after: Mapping[str, Entry]

    @cached_property
    def paths(self) -> WatchedPaths:
        return WatchedPaths(self.after)

    def now(self, reference: str | None) -> str | None:
        """Return the reference with its file's path at head."""
        if not reference:
            return None
        path = prompt_file(reference)
        return self.change.renames.get(path, path) + reference.removeprefix(path)

    def left(self, watched: Watched) -> str | None:
        """Return a prompt of the base contract, if head's contract names another in its place and a
        program still finds something at its path.

        A link to a copy counts, also if git calls the copy the prompt's new name.
        """
        old, now = watched
        file = prompt_file(old)
        if file not in self.before or old == now:
            return None
        if self.paths.replacement(file, known=prompt_file(now) if now else None):
            return old
        place = self.now(old)
        if place is None or place == now or not self._is_file(prompt_file(place)):
            return None
        return place if has_prompt(self.change.head, place) else None

    def is_there(self, reference: str | None) -> bool:
        """Return whether the prompt exists at head, by its own path or the one that it has now."""
        now = self.now(reference)
        return now is not None and has_prompt(self.change.head, now)

    def names_file(self, place: str) -> bool:
        """Return whether there is nothing at a place of head but the path of a file there, which
        may have a label."""
        reference = read_reference(place)
        try:
            document = parse_data(read_text(self.change.head, reference.path), reference.path)
            value = find_value(document, reference.key or ())
            if isinstance(value, dict) and "raw" not in value:
                value = value.get("id")
            named = value.removeprefix("file://") if isinstance(value, str) else ""
            return self._is_file(locate(named, reference.path))
        except (UnreadableError, ContractError):
            return False

    def is_lost(self, watched: Watched) -> bool:
        """Return whether the prompt is gone, and head's contract names another in its place."""
        old, now = watched
        if self.is_there(old) or not has_prompt(self.change.base, old):
            return False
        file, new_file = prompt_file(old), prompt_file(now or "")
        same_part = old.removeprefix(file) == (now or "").removeprefix(new_file)
        return not (same_part and self.paths.is_same_name(file, new_file))

    def target_at_base(self, head: Contract) -> Target | None:
        """Return the contract's prompt as it was at base, at its path there; each step too, if
        there was one."""
        target, style = head.target, head.template
        prompt = self._at_base(target.prompt, style)
        if prompt is None:
            return None
        steps = (
            replace(s, prompt=self._at_base(s.prompt, style) or s.prompt) for s in target.steps
        )
        return Target(prompt, target.model, target.params, steps=tuple(steps))

    def _at_base(self, prompt: Prompt, style: TemplateStyle | None) -> Prompt | None:
        old_path = {new: old for old, new in self.change.renames.items()}
        path = old_path.get(prompt.path, prompt.path)
        if path not in self.before:
            return None
        try:
            return load_prompt(self.change.base, path + prompt.part, style)
        except (UnreadableError, ContractError):
            return None

    def _is_file(self, path: str) -> bool:
        return path in self.after and self.after[path].kind == "file"
