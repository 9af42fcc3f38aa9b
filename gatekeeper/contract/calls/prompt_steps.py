"""Reads the steps of a contract: prompts that run one after another before its own.

    steps:
      - name: extract
        prompt: prompts/extract.md
        checks: [{type: json_schema, schema: facts.json}]
    prompt: prompts/answer.md      # uses {{ extract }}

Later prompts insert the output of a step by its name. Every call has the contract's model and
parameters.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gatekeeper.contract.checks.check_specs import CheckReader, place_unreadable
from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.contract.meaning.modes import SENDING
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.prompts.reference import locate_prompt
from gatekeeper.contract.prompts.styles.evidence import declared_style
from gatekeeper.contract.prompts.unfilled_names import words_in_tags
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import (
    CheckSpec,
    Contract,
    Fixture,
    Prompt,
    PromptStep,
    Target,
)
from gatekeeper.errors import ContractError, Problem

_KEYWORDS = (
    "and as block call caller cycler dict do else endif expected false filter for from if import "
    "in include is joiner kwargs lipsum loop macro namespace none not or range raw recursive self "
    "set super true undefined varargs with"
)
_RESERVED = frozenset(_KEYWORDS.split())
"""Names that have another meaning in a template."""
_INSERTS = {
    "jinja": (
        "write only `{{{{ {} }}}}`, without filters or expressions: when gatekeeper renders the "
        "template, the step has no output yet"
    ),
    "mustache": (
        "write `{{{{{{{}}}}}}}` with three braces, because Mustache escapes a text in two braces"
    ),
    "nunjucks": (
        "write the prompts as Jinja or format strings, because Nunjucks "
        "converts the values that it inserts"
    ),
}
_ALIKE = 0.7
"""How similar an unknown variable must be to a step's name to count as a misspelling of it,
from 0 to 1."""
_MOST_TEXT = 100_000
"""The most characters of a template that is searched for names."""

Steps = tuple[PromptStep, ...]


def read_steps(
    revision: Revision,
    document: Document,
    reader: CheckReader,
    problems: list[Problem],
) -> tuple[Steps, tuple[CheckSpec, ...]]:
    """Return the steps and all their checks; every mistake is added to `problems`."""
    written = document.data.get("steps")
    steps: list[PromptStep] = []
    checks: list[CheckSpec] = []
    for number, item in enumerate(written if isinstance(written, list) else ()):
        name = item.get("name") if isinstance(item, dict) else None
        reference = item.get("prompt") if isinstance(item, dict) else None
        if not isinstance(name, str) or not isinstance(reference, str) or not reference:
            continue  # the schema has said so
        key: KeyPath = ("steps", number)
        problems += _name_problems(document, (*key, "name"), name, [s.name for s in steps])
        prompt = _prompt(revision, document, key, reference, problems)
        if prompt is not None:
            steps.append(PromptStep(name, prompt))
        if isinstance(item.get("checks"), list):
            found = reader.read(document, (*key, "checks"), item["checks"], problems)
            checks += (_of_step(spec, name, f"{name}: {spec.name}") for spec in found)
    return tuple(steps), tuple(checks)


def _name_problems(
    document: Document, key: KeyPath, name: str, taken: Collection[str]
) -> Iterator[Problem]:
    if name in taken:
        what, fix = f"two steps are named `{name}`", "give each step its own name"
        yield document.problem(key, what, fix)
    if name.lower() in _RESERVED:
        what = f"a step cannot have the name `{name}`, which has another meaning in a template"
        yield document.problem(key, what, "use another name, such as `extract`")


def _prompt(
    revision: Revision, document: Document, key: KeyPath, reference: str, problems: list[Problem]
) -> Prompt | None:
    try:
        place = locate_prompt(reference, document.path)
        return load_prompt(revision, str(place), declared_style(document.data))
    except UnreadableError as error:
        problems.append(place_unreadable(document, (*key, "prompt"), error))
    except ContractError as error:
        problems += error.problems
    return None


def _of_step(spec: CheckSpec, step: str, name: str) -> CheckSpec:
    parts = tuple(_of_step(part, step, part.name) for part in spec.parts)
    return replace(spec, step=step, name=name, parts=parts)


def chain_problems(
    document: Document,
    target: Target,
    checks: Sequence[CheckSpec],
    fixtures: Sequence[Fixture],
) -> list[Problem]:
    """Return what keeps the prompts from running one after another."""
    if not target.steps:
        return []
    return [
        *_mode_problems(document),
        *_setting_problems(target),
        *_fixture_problems(document, target.steps, fixtures),
        *_check_problems(document, checks),
        *_use_problems(document, target, {name for f in fixtures for name in f.vars}),
    ]


def refused_turns(target: Target, contract: Contract) -> None:
    """Raise ContractError if a prompt with steps is applied to conversations, which the other
    revision's contract may have."""
    fixtures = contract.fixtures if target.steps else ()
    turned = next((f for f in fixtures if f.turns or f.user), None)
    if turned is not None:
        key = "turns" if turned.turns else "user"
        what = (
            f"fixture `{turned.id}` has `{key}`, but the other version of this contract "
            "(base or head) has `steps`"
        )
        fix = "change the conversations and the steps in two separate pull requests"
        raise ContractError([Problem(contract.path, what, fix, field="fixtures")])


