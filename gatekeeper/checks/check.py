"""The interface of a check: its parameters, and how it is prepared to evaluate samples.

A check module ends with one value, `CHECK = Check(...)`. Its `prepare` finds all mistakes of the
contract (a pattern that does not compile, an invalid schema), so that the author sees them before
any model is called. The function that it returns only evaluates.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gatekeeper.contract.checks.check_specs import MODULES
from gatekeeper.contract.templates.plain import TEMPLATE_MARKS
from gatekeeper.contract.values.definition import CheckShape, Fixture, Message, Prompt
from gatekeeper.contract.values.trial import Arm, Completion, Sample, Vote


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check. `passed` is None if the sample lacks the information. `message` is
    short and says what was expected and what was found; empty if it passed. `score` says how good
    the output is, from 0 to 1, if the check gives one. `votes` are those of the judges that it
    asked."""

    passed: bool | None
    message: str = ""
    score: float | None = None
    votes: tuple[Vote, ...] = ()


PASSED = Finding(passed=True)

DIRECTIONS = ("up", "down", "up if written", "down if written", "subset", "change")
"""How a change of a parameter weakens its check: `x-looser` in the parameter's schema. `up` and
`down` are of a bound, which is weakest without a value; if this counts only `if written`, the check
without a value means something else. A list that must be found is weaker as a `subset`. Of other
parameters, any `change` may weaken; this is so without `x-looser`, which only numbers need."""


def failed(message: str) -> Finding:
    """Return the finding of a check that failed."""
    return Finding(passed=False, message=message)


def undetermined(message: str) -> Finding:
    """Return the finding of a check that could not be applied, through no fault of the output."""
    return Finding(passed=None, message=message)


class ParameterError(ValueError):
    """Parameters that a check cannot use, with the remedy for the author.

    `mistake` is the same for fixtures with the same mistake, if `what` shows a value of each.
    """

    def __init__(self, what: str, fix: str, mistake: str | None = None) -> None:
        super().__init__(f"{what}; {fix}")
        self.what = what
        self.fix = fix
        self.mistake = mistake or what


@dataclass(frozen=True, slots=True)
class Files:
    """The files a check refers to, path from the repository root to text, the path of the file
    that the check itself is written in, and the prompt of each arm, if it is known. `code` are the
    files that may run (own_code.py), `fixture` is the one that the check is prepared for,
    if it is prepared for each."""

    texts: Mapping[str, str]
    written_in: str
    prompts: Mapping[Arm, Prompt] = field(default_factory=dict)
    code: Mapping[str, str] | None = None
    fixture: Fixture | None = None


def require_range(low: Any, high: Any) -> None:
    """Raise ParameterError if the bounds `min` and `max` leave no number."""
    if low is not None and high is not None and low > high:
        raise ParameterError(f"`min` {low} is more than `max` {high}", "swap them")


Parameters = Mapping[str, Any]
SampleEvaluator = Callable[[Sample], Finding]


@dataclass(frozen=True, slots=True)
class InnerCheck:
    """A check inside another one, ready to evaluate."""

    name: str
    evaluate: SampleEvaluator
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Example:
    """A check as an author writes it, with an answer that passes and one that fails.

    docs/checks.md shows it, and a test loads and runs it. `written` is the YAML of one item of
    `checks`. `vars` and `expected` are those of its fixture, `files` are the repository's, path
    to text, and `messages` is the rendered prompt. An answer is the text of the output, or the
    whole completion if the check reads more than the text. `judge_says` is what every judge
    answers about the output that passes, and about the one that fails.
    """

    written: str
    passes: str | Completion
    fails: str | Completion
    vars: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None
    files: Mapping[str, str] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    judge_says: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A check type.

    `about` is what docs/checks.md says of the check, if its module has several checks; of any other
    check, it is the docstring of the module.
    `parameters` is the JSON Schema (draft 2020-12) of its parameters after templates are
    rendered. `prepare` takes such parameters and the files they refer to, and raises
    ParameterError for what a schema cannot say. `paths` names the parameters which, when they
    are text, name a file: they hold no templates, and reach `prepare` as a key of the files.
    `scores` says that its findings have a score. `group` is the section of docs/checks.md, which
    is also the folder of the module. `examples` are shown there and run by a test. A check that is
    `composed` of others has them in its parameter `checks`, which reaches `prepare` as a tuple of
    InnerCheck. `code` is the parameter that names a function of the repository; `per_fixture` says
    that `prepare` needs the fixture.
    """

    parameters: Parameters
    prepare: Callable[[Parameters, Files], SampleEvaluator]
    paths: tuple[str, ...] = ()
    scores: bool = False
    group: str = "own"
    examples: tuple[Example, ...] = ()
    composed: bool = False
    code: str | None = None
    per_fixture: bool = False
    about: str = ""

    def __post_init__(self) -> None:
        """Refuse a number of which nobody knows whether a higher one is weaker: a change that makes
        the check weaker would have no name (contract/weakening/weakening.py)."""
        for name, schema in self.parameters["properties"].items():
            written = schema.get("type", ())
            kinds = {written} if isinstance(written, str) else {*written}
            is_number = kinds & {"number", "integer"} and not kinds & {"boolean", "object"}
            if schema.get("x-looser", "change" if not is_number else None) not in DIRECTIONS:
                raise ValueError(f"`{name}` needs `x-looser`, one of {', '.join(DIRECTIONS)}")

    @property
    def prose(self) -> str:
        """Return what docs/checks.md says of the check."""
        return (self.about or sys.modules[self.prepare.__module__].__doc__ or "").strip()

    @property
    def shape(self) -> CheckShape:
        """Return the parameters as written in a contract: a template may stand for any value."""
        plain = {*self.paths, *((self.code, MODULES) if self.code else ())}
        properties = {
            name: schema if name in plain or self.composed else _or_template(schema)
            for name, schema in self.parameters["properties"].items()
        }
        schema = {**self.parameters, "properties": properties}
        return CheckShape(schema, self.paths, self.scores, self.composed, self.code)


def parameters(*, required: tuple[str, ...] = (), **properties: Parameters) -> Parameters:
    """Return the JSON Schema of an object with these properties and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _or_template(schema: Parameters) -> Parameters:
    """Return a schema that also takes a template.

    It uses `if` and not `anyOf`, so that a value that is not a template gets the schema's own
    message.
    """
    marks = "|".join(mark.replace("{", r"\{") for mark in TEMPLATE_MARKS)
    said = {key: schema[key] for key in ("description", "default", "x-looser") if key in schema}
    return {**said, "if": {"type": "string", "pattern": marks}, "else": schema}
