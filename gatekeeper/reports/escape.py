"""Makes text from a model, a fixture, a file or a branch name safe to show.

Its author may want the gate to pass. In Markdown it must not become markup, an image, a link, a
mention or a forged marker; in a workflow log it must not become a command; nowhere may it hide or
reorder what a reader sees.
"""

from __future__ import annotations

import html
import re

# Format characters (Cf) without a glyph, blank letters, variation selectors other than the
# emoji one (FE0F), line separators, surrogates and non-characters: all can hide or reorder.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U00013430-\U0001343f\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_HIDDEN = re.compile(f"[{_CONTROL}{_INVISIBLE}]")
_HIDDEN_OR_RETURN = re.compile(f"[{_CONTROL}{_INVISIBLE}\r]")

_ACTIVE = re.compile(
    r"""
    [\\`*\[\]~|$]                # markup wherever it stands; GitHub reads $…$ as formulas
    | (?<![^\W_])_ | _(?![^\W_]) # emphasis; an underscore inside a word is only itself
    | <(?=[A-Za-z/!?])           # tags, comments, autolinks
    | &(?=[#\w])                 # entities
    """,
    re.VERBOSE,
)
_ENTITIES = {"\\": "&#92;", "|": "&#124;", "$": "&#36;", "<": "&lt;", "&": "&amp;"}
# What would begin a list, heading, quote, rule or table at the start of a line.
_BLOCK_START = re.compile(r"^(?:(\d+)(?=[.)])|(?=[-+=#>:]))")

# GitHub links these in the finished text, in which a backslash is gone already.
_REFERENCE = re.compile(r"(@)(?=\w)|(#)(?=\d)|\b(gh-)(?=\d)|(:)(?=//)|\b(www)(?=\.)", re.IGNORECASE)
_BREAK = "\u200b"
# Where two escaped texts that meet would be a tag, a link or a longer run of backticks. No text has
# a NUL, which stands for the place. What begins the second text may have its backslash.
_JOINT = re.compile(
    r"""
    (?<!\\)\]\0[(\[:] | <\0[A-Za-z/!?] | &\0[#\w] | `\0`
    | @\0\w | \#\0\d | :\0\\?// | :/\0/
    | \b(?:g\0h-|gh\0\\?-|gh-\0)\d | \b(?:w\0ww|ww\0w|www\0)\.
    """,
    re.VERBOSE | re.IGNORECASE,
)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
"""Two backticks with something between them; none of a longer run."""
_INTERVAL = re.compile(r"(\[[+−-]?\d(?:[\d\s.,%+−–-]|to)*\])(?![(\[:])")
_LINE_BREAK = re.compile(r"[\t\n\r]+")

_WORKFLOW_COMMAND = re.compile(r"^(\s*):(?=:)")


def visible(text: str) -> str:
    """Spell out each invisible character of the text, because evidence must be visible.

    An opening of an HTML comment is broken up: not even inside code may hostile text
    carry the marker by which the comment is found again.
    """
    return _break_comments(_HIDDEN_OR_RETURN.sub(_spell, text))


def plain(text: str) -> str:
    """Return the text without invisible characters, on one line, and never a command to a
    workflow's runner."""
    return _break_commands(" ".join(_break_comments(_HIDDEN.sub("", text)).split()))


def plain_line(text: str) -> str:
    """Return a line of a file without invisible characters, with its indentation and its spaces. It
    has to stand behind other text, so that it is no command to a workflow's runner."""
    spaced = "".join(" " if char.isspace() else char for char in text.expandtabs(4))
    return _break_commands(_break_comments(_HIDDEN.sub("", spaced)))


def clip(text: str, limit: int | None) -> str:
    """Return at most `limit` characters, the last one an ellipsis if something was cut."""
    if limit is None or len(text) <= limit:
        return text
    return text[: limit - 1].rstrip() + "…"


def prose(text: str, limit: int | None = None) -> str:
    """Escape text for a Markdown paragraph, list item or table cell, so that it shows as
    written."""
    return _BLOCK_START.sub(r"\1\\", _inline(clip(plain(text), limit)))


def prose_with_code(text: str, limit: int | None = None) -> str:
    """Escape a sentence of gatekeeper's own like `prose`, with what it quotes in backticks as a
    code span. What is quoted may be hostile: each part is escaped by itself."""
    parts = SPAN.split(clip(plain(text), limit))
    joined = "".join(_span(part) if at % 2 else _inline(part) for at, part in enumerate(parts))
    return _BLOCK_START.sub(r"\1\\", joined)


