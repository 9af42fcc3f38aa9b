"""Writes a contract for OpenAI Evals: a registry file, and the samples as JSON Lines.

Each check becomes an eval with samples of its own: those fixtures to which it applies, and the
texts that it looks for as `ideal`. `oaieval --registry_path FOLDER` finds both files. The model and
its parameters stand in an entry of their own, because `oaieval` takes them from the command line
and refuses other arguments; `formats/openai_registry.py` reads them there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gatekeeper.contract.export.exported import (
    Exported,
    Losses,
    Messages,
    cannot_be_written,
    is_text,
    name_settings,
    parameter,
    rendered,
    single_questions,
)
from gatekeeper.contract.export.judges import graded_spec, judge_differences, judge_question
from gatekeeper.contract.formats.foreign_suite import contract_name
from gatekeeper.contract.formats.openai_registry import CLASSES, ROWS, SETTINGS
from gatekeeper.contract.formats.rows import written_as
from gatekeeper.contract.prompts.render import render_value
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.syntax.yaml_text import write_yaml
from gatekeeper.contract.values.definition import CheckSpec, Contract, Fixture
from gatekeeper.contract.values.unique_name import take_name

_CLASSES = {check: f"{CLASSES}{kind}" for check, kind in written_as(ROWS).items()}
_SPLIT = "test.v0"


def export(contract: Contract, document: Document) -> Exported:
    """Return the files of a contract. Raises ContractError."""
    losses, differs = Losses(contract.path), Losses(contract.path)
    name_settings(contract, document, losses)
    fixtures = single_questions(contract, losses)
    sent = dict(zip((f.id for f in fixtures), rendered(contract, fixtures), strict=True))
    evals = _evals(contract, fixtures, losses, differs)
    if evals and contract.target.params:
        at = document.position(("params",))
        what = "`oaieval` uses its own model parameters instead of the contract's parameters"
        differs.add("params", at, what)
    folder = contract_name(contract.name, "contract").replace(".", "-")
    registry: dict[str, Any] = {}
    specs: dict[str, Any] = {}
    texts: dict[str, str] = {}
    read_back: dict[str, tuple[Messages, ...]] = {}
    path = f"evals/{folder}.yaml"
    for name, made in zip(_names(folder, evals), evals, strict=True):
        samples = f"{folder}/{name}.jsonl"
        args = {"samples_jsonl": samples, **made.args}
        registry[name] = {"id": f"{name}.{_SPLIT}", "metrics": ["accuracy"]}
        registry[f"{name}.{_SPLIT}"] = {"class": made.kind, "args": args}
        settings = {"model": contract.target.model, "params": dict(contract.target.params)}
        if made.graded:
            args["modelgraded_spec"] = name
            specs[name] = made.graded
            settings["judge"] = made.judge
        registry[f"{name}{SETTINGS}"] = {k: v for k, v in settings.items() if v}
        texts[f"data/{samples}"] = _lines(made, sent)
        slug = contract_name(f"{name}.{_SPLIT}", "eval")
        read = path if len(evals) == 1 else f"{path}#{slug}"
        read_back[read] = tuple(sent[fixture] for fixture in made.ideals)
    if evals:
        graded = {f"modelgraded/{folder}.yaml": write_yaml(specs)} if specs else {}
        texts = {path: write_yaml(registry), **texts, **graded}
    return Exported(texts, losses.listed(), differs.listed(), read_back)


@dataclass(frozen=True, slots=True)
class _Eval:
    """An eval: its class, its arguments, and the texts that each fixture's output is compared with;
    None if there are none. `graded` is what a `judge` is asked, for a class that asks a model."""

    name: str
    kind: str
    args: Mapping[str, Any]
    ideals: dict[str, Any] = field(default_factory=dict)
    graded: Mapping[str, Any] = field(default_factory=dict)
    judge: str = ""


def _evals(
    contract: Contract, fixtures: tuple[Fixture, ...], losses: Losses, differs: Losses
) -> list[_Eval]:
    found: dict[tuple[str, str, str], _Eval] = {}
    faults: dict[int, list[str]] = {}
    exported: set[int] = set()
    checks: dict[int, CheckSpec] = {}
    for fixture in fixtures:
        for check in contract.checks_for(fixture):
            checks[id(check)] = check
            made = _eval(check, fixture)
            if isinstance(made, str):
                faults.setdefault(id(check), []).append(made)
                continue
            exported.add(id(check))
            known = found.setdefault((made.name, made.kind, str(made.args)), made)
            known.ideals[fixture.id] = made.ideals[fixture.id]
    for key, check in checks.items():
        # A check that no fixture has is one loss, and else there is one for each fixture.
        for why in faults.get(key, [])[: None if key in exported else 1]:
            losses.add(check.name, check.position, why)
        for difference in _differences(check) if key in exported else ():
            differs.add(check.name, check.position, difference)
    return list(found.values())


def _eval(check: CheckSpec, fixture: Fixture) -> _Eval | str:
    """Return the eval of a check with one fixture; why there is none, if it has no equivalent."""
    why = cannot_be_written(check)
    kind = _CLASSES.get(check.type)
    if why is not None or kind is None:
        return why or "OpenAI Evals has no class for this check"
    if check.type == "json_valid":
        return _Eval(check.name, kind, {}, {fixture.id: None})
    if check.type == "judge":
        return _graded(check, fixture)
    name = "values" if "values" in check.params else "value"
    value = render_value(check.params[name], fixture, check.position)
    ignores = bool(parameter(check, "ignore_case"))
    if check.type == "json_equal":
        if check.params.get("ignore_order") or check.params.get("ignore_keys"):
            return "`JsonMatch` supports neither `ignore_order` nor `ignore_keys`"
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return _Eval(check.name, kind, {}, {fixture.id: [text]})
    wanted = value if isinstance(value, list) and check.type != "equals" else [value]
    if not wanted or not all(isinstance(text, str) and text for text in wanted):
        return "in at least one fixture, the value of the check is not a text"
    if check.type == "contains":
        if len(wanted) > 1 and parameter(check, "match") == "all":
            return "`Includes` passes if one of the texts occurs, but this check requires all texts"
        args = {"ignore_case": True} if ignores else {}
        return _Eval(check.name, kind, args, {fixture.id: wanted})
    return _Eval(check.name, kind, {}, {fixture.id: wanted})


def _graded(check: CheckSpec, fixture: Fixture) -> _Eval | str:
    asked = judge_question(check, (fixture,))
    if isinstance(asked, str):
        return asked
    spec = graded_spec(asked)
    if isinstance(spec, str):
        return spec
    # A criterion with a template would need a specification for each fixture.
    if not is_text(str(check.params)):
        return "the criterion of the check is a template, and OpenAI Evals needs one fixed text"
    return _Eval(check.name, _CLASSES["judge"], {}, {fixture.id: None}, spec, asked.model)


def _differences(check: CheckSpec) -> Iterator[str]:
    """Yield in which ways the class decides otherwise."""
    if check.must_pass:
        yield "OpenAI Evals has no `must_pass`, so the check counts like every other check"
    if check.type == "judge":
        yield (
            "for the judge, `oaieval` uses its own prompt and one model; the model answers with "
            "one word"
        )
        yield from judge_differences(check)
    if check.type in ("equals", "enum"):
        yield "`Match` also passes an output that has more text after the expected text"
    is_match = _CLASSES[check.type] == _CLASSES["starts_with"]
    if is_match and parameter(check, "ignore_case"):
        yield "`Match` distinguishes upper and lower case"
    if is_match and parameter(check, "strip") is not False:
        yield "`Match` does not ignore white space before the output"


def _names(folder: str, evals: list[_Eval]) -> list[str]:
    """Return a name for each eval, without a dot: `oaieval` divides names there."""
    taken: set[str] = set()
    words = (contract_name(made.name, "check").replace(".", "-")[:60] for made in evals)
    return [take_name(f"{folder}-{short}", taken) for short in words]


def _lines(made: _Eval, sent: Mapping[str, Messages]) -> str:
    rows = []
    for fixture, ideal in made.ideals.items():
        messages = [{"role": m.role, "content": m.content} for m in sent[fixture]]
        one = ideal[0] if ideal and len(ideal) == 1 else ideal
        rows.append({"input": messages, **({} if one is None else {"ideal": one})})
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
