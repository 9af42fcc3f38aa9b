"""Translates a prompt's messages from the style that they are written in to Jinja."""

from __future__ import annotations

from dataclasses import replace

from gatekeeper.contract.prompts.styles.evidence import Evidence, recognise_style, refuse_both
from gatekeeper.contract.prompts.styles.literal import (
    StyleFault,
    fill_names,
    literal,
    with_line_end,
)
from gatekeeper.contract.values.definition import MessageTemplate, Prompt, TemplateStyle
from gatekeeper.errors import ContractError, Problem

_LONGEST = 500_000
"""The most characters of a message that is translated."""


def in_jinja(prompt: Prompt, style: TemplateStyle | None) -> Prompt:
    """Return the prompt with its messages in Jinja.

    `style` is what the contract declares; None if the prompt itself declares or shows it. Raises
    ContractError with the line of each part that cannot be translated.
    """
    texts = [message.content for message in prompt.messages]
    if style:
        found = Evidence(style, "declared")
    elif prompt.shown_by == "file":
        found = Evidence(prompt.style, "file", prompt.sign)
    else:
        found = recognise_style(prompt.path, prompt.part, texts)
    prompt = replace(prompt, style=found.style, shown_by=found.shown_by, sign=found.sign)
    if found.style == "jinja":
        return prompt
    problems: list[Problem] = []
    messages = tuple(
        _translated(prompt, message, found.style, problems, by_evidence=style is None)
        for message in prompt.messages
    )
    if problems:
        raise ContractError(problems)
    return replace(prompt, messages=messages)


def translate_text(text: str, style: TemplateStyle, line: int) -> str:
    """Return the Jinja template of the text between two holes, which begins on a line of the whole.

    Raises StyleFault.
    """
    if style == "jinja":
        return text
    if style == "text":
        return fill_names(text)
    if style == "nunjucks":
        fix = "remove `template`, or write `template: jinja`"
        raise StyleFault(
            "the text has placeholders of the source code, so it cannot be a Nunjucks template",
            fix,
            line,
        )
    try:
        made = _translate(text, style)
    except StyleFault as fault:
        raise StyleFault(fault.what, fault.fix, fault.line + line - 1) from None
    return made.removesuffix("\n") if text.endswith("\n") else made


def unfilled(prompt: Prompt) -> Prompt:
    """Return a prompt whose text is sent as it is written, without a variable."""
    messages = tuple(
        replace(message, content=with_line_end(literal(message.content)))
        for message in prompt.messages
    )
    return replace(prompt, messages=messages, includes={})


def _translate(text: str, style: TemplateStyle) -> str:
    """Return the template in Jinja. Raises StyleFault."""
    # Imported here, because most prompts are written in Jinja.
    from gatekeeper.contract.prompts.styles import format_fields, mustache, nunjucks

    if style == "nunjucks":
        return nunjucks.translate(text)
    return mustache.translate(text) if style == "mustache" else format_fields.translate(text)


def _translated(
    prompt: Prompt,
    message: MessageTemplate,
    style: TemplateStyle,
    problems: list[Problem],
    *,
    by_evidence: bool,
) -> MessageTemplate:
    if style == "text":
        return replace(message, content=fill_names(message.content))
    try:
        if len(message.content) > _LONGEST:
            what = f"the text has more than {_LONGEST:,} characters"
            raise StyleFault(what, "write the text in Jinja, or shorten the text", 1)
        if by_evidence and style == "fstring":
            refuse_both(message.content)
        return replace(message, content=_translate(message.content, style))
    except StyleFault as fault:
        field = f"{message.role} message"
        line = message.line_at(fault.line)
        problems.append(Problem(prompt.path, fault.what, fault.fix, line, field=field))
        return message
