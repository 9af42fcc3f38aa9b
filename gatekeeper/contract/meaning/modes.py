"""The modes of a contract: what is added to its requests, and whether outputs are repaired.

| mode | added to a request | repairs |
| --- | --- | --- |
| `observe` | nothing | none |
| `repair` | nothing | those of `repair` |
| `assist` | the constraints of the checks, as text | those of `repair` |
| `enforce` | a JSON Schema or a grammar made of the checks | those of `repair` |
| `auto` | as `enforce` if that is possible, else as `assist`, else as `observe` | likewise |

What a model can do is known without a call. A mode that is not possible is an error; only `auto`
chooses another, and says why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gatekeeper.contract.meaning.constraints import (
    output_choices,
    output_requirements,
    output_schema,
)
from gatekeeper.contract.values.definition import Contract, Message, RepairMode
from gatekeeper.errors import ContractError, Problem

Added = Literal["nothing", "response_format", "grammar", "text"]

SENDING: frozenset[RepairMode] = frozenset({"assist", "enforce", "auto"})
"""The modes that add something to a request."""

_OPENING, _CLOSING = "<output_requirements>", "</output_requirements>"


@dataclass(frozen=True, slots=True)
class Enforcement:
    """What a model can be made to answer: JSON by a schema, or one of several texts. `reason` says
    why, or why not, in a clause."""

    schema: bool
    choices: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Negotiation:
    """The mode that a contract asks for, the one that applies, and why. `params` and `text` are
    what is added to each request; one of them, or neither."""

    requested: RepairMode
    applied: RepairMode
    reason: str
    added: Added = "nothing"
    params: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


def negotiate(contract: Contract, can: Enforcement | None) -> Negotiation:
    """Return how the contract's mode applies to its model. `can` is what the model can do; None for
    a mode that adds nothing. Raises ContractError for a mode that is not possible."""
    mode = contract.mode
    if mode not in SENDING or can is None:
        return Negotiation(mode, mode, f"the contract sets `mode: {mode}`")
    enforced = None if mode == "assist" else _enforced(contract, can)
    if isinstance(enforced, Negotiation):
        return enforced
    if mode == "enforce":
        fix = "write `mode: assist` or `mode: auto`, or remove `mode`"
        raise _impossible(contract, str(enforced), fix)
    text = requirements_block(output_requirements(contract))
    if text:
        reason = enforced or "the contract sets `mode: assist`"
        return Negotiation(mode, "assist", reason, "text", text=text)
    nothing = "no check of the contract can be written as one instruction for all fixtures"
    if mode == "assist":
        fix = "add a check such as `json_schema`, `enum` or `length`, or remove `mode`"
        raise _impossible(contract, nothing, fix)
    return Negotiation(mode, "observe", f"{enforced}, and {nothing}")


def requirements_block(requirements: tuple[str, ...]) -> str:
    """Return the delimited block with the requirements; empty without any."""
    if not requirements:
        return ""
    lines = "\n".join(f"- {text}" for text in requirements)
    return f"{_OPENING}\n{lines}\n{_CLOSING}"


def with_requirements(messages: tuple[Message, ...], block: str) -> tuple[Message, ...]:
    """Append the block to the last system message, or without one to the last message. Messages
    that have it already stay as they are."""
    if not block or any(block in message.content for message in messages):
        return messages
    places = [n for n, message in enumerate(messages) if message.role == "system"]
    place = places[-1] if places else len(messages) - 1
    found = messages[place]
    written = Message(found.role, f"{found.content.rstrip()}\n\n{block}\n")
    return (*messages[:place], written, *messages[place + 1 :])


def grammar_of(choices: tuple[str, ...]) -> str:
    """Return the grammar, in llama.cpp's GBNF, of a text that is one of the choices."""
    # As they are: the grammar takes each half of an escaped emoji for a character of its own.
    return f"root ::= {' | '.join(json.dumps(c, ensure_ascii=False) for c in choices)}"


def _impossible(contract: Contract, why: str, fix: str) -> ContractError:
    what = f"`mode: {contract.mode}` is not possible, because {why}"
    return ContractError([Problem(contract.path, what, fix, field="mode")])


def _enforced(contract: Contract, can: Enforcement) -> Negotiation | str:
    """Return how the checks are enforced, or why they cannot be, as a clause."""
    mode = contract.mode
    if "response_format" in contract.target.params:
        return Negotiation(mode, "enforce", "the model parameters already set `response_format`")
    schema, choices = output_schema(contract), output_choices(contract)
    if schema is None and choices is None:
        return "no check defines a format that all outputs must have"
    if schema is not None:
        if not can.schema:
            return can.reason
        format_: dict[str, Any] = {"type": "json_object"}
        if schema:
            format_ = {"type": "json_schema", "json_schema": {"name": "output", "schema": schema}}
        sent = {"response_format": format_}
        return Negotiation(mode, "enforce", can.reason, "response_format", sent)
    if not can.choices:
        only = ", but no list of allowed texts" if can.schema else ""
        return f"the outputs are not JSON, and {can.reason}{only}"
    grammar = {"grammar": grammar_of(choices or ())}
    return Negotiation(mode, "enforce", can.reason, "grammar", grammar)
