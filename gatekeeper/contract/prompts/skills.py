"""Reads a contract on which skill a model picks: `skills` in place of `prompt`.

Agent products show a model the name and the description of each skill, and it loads the one that
fits. So its prompt is a list of these, in the form of the Agent Skills specification. The text of a
skill is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from posixpath import basename, dirname
from typing import Any

from gatekeeper.contract.prompts.load import front_matter_document
from gatekeeper.contract.prompts.styles.literal import literal
from gatekeeper.contract.reading.globs import literal_pattern, matching
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.values.change import Revision, prefetch
from gatekeeper.contract.values.definition import Fixture, MessageTemplate, Prompt
from gatekeeper.errors import ContractError, Problem

NONE = "none"
"""The answer that no skill fits."""
MOST_SKILLS = 1_000
_LONGEST = {"name": 100, "description": 10_000}
_INSTEAD = ("prompt", "instructions", "task", "steps", "template")
_ASKS = """\
You are an agent with skills. A skill holds instructions for one kind of task, and you can load it \
before you begin.

<available_skills>
{}
</available_skills>

Decide which skill you load for the request in the next message. Do not carry out the request. \
Answer with JSON alone: {{"skill": "NAME"}} with the exact name of one of these skills, or \
{{"skill": "none"}} if none of them fits."""
_CHECKS = [{"type": "equals", "name": "skill", "field": "skill", "value": "{{ expected }}"}]
_DEFAULTS = {"checks": _CHECKS, "repair": {"steps": ["strip_thoughts", "extract_json"]}}


@dataclass(frozen=True, slots=True)
class SkillRouting:
    """A contract on skills as a contract on one prompt: its `document` names itself as the prompt.

    `patterns` match the files of the skills. `shown` is what the prompt says of each file, empty
    for a skill that only a person can start. `names` are the skills that can be picked.
    """

    document: Document
    patterns: frozenset[str] = frozenset()
    prompt: Prompt | None = None
    shown: Mapping[str, str] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()


NO_ROUTING = SkillRouting(Document("", {}))


def read_routing(revision: Revision, document: Document) -> SkillRouting | None:
    """Return the contract if it has `skills`; None for any other."""
    data = document.data
    if not isinstance(data, dict) or not {"contract", "skills"} <= data.keys():
        return None
    problems = [
        document.problem((key,), f"a contract with `skills` cannot have `{key}`", fix, at_key=True)
        for key in _INSTEAD
        if key in data
        for fix in [f"remove `{key}`"]
    ]
    patterns = _patterns(document, problems)
    whole = {**_DEFAULTS, **data, "prompt": f"/{document.path}"}
    found = SkillRouting(replace(document, data=whole), frozenset(patterns))
    shown, names = _read_skills(revision, document, patterns, problems)
    if problems:
        return replace(found, problems=tuple(problems))
    text = _ASKS.format("\n".join(filter(None, shown.values())))
    messages = (
        MessageTemplate("system", literal(text), 1),
        MessageTemplate("user", "{{ request }}", 1),
    )
    prompt = Prompt(document.path, messages, text)
    return replace(found, prompt=prompt, shown=shown, names=names)


def unknown_skills(routing: SkillRouting, fixtures: Sequence[Fixture]) -> Iterator[Problem]:
    """Yield a problem for each fixture that expects a skill which does not exist, if Gatekeeper
    wrote the check."""
    known = {*routing.names, NONE}
    written_here = routing.prompt and routing.document.data["checks"] is _CHECKS
    for fixture in fixtures if written_here else ():
        if fixture.expected not in known and fixture.position is not None:
            what = f"the fixture `{fixture.id}` expects the skill `{fixture.expected}`"
            fix = nearest(str(fixture.expected), known)
            yield fixture.position.problem(f"{what}, which does not exist", fix, "expected")


def _patterns(document: Document, problems: list[Problem]) -> list[str]:
    """Return the patterns of `skills` from the repository's root."""
    written: Any = document.data["skills"]
    found = []
    for index, pattern in enumerate(written if isinstance(written, list) else [written]):
        key = ("skills", index) if isinstance(written, list) else ("skills",)
        try:
            if isinstance(pattern, str):  # the schema says what else is wrong
                found.append(locate(pattern, document.path))
        except UnreadableError as error:
            problems.append(document.problem(key, error.what, error.fix))
    return found


def _read_skills(
    revision: Revision, document: Document, patterns: Sequence[str], problems: list[Problem]
) -> tuple[dict[str, str], frozenset[str]]:
    """Return what the prompt says of each file, and the names that can be picked."""
    paths = sorted({path for pattern in patterns for path in matching(revision.entries, pattern)})
    if not paths and not problems:
        what = f"no file matches {' or '.join(f'`/{pattern}`' for pattern in patterns)}"
        problems.append(document.problem(("skills",), what, _fix(revision.entries, document)))
    if len(paths) > MOST_SKILLS:
        what = f"{len(paths):,} files match, but the limit is {MOST_SKILLS:,}"
        problems.append(document.problem(("skills",), what, "write a narrower pattern"))
        return {}, frozenset()
    prefetch(revision, paths)
    shown: dict[str, str] = {}
    names: dict[str, str] = {NONE: ""}
    for path in paths:
        try:
            name, shown[path] = _read_skill(revision, path)
            if shown[path] and names.setdefault(name, path) != path:
                other = f"of `{names[name]}`" if names[name] else "that means that no skill fits"
                what = f"the name `{name}` is also the one {other}"
                raise ContractError([Problem(path, what, "give the skill its own name", 2)])
        except UnreadableError as error:
            problems.append(Problem(path, error.what, error.fix, error.line))
        except ContractError as error:
            problems += error.problems
    return shown, frozenset(names.keys() - {NONE})


def _fix(paths: Iterable[str], document: Document) -> str:
    """Return how to correct patterns that match nothing: most are meant from the root."""
    written = document.data["skills"]
    for pattern in written if isinstance(written, list) else [written]:
        for _ in matching(paths, str(pattern).removeprefix("./")):
            return f"write `/{str(pattern).removeprefix('./')}`; a leading / means the root"
    skills = [path for path in paths if basename(path) == "SKILL.md"]
    near = literal_pattern(dirname(dirname(skills[0]))) if skills else ".claude/skills"
    return f"write a pattern such as `/{near}/*/SKILL.md`"


def _read_skill(revision: Revision, path: str) -> tuple[str, str]:
    """Return a skill's name, and what an agent shows of it. Raises UnreadableError and
    ContractError."""
    front = front_matter_document(read_text(revision, path), path)
    data = front.data
    values = {"name": basename(dirname(path)), **data}
    for key, longest in _LONGEST.items():
        value = values.get(key)
        if not isinstance(value, str) or not value.strip() or len(value) > longest:
            what = f"the skill has no `{key}`" if key not in values else f"`{key}` is not usable"
            fix = f"write `{key}` in its front matter, as a text of at most {longest:,} characters"
            raise ContractError([front.problem((key,), what, fix)])
    name = " ".join(values["name"].split())
    if data.get("disable-model-invocation") is True:
        return name, ""
    when = data.get("when_to_use")
    texts = [values["description"], *([when] if isinstance(when, str) else [])]
    said = escape(" ".join(text.strip() for text in texts), quote=False)
    entry = f"<name>{escape(name, quote=False)}</name>\n<description>{said}</description>"
    return name, f"<skill>\n{entry}\n</skill>"
