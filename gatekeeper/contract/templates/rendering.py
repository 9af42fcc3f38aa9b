"""Renders a prompt with values to texts, or reports problems with file and line.

Runs in this process for plain templates, and in the child for all others.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from jinja2 import TemplateNotFound, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError

from gatekeeper.contract.reading.role_lines import BY_ROLE_LINES, MOST_MESSAGES
from gatekeeper.contract.syntax.schema_errors import closest_hint
from gatekeeper.contract.templates.budget import OVERRUN_SECONDS, Budget
from gatekeeper.contract.templates.environment import (
    MAX_TEXT,
    PromptEnvironment,
    compiled,
    environment_for,
    native,
    rendered,
    template_line,
)
from gatekeeper.contract.templates.role_marks import (
    RoleLineFault,
    RolePart,
    compiled_with_marks,
    split_by_role_lines,
)
from gatekeeper.contract.templates.value_faults import ValueFault, fault_in
from gatekeeper.contract.values.definition import MessageTemplate, Prompt
from gatekeeper.errors import ContractError, Problem

MAX_SECONDS = 3.0
"""The most seconds of processor time for one rendering."""

_NO_FIELD = re.compile(r"'(?:\w+\.)*(\w+) object' has no attribute '(\w+)'")
_KINDS = {"str": "text", "list": "a list", "dict": "a mapping", "int": "a number"}

TimeLimit = Callable[[float], AbstractContextManager[None]]
"""Ends a block with an exception after the given number of seconds of processor time."""


def _no_limit(seconds: float) -> AbstractContextManager[None]:
    del seconds
    return nullcontext()


class TooMuchError(Exception):
    """All renderings together take more than they may."""


def render_prompt(
    prompt: Prompt,
    variables: Mapping[str, Any],
    budget: Budget,
    time_limit: TimeLimit = _no_limit,
) -> tuple[RolePart, ...]:
    """Return the role and text of each message. Raises ContractError with the problems of all of
    them."""
    environment = environment_of(prompt)
    problems: list[Problem] = []
    messages: list[RolePart] = []
    length = 0
    for template in prompt.messages:
        started = time.process_time()
        environment.work = 0
        try:
            _require_left(budget)
            with time_limit(min(MAX_SECONDS, budget.seconds)):
                made = _render_template(environment, template, prompt.path, variables)
            length += sum(len(text) for _, text in made)
            if length > MAX_TEXT:
                raise SecurityError(f"the messages together have more than {MAX_TEXT:,} characters")
            messages += made
            if len(messages) > MOST_MESSAGES:
                raise SecurityError(f"there are more than {MOST_MESSAGES:,} messages")
        except Exception as error:  # templates can raise anything: a TypeError of an operator, …
            problems.append(_problem(error, prompt, template, variables))
            _fine(error, budget)
            made = ()
        texts = tuple(text for _, text in made)
        budget.spend(environment.work, texts, time.process_time() - started)
    if problems:
        raise ContractError(problems)
    return tuple(messages)


def _render_template(
    environment: PromptEnvironment,
    template: MessageTemplate,
    path: str,
    variables: Mapping[str, Any],
) -> tuple[RolePart, ...]:
    """Return the message of a template, or the messages that its role lines begin."""
    if template.role == BY_ROLE_LINES:
        code = compiled_with_marks(environment, template.content, path)
        return split_by_role_lines(rendered(environment, code, variables), template.content)
    code = compiled(environment, template.content, path)
    return ((template.role, rendered(environment, code, variables)),)


def check_templates(prompt: Prompt, time_limit: TimeLimit = _no_limit) -> list[Problem]:
    """Return what is wrong with the syntax of each message and include, without rendering."""
    environment = environment_of(prompt)
    sources = [(template, template.content, prompt.path) for template in prompt.messages]
    whole = MessageTemplate("user", "", 1)
    sources += [(whole, text, path) for path, text in prompt.includes.items()]
    problems = []
    for template, text, path in sources:
        try:
            with time_limit(MAX_SECONDS):
                compiled(environment, text, path)
        except Exception as error:  # besides Jinja2's own, Python's compiler has limits
            problems.append(_problem(error, prompt, template, {}))
    return problems


def evaluate(
    text: str,
    variables: Mapping[str, Any],
    budget: Budget,
    time_limit: TimeLimit = _no_limit,
) -> Any:
    """Return the value of a parameter's template: of any type if the text is one
    `{{ expression }}` and nothing else, and otherwise text. Raises ValueFault."""
    environment = environment_for(())
    started = time.process_time()
    environment.work = 0
    try:
        _require_left(budget)
        with time_limit(min(MAX_SECONDS, budget.seconds)):
            expression = native(environment, text)
            if expression is not None:
                return expression(variables)
            return rendered(environment, compiled(environment, text, "value"), variables)
    except Exception as error:  # as above
        _fine(error, budget)
        known = (name for name, value in variables.items() if (name, value) != ("expected", None))
        raise ValueFault(*_what_and_fix(error, known)) from None
    finally:
        budget.spend(environment.work, (), time.process_time() - started)


def environment_of(prompt: Prompt) -> PromptEnvironment:
    """Return the environment that can load the prompt's includes."""
    return environment_for(tuple(sorted(prompt.includes.items())))


