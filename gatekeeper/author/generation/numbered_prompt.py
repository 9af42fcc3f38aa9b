"""Shows a prompt to a model with numbered lines, and keeps what is grounded in lines that exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from gatekeeper.author.generation.questions import schema_of
from gatekeeper.author.onboarding.example_values import example_values, prompt_variables
from gatekeeper.author.onboarding.skeleton import unseen_style
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.prompts.render import render_all
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Message, Prompt, TemplateStyle
from gatekeeper.errors import ContractError, Problem, UsageError

MOST_CHARACTERS = 200_000
MOST_VARIABLES = 100
"""And the most of their fields. More would take a model, and the schema of its answers, beyond what
they can do."""


@dataclass(frozen=True, slots=True)
class NumberedPrompt:
    """A prompt, its variables in the order of their first use, and the lines of its file.
    `examples` are values of the shape in which the template reads each variable. `style` is that
    which a contract has to declare, because the file does not show it."""

    prompt: Prompt
    variables: tuple[str, ...]
    lines: tuple[tuple[int, str], ...]
    examples: Mapping[str, Any]
    style: TemplateStyle | None = None

    @property
    def reference(self) -> str:
        return self.prompt.reference

    @property
    def data(self) -> dict[str, str]:
        """Return the prompt, the files that it includes and its variables, for a question."""
        width = len(str(self.lines[-1][0]))
        text = "\n".join(f"{number:{width}} | {line}" for number, line in self.lines)
        included = "\n\n".join(self.prompt.includes.values())
        shown = {"prompt": text, "variables": ", ".join(self.variables)}
        return {**shown, "included": included} if included else shown

    def values_schema(self, fixed: Collection[str] = ()) -> dict[str, Any]:
        """Return the schema of the variables that are not `fixed`: each has the shape in which the
        template reads it."""
        names = (name for name in self.variables if name not in fixed)
        return schema_of({name: _form(self.examples[name]) for name in names})

    def grounded(self, written: Sequence[int]) -> tuple[int, ...]:
        """Return the lines in order; none if one of them does not exist or has no text."""
        known = frozenset(self.lines_with_text)
        return tuple(sorted(set(map(int, written)))) if known.issuperset(written) else ()

    @property
    def lines_with_text(self) -> tuple[int, ...]:
        """Return the numbers of the lines that are not blank."""
        return tuple(number for number, line in self.lines if line.strip())


def number_prompt(revision: Revision, reference: str) -> NumberedPrompt:
    """Load a prompt of any kind that contracts can name.

    Raises ContractError if it cannot be read, and UsageError if it has no variable, or too
    many of them or of their fields, or is too long.
    """
    try:
        prompt = load_prompt(revision, reference)
    except UnreadableError as error:
        raise ContractError([Problem(reference, error.what, error.fix, error.line)]) from None
    if len(prompt.text) > MOST_CHARACTERS:
        raise UsageError(
            f"{reference}: the prompt has {len(prompt.text):,} characters, but "
            f"`gatekeeper generate` supports at most {MOST_CHARACTERS:,} characters"
        )
    style = unseen_style(prompt)
    prompt = prompt.read_as(style) if style else prompt
    variables = prompt_variables(prompt)
    if not variables:
        raise UsageError(
            f"{reference}: the prompt has no variable, so every test would send the "
            "same request; write "
            "{{ name }} where the input belongs"
        )
    if len(variables) > MOST_VARIABLES:
        raise UsageError(
            f"{reference}: the prompt has {len(variables):,} variables, but "
            f"`gatekeeper generate` supports at most {MOST_VARIABLES} variables"
        )
    examples = example_values(prompt, variables, "a value of {name}")
    fields = sum(map(_fields, examples.values()))
    if fields > MOST_VARIABLES:
        raise UsageError(
            f"{reference}: the prompt reads {fields:,} fields of its variables, but "
            f"`gatekeeper generate` supports at most {MOST_VARIABLES} fields"
        )
    return NumberedPrompt(prompt, variables, tuple(_lines(prompt)), examples, style)


class _WithVars(Protocol):
    @property
    def vars(self) -> Mapping[str, Any]: ...


Row = TypeVar("Row", bound=_WithVars)


def render_each(
    prompt: Prompt, rows: Sequence[Row]
) -> tuple[list[tuple[Row, tuple[Message, ...]]], list[tuple[Row, ContractError]]]:
    """Return the rows with whose values the prompt can be rendered, with the messages, and the
    others with what is wrong."""
    sound, unfit = [], []
    for row, found in zip(rows, render_all(prompt, [r.vars for r in rows], Budget()), strict=True):
        if isinstance(found, ContractError):
            unfit.append((row, found))
        else:
            sound.append((row, found))
    return sound, unfit


def _form(example: Any) -> Any:
    """Return the form of values such as the example, for `schema_of`."""
    if isinstance(example, dict):
        return {str(name): _form(value) for name, value in example.items()}
    return [_form(example[0]) if example else str] if isinstance(example, list) else str


def _fields(example: Any) -> int:
    """Return how many texts a value holds."""
    if isinstance(example, list):
        return sum(map(_fields, example))
    return sum(map(_fields, example.values())) if isinstance(example, dict) else 1


def _lines(prompt: Prompt) -> Iterable[tuple[int, str]]:
    texts = prompt.text.split("\n")
    numbers = prompt.text_lines or range(1, len(texts) + 1)
    found: dict[int, str] = {}
    for number, text in zip(numbers, texts, strict=False):
        if number not in found or not found[number].strip():
            found[number] = text
    return found.items()
