"""One assertion of promptfoo on its way to a check: its keys, and its value with variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gatekeeper.contract.formats.promptfoo.sources import FILE, Sources
from gatekeeper.contract.formats.promptfoo.variables import (
    has_template,
    is_simple,
    names_in,
    refuse_environment,
    script_text,
    substitute,
)
from gatekeeper.contract.formats.reader import CannotRunError, Node
from gatekeeper.contract.formats.rows import Check
from gatekeeper.contract.prompts.styles.literal import as_parameter
from gatekeeper.contract.syntax.yaml_positions import parse_yaml

_QUOTED = re.compile(r'"((?:\\["\\]|""|[^"])*)"')


class NeedsVariablesError(Exception):
    """The assertion can only be translated for each test, because its value needs the variables."""


@dataclass(frozen=True, slots=True)
class Grading:
    """What grades the outputs of a test: models, as they are called here, or why the models that
    the file names cannot be called."""

    judge: str | None = None
    embedding: str = "openai/text-embedding-3-large"
    own_prompt: bool = False
    judge_fault: str | None = None
    embedding_fault: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What an assertion is translated for. `variables` are those of one fixture; None if it is for
    all fixtures, in which `texts` are the variables that are text in each. `tools` are those of the
    provider, `field` the part of a JSON output that the test's `transform` takes."""

    sources: Sources
    grading: Grading = Grading()
    variables: Mapping[str, Any] | None = None
    texts: frozenset[str] = frozenset()
    tools: Any = None
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Assertion:
    """An assertion. `kind` is its type without `not-`."""

    node: Node
    kind: str
    scope: Scope
    grading: Grading = field(default_factory=Grading)

    def cannot(self, why: str) -> CannotRunError:
        """Return the error that names this assertion as not run."""
        return self.node.cannot_run(str(self.node.get("type")), why)

    def raw(self) -> Any:
        """Return the value as written, or what its `file://` holds."""
        value = self.node.get("value")
        if isinstance(value, str) and value.startswith(FILE) and not has_template(value):
            return self.scope.sources.value(self.node, value)
        if isinstance(value, str) and value.startswith("package:"):
            raise self.cannot("gatekeeper does not run the program that computes this value")
        return value

    def variables(self) -> Mapping[str, Any]:
        """Return the variables of the test. Raises NeedsVariablesError if it is for all tests."""
        if self.scope.variables is None:
            raise NeedsVariablesError
        return self.scope.variables

    def literal(self, value: Any) -> str:
        """Return a text without templates: the variables are filled in."""
        text = script_text(value)
        if not has_template(text):
            return text
        refuse_environment(self.node, text)
        return substitute(self.node, text, self.variables())

    def text(self, value: Any = None) -> str:
        """Return a text as a parameter of a check: with variables as `{{ name }}` if each is a text
        in every fixture, filled in otherwise. Raises ContractError if it is empty."""
        value = self.raw() if value is None else value
        if value is None or isinstance(value, dict | list):
            raise self.node.problem("`value` is not text", "write the text to compare with")
        text = script_text(value)
        if has_template(text):
            refuse_environment(self.node, text)
            if is_simple(text) and names_in(text) <= self.scope.texts and "." not in text:
                return text
        found = self.literal(text)
        if not found:
            raise self.node.problem("`value` is empty", "write the text to compare with")
        return str(as_parameter(found))

    def text_or_texts(self) -> str | list[str]:
        """Return a text, or those of a list."""
        value = self.raw()
        return [self.text(v) for v in value] if isinstance(value, list) else self.text(value)

    def texts(self) -> list[str]:
        """Return the texts of a list, or of a text with commas. Raises ContractError."""
        value = self.raw()
        if isinstance(value, list) and value:
            return [self.text(item if item is not None else "") for item in value]
        if not isinstance(value, str):
            fix = "write a list of texts, or one comma-separated text"
            raise self.node.problem("`value` must be a list of texts", fix)
        parts = split_values(self.literal(value))
        if not parts:
            fix = "write a list of texts, with double quotes around each text that contains a comma"
            raise self.node.problem("gatekeeper cannot split `value` into texts at its commas", fix)
        return [as_parameter(part) for part in parts]

    def data(self) -> Any:
        """Return a mapping as a parameter of a check; text is read as YAML. None if there is no
        value. Raises ContractError."""
        value = self.raw()
        if isinstance(value, str):
            line = self.node.position.line or 1
            value = parse_yaml(self.literal(value), self.node.document.path, line).data
        return as_parameter(value)

    def threshold(self, default: float | None = None) -> float:
        """Return the threshold. Raises ContractError if it is not a number, or missing without a
        default."""
        value = self.node.get("threshold")
        if isinstance(value, str) and has_template(value):
            text = self.literal(value)
            try:
                value = float(text)
            except ValueError:
                value = text
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int | float):
            what = "`threshold` is missing" if value is None else "`threshold` is not a number"
            raise self.node.child("threshold").problem(what, "write a number")
        return value

    def share(self, default: float) -> float:
        """Return a threshold from 0 to 1. Raises CannotRunError if it is outside."""
        value = self.threshold(default)
        if not 0 <= value <= 1:
            raise self.cannot(f"the threshold is {value:g}; write one from 0 to 1")
        return value

    def share_above_zero(self) -> float:
        """Return a threshold from 0 to 1. Raises CannotRunError if every output would pass."""
        share = self.share(0)
        if share == 0:
            raise self.cannot("without a `threshold` above 0, every output passes in promptfoo")
        return share

    def limit(self) -> float:
        """Return a threshold above 0. Raises CannotRunError if no output can meet it."""
        limit = self.threshold()
        if limit <= 0:
            raise self.cannot(f"no output can meet a limit of {limit:g}; write a limit above 0")
        return limit

    def judge(self) -> str | None:
        """Return the model that grades; None if only a default can be asked. Raises CannotRunError
        if gatekeeper cannot ask as the file says."""
        if self.grading.own_prompt or self.node.get("rubricPrompt") is not None:
            raise self.cannot("gatekeeper's judges answer in a different form than `rubricPrompt`")
        if self.grading.judge_fault:
            raise self.cannot(self.grading.judge_fault)
        return self.grading.judge

    def of_part(self, check: Check) -> Check:
        """Return the check for the part of the output that a `transform` takes."""
        return {**check, "field": self.scope.field} if self.scope.field else check

    def of_whole(self, check: Check) -> Check:
        """Return a check that only reads the whole output. Raises CannotRunError if a `transform`
        takes a part of it."""
        if self.scope.field:
            raise self.cannot("the check needs the whole output, but `transform` selects a part")
        return check


def split_values(value: str) -> list[str] | None:
    """Split at commas as promptfoo does: a part in double quotes may hold commas, and empty parts
    are left out. None if a quotation has no end, or more text follows it."""
    parts: list[str] = []
    at = 0
    while True:
        while at < len(value) and (value[at].isspace() or value[at] == ","):
            at += 1
        if at >= len(value):
            return parts
        if value[at] != '"':
            end = value.find(",", at)
            end = len(value) if end < 0 else end
            parts.append(value[at:end].strip())
            at = end
            continue
        quoted = _QUOTED.match(value, at)
        if quoted is None:
            return None
        parts.append(re.sub(r'\\(["\\])|""', lambda m: m[1] or '"', quoted[1]))
        at = quoted.end()
        while at < len(value) and value[at].isspace():
            at += 1
        if at < len(value) and value[at] != ",":
            return None
