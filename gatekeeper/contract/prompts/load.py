"""Converts prompt files of every kind to a Prompt: messages with their lines, model, params,
includes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import Any

from gatekeeper.contract.prompts import settings as prompt_settings
from gatekeeper.contract.prompts.code.constant import (
    constant_prompt,
    has_constant,
    written_constant,
)
from gatekeeper.contract.prompts.instructions import instructions_prompt
from gatekeeper.contract.prompts.kinds import prompt_kind, without_template_suffix
from gatekeeper.contract.prompts.message_list import read_messages
from gatekeeper.contract.prompts.reference import prompt_file, read_reference
from gatekeeper.contract.prompts.render import template_problems
from gatekeeper.contract.prompts.styles.apply import in_jinja, unfilled
from gatekeeper.contract.prompts.styles.literal import fill_names
from gatekeeper.contract.prompts.value_at_key import has_key, prompt_at_key
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.reading.role_lines import BY_ROLE_LINES, MOST_MESSAGES, role_of_line
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, parse, parse_yaml
from gatekeeper.contract.templates.client import (
    NotATemplate,
    find_included,
    find_role_lines,
)
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import (
    EVERY_SECTION,
    MessageTemplate,
    Prompt,
    Sections,
    TemplateStyle,
)
from gatekeeper.errors import ContractError, Problem

_TEXT_ALONE = Sections(front_matter=False, roles=False)


def load_prompt(
    revision: Revision,
    reference: str,
    style: TemplateStyle | None = None,
    allowed: Sections = EVERY_SECTION,
) -> Prompt:
    """Load the prompt at a reference from the repository root: a file, or a part of one.

    `style` is how its templates are written; None if the prompt itself shows it. Front matter and
    role lines that are not `allowed` are text. Raises UnreadableError if the text cannot be read,
    and ContractError, with the prompt's line, if it is not a prompt.
    """
    prompt = _read_prompt(revision, reference, style, allowed)
    problems = template_problems(prompt)
    if problems:
        raise ContractError(_across_roles(prompt, problems[0].line) or problems)
    return replace(prompt, reread=cache(partial(_reread, revision, reference, prompt)))


def has_prompt(revision: Revision, reference: str) -> bool:
    """Return whether the file is there, with the key or constant of the reference. Also True if the
    file cannot be read: a program may still find the prompt in it."""
    place = read_reference(reference)
    if place.path not in revision.entries or not place.part:
        return place.path in revision.entries
    try:
        text = read_text(revision, place.path)
    except UnreadableError:
        return True
    return has_constant(text, place) if place.constant else has_key(text, place)


def _read_prompt(
    revision: Revision,
    reference: str,
    style: TemplateStyle | None,
    allowed: Sections = EVERY_SECTION,
) -> Prompt:
    """Read the prompt and what it includes. Its templates may have mistakes."""
    text = read_text(revision, prompt_file(reference))
    prompt = _parse_once(text, reference, style, allowed)
    return replace(prompt, includes=_includes(revision, prompt))


@lru_cache(maxsize=1024)
def _parse_once(
    text: str, reference: str, style: TemplateStyle | None, allowed: Sections
) -> Prompt:
    """Parse the prompt and keep it: base's is often the same as head's."""
    return _split_when_rendered(parse_prompt(text, reference, style, allowed))


def _reread(
    revision: Revision, reference: str, prompt: Prompt, style: TemplateStyle, allowed: Sections
) -> Prompt:
    """Return the prompt in another reading; as it is written, without a variable, if it cannot be
    read so."""
    try:
        found = load_prompt(revision, reference, style, allowed)
        return replace(found, sign=prompt.sign)
    except (UnreadableError, ContractError):
        text = read_text(revision, prompt.path)
        written = unfilled(parse_written(text, reference, allowed))
        return replace(written, style=style, shown_by="nothing")


def parse_prompt(
    text: str,
    reference: str,
    style: TemplateStyle | None = None,
    allowed: Sections = EVERY_SECTION,
) -> Prompt:
    """Parse the prompt at a reference from the text of its file, without its includes.

    Raises UnreadableError and ContractError, as `load_prompt` does.
    """
    place = read_reference(reference)
    if style == "instructions":
        return _with_text(instructions_prompt(text, place, allowed))
    if place.constant:
        prompt = _with_text(constant_prompt(text, place, style))
        return replace(prompt, sections=_TEXT_ALONE)
    return in_jinja(parse_written(text, reference, allowed), style)


def parse_written(
    text: str,
    reference: str,
    allowed: Sections = EVERY_SECTION,
) -> Prompt:
    """Parse a prompt as it is written: its templates may be of any style.

    Raises UnreadableError and ContractError, as `load_prompt` does.
    """
    place = read_reference(reference)
    path, kind = place.path, prompt_kind(place.path)
    if kind == "structured" and not place.part:
        return _with_text(_structured(text, path))
    if place.constant:
        prompt = written_constant(text, place)
    elif place.key:
        return _with_text(prompt_at_key(text, place, allowed))
    elif kind == "sectioned":
        return _with_text(_sectioned(text, path, allowed))
    else:
        prompt = Prompt(path, (_whole(text),), text)
    return _with_text(replace(prompt, sections=_TEXT_ALONE))


def _with_text(prompt: Prompt) -> Prompt:
    """Return the prompt. Raises ContractError if it or one of its messages is empty."""
    _require_few(len(prompt.messages), prompt.path)
    empty = [message for message in prompt.messages if not message.content.strip()]
    if empty or not prompt.messages:
        what = f"the {empty[0].role} message is empty" if empty else "there is no message"
        line = empty[0].line if empty else 1
        raise ContractError([Problem(prompt.path, what, "write the text of the prompt", line)])
    return prompt


def _require_few(messages: int, path: str) -> None:
    if messages > MOST_MESSAGES:
        what = f"the prompt has {messages:,} messages, but the limit is {MOST_MESSAGES:,}"
        raise ContractError([Problem(path, what, "write fewer messages", 1)])


def _whole(text: str, line: int = 1) -> MessageTemplate:
    """Return one user message: the text as it is, without the line end at the end of the file."""
    return MessageTemplate("user", text.removesuffix("\n"), line)


def _sectioned(text: str, path: str, allowed: Sections) -> Prompt:
    front, body, line, dialogue = _parted(text, path, allowed)
    messages = _by_role(body, line, path) if dialogue else ()
    is_prompty = _is_prompty(path)
    has = Sections(is_prompty or front is not None, is_prompty or bool(messages))
    messages = messages or (_whole(body, line),)
    prompt = Prompt(path, messages, text, sections=has, allowed=allowed)
    if front is None:
        return prompt
    model, params = prompt_settings.from_front_matter(front)
    at = front.position(("model",)).line
    prompt = replace(prompt, model=model, params=params, model_line=at, shown_by="nothing")
    style = prompt_settings.declared_template(front)
    if style is None:
        return prompt
    return replace(prompt, style=style, shown_by="file", sign="`template` in its front matter")


def _is_prompty(path: str) -> bool:
    return without_template_suffix(path).endswith(".prompty")


def _parted(
    text: str,
    path: str,
    allowed: Sections = EVERY_SECTION,
) -> tuple[Document | None, str, int, bool]:
    """Return the front matter, the body, the body's first line, and whether role lines count in it.

    Without front matter, a Markdown file that only quotes a dialogue is no dialogue: its first line
    has to be a role line.
    """
    front, body, line = None, text, 1
    if allowed.front_matter:
        front, body, line = _front_matter(text, path, required=_is_prompty(path))
    begins = front is not None or _is_prompty(path) or _starts_with_role(body)
    return front, body, line, allowed.roles and begins


def has_roles(
    text: str,
    path: str,
    allowed: Sections = EVERY_SECTION,
) -> bool:
    """Return whether lines such as `user:` begin messages in the prompt file of this text."""
    return prompt_kind(path) == "sectioned" and _parted(text, path, allowed)[3]


def _front_matter(text: str, path: str, *, required: bool) -> tuple[Document | None, str, int]:
    """Return the front matter if there is any, the text after it, and the first line of that
    text."""
    lines = text.split("\n")
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() == "---"), None)
    if lines[0].rstrip() != "---" or end is None:
        if required and lines[0].rstrip() == "---":
            problem = Problem(
                path,
                "the front matter is not closed",
                "close the front matter with a line `---`",
                1,
            )
            raise ContractError([problem])
        return None, text, 1
    document = parse_yaml("\n".join(lines[1:end]), path, first_line=2)
    if document.data is None:
        document = replace(document, data={})
    if isinstance(document.data, dict):
        return document, "\n".join(lines[end + 1 :]), end + 2
    if required:
        what, fix = "the front matter is not a mapping", "write `key: value` lines"
        raise ContractError([Problem(path, what, fix, 2)])
    return None, text, 1


def front_matter_document(text: str, path: str) -> Document:
    """Return the front matter of a prompt file as a document; an empty one without it.

    Raises ContractError.
    """
    return _front_matter(text, path, required=True)[0] or Document(path, {})


def _starts_with_role(body: str) -> bool:
    first = next((line for line in body.split("\n") if line.strip()), "")
    return role_of_line(first) is not None


def _split_when_rendered(prompt: Prompt) -> Prompt:
    """Return the prompt as one template that is split into messages after it is rendered, if its
    statements cross its role lines or make some of them. Any other prompt as it is."""
    known = prompt.style in ("jinja", "text")
    if prompt.part or not known or not has_roles(prompt.text, prompt.path, prompt.allowed):
        return prompt
    _, body, first, _ = _parted(prompt.text, prompt.path, prompt.allowed)
    marks = ("{%", "{#", "role") if prompt.style == "jinja" else ("role",)
    if not any(mark in body for mark in marks):
        return prompt  # most prompts; Jinja2 need not be imported for them
    body = body if prompt.style == "jinja" else fill_names(body)
    whole = replace(_whole(body, first), role=BY_ROLE_LINES)
    found = [line for line in find_role_lines(whole.content) if not line.touched]
    lines = enumerate(whole.content.split("\n"), start=1)
    fixed = {number for number, line in lines if role_of_line(line)}
    makes_some = any(line.variable or line.line not in fixed for line in found)
    if makes_some or (found and template_problems(prompt)):
        sections = prompt.sections._replace(roles=True)
        return replace(prompt, messages=(whole,), sections=sections)
    return prompt


def _across_roles(prompt: Prompt, line: int | None) -> list[Problem]:
    """Return the problem if a template cannot be read only because of its role lines: one of its
    blocks, which is open on the line, crosses a role line. Empty if that is not the reason."""
    is_other = prompt.part or prompt.style != "jinja" or len(prompt.messages) < 2
    if is_other or line is None or not has_roles(prompt.text, prompt.path, prompt.allowed):
        return []
    _, body, first, _ = _parted(prompt.text, prompt.path, prompt.allowed)
    if template_problems(replace(prompt, messages=(_whole(body, first),))):
        return []
    rest = list(enumerate(prompt.text.split("\n"), start=1))[line:]
    number, role = next((n, text.strip()) for n, text in rest if role_of_line(text))
    what = (
        f"the role line `{role}` is inside a block such as `{{% macro %}}`, which cannot have "
        "role lines"
    )
    fix = (
        "move the role line out of that block; `{% for %}`, `{% if %}` and `{% with %}` "
        "can contain role lines"
    )
    return [Problem(prompt.path, what, fix, number)]


def _by_role(body: str, first_line: int, path: str) -> tuple[MessageTemplate, ...]:
    """Return the sections between role lines, without blank lines around them.

    Text before the first role line is a system message, as in Prompty. Without a role line there is
    no message.
    """
    sections: list[tuple[str, int, list[str]]] = [("system", first_line, [])]
    for number, line in enumerate(body.split("\n"), start=first_line):
        role = role_of_line(line)
        if role:
            sections.append((role, number + 1, []))
        else:
            sections[-1][2].append(line)
    if len(sections) == 1:
        return ()
    _require_few(len(sections) - 1, path)
    leading, *rest = sections
    if any(line.strip() for line in leading[2]):
        rest.insert(0, leading)
    return tuple(_section(*section) for section in rest)


def _section(role: str, line: int, lines: list[str]) -> MessageTemplate:
    while lines and not lines[0].strip():
        lines, line = lines[1:], line + 1
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return MessageTemplate(role, "\n".join(lines), line)


def _structured(text: str, path: str) -> Prompt:
    """Read a list of messages, or a mapping with `messages` as in GitHub's `.prompt.yml`."""
    document = parse(text, path)
    data = document.data
    at: KeyPath = ()
    model: str | None = None
    params: dict[str, Any] = {}
    if isinstance(data, dict):
        at = ("messages",)
        model, params = prompt_settings.from_github(document)
        data = data.get("messages")
    if not isinstance(data, list):
        fix = "write a list of `{role: user, content: …}`, or `messages:` with such a list"
        raise ContractError([document.problem(at, "there is no list of messages", fix)])
    messages = read_messages(document, at, text)
    at_model = document.position(("model",)).line
    return Prompt(path, messages, text, model, params, model_line=at_model)


