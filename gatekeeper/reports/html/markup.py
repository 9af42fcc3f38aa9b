"""The words of the other reports, which are Markdown, as HTML.

Their texts are harmless already; here nothing but emphasis, code, lists and tables is even read,
so that no text can become a link, an image or a tag.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

ICONS = {
    "✅": ("pass", "passed"),
    "❌": ("fail", "failed"),
    "⚠️": ("inconclusive", "warning"),
    "🚫": ("error", "error"),
    "ℹ️": ("info", "note"),
}
_ICON = re.compile("|".join(ICONS))
_NOT_READ = ("link", "image", "autolink", "html_inline", "html_block", "reference")
# `prose` keeps GitHub from linking a word by this; here nothing is linked.
_NO_LINK = "\u200b"


def blocks(markdown: str) -> Markup:
    """Render paragraphs, lists and tables."""
    return _finished(reader().render(markdown))


def inline(markdown: str) -> Markup:
    """Render one line, without a paragraph around it."""
    return _finished(reader().renderInline(markdown))


def icon(name: str, label: str = "") -> Markup:
    """Render a picture of the page's own set; without a label it is only decoration."""
    said = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
    return Markup(f'<svg class="icon {name}" {said}><use href="#i-{name}"/></svg>')  # noqa: S704


@lru_cache(maxsize=1)
def reader() -> MarkdownIt:
    """Return the parser of the Markdown in reports."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(list(_NOT_READ))


def with_icons(html: str) -> Markup:
    """Replace the emoji of the other reports by the page's own pictures."""
    return Markup(_ICON.sub(lambda found: icon(*ICONS[found[0]]), html))  # noqa: S704


def _finished(html: str) -> Markup:
    return with_icons(html.replace(_NO_LINK, ""))
