"""Renders templates with a fixture's values to messages and check parameters. Values are data: text
in a fixture that looks like a template is never rendered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gatekeeper.contract.definition import Fixture, Message, Position, Prompt
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.client import check_syntax, evaluate_text, render_parts
from gatekeeper.errors import ContractError, Problem

# `{#` is not among them: in a regular expression it is likelier than a template comment.
_MARKS = ("{{", "{%")

Messages = tuple[Message, ...]


def render_messages(
    prompt: Prompt, variables: Mapping[str, Any], budget: Budget | None = None
) -> Messages:
    """Return the messages to send. Raises ContractError that names the prompt's line."""
    found = next(render_all(prompt, [variables], budget or Budget()))
    if isinstance(found, ContractError):
        raise found
    return found


def render_all(
    prompt: Prompt, values: Sequence[Mapping[str, Any]], budget: Budget
) -> Iterator[Messages | ContractError]:
    """Return the prompt's messages for each set of values, in order, or the error instead.

    This is faster than one by one. `budget` is what all of them may take together.
    """
    for parts in render_parts(prompt, values, budget):
        if isinstance(parts, ContractError):
            yield parts
        else:
            yield tuple(Message(role, text) for role, text in parts)


def template_problems(prompt: Prompt) -> list[Problem]:
    """Return the mistakes in the syntax of each message and include, found without rendering."""
    return check_syntax(prompt)


def render_value(
    value: Any,
    fixture: Fixture,
    position: Position | None = None,
    budget: Budget | None = None,
) -> Any:
    """Return the value with every template in it rendered over the fixture's vars and `expected`.

    Text that is one `{{ expression }}` and nothing else gets the type of the expression. Raises
    ContractError at `position`.
    """
    variables = {**fixture.vars, "expected": fixture.expected}
    return _value(value, variables, position or Position("?"), budget or Budget())


def _value(value: Any, variables: Mapping[str, Any], position: Position, budget: Budget) -> Any:
    if isinstance(value, Mapping):
        return {key: _value(item, variables, position, budget) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_value(item, variables, position, budget) for item in value]
    if not isinstance(value, str) or not any(mark in value for mark in _MARKS):
        return value
    return _text_value(value, variables, position, budget)


def _text_value(text: str, variables: Mapping[str, Any], position: Position, budget: Budget) -> Any:
    from gatekeeper.contract.templates.rendering import ValueFault

    try:
        return evaluate_text(text, variables, budget)
    except ValueFault as fault:
        what = f"in `{text}`: {fault.what}"
        problem = Problem(position.path, what, fault.fix, position.line, position.column)
        raise ContractError([problem]) from None
