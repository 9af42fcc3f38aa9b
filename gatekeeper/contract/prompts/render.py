"""Renders templates with a fixture's values to messages and check parameters. Values are data: text
in a fixture that looks like a template is never rendered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.client import (
    check_syntax,
    evaluate_text,
    evaluate_texts,
    render_parts,
)
from gatekeeper.contract.templates.plain import is_plain, is_template
from gatekeeper.contract.templates.value_faults import ValueFault
from gatekeeper.contract.values.definition import Attachment, Fixture, Message, Position, Prompt
from gatekeeper.contract.values.nested_texts import nested_texts
from gatekeeper.errors import ContractError, Problem

Messages = tuple[Message, ...]


def render_messages(prompt: Prompt, variables: Mapping[str, Any]) -> Messages:
    """Return the messages to send. Raises ContractError that names the prompt's line."""
    found = next(render_all(prompt, [variables], Budget()))
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


def with_files(messages: Messages, files: tuple[Attachment, ...]) -> Messages:
    """Return the messages with the files in the user's last one; in one of their own if the user
    says nothing."""
    if not files:
        return messages
    place = next((n for n in reversed(range(len(messages))) if messages[n].role == "user"), None)
    if place is None:
        return (*messages, Message("user", "", files=files))
    return (*messages[:place], replace(messages[place], files=files), *messages[place + 1 :])


def template_problems(prompt: Prompt) -> list[Problem]:
    """Return the mistakes in the syntax of each message and include, found without rendering."""
    return check_syntax(prompt)


def render_value(
    value: Any,
    fixture: Fixture,
    position: Position | None = None,
    budget: Budget | None = None,
    known: Mapping[str, Any] | None = None,
) -> Any:
    """Return the value with every template in it rendered over the fixture's vars and `expected`.

    Text that is one `{{ expression }}` and nothing else gets the type of the expression. `known`
    is what `evaluate_ahead` returned for the fixture. Raises ContractError at `position`.
    """
    variables, budget = _variables(fixture), budget or Budget()

    def made(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: made(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [made(item) for item in value]
        if not isinstance(value, str) or not is_template(value):
            return value
        if known and value in known:
            return _or_raise(known[value], value, position or Position("?"))
        try:
            return evaluate_text(value, variables, budget)
        except ValueFault as fault:
            return _or_raise(fault, value, position or Position("?"))

    return made(value)


def evaluate_ahead(value: Any, fixture: Fixture, budget: Budget) -> Mapping[str, Any]:
    """Return the values, or the faults, of those templates in a value that the child evaluates: for
    all of them together, it is asked once."""
    texts = {t for t in nested_texts(value) if is_template(t) and not is_plain(t)}
    if len(texts) < 2:
        return {}
    ordered, variables = sorted(texts), _variables(fixture)
    asked = [(text, variables) for text in ordered]
    return dict(zip(ordered, evaluate_texts(asked, budget), strict=True))


def _variables(fixture: Fixture) -> Mapping[str, Any]:
    return {**fixture.vars, "expected": fixture.expected}


def _or_raise(found: Any, text: str, at: Position) -> Any:
    if isinstance(found, ValueFault):
        what = f"in `{text}`: {found.what}"
        raise ContractError([at.problem(what, found.fix)]) from None
    return found
