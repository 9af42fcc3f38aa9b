"""Asks what the author of a prompt should settle."""

from __future__ import annotations

from typing import get_args

from gatekeeper.author.generation.ask import LINES, TEXT, Asker, array_schema, object_schema
from gatekeeper.author.generation.grounded_items import Found, grounded_drafts
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.specification.ids import assign_ids
from gatekeeper.author.specification.records import OpenQuestion, QuestionKind, Specification

STAGE = "open_questions"
PREFIX = "question-"
KIND = {"type": "string", "enum": list(get_args(QuestionKind))}
SCHEMA = object_schema(questions=array_schema(object_schema(kind=KIND, text=TEXT, lines=LINES)))


async def find_questions(
    asker: Asker, prompt: NumberedPrompt, before: Specification
) -> Found[OpenQuestion]:
    """Return the ambiguities, contradictions and under-specified cases of the prompt. Raises as
    `Asker.ask` does."""
    answer = await asker.ask(STAGE, prompt.data, SCHEMA)
    found = grounded_drafts(answer["questions"], prompt)
    known = [(item.id, item.text) for item in before.questions]
    present = {item.id for item in before.questions}
    gone = [name for name in before.made if name.startswith(PREFIX) and name not in present]
    ids = assign_ids([draft.text for draft in found.items], PREFIX, known, gone, before.ids)
    questions = (
        OpenQuestion(name, draft.row["kind"], draft.text, draft.lines)
        for name, draft in zip(ids, found.items, strict=True)
    )
    return Found(tuple(questions), found.dropped)
