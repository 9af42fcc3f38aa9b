"""Makes a prompt of a constant in source code. The child reads the source; nothing is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from typing import Any

from gatekeeper.contract.prompts.reference import PromptReference
from gatekeeper.contract.prompts.styles.apply import in_jinja, translate_text
from gatekeeper.contract.prompts.styles.literal import (
    StyleFault,
    literal,
    variable,
    with_line_end,
)
from gatekeeper.contract.values.definition import MessageTemplate, Prompt, TemplateStyle
from gatekeeper.errors import ContractError, Problem
from gatekeeper.sandbox.frames import FrameError
from gatekeeper.sandbox.process import LimitedProcess

MOST_CHARACTERS = 1_000_000
"""The most characters of a source file that is read."""

_PACKAGES = ("tree_sitter", "tree_sitter_typescript")
_CHILD = LimitedProcess("gatekeeper.contract.prompts.code.reading:answer", _PACKAGES)
_overran: dict[str, str] = {}
_LANGUAGES = {".py": "python", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript"}


def constant_prompt(text: str, place: PromptReference, style: TemplateStyle | None) -> Prompt:
    """Return the prompt of a constant, in Jinja.

    Each hole of an f-string or template literal is a variable. The text between holes is literal
    unless `style` is declared, and so are messages without holes next to such with holes; a
    constant without holes is read as the text of a file is. Raises ContractError with the line of
    what cannot be read.
    """
    prompt, parts_of = _read(text, place)
    if all(isinstance(part, str) for parts in parts_of for part in parts):
        return in_jinja(prompt, style)
    own: TemplateStyle = style or ("fstring" if _language(place.path) == "python" else "text")
    messages = tuple(
        _with_holes(message, parts, place, style)
        for message, parts in zip(prompt.messages, parts_of, strict=True)
    )
    return replace(prompt, messages=messages, style=own, shown_by="declared" if style else "file")


def _with_holes(
    message: MessageTemplate,
    parts: Sequence[Any],
    place: PromptReference,
    style: TemplateStyle | None,
) -> MessageTemplate:
    """Return the message with a tag in each hole. Raises ContractError."""
    line = 1
    made: list[str] = []
    try:
        for part in parts:
            if isinstance(part, str):
                made.append(translate_text(part, style, line) if style else literal(part))
                line += part.count("\n")
            else:
                made.append(_tag(place.path, part, line))
    except StyleFault as fault:
        at = message.line_at(fault.line)
        raise ContractError([Problem(place.path, fault.what, fault.fix, at)]) from None
    content = "".join(made)
    return replace(message, content=content if style == "jinja" else with_line_end(content))


def written_constant(text: str, place: PromptReference) -> Prompt:
    """Return the prompt as it is written, with the name of each variable in its hole. Raises
    ContractError."""
    return _read(text, place)[0]


def has_constant(text: str, place: PromptReference) -> bool:
    """Return whether the file gives the constant a value; also True if the file cannot be read."""
    found = _ask("has", text, place.path, place.constant or "")
    return bool(found.get("has", True))


def _read(text: str, place: PromptReference) -> tuple[Prompt, Sequence[Sequence[Any]]]:
    """Return the prompt as it is written, and the parts of each message. Raises ContractError."""
    found = _ask("read", text, place.path, place.constant or "")
    if "fault" in found:
        what, fix, line = found["fault"]
        raise ContractError([Problem(place.path, what, fix, line, field=place.constant)])
    messages = tuple(_message(each, place.path) for each in found["messages"])
    shown = messages[0].content
    if [message.role for message in messages] != ["user"]:
        shown = "\n\n".join(f"{message.role}:\n{message.content}" for message in messages)
    computed = {name: code for each in found["messages"] for name, code in each["computed"].items()}
    prompt = Prompt(place.path, messages, shown, part=place.part, computed=computed)
    return prompt, [each["parts"] for each in found["messages"]]


def _message(found: dict[str, Any], path: str) -> MessageTemplate:
    lines = tuple(found["lines"])
    opening = "{" if _language(path) == "python" else "${"
    parts = found["parts"]
    shown = "".join(p if isinstance(p, str) else f"{opening}{'.'.join(p)}}}" for p in parts)
    try:
        shown.encode()
    except UnicodeEncodeError:
        what, fix = "half of a surrogate pair", "write both halves"
        raise ContractError([Problem(path, what, fix, lines[0])]) from None
    return MessageTemplate(found["role"], shown, lines[0], lines if len(lines) > 1 else ())


def _tag(path: str, part: Sequence[Any], line: int) -> str:
    """Return the tag that a hole becomes. Raises StyleFault for a name no variable can have."""
    name = variable(str(part[0]), tuple(part[1:]), line)
    if _language(path) == "python":
        return f"{{{{ {name} }}}}"
    # JavaScript writes `true` and `null`.
    shown = f"('true' if {name} else 'false') if {name} is boolean"
    return f"{{{{ {shown} else 'null' if {name} is none else {name} }}}}"


def _language(path: str) -> str:
    suffix = path[path.rindex(".") :].lower()
    return _LANGUAGES.get(suffix, "tsx")


@lru_cache(maxsize=256)
def _ask(kind: str, text: str, path: str, name: str) -> dict[str, Any]:
    """Return the child's answer. The same file is read for what it was and what it is."""
    language = _language(path)
    if len(text) > MOST_CHARACTERS:
        what = f"the file has more than {MOST_CHARACTERS:,} characters"
        return {"fault": [what, "move the prompt to a separate file", 1]}
    if language != "python" and not all(map(find_spec, _PACKAGES)):
        what = "gatekeeper reads TypeScript and JavaScript with tree-sitter, which is not installed"
        return {"fault": [what, "install gatekeeper with the extra `code`", None]}
    digest = sha256(text.encode(errors="replace")).hexdigest()
    if digest in _overran:
        return {"fault": [_overran[digest], "move the prompt to a separate file", 1]}
    request = {"kind": kind, "language": language, "source": text, "name": name, "path": path}
    try:
        answers = _CHILD.ask(request)
    except FrameError as error:
        return {"fault": [f"the file cannot be read: {error}", "simplify the file", 1]}
    if not answers.responses:
        # It would take as long again for each other constant of it.
        _overran[digest] = what = f"the file cannot be read: {answers.overrun}"
        return {"fault": [what, "move the prompt to a separate file", 1]}
    found: dict[str, Any] = answers.responses[0]
    return found
