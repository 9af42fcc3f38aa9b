"""Templates and a fixture's values -> messages and check parameters. Values are data: text
that looks like a template inside a fixture is never rendered again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gatekeeper.contract.model import Fixture, Message, MessageTemplate, Position, Prompt
from gatekeeper.errors import ContractError, Problem

if TYPE_CHECKING:
    from gatekeeper.contract.templates import PromptEnvironment

# `{#` is not among them: in a regular expression it is likelier than a template comment.
_MARKS = ("{{", "{%")


def render_messages(prompt: Prompt, variables: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages to send. Raises ContractError naming the prompt's line."""
    problems: list[Problem] = []
    messages = []
    for template in prompt.messages:
        try:
            messages.append(Message(template.role, _message(prompt, template, variables)))
        except ContractError as error:
            problems.extend(error.problems)
    if problems:
        raise ContractError(problems)
    return tuple(messages)


def render_value(value: Any, fixture: Fixture, position: Position | None = None) -> Any:
    """The value with every template in it rendered over the fixture's vars and `expected`.

    Text that is one `{{ expression }}` and nothing else becomes what the expression is, of
    whatever type. Raises ContractError at `position`.
    """
    variables = {**fixture.vars, "expected": fixture.expected}
    return _value(value, variables, position or Position("?"))


def template_problems(prompt: Prompt) -> list[Problem]:
    """What is wrong with the syntax of each message and include, found without rendering."""
    from gatekeeper.contract.templates import compiled

    environment = _environment(prompt)
    sources = [(template, template.content, prompt.path) for template in prompt.messages]
    whole = MessageTemplate("user", "", 1)
    sources += [(whole, text, path) for path, text in prompt.includes.items()]
    problems = []
    for template, text, path in sources:
        try:
            compiled(environment, text, path)
        except Exception as error:  # besides Jinja2's own, Python's compiler has limits
            problems.append(_problem(error, prompt, template, {}))
    return problems


def _message(prompt: Prompt, template: MessageTemplate, variables: Mapping[str, Any]) -> str:
    from gatekeeper.contract.templates import compiled, rendered

    environment = _environment(prompt)
    try:
        code = compiled(environment, template.content, prompt.path)
        return rendered(environment, code, variables)
    except Exception as error:  # templates can raise anything: a TypeError of an operator, …
        raise ContractError([_problem(error, prompt, template, variables)]) from None


def _environment(prompt: Prompt) -> PromptEnvironment:
    from gatekeeper.contract.templates import environment_for

    return environment_for(tuple(sorted(prompt.includes.items())))


def _problem(
    error: Exception, prompt: Prompt, template: MessageTemplate, variables: Mapping[str, Any]
) -> Problem:
    from gatekeeper.contract.templates import template_line

    place = template_line(error, (prompt.path, *prompt.includes))
    syntax_line = getattr(error, "lineno", None)
    if syntax_line is not None:
        place = (getattr(error, "filename", None) or prompt.path, int(syntax_line))
    path, line = place or (prompt.path, 1)
    if path == prompt.path:
        line += template.line - 1
    what, fix = _what_and_fix(error, variables)
    return Problem(path, what, fix, line, field=f"{template.role} message")


def _what_and_fix(error: Exception, variables: Iterable[str]) -> tuple[str, str]:
    from jinja2 import TemplateNotFound, TemplateSyntaxError, UndefinedError
    from jinja2.exceptions import SecurityError

    message = str(error) or type(error).__name__
    if isinstance(error, UndefinedError):
        names = ", ".join(f"`{name}`" for name in sorted(variables)) or "none"
        return message.replace("'", "`"), f"add it to the fixture's vars, which are: {names}"
    if isinstance(error, TemplateSyntaxError):
        fix = "correct the template; text with `{{` or `{%` goes between {% raw %} and {% endraw %}"
        return f"not a template: {message}", fix
    if isinstance(error, SecurityError):
        return f"the template may not do this: {message}", "make the template simpler"
    if isinstance(error, TemplateNotFound):
        return f"the include `{message}` was not found", "name a file of this repository"
    if isinstance(error, RecursionError):
        return "the template calls itself without end", "make the template simpler"
    return f"the template cannot be rendered: {message}", "check the values it works on"


def _value(value: Any, variables: Mapping[str, Any], position: Position) -> Any:
    if isinstance(value, Mapping):
        return {key: _value(item, variables, position) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_value(item, variables, position) for item in value]
    if not isinstance(value, str) or not any(mark in value for mark in _MARKS):
        return value
    return _text_value(value, variables, position)


def _text_value(text: str, variables: Mapping[str, Any], position: Position) -> Any:
    from gatekeeper.contract.templates import compiled, environment_for, native, rendered

    environment = environment_for(())
    try:
        expression = native(environment, text)
        if expression is not None:
            environment.begin(text)
            return expression(variables)
        return rendered(environment, compiled(environment, text, "value"), variables)
    except Exception as error:
        what, fix = _what_and_fix(error, variables)
        problem = Problem(
            position.path, f"in `{text}`: {what}", fix, position.line, position.column
        )
        raise ContractError([problem]) from None
