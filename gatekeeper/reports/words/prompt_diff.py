"""Finds the changes in a prompt by section: front matter, roles and Markdown headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from functools import lru_cache
from typing import Literal

from gatekeeper.gate.results.result import ArmResult, ContractResult

_BEGINNING = "beginning"
ROLES = ("system", "user", "assistant", "developer", "tool")
_ROLE = re.compile(
    rf"^#{{0,6}}\s*(?:-\s*role:\s*)?[\"']?({'|'.join(ROLES)})[\"']?\s*(?::\s*)?$", re.IGNORECASE
)
_HUNK = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")
# A renamed heading keeps most of its text; below this it is one section gone and one new.
_SAME_SECTION = 0.5
# Comparing line by line grows faster than the prompt does; people read no such difference.
_MOST_LINES = 4_000


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a prompt under one heading. `line` counts from 1."""

    title: str
    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SectionChange:
    """One section that differs, and its unified diff.

    `line` is the first line at head that differs, counted from 1; of a removed section the one
    that has taken its place.
    """

    title: str
    change: Literal["changed", "added", "removed"]
    diff: str
    line: int = 1
    path: str | None = None
    """The prompt file, for a prompt of a chain; None for a contract with a single prompt."""


def split_sections(text: str) -> tuple[Section, ...]:
    """Split the prompt at its headings and role lines. Their texts together are the whole text."""
    if not text:
        return ()
    lines = text.removesuffix("\n").split("\n")
    starts = _under_roles(sorted(_starts(lines).items()))
    if not starts or starts[0][0] > 0:
        starts.insert(0, (0, _BEGINNING))
    ends = [start for start, _ in starts[1:]] + [len(lines)]
    return tuple(
        Section(title, start + 1, tuple(lines[start:end]))
        for (start, title), end in zip(starts, ends, strict=True)
    )


def prompt_changes(contract: ContractResult) -> tuple[SectionChange, ...]:
    """Return the sections of a contract's prompts, and the tools, that differ; none if there is
    nothing to compare. Of several prompts, each title begins with the name of the step."""
    base, head = contract.base, contract.head
    if base is None or head is None:
        return ()
    texts = (base.tools_text, head.tools_text)
    tools = [
        replace(change, title=f"tool {change.title.removeprefix('# ')}", line=1)
        for change in (diff_prompts(*texts) if texts[0] != texts[1] else ())
    ]
    if not base.steps and not head.steps:
        changes = diff_prompts(base.prompt_text, head.prompt_text)
        return (*(_in_file(change, head.prompt_lines) for change in changes), *tools)
    return (*_changes_of_steps(base, head), *tools)


def place_at_head(change: SectionChange, head: ArmResult) -> tuple[str, int]:
    """Return the file and line of a change; of a step that head does not have, the beginning of the
    last prompt."""
    at_head = {head.prompt_path, *(step.prompt_path for step in head.steps)}
    if change.path is None or change.path in at_head:
        return change.path or head.prompt_path, change.line
    return head.prompt_path, 1


def _changes_of_steps(base: ArmResult, head: ArmResult) -> Iterator[SectionChange]:
    """Yield the changes of each step in head's order, then those of the steps that head does not
    have."""
    before, now = _prompts(base), _prompts(head)
    for name in [*now, *(name for name in before if name not in now)]:
        path, _, lines = now.get(name) or before[name]
        texts = [side[name][1] if name in side else "" for side in (before, now)]
        for change in diff_prompts(*texts):
            title = change.title if name is None else f"{name} › {change.title}"
            yield replace(_in_file(change, lines), title=title, path=path)


def _in_file(change: SectionChange, lines: Sequence[int]) -> SectionChange:
    """Return the change with its line in the file, if the prompt is a part of one."""
    if not lines:
        return change
    return replace(change, line=lines[min(change.line, len(lines)) - 1])


def _prompts(arm: ArmResult) -> dict[str | None, tuple[str, str, Sequence[int]]]:
    """Return the path, text and file lines of each prompt of an arm by its step's name; None for
    the last."""
    found: dict[str | None, tuple[str, str, Sequence[int]]] = {
        step.name: (step.prompt_path, step.prompt_text, step.prompt_lines) for step in arm.steps
    }
    return found or {None: (arm.prompt_path, arm.prompt_text, arm.prompt_lines)}


@lru_cache(maxsize=1_024)
def diff_prompts(base: str, head: str) -> tuple[SectionChange, ...]:
    """Return the sections that differ, in the order of the prompt.

    All reports of a run share them.
    """
    if base == head:
        return ()
    if base.count("\n") + head.count("\n") > _MOST_LINES:
        return (_too_long(base.split("\n"), head.split("\n")),)
    return tuple(_changes(split_sections(base), split_sections(head)))


