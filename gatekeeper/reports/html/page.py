"""Whole HTML pages, which load and run only what is their own."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from gatekeeper import numbers
from gatekeeper.reports.escape import clip, plain, visible
from gatekeeper.reports.html import markup

if TYPE_CHECKING:
    from jinja2 import Environment

_ASSETS = Path(__file__).parent / "assets"

_SHELL = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>$title</title>
$style
</head>
<body>
$body
</main>
$script</body>
</html>
""")


def page(heading: str, body: str, script: str = "", *, pictures: bool = False) -> str:
    """Render a whole page that may load and run only its own content. `heading` is plain text, and
    `pictures` says that the page holds some."""
    style = f"{asset('base.css')}\n{asset('report.css')}"
    policy = [
        "default-src 'none'",
        f"style-src '{_digest(style)}'",
        f"script-src '{_digest(script)}'" if script else "script-src 'none'",
        *(["img-src data:"] if pictures else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return _SHELL.substitute(
        policy="; ".join(policy),
        title=escape(heading),
        style=f"<style>{style}</style>",
        body=body,
        script=f"<script>{script}</script>\n" if script else "",
    )


def linked_page(heading: str, body: str, script: str, style: str) -> str:
    """Render a page of a site, whose pages share one script and one style: relative addresses.

    It may load and run nothing but files of the site. `heading` is plain text.
    """
    # A folder that is opened without a server has no origin that `self` could mean.
    policy = (
        "default-src 'none'; style-src 'self' file:; script-src 'self' file:; base-uri 'none'; "
        "form-action 'none'"
    )
    return _SHELL.substitute(
        policy=policy,
        title=escape(heading),
        style=f'<link rel="stylesheet" href="{escape(style)}">',
        body=body,
        script=f'<script src="{escape(script)}"></script>\n',
    )


def _digest(text: str) -> str:
    """Return the hash by which the security policy allows the page's own style and script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@lru_cache
def asset(name: str) -> str:
    """Return the text of a style or script of the pages."""
    # importlib.resources would import zipfile.
    return (_ASSETS / name).read_text(encoding="utf-8")


def shown(text: str, limit: int | None = 120) -> str:
    """Return a name or a sentence on one line as it is safe to show, once it is escaped."""
    return clip(plain(text), limit)


def render_template(name: str, **values: Any) -> str:
    """Render a template of the assets, which escapes all that is not markup already."""
    return templates().get_template(f"{name}.html.j2").render(values)


@lru_cache(maxsize=1)
def templates() -> Environment:
    """Return the templates, which are kept for the process once they are compiled."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"icon_of": markup.icon, "numbers": numbers, "count": numbers.count}
    made.filters |= {
        "shown": shown,
        "seen": lambda text, limit=None: clip(visible(str(text)), limit),
        "inline": markup.inline,
        "blocks": markup.blocks,
        "iconed": lambda line: markup.with_icons(escape(visible(line))),
    }
    return made
