"""Renders plain templates here, and asks the child for all others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from gatekeeper.contract.reading.role_lines import BY_ROLE_LINES
from gatekeeper.contract.templates.budget import OVERRUN_SECONDS, Budget
from gatekeeper.contract.templates.plain import is_plain, plain_includes
from gatekeeper.contract.templates.value_faults import ValueFault
from gatekeeper.contract.values.definition import Prompt
from gatekeeper.errors import ContractError, Problem
from gatekeeper.sandbox.frames import FrameError
from gatekeeper.sandbox.process import LimitedProcess

if TYPE_CHECKING:
    from gatekeeper.contract.templates.role_marks import RoleLine

_SERVICE = "gatekeeper.contract.templates.worker:answer"
_PACKAGES = ("jinja2", "markupsafe")
_CHILD = LimitedProcess(_SERVICE, _PACKAGES)

# What is sent at once: a child that overruns takes the rest of these with it.
_VALUES_AT_ONCE = 64
_TEXTS_AT_ONCE = 10_000
# Parsing takes about 500 bytes of memory a character.
_PARSED_HERE = 100_000

# Texts that were compiled, each with its path: base's are often the same as head's.
_sound: set[tuple[str, str]] = set()
_MOST_SOUND = 10_000

_SIMPLER = "make the template simpler"

Parts = tuple[tuple[str, str], ...]
"""The role and text of each message."""


def render_parts(
    prompt: Prompt, values: Sequence[Mapping[str, Any]], budget: Budget
) -> Iterator[Parts | ContractError]:
    """Yield the roles and texts of the messages for each set of values, in order, or the error
    that there is instead."""
    if all(is_plain(message.content) for message in prompt.messages):
        from gatekeeper.contract.templates.rendering import render_prompt

        for variables in values:
            try:
                yield render_prompt(prompt, variables, budget)
            except ContractError as error:
                yield error
        return

    def request(some: Sequence[Any]) -> Mapping[str, Any]:
        return {"kind": "render", "prompt": _as_json(prompt), "values": some}

    def fault(what: str, fix: str) -> ContractError:
        return ContractError([_unplaced(prompt, what, fix)])

    yield from _answers(values, _VALUES_AT_ONCE, request, budget, _parts_or_error, fault)


def _answers(
    asked: Sequence[Any],
    at_once: int,
    request: Callable[[Sequence[Any]], Mapping[str, Any]],
    budget: Budget,
    read: Callable[[Mapping[str, Any]], Any],
    fault: Callable[[str, str], Any],
) -> Iterator[Any]:
    """Yield what the child answers to each of what is asked, as `read` reads it; an overrun is the
    fault of the first without a response."""
    while asked:
        exceeded = budget.exceeded()
        if exceeded:
            found = fault(f"the template takes {exceeded}", f"{_SIMPLER}, or keep fewer fixtures")
            yield from [found] * len(asked)
            return
        some = asked[:at_once]
        try:
            answers = _CHILD.ask({**request(some), "budget": astuple(budget)})
        except FrameError as error:
            if len(some) > 1:
                yield from _answers(some, 1, request, budget, read, fault)
            else:
                yield fault(f"the values cannot be rendered: {error}", "use smaller values")
            asked = asked[len(some) :]
            continue
        for response in answers.responses:
            budget.work, budget.text_bytes, budget.seconds = response["budget"]
            yield read(response)
        asked = asked[len(answers.responses) :]
        if answers.overrun is not None:
            budget.spend(seconds=OVERRUN_SECONDS)
            yield fault(f"the template cannot be rendered: {answers.overrun}", _SIMPLER)
            asked = asked[1:]


def check_syntax(prompt: Prompt) -> list[Problem]:
    """Return what is wrong with the syntax of each message and include, without rendering."""
    sources = _sources(prompt)
    if all(_is_certainly_sound(text) for text, _ in sources):
        return []
    if _sound.issuperset(sources):
        return []
    try:
        answers = _CHILD.ask({"kind": "check", "prompts": [_as_json(prompt)]})
    except FrameError as error:
        return [_unplaced(prompt, f"the prompt cannot be read: {error}", "use smaller includes")]
    if answers.overrun is not None:
        return [_unplaced(prompt, f"the template cannot be read: {answers.overrun}", _SIMPLER)]
    problems = [Problem(**problem) for problem in answers.responses[0]]
    if not problems:
        if len(_sound) > _MOST_SOUND:
            _sound.clear()
        _sound.update(sources)
    return problems


def _is_certainly_sound(text: str) -> bool:
    """Return whether a look at the text shows that its syntax is sound."""
    return is_plain(text) or plain_includes(text) is not None


def _sources(prompt: Prompt) -> tuple[tuple[str, str], ...]:
    """Return each text of the prompt that is a template, with its path."""
    own = ((message.content, prompt.path) for message in prompt.messages)
    return (*own, *((text, path) for path, text in prompt.includes.items()))


def evaluate_text(text: str, variables: Mapping[str, Any], budget: Budget) -> Any:
    """Return the value of a parameter's template. See `rendering.evaluate`.

    Raises:
        ValueFault: It cannot be evaluated.
    """
    from gatekeeper.contract.templates.rendering import evaluate

    if is_plain(text):
        return evaluate(text, variables, budget)
    (found,) = evaluate_texts([(text, variables)], budget)
    if isinstance(found, ValueFault):
        raise found
    return found


def evaluate_texts(asked: Sequence[tuple[str, Mapping[str, Any]]], budget: Budget) -> Iterator[Any]:
    """Return the value of each text with its variables, or the ValueFault that there is instead.
    The child is asked for many at once, which is much faster than one by one."""

    def request(some: Sequence[tuple[str, Mapping[str, Any]]]) -> Mapping[str, Any]:
        values = {id(variables): variables for _, variables in some}
        places = {key: place for place, key in enumerate(values)}
        placed = [[text, places[id(variables)]] for text, variables in some]
        return {"kind": "evaluate", "asked": placed, "values": list(values.values())}

    def read(response: Mapping[str, Any]) -> Any:
        return ValueFault(*response["fault"]) if "fault" in response else response["value"]

    return _answers(asked, _TEXTS_AT_ONCE, request, budget, read, ValueFault)


class NotATemplate(Exception):
    """A source that does not parse: what is wrong, and the line."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


