"""Asks which rules a prompt sets for every output, and what their opposites are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gatekeeper.author.generation import input_specification, open_questions
from gatekeeper.author.generation.ask import LINES, TEXT, Asker, array_schema, object_schema
from gatekeeper.author.generation.grounded_items import Found, grounded_drafts, one_line
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt
from gatekeeper.author.specification.ids import RESERVED, assign_ids
from gatekeeper.author.specification.records import Rule, Specification
from gatekeeper.author.specification.spec_file import TESTS_ENTRY

STAGE, INVERSE_STAGE = "rules", "inverse_rules"
NUMBER = {"type": "integer"}
SCHEMA = object_schema(rules=array_schema(object_schema(text=TEXT, lines=LINES)))
INVERSE_SCHEMA = object_schema(inverses=array_schema(object_schema(number=NUMBER, inverse=TEXT)))
_OTHER = (input_specification.PREFIX, open_questions.PREFIX)


def rule_ids(specification: Specification) -> frozenset[str]:
    """Return the ids of all rules that were ever generated."""
    return frozenset(
        name
        for name in specification.made
        if name not in RESERVED
        and not name.endswith(TESTS_ENTRY)
        and "." not in name
        and not name.startswith(_OTHER)
    )


def removed_rules(specification: Specification) -> frozenset[str]:
    """Return the ids of the rules that a person removed."""
    return rule_ids(specification) - {rule.id for rule in specification.rules}


async def find_rules(asker: Asker, prompt: NumberedPrompt, before: Specification) -> Found[Rule]:
    """Return the rules, also those that a person removed; they have no inverse yet. Raises as
    `Asker.ask` does."""
    answer = await asker.ask(STAGE, prompt.data, SCHEMA)
    found = grounded_drafts(answer["rules"], prompt)
    known = [(rule.id, rule.text) for rule in before.rules]
    texts = [draft.text for draft in found.items]
    ids = assign_ids(texts, "", known, removed_rules(before), before.ids)
    rules = (
        Rule(own_id(name), draft.text, lines=draft.lines)
        for name, draft in zip(ids, found.items, strict=True)
    )
    return Found(tuple(rules), found.dropped)


async def invert_rules(asker: Asker, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return the rules with their inverses; empty for one that the model left out. Raises as
    `Asker.ask` does."""
    if not rules:
        return ()
    answer = await asker.ask(INVERSE_STAGE, {"rules": numbered_rules(rules)}, INVERSE_SCHEMA)
    inverses = {row["number"]: one_line(row["inverse"]) for row in answer["inverses"]}
    numbered = enumerate(rules, start=1)
    return tuple(replace(rule, inverse=inverses.get(number, "")) for number, rule in numbered)


def numbered_rules(rules: Sequence[Rule]) -> str:
    """Return the rules one a line, each with its number."""
    return "\n".join(f"{number}. {rule.text}" for number, rule in enumerate(rules, start=1))


def own_id(name: str) -> str:
    """Return an id of a rule, which cannot be taken for that of another kind of item."""
    return f"rule-{name}" if name.startswith(_OTHER) else name
