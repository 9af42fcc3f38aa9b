"""Names in single braces that look like a variable of another template language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from itertools import chain, islice

from gatekeeper.contract.prompts.kinds import GITHUB_PROMPT
from gatekeeper.contract.values.definition import Contract, Prompt
from gatekeeper.errors import ContractError, Problem

# Not after a letter or a brace: `\textbf{x}`, `a[i]{x}` and `{{ x }}` mean something else.
_IN_BRACES = re.compile(r"(?<![\w{}\\\]$%#])\{([A-Za-z_]\w*)\}(?!\})")
_DOUBLED = re.compile(r"\{\{ '\{' \}\} ?([A-Za-z_]\w*) ?\}")
"""What the translation of a format string makes of `{{x}}`, which stands for the text `{x}`."""
_SENT_TAG = re.compile(r"\{\{ '\{' \}\}(?P<mark>[#%]|\{(?!\{))")
"""What the translation of a text makes of `{#`, `{%` and `{{`."""
_SPACED = re.compile(r"\{\{(?=\s|[\w.-]+\s)\s*([\w.-]+)\s*\}\}")
"""A name that GitHub's tools do not fill in, because of the spaces in the braces."""
_OR_JINJA = ", or `template: jinja` in the contract if your own program fills in the variable"
_FIX = (
    "write `{{{{ {name} }}}}` in the prompt, or `template: fstring` in the contract, to fill in "
    "the variable; write `template: jinja` in the contract to send the braces unchanged"
)
_FIX_OF_DOUBLED = (
    "write `{{{name}}}` if the prompt is a format string; otherwise, write `template: jinja` or "
    "`template: mustache` in the contract"
)
_INSERTED = re.compile(
    r"(?:^|\s)(@[\w.~-]{0,99}(?:/[\w.-]{1,99}){0,20}\.(?:md|txt|json|ya?ml|toml))(?![\w/])"
)
_MOST_NOTICES = 3
"""The most places that are listed for one contract."""
_MOST_PROBLEMS = 10
_OPENING = re.compile(r"\{[{%]")
_CLOSING = re.compile(r"[%}]\}")


def unfilled_names(contract: Contract) -> Iterator[Problem]:
    """Yield each place in a prompt that has a fixture's variable as `{name}`, which is sent
    unchanged. If the prompt also uses the variable as `{{ name }}`, the braces are intended."""
    known = {name for fixture in contract.fixtures for name in fixture.vars}
    known |= {step.name for step in contract.target.steps}
    for prompt in contract.target.sent:
        yield from _unfilled_in(prompt, known)
        yield from _uninserted(prompt)


def _uninserted(prompt: Prompt) -> Iterator[Problem]:
    """Yield the first file that instructions name for an agent that inserts it, as Claude Code and
    Gemini CLI do with `@rules/style.md`."""
    found = _INSERTED.search(prompt.text) if prompt.style == "instructions" else None
    if found:
        what = f"the model gets `{found[1]}` as text; an agent may insert that file"
        fix = "name the file itself as `instructions`, or ignore this if it is not needed"
        line = prompt.text.count("\n", 0, found.start(1)) + 1
        yield Problem(prompt.path, what, fix, prompt.text_lines[line - 1] if prompt.part else line)


def _unfilled_in(prompt: Prompt, known: Set[str]) -> Iterator[Problem]:
    texts = [message.content for message in prompt.messages]
    used = {word for text in (*texts, *prompt.includes.values()) for word in words_in_tags(text)}
    unused = known - used
    is_format = prompt.style == "fstring"
    for message in prompt.templates:
        for number, line in enumerate(message.content.split("\n"), start=1):
            for name in dict.fromkeys((_DOUBLED if is_format else _IN_BRACES).findall(line)):
                if name in unused:
                    what = f"the model gets `{{{name}}}` unchanged, although `{name}` is a variable"
                    fix = (_FIX_OF_DOUBLED if is_format else _FIX).format(name=name)
                    yield Problem(message.path or prompt.path, what, fix, message.line_at(number))


def tags_sent(contract: Contract) -> Iterator[Problem]:
    """Yield the first line of each prompt with what looks like a tag and is sent as text, because
    nothing shows that the prompt is a template."""
    for prompt in contract.target.prompts if contract.template is None else ():
        if prompt.style != "text" or prompt.shown_by == "file":
            continue
        for message in prompt.messages:
            found = _SENT_TAG.search(message.content)
            if found:
                line = message.line_at(message.content.count("\n", 0, found.start()) + 1)
                what = f"the model gets `{{{found['mark']}` as text"
                fix = (
                    "write `template: jinja` in the contract if your program renders the prompt "
                    "with Jinja, or `template: text` to keep it"
                )
                yield Problem(prompt.path, what, fix, line)
                break


def require_filled(contract: Contract) -> None:
    """Raise ContractError if the prompt would be sent with `{name}` in it, unless the contract
    declares how its templates are written."""
    unfilled = () if contract.template else unfilled_names(contract)
    found = list(islice(chain(_spaced_names(contract), unfilled), _MOST_PROBLEMS))
    if found:
        raise ContractError(found)


def _spaced_names(contract: Contract) -> Iterator[Problem]:
    """Yield each variable with spaces in a prompt that GitHub fills in."""
    known = {name for fixture in contract.fixtures for name in fixture.vars}
    for prompt in contract.target.prompts:
        is_own = prompt.path == contract.path  # the file is the contract, too
        is_github = is_own or prompt.path.lower().endswith(GITHUB_PROMPT)
        is_sent = is_github and prompt.style == "text" and not prompt.part
        for message in prompt.messages if is_sent else ():
            for found in _SPACED.finditer(message.content):
                if found[1].split(".")[0] in known:
                    line = message.line_at(message.content.count("\n", 0, found.start()) + 1)
                    what = f"GitHub sends `{found[0]}` as text, because of the spaces in the braces"
                    fix = f"write `{{{{{found[1]}}}}}`" + ("" if is_own else _OR_JINJA)
                    yield Problem(prompt.path, what, fix, line)


def unfilled_notices(contracts: Iterable[Contract]) -> tuple[str, ...]:
    """Return a notice for the first of these places of each contract, each place once."""
    found = (
        islice(chain(tags_sent(contract), unfilled_names(contract)), _MOST_NOTICES)
        for contract in contracts
    )
    return tuple(dict.fromkeys(f"{problem}." for problems in found for problem in problems))


def words_in_tags(source: str) -> Iterator[str]:
    """Yield each word in `{{ … }}` and `{% … %}`, in time that grows linearly with the text."""
    place = 0
    while opening := _OPENING.search(source, place):
        closing = _CLOSING.search(source, opening.end())
        place = closing.end() if closing else len(source)
        yield from re.findall(r"\w+", source[opening.end() : place])