def find_included(source: str) -> Sequence[tuple[str | None, int]]:
    """Return every template that the source includes, imports or extends, with its line. None means
    that the name is only known when rendering.

    Raises:
        NotATemplate: The source is no template, or too large to tell.
        RecursionError: It is nested too deeply.
    """
    if "{%" not in source:
        return ()
    plain = plain_includes(source)
    if plain is not None:
        return plain
    if len(source) <= _PARSED_HERE:
        return _parse_included(source)
    try:
        answers = _CHILD.ask({"kind": "includes", "source": source})
    except FrameError as error:
        raise NotATemplate(str(error), 1) from None
    if not answers.responses:
        # It does not parse, or not within the limits: the child says why where it compiles it.
        raise NotATemplate("the text is too large, or has a syntax error", 1)
    return [(name, line) for name, line in answers.responses[0]]


def _parse_included(source: str) -> Sequence[tuple[str | None, int]]:
    from jinja2 import TemplateSyntaxError

    from gatekeeper.contract.templates.environment import environment_for, included_names

    try:
        return included_names(source, environment_for(()))
    except TemplateSyntaxError as error:
        raise NotATemplate(error.message or "", error.lineno) from None


def find_role_lines(source: str) -> Sequence[RoleLine]:
    """Return the role lines in the source whose text goes straight into the result; none if the
    source is no template."""
    from jinja2 import TemplateSyntaxError

    from gatekeeper.contract.templates.role_marks import RoleLine, role_lines_of

    try:
        if len(source) <= _PARSED_HERE:
            return role_lines_of(source)
        answers = _CHILD.ask({"kind": "role_lines", "source": source})
    except (TemplateSyntaxError, RecursionError, FrameError):
        return ()
    return [RoleLine(**line) for line in answers.responses[0]] if answers.responses else ()


def _as_json(prompt: Prompt) -> Mapping[str, Any]:
    return {
        "path": prompt.path,
        "messages": [[m.role, m.content, m.line, m.lines, m.path] for m in prompt.messages],
        "includes": prompt.includes,
    }


def _parts_or_error(response: Mapping[str, Any]) -> Parts | ContractError:
    if "problems" in response:
        return ContractError([Problem(**problem) for problem in response["problems"]])
    return tuple((role, text) for role, text in response["messages"])


def _unplaced(prompt: Prompt, what: str, fix: str) -> Problem:
    """Return a problem of the whole prompt, whose line is not known."""
    first = prompt.messages[0]
    field = None if first.role == BY_ROLE_LINES else f"{first.role} message"
    return Problem(prompt.path, what, fix, first.line, field=field)
