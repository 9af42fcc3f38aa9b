"""Takes the change of a prompt apart into edits, and applies some of them.

An edit inserts, deletes or rewords one sentence or line of a prompt, of the prompt of a step or of
an included file, or changes the model or one parameter. Lines with statements of the template
belong together: one of them alone would be no template.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gatekeeper.author.aligned_texts import changed_ranges
from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.contract.values.definition import MessageTemplate, Prompt, PromptStep, Target

_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+(?=\S)")
_STATEMENT = ("{%", "{#")
_ALIKE = 0.5
"""A changed sentence counts as reworded from this similarity on, and otherwise as replaced."""
_MOST_PAIRS = 2_500
"""Pairs of sentences that are compared in one text."""
_MOST_CHARACTERS = 200
"""Of a sentence that is compared letter by letter. difflib takes a time that grows with the square
of the length, and from 200 characters on it leaves out frequent ones."""
_MOST_COMPARED = 10_000
"""Characters of a longer one, which is compared word by word."""
_LONGEST_WORD = 20
"""The mean length of words up to which the spaces of a text divide it into words."""
_SHOWN = 80


class _Unit(NamedTuple):
    """A piece of a prompt that is edited as a whole: the beginning of a message, or text with the
    space after it."""

    role: str | None
    text: str
    line: int


class _Source(NamedTuple):
    """A text of a target: an included file, by its path, or the prompt of a step; neither for the
    last prompt."""

    step: str | None = None
    include: str | None = None


_LAST_PROMPT = _Source()


class _Span(NamedTuple):
    """Units of base from `start` to before `end`, and what head has in their place, from its unit
    number `place` on. Sorted, what is inserted before a unit stands before what replaces it."""

    start: int
    end: int
    place: int
    units: tuple[_Unit, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit. `before` and `after` are its text at base and at head, empty for an insertion or a
    deletion. `path` is its file at head, `line` to `end_line` are where it is there, and
    `base_line` where it is at base; None for a setting that the prompt file does not contain. A
    deletion is at the line of head that follows it.

    `spans` of the `source` and `setting` say what it changes: parts of a text, or the name of a
    parameter (`model` for the model)."""

    before: str
    after: str
    line: int | None
    base_line: int | None
    end_line: int | None = None
    path: str = ""
    source: _Source = _LAST_PROMPT
    spans: tuple[_Span, ...] = ()
    setting: str | None = None

    @property
    def text(self) -> str:
        """Return the edit in words, such as `deleting "Answer in one word."`"""
        if self.setting is not None:
            return f"changing {self.setting} from {self.before} to {self.after}"
        if not self.before.strip() and not self.after.strip():
            verb = "adding" if len(self.after) > len(self.before) else "deleting"
            return f"{verb} a blank line"
        if not self.after.strip():
            return f"deleting {_quoted(self.before)}"
        if not self.before.strip():
            return f"adding {_quoted(self.after)}"
        return f"rewording {_quoted(self.before)} to {_quoted(self.after)}"


def find_edits(base: Target, head: Target) -> tuple[Edit, ...]:
    """Return the edits that lead from base's prompts, model and parameters to head's, in order.

    Both have the same steps, see `have_same_steps`.
    """
    found = [*_of_settings(base, head)]
    for source in _sources(base, head):
        found += _of_text(base, head, source)
    return tuple(found)


def have_same_steps(base: Target, head: Target) -> bool:
    """Return whether both have steps of the same names in the same order."""
    return [step.name for step in base.steps] == [step.name for step in head.steps]


def apply_edits(base: Target, head: Target, edits: Collection[Edit]) -> Target:
    """Return base's target with only these of the edits that lead to head's."""
    texts = {source: list(_units_of(base, source)) for source in _sources(base, head)}
    spans = ((span, edit.source) for edit in edits for span in edit.spans)
    for span, source in sorted(spans, key=lambda found: found[0], reverse=True):
        texts[source][span.start : span.end] = span.units
    names = {edit.setting for edit in edits if edit.setting}
    model = head.model if "model" in names else base.model
    params = dict(base.params)
    for name in names - {"model"}:
        params.pop(name, None)
        if name in head.params:
            params[name] = head.params[name]
    steps = tuple(
        PromptStep(step.name, _edited(step.prompt, head.prompt_of(step.name), texts, step.name))
        for step in base.steps
    )
    prompt = _edited(base.prompt, head.prompt, texts)
    return replace(base, prompt=prompt, model=model, params=params, steps=steps)