def _require_left(budget: Budget) -> None:
    exceeded = budget.exceeded()
    if exceeded:
        raise TooMuchError(exceeded)


def _fine(error: Exception, budget: Budget) -> None:
    """Take half of the remaining time for an overrun: if one fixture overruns, most do, and
    hundreds of them must not take minutes to be refused."""
    if isinstance(_cause(error), TimeoutError | MemoryError):
        budget.spend(seconds=OVERRUN_SECONDS)


def _cause(error: Exception) -> Exception:
    """Return the error's cause: the time limit may occur anywhere, even while another error is
    handled."""
    while isinstance(error.__context__, TimeoutError | MemoryError):
        error = error.__context__
    return error


def _problem(
    error: Exception, prompt: Prompt, template: MessageTemplate, variables: Mapping[str, Any]
) -> Problem:
    place = template_line(error, (prompt.path, *prompt.includes))
    syntax_line = getattr(error, "lineno", None)
    if syntax_line is not None:
        place = (getattr(error, "filename", None) or prompt.path, int(syntax_line))
    path, line = place or (prompt.path, 1)
    if path == prompt.path:
        path, line = template.path or path, template.line_at(line)
    what, fix = _what_and_fix(error, variables)
    if isinstance(error, RoleLineFault) and error.line is not None:
        line = error.line + template.line - 1
    field = None if template.role == BY_ROLE_LINES else f"{template.role} message"
    return Problem(path, what, fix, line, field=field)


_ENDLESS: Mapping[type[Exception], str] = {
    TimeoutError: "takes too much time",
    MemoryError: "takes too much memory",
    RecursionError: "calls itself without end",
}


def _slip(message: str, known: Sequence[str]) -> str:
    """Return a question if a misspelling is likely: of the variable, or of a key of the fixture,
    which then counts as a variable."""
    name = message.removesuffix(" is undefined").strip("'")
    meant = closest_hint(name, known)
    keys = ((key, closest_hint(key, ("file", "vars"))) for key in known)
    meant = meant or next((f"for `{key}`, {hint}" for key, hint in keys if hint), "")
    return f"{meant} If not, " if meant else ""


def _what_and_fix(error: Exception, variables: Iterable[str]) -> tuple[str, str]:
    error = _cause(error)
    message = str(error) or type(error).__name__
    simpler = "make the template simpler"
    if isinstance(error, RoleLineFault):
        return message, error.fix
    if isinstance(error, UndefinedError):
        fault = fault_in(message)
        if fault is not None:
            return fault, "correct the value in the fixture, or write the prompt in Jinja"
        known = sorted(variables)
        names = ", ".join(f"`{name}`" for name in known) or "none"
        missing = _NO_FIELD.fullmatch(message)
        if missing:
            kind, name = missing.groups()
            of = f", but the value is {_KINDS[kind]} without it" if kind in _KINDS else ""
            return f"the template reads the field `{name}`{of}", (
                f"correct the value in the fixture's `vars`, which now contain: {names}; a loop "
                "such as `{% for item in items %}` needs a list"
            )
        label = re.fullmatch(r"'(category|cluster|id|metadata)' is undefined", message)
        if label:
            return message.replace("'", "`"), (
                f"the key `{label[1]}` of a fixture is for reports and is no variable: give the "
                "variable another name there and here. Call an expected answer `expected`"
            )
        return message.replace("'", "`"), (
            f"{_slip(message, known)}add the variable to the fixture's `vars`, which now contain: "
            f"{names}"
        )
    if isinstance(error, TemplateSyntaxError):
        fix = (
            "correct the template; put text that contains `{{` or `{%` between "
            "`{% raw %}` and `{% endraw %}`"
        )
        return f"not a template: {message}", fix
    if isinstance(error, SecurityError):
        return f"gatekeeper does not allow this in a template: {message}", simpler
    if isinstance(error, TooMuchError):
        return f"the template takes {message}", f"{simpler}, or keep fewer fixtures"
    if isinstance(error, TemplateNotFound):
        return f"the include `{message}` was not found", "name a file of this repository"
    for kind, what in _ENDLESS.items():
        if isinstance(error, kind):
            return f"the template {what}", simpler
    return (
        f"the template cannot be rendered: {message}",
        "correct the template, or the values in the fixtures",
    )