def _mode_problems(document: Document) -> Iterator[Problem]:
    mode = document.data.get("mode")
    if mode in SENDING:
        what = (
            f"`mode: {mode}` cannot be combined with `steps`, because the checks "
            "describe only the output of the last prompt"
        )
        yield document.problem(("mode",), what, "remove `mode`, or write `mode: observe`")


def _setting_problems(target: Target) -> Iterator[Problem]:
    """Yield each step whose front matter asks for another model or other parameters."""
    for step in target.steps:
        own = step.prompt
        names = [name for name in own.params if not _same(own.params, target.params, name)]
        if own.model is not None and own.model != target.model:
            names.insert(0, "model")
        for name in names:
            what = f"step `{step.name}` sets `{name}`, but all steps run with the contract's value"
            fix = (
                "remove the setting from the step's front matter, or set the same value in the "
                "contract"
            )
            yield Problem(own.path, what, fix, own.model_line if name == "model" else 1)


def _same(params: Mapping[str, Any], others: Mapping[str, Any], name: str) -> bool:
    return name in others and canonical(params[name]) == canonical(others[name])


def _fixture_problems(
    document: Document, steps: Steps, fixtures: Sequence[Fixture]
) -> Iterator[Problem]:
    turned = next((fixture for fixture in fixtures if fixture.turns or fixture.user), None)
    if turned is not None:
        key = "turns" if turned.turns else "user"
        what = f"fixture `{turned.id}` has `{key}`, but the contract has `steps`"
        fix = "use either conversations or steps in a contract, not both"
        yield document.problem(("steps",), what, fix, at_key=True)
    for number, step in enumerate(steps):
        if any(step.name in fixture.vars for fixture in fixtures):
            what = f"a variable of the fixtures and a step have the same name `{step.name}`"
            yield document.problem(("steps", number, "name"), what, "rename one of them")


def _check_problems(document: Document, checks: Sequence[CheckSpec]) -> Iterator[Problem]:
    taken = {spec.name for spec in checks if spec.step is None}
    for spec in checks:
        if spec.step is not None and spec.name in taken:
            what = f"two checks are named `{spec.name}`"
            yield document.problem(("checks",), what, "give each check its own name")


def _use_problems(
    document: Document, target: Target, variables: Collection[str]
) -> Iterator[Problem]:
    """Yield each use of a name that cannot be replaced by a step's output, and each step that no
    later prompt uses. `variables` are those of the fixtures."""
    names = [step.name for step in target.steps]
    used: set[str] = set()
    for number, prompt in enumerate(target.prompts):
        later = frozenset(names[number:])
        for name, line, inserted, path in _uses(prompt, names):
            if line is None:
                what = f"the template is too long for gatekeeper to search for `{name}`"
                yield Problem(
                    path, what, (f"shorten the template to less than {_MOST_TEXT:,} characters")
                )
            elif name in later:
                what = (
                    f"the prompt uses the output of step `{name}`, but this step does not run "
                    "before the prompt"
                )
                yield Problem(path, what, "use the output of an earlier step", line)
            elif path != prompt.path:
                what = (
                    f"an included file uses `{name}`, but only the prompt "
                    "itself can use the output of a step"
                )
                fix = f"write `{{{{ {name} }}}}` in {prompt.path} itself"
                yield Problem(path, what, fix, line)
            elif not inserted:
                what = (
                    f"`{name}` is the output of a step, so it cannot be a part "
                    "of an expression or a block"
                )
                fix = _INSERTS.get(prompt.style, _INSERTS["jinja"]).format(name)
                yield Problem(path, what, fix, line)
            used.add(name)
    known = {*names, *variables, *_RESERVED}
    for number, name in enumerate(names):
        if name in used:
            continue
        what = f"no later prompt uses the output of the step `{name}`"
        fix = f"write `{{{{ {name} }}}}` in a later prompt, or remove the step"
        unused = document.problem(("steps", number, "name"), what, fix)
        yield next(_misspelt(name, target.prompts[number + 1 :], known), unused)


def _misspelt(name: str, later: Sequence[Prompt], known: Collection[str]) -> Iterator[Problem]:
    """Yield each unknown variable of the later prompts that is likely meant to be the step."""
    for prompt in later:
        for message in prompt.messages:
            for number, line in enumerate(message.content.split("\n"), start=1):
                unknown = [word for word in words_in_tags(line) if word not in known]
                for word in difflib.get_close_matches(name, unknown, n=1, cutoff=_ALIKE):
                    what = f"`{word}` is neither a step nor a variable of the fixtures"
                    fix = f"did you mean the step `{name}`, whose output no later prompt uses?"
                    yield Problem(prompt.path, what, fix, message.line_at(number))


def _uses(prompt: Prompt, names: Sequence[str]) -> Iterator[tuple[str, int | None, bool, str]]:
    """Yield each name with its line, whether it is inserted as it is, and its file. Without a line
    the template is too long."""
    for message in prompt.messages:
        for name, line, inserted in _found(message.content, names):
            yield name, line and message.line_at(line), inserted, prompt.path
    for path, text in prompt.includes.items():
        yield from ((*use, path) for use in _found(text, names))


def _found(source: str, names: Sequence[str]) -> Iterator[tuple[str, int | None, bool]]:
    from jinja2 import TemplateSyntaxError

    from gatekeeper.contract.templates.structure import step_uses

    if len(source) > _MOST_TEXT:
        yield from ((name, None, False) for name in names if name in source)
        return
    with contextlib.suppress(TemplateSyntaxError, RecursionError):  # loading the prompt says so
        yield from step_uses(source, names)
