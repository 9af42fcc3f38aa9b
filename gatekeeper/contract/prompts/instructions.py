"""Reads instructions for an agent, such as AGENTS.md or a skill: one system message, as it is."""

from __future__ import annotations

import re
from posixpath import basename

from gatekeeper.contract.prompts.reference import PromptReference
from gatekeeper.contract.prompts.styles.literal import literal, with_line_end
from gatekeeper.contract.prompts.value_at_key import prompt_at_key
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.templates.client import check_syntax
from gatekeeper.contract.values.definition import MessageTemplate, Prompt, Sections
from gatekeeper.errors import ContractError, Problem

TASK = "task"
"""The variable of the task, unless the contract writes its own."""
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*\n)*?---[ \t]*(?:\n|\Z)")
_TEXT_ALONE = Sections(front_matter=False, roles=False)
_SETTINGS_FIRST = re.compile(
    r"skill|.+\.(?:agent|chatmode|instructions|prompt|skill)", re.IGNORECASE
)
_IN_FOLDERS = re.compile(r"(?:^|/)\.[^/]+/(?:.*/)?(?:agents|commands|rules|skills)/", re.IGNORECASE)
_WITH_TASK = ("prompt", "steps", "template")


def has_settings_first(path: str) -> bool:
    """Return whether agents read the front matter of the file as settings: of a skill, of an agent
    and of rules that apply to some files. AGENTS.md, CLAUDE.md and GEMINI.md have no settings."""
    stem = basename(path).rpartition(".")[0]
    return bool(_SETTINGS_FIRST.fullmatch(stem) or _IN_FOLDERS.search(path))


def front_matter_of(text: str, path: str) -> str:
    """Return the front matter that agents do not send with the file's text; "" without any."""
    found = _FRONT_MATTER.match(text) if has_settings_first(path) else None
    return found[0] if found else ""


def instructions_prompt(text: str, place: PromptReference, allowed: Sections) -> Prompt:
    """Return the instructions as a prompt of one system message.

    Raises ContractError for what is no single text.
    """
    if place.constant is not None:
        fix = "write the text into a file, or name the constant as `prompt`"
        raise ContractError([Problem(place.path, "`instructions` cannot be a constant", fix, 1)])
    if place.key is None:
        front = front_matter_of(text, place.path) if allowed.front_matter else ""
        body, sections = text[len(front) :], Sections(bool(front), roles=False)
        message = MessageTemplate("system", body, front.count("\n") + 1)
        prompt = Prompt(place.path, (), text, sections=sections, allowed=allowed)
    else:
        prompt = prompt_at_key(text, place, _TEXT_ALONE)
        message = prompt.messages[0]
        if len(prompt.messages) != 1:
            fix = "name one text, or name the messages as `prompt`"
            what = "`instructions` cannot be a list of messages"
            raise ContractError([Problem(place.path, what, fix, message.line)])
    content = with_line_end(literal(message.content))
    sent = MessageTemplate("system", content, message.line, message.lines)
    return Prompt(
        place.path,
        (sent,),
        prompt.text,
        part=prompt.part,
        style="instructions",
        sections=prompt.sections,
        allowed=prompt.allowed,
    )


def read_task(document: Document, problems: list[Problem]) -> MessageTemplate | None:
    """Return the user's message of a contract with `instructions`; None of any other. Every mistake
    is added to `problems`."""
    data = document.data
    if "instructions" not in data:
        if "task" in data:
            what, fix = "`task` belongs to `instructions`, which is missing", "remove `task`"
            problems.append(document.problem(("task",), what, fix, at_key=True))
        return None
    for key in _WITH_TASK:
        if key in data:
            what = f"a contract with `instructions` cannot have `{key}`"
            problems.append(document.problem((key,), what, f"remove `{key}`", at_key=True))
    text = data.get("task", f"{{{{ {TASK} }}}}")
    if not isinstance(text, str):
        return None
    line = document.position(("task" if "task" in data else "instructions",)).line or 1
    task = MessageTemplate("user", text, line, path=document.path)
    problems += check_syntax(Prompt(document.path, (task,), text))
    return task
