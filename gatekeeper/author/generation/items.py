"""The items that a specification has, one kind at a time: finds them in a prompt, and keeps them in
step when lines of the prompt change.

A kind is a row of this module: what is asked, and how an item is made of an answer. An item counts
only if it is grounded in lines of the prompt that exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from gatekeeper.author.generation.ask import Asker
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.specification.merge import (
    RESERVED,
    Merged,
    assign_ids,
    content_digest,
    merge_items,
)
from gatekeeper.author.specification.prompt_lines import LineChanges
from gatekeeper.author.specification.spec_file import (
    TESTS_ENTRY,
    InputConstraint,
    OpenQuestion,
    Rule,
    Specification,
)
from gatekeeper.contract.reading.data_blocks import clean
from gatekeeper.errors import MeasurementError

T = TypeVar("T", InputConstraint, Rule, OpenQuestion)
MOST_ITEMS = 100
"""Rules, constraints or questions in one answer."""
_INPUT, QUESTION = "input-", "question-"


@dataclass(frozen=True, slots=True)
class Draft:
    """An item of an answer: its text on one line, and the lines that it is grounded in."""

    text: str
    lines: tuple[int, ...]
    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of item. `section` is its part of a specification, `question` what is asked for it,
    with the items in `key` of the answer; `update_` before the name asks for a changed prompt. The
    ids begin with `prefix`. `settles` is True if a change can also settle items that follow from
    other lines."""

    section: str
    question: str
    key: str
    prefix: str
    make: Callable[[str, Draft], T]
    settles: bool = False

    def items(self, specification: Specification) -> tuple[T, ...]:
        """Return the items of the kind in a specification."""
        found: tuple[T, ...] = getattr(specification, self.section)
        return found

    def made(self, specification: Specification) -> dict[str, str]:
        """Return the part of `made` for the kind: all its items that were ever generated."""
        made = specification.made.items()
        return {name: known for name, known in made if _prefix(name) == self.prefix}

    def ids(self, texts: Sequence[str], before: Specification) -> list[str]:
        """Return an id for each new text."""
        items = self.items(before)
        gone = self.made(before).keys() - {item.id for item in items}
        known = [(item.id, item.text) for item in items]
        return assign_ids(texts, self.prefix, known, gone, before.ids)


RULES = Kind("rules", "rules", "rules", "", lambda n, d: Rule(_own_id(n), d.text, lines=d.lines))
CONSTRAINTS = Kind(
    "input",
    "input_specification",
    "constraints",
    _INPUT,
    lambda name, draft: InputConstraint(name, draft.text, draft.lines),
)
OPEN_QUESTIONS = Kind(
    "questions",
    "open_questions",
    "questions",
    QUESTION,
    lambda name, draft: OpenQuestion(name, draft.row["kind"], draft.text, draft.lines),
    settles=True,
)


def _prefix(name: str) -> str | None:
    """Return the prefix of the kind that an entry of `made` is of; None for one of no item."""
    if name.startswith((_INPUT, QUESTION)):
        return _INPUT if name.startswith(_INPUT) else QUESTION
    return None if name in RESERVED or name.endswith(TESTS_ENTRY) or "." in name else ""


def _own_id(name: str) -> str:
    """Return an id of a rule, which cannot be taken for that of another kind of item."""
    return f"rule-{name}" if name.startswith((_INPUT, QUESTION)) else name