def _too_long(base: Sequence[str], head: Sequence[str]) -> SectionChange:
    first = _first_difference(base, head)
    pair = [
        *(f"-{line}" for line in base[first : first + 1]),
        *(f"+{line}" for line in head[first : first + 1]),
    ]
    text = "\n".join(
        [f"@@ -{first + 1} +{first + 1} @@", *pair, "(the rest is too long to compare)"]
    )
    return SectionChange("the whole prompt", "changed", text, _within(first + 1, head))


def _first_difference(base: Sequence[str], head: Sequence[str]) -> int:
    """Return the index of the first line that differs; the shorter's length if there is none."""
    pairs = enumerate(zip(base, head, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(base), len(head)))


def _within(line: int, lines: Sequence[str]) -> int:
    return max(1, min(line, len(lines)))


def _starts(lines: Sequence[str]) -> dict[int, str]:
    """Map the index of a line to the title of the section that begins there."""
    from markdown_it import MarkdownIt

    body = _front_matter_end(lines)
    starts = {0: "front matter"} if body else {}
    if body and body < len(lines):
        starts[body] = _BEGINNING
    # Only blocks are of interest; what is inside of them can be made slow to read.
    tokens = (
        MarkdownIt("commonmark")
        .disable("inline")
        .parse("\n".join([""] * body + list(lines[body:])))
    )
    literal: set[int] = set()
    for position, token in enumerate(tokens):
        if token.map is None:
            continue
        if token.type in ("fence", "code_block"):
            literal.update(range(*token.map))
        # A line of dashes under a chat message's text is meant as a rule: only # headings count.
        if token.type == "heading_open" and token.level == 0 and token.markup.startswith("#"):
            starts[token.map[0]] = f"{token.markup} {tokens[position + 1].content}".strip()
    for index, line in enumerate(lines[body:], body):
        role = _ROLE.match(line.strip())
        if role and index not in literal:
            starts[index] = role[1].lower()
    return starts


def _under_roles(starts: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Name each heading after its message, because several messages may have the same heading."""
    named = []
    role = ""
    for line, title in starts:
        if not title.startswith("#"):
            role = f"{title} › " if title in ROLES else ""
            named.append((line, title))
        else:
            named.append((line, f"{role}{title}"))
    return named


def _front_matter_end(lines: Sequence[str]) -> int:
    """Return the index of the first line after YAML front matter, 0 if there is none."""
    if lines[0].rstrip() != "---":
        return 0
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return index + 1
    return 0


def _changes(base: Sequence[Section], head: Sequence[Section]) -> Iterator[SectionChange]:
    matcher = SequenceMatcher(
        None, [section.title for section in base], [section.title for section in head]
    )
    for operation, base_from, base_to, head_from, head_to in matcher.get_opcodes():
        old, new = base[base_from:base_to], head[head_from:head_to]
        if operation == "equal" or _are_renamed(old, new):
            for a, b in zip(old, new, strict=True):
                if a.lines != b.lines:
                    yield _changed(a, b, _shown(a, base), _shown(b, head))
            continue
        at = _start(head, head_from)
        for s in old:
            yield SectionChange(_shown(s, base), "removed", _prefixed("-", s), at)
        for s in new:
            yield SectionChange(_shown(s, head), "added", _prefixed("+", s), s.line)


def _are_renamed(old: Sequence[Section], new: Sequence[Section]) -> bool:
    return len(old) == len(new) and all(
        SequenceMatcher(None, a.lines, b.lines).ratio() >= _SAME_SECTION
        or len(a.lines) == len(b.lines) == 1
        for a, b in zip(old, new, strict=True)
    )


def _shown(section: Section, every: Sequence[Section]) -> str:
    """Return the title as people read it: text without a heading is named by what follows it."""
    if section.title != _BEGINNING:
        return section.title
    following = next((other.title for other in every if other.line > section.line), None)
    if following is None:
        return "the text"
    return f"before the first {'message' if following in ROLES else 'heading'}"


def _changed(base: Section, head: Section, before: str, after: str) -> SectionChange:
    title = after if head.title == base.title else f"{before} → {after}"
    diff = list(unified_diff(base.lines, head.lines, lineterm="", n=3))[2:]
    text = "\n".join(_at_line(line, base, head) for line in diff)
    first = _within(_first_difference(base.lines, head.lines) + 1, head.lines)
    return SectionChange(title, "changed", text, head.line + first - 1)


def _start(sections: Sequence[Section], index: int) -> int:
    """Return where the section begins, or where the text ends if there is no such section."""
    if index < len(sections):
        return sections[index].line
    return sections[-1].line + len(sections[-1].lines) - 1 if sections else 1


def _at_line(line: str, base: Section, head: Section) -> str:
    """Shift hunk headers, so that they count the lines of the file and not of the section."""
    hunk = _HUNK.match(line)
    if not hunk:
        return line
    old, new = int(hunk[1]) + base.line - 1, int(hunk[3]) + head.line - 1
    return f"@@ -{old}{hunk[2] or ''} +{new}{hunk[4] or ''} @@"


def _prefixed(sign: str, section: Section) -> str:
    return "\n".join(sign + line for line in section.lines)