def _edited(
    base: Prompt, head: Prompt, texts: Mapping[_Source, Sequence[_Unit]], step: str | None = None
) -> Prompt:
    includes = {**base.includes, **head.includes}
    for path in includes:
        units = texts.get(_Source(include=path))
        if units is not None:
            includes[path] = "".join(unit.text for unit in units)
    messages = tuple(_messages(texts[_Source(step)]))
    return replace(base, messages=messages, includes=includes)


def _sources(base: Target, head: Target) -> tuple[_Source, ...]:
    """Return the texts that both targets have. A file that only one of them includes has no effect
    without the edit that includes it."""
    shared = sorted(_includes(base).keys() & _includes(head).keys())
    steps = (_Source(step.name) for step in head.steps)
    return (*steps, _LAST_PROMPT, *(_Source(include=path) for path in shared))


def _includes(target: Target) -> dict[str, str]:
    return {path: text for prompt in target.prompts for path, text in prompt.includes.items()}


def _units_of(target: Target, source: _Source) -> Iterator[_Unit]:
    if source.include is None:
        return _units(target.prompt_of(source.step))
    whole = MessageTemplate("user", _includes(target)[source.include], 1)
    return _units_of_text(whole)


def _of_settings(base: Target, head: Target) -> Iterator[Edit]:
    if base.model != head.model:
        line, path = head.prompt.model_line, head.prompt.path
        base_line = base.prompt.model_line
        yield Edit(base.model, head.model, line, base_line, line, path, setting="model")
    for name in sorted({*base.params, *head.params}):
        before, after = (
            canonical(target.params[name]) if name in target.params else "none"
            for target in (base, head)
        )
        if before != after:
            yield Edit(before, after, None, None, path=head.prompt.path, setting=name)


def _of_text(base: Target, head: Target, source: _Source) -> Iterator[Edit]:
    before, after = tuple(_units_of(base, source)), tuple(_units_of(head, source))
    path = source.include or head.prompt_of(source.step).path
    statements: list[_Span] = []
    pairs = 0
    # The line of a unit says nothing about its text.
    old, new = [unit[:2] for unit in before], [unit[:2] for unit in after]
    for start, end, first, last in changed_ranges(old, new):
        pairs += (end - start) * (last - first)
        can_pair = pairs <= _MOST_PAIRS
        for span in _single(before, after, (start, end), (first, last), can_pair=can_pair):
            if _has_statement(before, span):
                statements.append(span)
            else:
                yield replace(_edit(before, after, [span]), path=path, source=source)
    if statements:
        yield replace(_edit(before, after, statements), path=path, source=source)


def _single(
    before: Sequence[_Unit],
    after: Sequence[_Unit],
    old: tuple[int, int],
    new: tuple[int, int],
    *,
    can_pair: bool,
) -> Iterator[_Span]:
    """Divide a changed range into single edits: what is alike was reworded, the rest was deleted or
    inserted. A message comes and goes with all that it contains. If no pairs can be compared, the
    range is one edit."""
    (start, end), (first, last) = old, new
    units = (*before[start:end], *after[first:last])
    if not can_pair or any(unit.role is not None for unit in units):
        yield _Span(start, end, first, tuple(after[first:last]))
        return
    at = start
    for place, partner in zip(
        range(first, last), _partners(before[start:end], after[first:last]), strict=True
    ):
        if partner is None:
            yield _Span(at, at, place, (after[place],))
            continue
        yield from (_Span(gone, gone + 1, place, ()) for gone in range(at, start + partner))
        at = start + partner + 1
        yield _Span(at - 1, at, place, (after[place],))
    yield from (_Span(gone, gone + 1, last, ()) for gone in range(at, end))


