"""Asks what a valid input of a prompt is."""

from __future__ import annotations

from gatekeeper.author.generation.ask import LINES, TEXT, Asker, array_schema, object_schema
from gatekeeper.author.generation.grounded_items import Found, grounded_drafts, one_line
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.specification.ids import assign_ids
from gatekeeper.author.specification.records import InputConstraint, Specification

STAGE = "input_specification"
PREFIX = "input-"
SCHEMA = object_schema(intent=TEXT, constraints=array_schema(object_schema(text=TEXT, lines=LINES)))


async def specify_input(
    asker: Asker, prompt: NumberedPrompt, before: Specification
) -> tuple[str, Found[InputConstraint]]:
    """Return the prompt's intent and the constraints of its input. Raises as `Asker.ask` does.

    Args:
        before: The specification as it is, whose ids are used again.
    """
    answer = await asker.ask(STAGE, prompt.data, SCHEMA)
    found = grounded_drafts(answer["constraints"], prompt)
    known = [(item.id, item.text) for item in before.input]
    present = {item.id for item in before.input}
    gone = [name for name in before.made if name.startswith(PREFIX) and name not in present]
    ids = assign_ids([draft.text for draft in found.items], PREFIX, known, gone, before.ids)
    made = zip(ids, found.items, strict=True)
    constraints = tuple(InputConstraint(name, draft.text, draft.lines) for name, draft in made)
    return one_line(answer["intent"]), Found(constraints, found.dropped)
