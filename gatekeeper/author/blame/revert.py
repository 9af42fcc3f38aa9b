"""Writes the revert of some edits as a change of head's files.

Each way of writing it is only a proposal: the files are read again as prompts, and the revert
counts only if they make exactly the requests that were measured.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gatekeeper.author.aligned_texts import changed_ranges, equal_ends, is_quick_to_align
from gatekeeper.author.blame.edits import Edit
from gatekeeper.contract.meaning.digests import target_digest
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.values.change import Overlay, Revision
from gatekeeper.contract.values.definition import (
    Contract,
    MessageTemplate,
    Prompt,
    PromptStep,
    Target,
)
from gatekeeper.errors import ContractError
from gatekeeper.gate.results.author_results import LineReplacement, ProposedRevert, lines_digest

_CONTEXT = 2
"""Unchanged lines around each change of a diff."""
_NO_LINE_END = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Arms:
    """The two targets of a contract and the revisions that they are from."""

    contract: Contract
    base: Target
    head: Target
    base_revision: Revision
    head_revision: Revision


class _Hunk(NamedTuple):
    """Lines of base from `start` to before `end` that stand for head's from `first` to before
    `last`; both count from 0."""

    start: int
    end: int
    first: int
    last: int


def write_revert(
    arms: Arms, edits: Sequence[Edit], reverted: Collection[Edit], wanted: Target
) -> ProposedRevert | None:
    """Return the change of head's files that makes the `wanted` target, head without the `reverted`
    ones of all its `edits`. None if no change of lines is known to do that."""
    for texts in _proposals(arms, edits, reverted, wanted):
        if _makes(arms, texts, wanted):
            return _written(arms.head_revision, texts)
    return None


def _proposals(
    arms: Arms, edits: Sequence[Edit], reverted: Collection[Edit], wanted: Target
) -> Iterator[Mapping[str, str]]:
    """Yield texts of head's files that may be the reverted ones: with base's lines in the place of
    the edits, also in the front matter, and with the messages that are wanted."""
    paths = sorted({edit.path for edit in reverted})
    kept = [edit for edit in edits if edit not in reverted]
    for also_unknown in (False, True):
        found = {}
        for path in paths:
            own = [edit for edit in reverted if edit.path == path]
            others = [edit for edit in kept if edit.path == path]
            text = _with_lines_of_base(arms, path, own, others, also_unknown=also_unknown)
            if text is None:
                break
            found[path] = text
        else:
            yield found
    messages = {path: _with_messages(arms, path, wanted) for path in paths}
    texts = {path: text for path, text in messages.items() if text is not None}
    if len(texts) == len(paths):
        yield texts


def _with_lines_of_base(
    arms: Arms,
    path: str,
    reverted: Sequence[Edit],
    kept: Sequence[Edit],
    *,
    also_unknown: bool,
) -> str | None:
    """Return head's file with base's lines in the place of each reverted edit; with `also_unknown`
    also of what is no edit, such as comments and settings in the front matter. If no edit is kept,
    the file ends as base's does, with or without a line end."""
    before = _text(arms.base_revision, _path_at_base(arms, path))
    now = _text(arms.head_revision, path)
    if before is None or now is None:
        return None
    # A line end of the file's last line is an empty line after it, so that it can come back too.
    old, new = before.split("\n"), now.split("\n")
    ends = len(old), len(new)
    # From the last to the first, also of lines that come back to the same place.
    for hunk in sorted(_hunks(old, new), key=lambda hunk: (hunk.first, hunk.start), reverse=True):
        wanted = any(_touches(hunk, edit) for edit in reverted)
        wanted = wanted or (not kept and (hunk.end, hunk.last) == ends)
        unknown = also_unknown and not any(_touches(hunk, edit) for edit in kept)
        if wanted or unknown:
            new[hunk.first : hunk.last] = old[hunk.start : hunk.end]
    return "\n".join(new)


def _path_at_base(arms: Arms, path: str) -> str:
    """Return where base has the prompt that is at the path in head."""
    pairs = ((step.prompt, arms.base.prompt_of(step.name)) for step in arms.head.steps)
    for head, base in (*pairs, (arms.head.prompt, arms.base.prompt)):
        if head.path == path:
            return base.path
    return path


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[_Hunk]:
    """Yield what differs, in pieces as small as possible."""
    for start, end, first, last in changed_ranges(old, new):
        if end - start == last - first:
            pairs = zip(range(start, end), range(first, last), strict=True)
            yield from (_Hunk(a, a + 1, b, b + 1) for a, b in pairs)
        elif first == last:
            yield from (_Hunk(line, line + 1, first, first) for line in range(start, end))
        elif start == end:
            yield from (_Hunk(start, start, line, line + 1) for line in range(first, last))
        else:
            yield _Hunk(start, end, first, last)


def _touches(hunk: _Hunk, edit: Edit) -> bool:
    """Return whether the edit is in the hunk: its new text in head's lines, or its old text in
    base's."""
    if edit.line is not None and (edit.after or edit.setting):
        end = edit.end_line or edit.line
        if hunk.first < end and edit.line <= hunk.last:
            return True
    at_base = edit.base_line is not None and (edit.before or edit.setting)
    return bool(at_base and edit.base_line and hunk.start < edit.base_line <= hunk.end)