def _partners(before: Sequence[_Unit], after: Sequence[_Unit]) -> list[int | None]:
    """Return which unit of base each of head's rewords, in order, so that the sum of their
    similarities is as large as possible."""
    best = [[0.0] * (len(before) + 1) for _ in range(len(after) + 1)]
    likeness = [[_likeness(old.text, new.text) for old in before] for new in after]
    for row in range(len(after) - 1, -1, -1):
        for column in range(len(before) - 1, -1, -1):
            paired = likeness[row][column]
            best[row][column] = max(
                best[row + 1][column],
                best[row][column + 1],
                paired + best[row + 1][column + 1] if paired else 0.0,
            )
    found: list[int | None] = []
    column = 0
    for row in range(len(after)):
        while column < len(before) and best[row][column] == best[row][column + 1]:
            column += 1
        taken = column < len(before) and best[row][column] > best[row + 1][column]
        found.append(column if taken else None)
        column += taken
    return found


def _likeness(one: str, other: str) -> float:
    """Return how alike two texts are; 0 if one is no rewording of the other. A blank line is none
    of a sentence."""
    if bool(one.strip()) != bool(other.strip()):
        return 0.0
    if max(len(one), len(other)) < _MOST_CHARACTERS:
        ratio = difflib.SequenceMatcher(None, one, other).ratio()
    else:
        ratio = _likeness_of_words(one[:_MOST_COMPARED], other[:_MOST_COMPARED])
    return ratio if ratio >= _ALIKE else 0.0


def _likeness_of_words(one: str, other: str) -> float:
    from rapidfuzz.distance import Indel

    words = one.split(), other.split()
    longest = max(len(one) / max(1, len(words[0])), len(other) / max(1, len(words[1])))
    if longest > _LONGEST_WORD:
        return Indel.normalized_similarity(one, other)  # writing without spaces
    return Indel.normalized_similarity(*words)


def _has_statement(before: Sequence[_Unit], span: _Span) -> bool:
    units = (*before[span.start : span.end], *span.units)
    return any(mark in unit.text for unit in units for mark in _STATEMENT)


def _edit(before: Sequence[_Unit], after: Sequence[_Unit], spans: list[_Span]) -> Edit:
    old = "".join(unit.text for span in spans for unit in before[span.start : span.end])
    new = "".join(unit.text for span in spans for unit in span.units)
    last = max(spans[-1].place + len(spans[-1].units) - 1, spans[0].place)
    return Edit(
        before=old,
        after=new,
        line=_line(after, spans[0].place),
        base_line=_line(before, spans[0].start),
        end_line=_line(after, last),
        spans=tuple(spans),
    )


def _line(units: Sequence[_Unit], place: int) -> int | None:
    """Return the line of the unit, or of the last one if the place is behind it."""
    return units[min(place, len(units) - 1)].line if units else None


def _units(prompt: Prompt) -> Iterator[_Unit]:
    for message in prompt.messages:
        yield _Unit(message.role, "", message.line)
        # A line end, so that the last line is the same unit when something follows it.
        yield from _units_of_text(replace(message, content=f"{message.content}\n"))


def _units_of_text(message: MessageTemplate) -> Iterator[_Unit]:
    for number, text in enumerate(message.content.splitlines(keepends=True), start=1):
        ends = [found.end() for found in _SENTENCE_END.finditer(text)]
        for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
            yield _Unit(None, text[start:end], message.line_at(number))


def _messages(units: Sequence[_Unit]) -> Iterator[MessageTemplate]:
    """Put messages together again. Text before the first is one of the user; empty ones go."""
    role, line, texts = "user", 1, list[str]()
    for unit in (*units, _Unit("", "", 0)):
        if unit.role is None:
            texts.append(unit.text)
            continue
        content = "".join(texts)
        if content.strip():
            yield MessageTemplate(role, content.removesuffix("\n"), line)
        role, line, texts = unit.role, unit.line, []


def _quoted(text: str) -> str:
    said = " ".join(text.split())
    return f'"{said if len(said) <= _SHOWN else said[: _SHOWN - 1] + "…"}"'
