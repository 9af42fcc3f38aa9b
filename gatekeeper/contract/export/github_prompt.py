"""Writes a contract as a `.prompt.yml`, with `testData` and `evaluators`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gatekeeper.contract.export.exported import (
    Exported,
    Losses,
    cannot_be_written,
    is_text,
    name_settings,
    parameter,
    rendered,
    simple_messages,
    single_questions,
)
from gatekeeper.contract.export.judges import judge_differences, llm_evaluator
from gatekeeper.contract.formats.github_prompt import STRINGS
from gatekeeper.contract.formats.rows import written_as
from gatekeeper.contract.prompts.render import render_value
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.syntax.yaml_text import write_yaml
from gatekeeper.contract.values.definition import CheckSpec, Contract, Fixture

_STRINGS = written_as(STRINGS)
_PARAMETERS = {"max_tokens": "maxTokens", "top_p": "topP"}
_ANY_OF = (
    "the check passes if one of several texts matches, and GitHub has no evaluator for this rule"
)
_NO_TEXT = "in at least one fixture, the value of the check is not a text"


def export(contract: Contract, document: Document) -> Exported:
    """Return the file of a contract. Raises ContractError."""
    losses, differs = Losses(contract.path), Losses(contract.path)
    name_settings(contract, document, losses)
    fixtures = single_questions(contract, losses)
    sent = rendered(contract, fixtures) if fixtures else ()
    path = f"{contract.name}.prompt.yml"
    if not sent:
        return Exported({}, losses.listed(), (), {})
    simple = simple_messages(contract, fixtures, sent)
    if simple.filled_in:
        why = "GitHub fills in only plain variables, so each test has the complete messages"
        losses.add("template", document.position(("prompt",)), why)
    rows = _Rows(fixtures, [dict(values) for values in simple.variables])
    evaluators = [
        evaluator
        for check in contract.checks
        for evaluator in _evaluators(check, rows, losses, differs)
    ]
    for fixture in fixtures:
        for check in fixture.checks:
            why = "the check is one fixture's, but an evaluator of GitHub applies to every test"
            losses.add(check.name, check.position, why)
    data: dict[str, Any] = {"name": contract.name}
    if contract.description:
        data["description"] = contract.description
    data |= {"model": contract.target.model, **_params(contract, losses)}
    data["messages"] = [{"role": role, "content": text} for role, text in simple.messages]
    data["testData"] = rows.values
    data["evaluators"] = evaluators
    texts = {path: write_yaml(data)} if evaluators else {}
    return Exported(texts, losses.listed(), differs.listed(), {path: sent})


class _Rows:
    """The tests of the file: the variables of each, and the expected value."""

    def __init__(self, fixtures: Sequence[Fixture], values: list[dict[str, Any]]) -> None:
        self.fixtures = fixtures
        self.values = values
        for fixture, row in zip(fixtures, values, strict=True):
            if fixture.expected is not None:
                row["expected"] = fixture.expected

    def reference(self, name: str, texts: Sequence[str], *, is_template: bool) -> str:
        """Return what stands for a text of each test: the text itself if it is always the same, or
        a variable, which is added if there is none."""
        found = self._variable(texts) if is_template else None
        if found is None and len(set(texts)) == 1 and is_text(texts[0]):
            return texts[0]
        if found is None:
            words = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
            found = f"value_of_{words}"
            while any(found in row for row in self.values):
                found += "_"
            for row, text in zip(self.values, texts, strict=True):
                row[found] = text
        return f"{{{{{found}}}}}"

    def _variable(self, texts: Sequence[str]) -> str | None:
        """Return the variable that has this text in each test; the expected value before others."""
        names = ["expected", *self.values[0]]
        return next(
            (n for n in names if n.isidentifier() and n.isascii() and self._has(n, texts)), None
        )

    def _has(self, name: str, texts: Sequence[str]) -> bool:
        return all(
            isinstance(row.get(name), str) and row[name] == text
            for row, text in zip(self.values, texts, strict=True)
        )


def _evaluators(
    check: CheckSpec, rows: _Rows, losses: Losses, differs: Losses
) -> Iterator[dict[str, Any]]:
    """Yield the evaluators of a check: one for each text that the output must contain."""
    why = cannot_be_written(check)
    if why is None and any(check.name in fixture.left_out for fixture in rows.fixtures):
        why = "`when` limits the check, but an evaluator of GitHub applies to every test"
    made: list[dict[str, Any]] | str
    if why is not None:
        made = why
    elif check.type in _STRINGS:
        made = _strings(check, rows)
    elif check.type == "judge":
        made = llm_evaluator(check, rows.fixtures)
    else:
        made = "GitHub has no evaluator for this check"
    if isinstance(made, str):
        losses.add(check.name, check.position, made)
        return
    for difference in _differences(check):
        differs.add(check.name, check.position, difference)
    yield from made


def _strings(check: CheckSpec, rows: _Rows) -> list[dict[str, Any]] | str:
    kind = _STRINGS[check.type]
    written = check.params["values"] if "values" in check.params else [check.params["value"]]
    several = [render_value(written, fixture, check.position) for fixture in rows.fixtures]
    lists = [values if isinstance(values, list) else [values] for values in several]
    number = len(lists[0])
    any_of = number > 1 and (check.type != "contains" or parameter(check, "match") == "any")
    if any_of or any(len(values) != number for values in lists):
        return _ANY_OF
    if not all(isinstance(text, str) and text for values in lists for text in values):
        return _NO_TEXT
    found = []
    for place in range(number):
        name = check.name if number == 1 else f"{check.name} {place + 1}"
        texts = [values[place] for values in lists]
        value = rows.reference(name, texts, is_template=not is_text(str(written)))
        found.append({"name": name, "string": {kind: value}})
    return found


def _differences(check: CheckSpec) -> Iterator[str]:
    """Yield in which ways GitHub's evaluator decides otherwise."""
    if check.must_pass:
        yield "GitHub has no `must_pass`, so the check counts like every other check"
    if check.type == "judge":
        yield (
            "for the judge, GitHub uses its own prompt and one model; the model answers with one "
            "word and gives no reason"
        )
        yield from judge_differences(check)
        return
    ignores = bool(parameter(check, "ignore_case"))
    if check.type == "equals" and ignores:
        yield "GitHub's `equals` distinguishes upper and lower case"
    if check.type != "equals" and not ignores:
        yield "GitHub ignores the difference between upper and lower case"
    if parameter(check, "strip") is False:
        yield "GitHub ignores white space around the output"


def _params(contract: Contract, losses: Losses) -> dict[str, Any]:
    """Return the parameters of the model as GitHub writes them."""
    plain: dict[str, Any] = {}
    written: dict[str, Any] = {}
    for name, value in contract.target.params.items():
        form = _response_format(value) if name == "response_format" else None
        if form is not None:
            written |= form
        elif name == "response_format":
            losses.add(
                name, contract.model_at, "GitHub has no equivalent of this `response_format`"
            )
        else:
            plain[_PARAMETERS.get(name, name)] = value
    return {**({"modelParameters": plain} if plain else {}), **written}


def _response_format(value: Any) -> Mapping[str, Any] | None:
    if value == {"type": "json_object"}:
        return {"responseFormat": "json_object"}
    if not isinstance(value, Mapping) or set(value) != {"type", "json_schema"}:
        return None
    if value["type"] != "json_schema" or not isinstance(value["json_schema"], Mapping):
        return None
    schema = json.dumps(value["json_schema"], ensure_ascii=False, indent=2)
    return {"responseFormat": "json_schema", "jsonSchema": schema}