def own_words(text: str) -> str:
    """Escape words of the program within a line: they keep their spaces, the brackets of an
    interval of numbers, and what they quote in backticks as code."""
    parts = SPAN.split(one_line(text, spell=False))
    return "".join(_span(part) if at % 2 else _numbers(part) for at, part in enumerate(parts))


def line_start(text: str) -> str:
    """Keep the escaped text from beginning a list, a heading or a quote."""
    return _BLOCK_START.sub(r"\1\\", text)


def join(text: str, more: str) -> str:
    """Join two escaped texts so that they are no markup together."""
    meet = _JOINT.search(f"{text[-4:]}\0{more[:4]}")
    return f"{text}{_BREAK if meet else ''}{more}"


def one_line(text: str, *, spell: bool = True) -> str:
    """Return the text on one line with all its spaces; invisible characters are spelled out or
    removed."""
    seen = _HIDDEN.sub(_spell if spell else "", _LINE_BREAK.sub(" ", text))
    return _break_commands(_break_comments(seen))


def _numbers(text: str) -> str:
    """Escape what is markup, except around an interval of numbers, which can be no link."""
    return "".join(
        part if at % 2 else _inline(part) for at, part in enumerate(_INTERVAL.split(text))
    )


def _inline(text: str) -> str:
    """Escape what is markup wherever it stands in a line."""
    unlinked = _REFERENCE.sub(lambda found: found[0] + _BREAK, text)
    return _ACTIVE.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), unlinked)


def _span(text: str) -> str:
    # As in `code_cell`, a pipe is never put inside code.
    return _inline(f"`{text}`") if "|" in text else code(text)


def code(text: str, limit: int | None = None) -> str:
    """Return a code span on one line, with a fence longer than any run of backticks inside."""
    cut = clip(visible(text).replace("\n", "⏎").replace("\t", "⇥"), limit)
    if not cut:
        return "*(empty)*"
    fence = "`" * (_longest_run(cut) + 1)
    # CommonMark takes one space away at both ends where both have one.
    pad = " " if "`" in (cut[0], cut[-1]) or (cut[0] == cut[-1] == " " and cut.strip()) else ""
    return f"{fence}{pad}{cut}{pad}{fence}"


def code_cell(text: str, limit: int | None = None) -> str:
    """Return a code span for a table cell.

    Renderers disagree on a backslash before a pipe inside code, so text with a pipe
    is shown as prose, in which an entity says it without doubt.
    """
    if "|" in text:
        return prose(text, limit)
    return code(text, limit)


def link(text: str, address: str) -> str:
    """Return the escaped text as a link; without an address, the text itself."""
    return f"[{text}]({address})" if address else text


def block(text: str, language: str = "text", limit: int | None = None) -> str:
    """Return a fenced code block; the fence is longer than any run of backticks inside."""
    cut = clip(visible(text), limit)
    fence = "`" * max(3, _longest_run(cut) + 1)
    return f"{fence}{language}\n{cut}\n{fence}"


def html_code(text: str, limit: int | None = None) -> str:
    """Return `<code>` for places where Markdown is not read, such as a `<summary>`."""
    cut = clip(" ".join(visible(text).split()), limit)
    return f"<code>{html.escape(cut)}</code>"


def log_text(text: str) -> str:
    """Escape text for a workflow log, so that the runner reads no line of it as a command."""
    return "\n".join(_log_line(line) for line in visible(text).split("\n"))


def xml_text(text: str) -> str:
    """Remove the characters that XML 1.0 forbids, and spell out others that are invisible."""
    return _HIDDEN_OR_RETURN.sub(_spell, text)


def _spell(found: re.Match[str]) -> str:
    return "␍" if found[0] == "\r" else f"⟨U+{ord(found[0]):04X}⟩"


def _break_comments(text: str) -> str:
    return text.replace("<!--", "<!- -")


def _log_line(line: str) -> str:
    # Two spellings of a command: `::name::` after white space, `##[name]` anywhere.
    return _break_commands(_WORKFLOW_COMMAND.sub(r"\1: ", line))


def _break_commands(text: str) -> str:
    return text.replace("##[", "## [")


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