async def invert_rules(asker: Asker, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return the rules with their inverses; empty for one that the model left out. Raises as
    `Asker.ask` does."""
    if not rules:
        return ()
    answer = await asker.ask("inverse_rules", {"rules": numbered_rules(rules)})
    inverses = {row["number"]: one_line(row["inverse"]) for row in answer["inverses"]}
    numbered = enumerate(rules, start=1)
    return tuple(replace(rule, inverse=inverses.get(number, "")) for number, rule in numbered)


def numbered_rules(rules: Sequence[Rule]) -> str:
    """Return the rules one a line, each with its number."""
    return "\n".join(f"{number}. {rule.text}" for number, rule in enumerate(rules, start=1))


def grounded_drafts(
    rows: Sequence[Mapping[str, Any]], prompt: NumberedPrompt
) -> tuple[tuple[Draft, ...], int]:
    """Return the rows that have a text and lines that exist, each text once, and how many others
    there are. Raises MeasurementError if a model wrote so many that it cannot mean them: each rule
    is more calls."""
    if len(rows) > MOST_ITEMS:
        raise MeasurementError(
            f"the model wrote {len(rows):,} items about {prompt.reference} in one answer, but "
            f"gatekeeper takes at most {MOST_ITEMS}; use a stronger model with --model, "
            "or repeat the command"
        )
    drafts: dict[str, Draft] = {}
    dropped = 0
    for row in rows:
        text, lines = one_line(row["text"]), prompt.grounded(row["lines"])
        if text and lines:
            drafts.setdefault(text.casefold(), Draft(text, lines, row))
        else:
            dropped += 1
    return tuple(drafts.values()), dropped


def one_line(text: str) -> str:
    """Return the text on one line, without characters that nobody sees."""
    return " ".join(clean(text).split())


@dataclass(frozen=True, slots=True)
class Carried(Generic[T]):
    """The items with the numbers that their lines have now, in order, and their part of `made`.

    `affected` are the ids of generated items that follow from a line that is gone. `own` are the
    ids of all items that a person edited or added, and `own_affected` of those that follow from
    such a line: they stay.
    """

    items: tuple[T, ...]
    made: Mapping[str, str]
    affected: tuple[str, ...]
    own: frozenset[str]
    own_affected: tuple[str, ...]


def carry_over(before: Specification, kind: Kind[T], changes: LineChanges) -> Carried[T]:
    """Return the items of a kind as they are after the change of the prompt's lines."""
    found: list[T] = []
    made = kind.made(before)
    then = dict(made)
    affected, own, own_affected = [], set(), []
    for item in kind.items(before):
        is_own = made.get(item.id) != content_digest(item)
        is_affected = not changes.gone.isdisjoint(item.lines)
        moved: T = replace(item, lines=_moved(item.lines, changes))
        found.append(moved)
        if is_own:
            own.add(item.id)
            own_affected += [item.id] if is_affected else []
            continue
        then[item.id] = content_digest(moved)
        affected += [item.id] if is_affected else []
    return Carried(tuple(found), then, tuple(affected), frozenset(own), tuple(own_affected))


def _moved(lines: Sequence[int], changes: LineChanges) -> tuple[int, ...]:
    """Return the numbers now of the lines that are still there."""
    there = (changes.now_at.get(line, line) for line in lines if line not in changes.gone)
    return tuple(dict.fromkeys(there))


@dataclass(frozen=True, slots=True)
class Updated(Merged[T]):
    """The items of one kind from now on and their part of `made`. `remade` are new or reworded, in
    the order of `items`; the ids of the latter are `reworded`. `dropped` counts rows of the
    `answer` without lines that exist."""

    remade: tuple[T, ...] = ()
    reworded: tuple[str, ...] = ()
    dropped: int = 0
    answer: Mapping[str, Any] = field(default_factory=dict)


async def find_items(
    asker: Asker, prompt: NumberedPrompt, before: Specification, kind: Kind[T]
) -> Updated[T]:
    """Return the items of a kind that the prompt has. An item that was there before keeps its id,
    and what a person changed, added or removed stays so. Raises as `Asker.ask` does."""
    answer = await asker.ask(kind.question, prompt.data)
    drafts, dropped = grounded_drafts(answer[kind.key], prompt)
    ids = kind.ids([draft.text for draft in drafts], before)
    found = merge_items(kind.made(before), kind.items(before), list(map(kind.make, ids, drafts)))
    remade = tuple(item for item in found.items if item.id not in found.kept)
    return Updated(
        found.items,
        found.made,
        found.kept,
        found.removed,
        found.retired,
        remade=remade,
        dropped=dropped,
        answer=answer,
    )


def must_ask(affected: Sequence[str], changes: LineChanges) -> bool:
    """Return whether the change can alter items of a kind, of which these are affected."""
    return bool(changes.changed or affected)


async def update_items(
    asker: Asker,
    prompt: NumberedPrompt,
    changes: LineChanges,
    before: Specification,
    kind: Kind[T],
    carried: Carried[T],
) -> Updated[T]:
    """Return the items after the change. Those on unchanged lines, and those of people, stay.
    Raises as `Asker.ask` does."""
    if not must_ask(carried.affected, changes):
        return Updated(carried.items, carried.made)
    affected = set(carried.affected)
    shown = [
        item
        for item in carried.items
        if item.id in affected or (kind.settles and item.id not in carried.own)
    ]
    standing = [item for item in carried.items if item not in shown]
    question = {
        **prompt.data,
        "changed_lines": ", ".join(map(str, changes.changed)) or "none; lines were deleted",
        "known": _list(f"{n}. {item.text}" for n, item in enumerate(shown, start=1)),
        "standing": _list(f"- {item.text}" for item in standing),
        **({"intent": before.intent or "none"} if kind.section == "input" else {}),
    }
    answer = await asker.ask(f"update_{kind.question}", question)
    revised, dropped = _revised(answer["known"], prompt, kind, shown, affected)
    drafts, unfit = grounded_drafts(answer["new"], prompt)
    fresh = [draft for draft in drafts if not set(changes.changed).isdisjoint(draft.lines)]
    names = kind.ids([draft.text for draft in fresh], before)
    new: dict[str, T] = {item.id: item for item in map(kind.make, names, fresh)}
    for name in affected & new.keys():
        revised[name] = revised.get(name) or new[name]  # the same sentence, said as a new one
    earlier = {item.id: item.text for item in carried.items}
    additions = [item for name, item in new.items() if name not in earlier]
    generated = list(_in_force(carried.items, revised)) + additions
    found = merge_items(carried.made, carried.items, generated)
    remade = tuple(item for item in found.items if earlier.get(item.id) != item.text)
    return Updated(
        found.items,
        found.made,
        removed=found.removed,
        retired=found.retired,
        added=found.added,
        remade=remade,
        reworded=tuple(item.id for item in remade if item.id in earlier),
        dropped=dropped + unfit + len(drafts) - len(fresh),
        answer=answer,
    )


def _revised(
    rows: Sequence[Mapping[str, Any]],
    prompt: NumberedPrompt,
    kind: Kind[T],
    shown: Sequence[T],
    affected: set[str],
) -> tuple[dict[str, T | None], int]:
    """Return what becomes of the items that may change: None for one that is retired. An affected
    item of which the answer says nothing is retired, too."""
    revised: dict[str, T | None] = {item.id: None for item in shown if item.id in affected}
    dropped = 0
    for number, row in {row["number"]: row for row in rows}.items():
        if not 1 <= number <= len(shown):
            continue
        item = shown[number - 1]
        if row["verdict"] == "obsolete":
            revised[item.id] = None
        elif item.id in affected:
            same = {**row, "text": item.text} if row["verdict"] == "keep" else row
            drafts, unfit = grounded_drafts([same], prompt)
            dropped += unfit
            for draft in drafts:
                revised[item.id] = kind.make(item.id, draft)
    return revised, dropped


def _in_force(items: Sequence[T], revised: Mapping[str, T | None]) -> Iterator[T]:
    """Yield the items as they are revised. One with the same text only gets other lines."""
    for item in items:
        now = revised.get(item.id, item)
        if now is not None:
            moved: T = replace(item, lines=now.lines)
            yield moved if now.text == item.text else now


def _list(lines: Iterable[str]) -> str:
    return "\n".join(lines) or "none"
