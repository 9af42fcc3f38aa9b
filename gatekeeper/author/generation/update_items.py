"""Asks what changed lines of a prompt do to the items of its specification, one kind at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from gatekeeper.author.generation import input_specification, open_questions, rules
from gatekeeper.author.generation.ask import LINES, TEXT, Asker, array_schema, object_schema
from gatekeeper.author.generation.grounded_items import Draft, grounded_drafts
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.specification.ids import assign_ids
from gatekeeper.author.specification.merge import content_digest
from gatekeeper.author.specification.prompt_lines import LineChanges
from gatekeeper.author.specification.records import (
    InputConstraint,
    OpenQuestion,
    QuestionKind,
    Rule,
)
from gatekeeper.author.specification.unchanged_items import Carried

T = TypeVar("T", InputConstraint, Rule, OpenQuestion)
_VERDICT = {"type": "string", "enum": ["keep", "reword", "obsolete"]}


def _schema(**more: Mapping[str, Any]) -> Mapping[str, Any]:
    row: dict[str, Mapping[str, Any]] = {"text": TEXT, "lines": LINES, **more}
    known = object_schema(number=rules.NUMBER, verdict=_VERDICT, **row)
    return {"known": array_schema(known), "new": array_schema(object_schema(**row))}


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of item: the stage that is asked, the schema of its answer, and how an item is made of
    an id and a row of the answer. `settles` is True if a change can also settle items that follow
    from other lines."""

    stage: str
    schema: Mapping[str, Any]
    prefix: str
    make: Callable[[str, Draft], T]
    settles: bool = False


RULES = Kind(
    "update_rules",
    object_schema(**_schema()),
    "",
    lambda name, draft: Rule(rules.own_id(name), draft.text, lines=draft.lines),
)
CONSTRAINTS = Kind(
    "update_input_specification",
    object_schema(intent=TEXT, **_schema()),
    input_specification.PREFIX,
    lambda name, draft: InputConstraint(name, draft.text, draft.lines),
)
QUESTIONS = Kind(
    "update_open_questions",
    object_schema(**_schema(kind=open_questions.KIND)),
    open_questions.PREFIX,
    lambda name, draft: OpenQuestion(name, _kind(draft), draft.text, draft.lines),
    settles=True,
)


@dataclass(frozen=True, slots=True)
class Updated(Generic[T]):
    """The items of one kind from now on and their part of `made`. `remade` are new or reworded, in
    the order of `items`. The rest are ids: `added`, `reworded`, `retired`, and `removed`, found
    again although a person removed them. `dropped` counts rows without usable lines."""

    items: tuple[T, ...]
    made: Mapping[str, str]
    remade: tuple[T, ...] = ()
    added: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    dropped: int = 0
    answer: Mapping[str, Any] = field(default_factory=dict)


def must_ask(affected: Sequence[str], changes: LineChanges) -> bool:
    """Return whether the change can alter items of a kind, of which these are affected."""
    return bool(changes.changed or affected)


async def update_items(
    asker: Asker,
    prompt: NumberedPrompt,
    changes: LineChanges,
    kind: Kind[T],
    carried: Carried[T],
    data: Mapping[str, str] | None = None,
    others: Iterable[str] = (),
) -> Updated[T]:
    """Return the items after the change. Those on unchanged lines, and those of people, stay.

    Args:
        data: More to show to the model.
        others: The ids of other kinds of items, which no new item may get.

    Raises as `Asker.ask` does.
    """
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
        **(data or {}),
    }
    answer = await asker.ask(kind.stage, question, kind.schema)
    revised, dropped = _revised(answer["known"], prompt, kind, shown, affected)
    found = grounded_drafts(answer["new"], prompt)
    fresh = [draft for draft in found.items if not set(changes.changed).isdisjoint(draft.lines)]
    dropped += found.dropped + len(found.items) - len(fresh)
    there = {item.id: item for item in carried.items}
    gone = [name for name in carried.made if name not in there]
    texts = [(item.id, item.text) for item in carried.items]
    names = assign_ids([draft.text for draft in fresh], kind.prefix, texts, gone, others)
    new = {item.id: item for item in map(kind.make, names, fresh)}
    removed = tuple(name for name in new if name in gone)
    for name, item in new.items():
        if name in affected and revised.get(name) is None:
            revised[name] = item  # the same sentence, said as a new one
    additions = [item for name, item in new.items() if name not in there and name not in gone]
    return _join(carried, revised, additions, removed, dropped, answer)


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
            drafts = grounded_drafts([same], prompt)
            dropped += drafts.dropped
            for draft in drafts.items:
                revised[item.id] = kind.make(item.id, draft)
    return revised, dropped


def _join(
    carried: Carried[T],
    revised: Mapping[str, T | None],
    additions: Sequence[T],
    removed: tuple[str, ...],
    dropped: int,
    answer: Mapping[str, Any],
) -> Updated[T]:
    made = {name: known for name, known in carried.made.items() if name not in revised}
    items: list[T] = []
    remade: list[T] = []
    reworded: list[str] = []
    for item in carried.items:
        now = revised.get(item.id, item)
        if now is None:
            continue
        if now.text == item.text and item.id in revised:
            now = _with_lines(item, now)
        elif item.id in revised:
            reworded.append(item.id)
            remade.append(now)
        items.append(now)
        if item.id in revised:
            made[item.id] = content_digest(now)
    made |= {item.id: content_digest(item) for item in additions}
    items += additions
    remade += additions
    return Updated(
        tuple(items),
        made,
        tuple(remade),
        tuple(item.id for item in additions),
        tuple(reworded),
        tuple(name for name, now in revised.items() if now is None),
        removed,
        dropped,
        answer,
    )


def _with_lines(item: T, now: T) -> T:
    found: T = replace(item, lines=now.lines)
    return found


def _kind(draft: Draft) -> QuestionKind:
    kind: QuestionKind = draft.row["kind"]
    return kind


def _list(lines: Iterable[str]) -> str:
    return "\n".join(lines) or "none"