def _includes(revision: Revision, prompt: Prompt) -> Mapping[str, str]:
    """Return every file that the prompt includes, also through other includes."""
    includes: dict[str, str] = {}

    def visit(source: MessageTemplate, path: str, chain: tuple[str, ...]) -> None:
        try:
            names = find_included(source.content)
        except NotATemplate as error:
            if path == prompt.path:
                return  # `template_problems` says so, with the message it stands in
            what = f"not a template: {error.what}"
            line = source.line_at(error.line)
            raise ContractError([Problem(path, what, "correct the template", line)]) from None
        except RecursionError:
            what, fix = "the template is nested too deeply", "make the template simpler"
            raise ContractError([Problem(path, what, fix, source.line)]) from None
        for name, line in names:
            if prompt.part.startswith(":"):
                what = "a constant includes a file"
                fix = "write the text of the file into the constant"
                raise ContractError([Problem(path, what, fix, source.line_at(line))])
            included = _included(name, path, source.line_at(line), chain, read)
            # Once each: files that name the next one twice double the work with every file.
            if included not in visited:
                visited.add(included)
                whole = MessageTemplate("user", includes[included], 1)
                visit(whole, included, (*chain, included))

    visited: set[str] = set()

    def read(path: str) -> None:
        if path not in includes:
            includes[path] = read_text(revision, path)

    for message in prompt.messages:
        visit(message, prompt.path, (prompt.path,))
    return includes


def _included(
    name: str | None, path: str, line: int, chain: tuple[str, ...], read: Callable[[str], None]
) -> str:
    if name is None:
        what = "the template computes which file this tag includes"
        fix = "write the file name in quotes; use `{% if %}` to choose between files"
        raise ContractError([Problem(path, what, fix, line)])
    try:
        included = locate(name, path)
        if included not in chain:
            read(included)
            return included
    except UnreadableError as error:
        place = (included, error.line) if error.line else (path, line)
        raise ContractError([Problem(place[0], error.what, error.fix, place[1])]) from None
    what = f"`{included}` includes itself"
    raise ContractError(
        [Problem(path, what, "remove one of the includes that lead back to it", line)]
    )