def _with_messages(arms: Arms, path: str, wanted: Target) -> str | None:
    """Return head's file with the wanted text of each message, or of the included file."""
    now = _text(arms.head_revision, path)
    if now is None:
        return None
    pairs = [
        (prompt, wanted.prompt_of(name))
        for name, prompt in _prompts(arms.head)
        if prompt.path == path
    ]
    if not pairs:
        return next((p.includes[path] for p in wanted.prompts if path in p.includes), None)
    lines = _lines(now)
    changes: list[tuple[MessageTemplate, MessageTemplate]] = []
    for prompt, other in pairs:
        if [m.role for m in prompt.messages] != [m.role for m in other.messages]:
            return None
        both = zip(prompt.messages, other.messages, strict=True)
        changes += [(a, b) for a, b in both if a.content != b.content]
    for message, new in sorted(changes, key=lambda change: change[0].line, reverse=True):
        content = message.content.rstrip("\n").split("\n")
        first = message.line_at(1)
        last = message.line_at(len(content))
        written = lines[first - 1 : last]
        if len(written) != len(content):
            return None
        indent = written[0].removesuffix(content[0])
        lines[first - 1 : last] = [
            f"{indent}{line}" if line else line for line in new.content.rstrip("\n").split("\n")
        ]
    return _joined(lines, now)


def _prompts(target: Target) -> Iterator[tuple[str | None, Prompt]]:
    yield from ((step.name, step.prompt) for step in target.steps)
    yield None, target.prompt


def _makes(arms: Arms, texts: Mapping[str, str], wanted: Target) -> bool:
    """Return whether head with these files sends the requests of the wanted target."""
    revision = Overlay(arms.head_revision, texts)
    try:
        steps = tuple(PromptStep(s.name, _loaded(revision, s.prompt)) for s in arms.head.steps)
        loaded = replace(arms.head, prompt=_loaded(revision, arms.head.prompt), steps=steps)
    except (UnreadableError, ContractError):
        return False
    found = replace(arms.contract.target_for(loaded), appended=wanted.appended)
    return target_digest(found) == target_digest(_without_unused(wanted, found))


def _loaded(revision: Revision, prompt: Prompt) -> Prompt:
    return load_prompt(revision, prompt.reference, prompt.style, prompt.allowed)


def _without_unused(wanted: Target, found: Target) -> Target:
    """Return the wanted target without the included files that no template of it uses: `found`
    does not have them, and they change no request."""

    def used(prompt: Prompt, other: Prompt) -> Prompt:
        includes = {p: text for p, text in prompt.includes.items() if p in other.includes}
        return replace(prompt, includes=includes)

    steps = tuple(
        PromptStep(step.name, used(step.prompt, found.prompt_of(step.name)))
        for step in wanted.steps
    )
    return replace(wanted, prompt=used(wanted.prompt, found.prompt), steps=steps)


def _written(revision: Revision, texts: Mapping[str, str]) -> ProposedRevert | None:
    parts: list[str] = []
    for path, text in sorted(texts.items()):
        old, new = _with_ends(read_text(revision, path)), _with_ends(text)
        if not is_quick_to_align(old, new):
            return None  # a diff that nobody reads, after minutes
        names = f"a/{path}", f"b/{path}"
        made = difflib.unified_diff(old, new, *names, lineterm="", n=_CONTEXT)
        for number, line in enumerate(made):
            is_open = number > 1 and not line.endswith("\n") and not line.startswith("@@")
            parts += [line.removesuffix("\n"), *([_NO_LINE_END] if is_open else [])]
    single = _replacement(revision, *next(iter(texts.items()))) if len(texts) == 1 else None
    return ProposedRevert("\n".join(parts), None, None, single)


def _replacement(revision: Revision, path: str, text: str) -> LineReplacement | None:
    """Return the range of head's lines that changes, with at least one line; None if the file has
    other line ends or a byte order mark, which reading it removed, or if its last line gets or
    loses its line end."""
    now = read_text(revision, path)
    if revision.read(path) != now.encode() or now.endswith("\n") != text.endswith("\n"):
        return None
    old, new = _lines(now), _lines(text)
    if old == new:
        return None
    start, same_after = equal_ends(old, new)
    end = len(old) - same_after
    if start == end:
        start, end = (start, end + 1) if end < len(old) else (start - 1, end)
    lines = tuple(new[start : len(new) - (len(old) - end)])
    file_id = revision.entries[path].id
    return LineReplacement(path, start + 1, end, lines, file_id, lines_digest(lines))


def _text(revision: Revision, path: str) -> str | None:
    try:
        return read_text(revision, path)
    except UnreadableError:
        return None


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _with_ends(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _joined(lines: Sequence[str], now: str) -> str:
    """Return the lines as a text that ends as the file does now."""
    return "\n".join(lines) + ("\n" if now.endswith("\n") else "")
