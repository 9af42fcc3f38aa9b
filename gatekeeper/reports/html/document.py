"""The result as one HTML page of bounded size."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from html import escape
from importlib.resources import files
from string import Template

from gatekeeper import __version__, numbers
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.headline import lead, title
from gatekeeper.reports.markdown.page import byte_length

LIMIT = 2_000_000
"""Bytes of the whole file."""
_BODY_SHARE = 0.5
"""The share of the size limit for contracts. Beyond it, fewer contracts are shown in full, to leave
room for samples."""
_DETAILED = (40, 15, 5, 1, 0)
_WIDEST = 10**9
"""The number of samples as a placeholder of fixed width."""

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


def render_html(
    result: GateResult,
    notices: Sequence[str] = (),
    *,
    limit: int = LIMIT,
    clean: Callable[[str], str] = str,
) -> str:
    """Render HTML of at most `limit` bytes of UTF-8, which must be enough for a page. `notices` are
    later than the result.

    `clean` takes secrets out of the inputs of the samples, which no other report shows; the rest
    of `result` comes clean.
    """
    heading = f"{title(result)} · gatekeeper"
    if not (result.contracts or result.uncovered or result.notices or notices):
        return page(heading, _quiet(result))
    # Heavy, and of no use where there is nothing to lay out.
    from gatekeeper.reports.html.body import render_body, render_samples
    from gatekeeper.reports.html.samples import Packed, evaluations, pack

    evaluated = evaluations(result)
    body = ""
    for detailed in _DETAILED:
        body = render_body(result, evaluated, detailed, notices)
        if byte_length(body) <= limit * _BODY_SHARE:
            break
    script = "\n".join(asset(name) for name in ("jsdiff/diff.min.js", "table.js", "report.js"))
    frame = render_samples(evaluated, Packed("-", _WIDEST, 2 * _WIDEST))
    packed = pack(evaluated, limit - byte_length(page(heading, body + frame, script)), clean)
    return page(heading, body + render_samples(evaluated, packed), script)


def _quiet(result: GateResult) -> str:
    """Print the verdict, and that no model was called, if nothing is affected."""
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in lead(result))
    when = escape(f"{numbers.moment(result.started)} · gatekeeper {__version__}")
    return (
        f'<main><header class="verdict {result.verdict}"><h1>{escape(title(result))}</h1>'
        f'{text}<p class="quiet">{when}</p></header>'
    )


def page(heading: str, body: str, script: str = "") -> str:
    """Render a whole page that may load and run only its own content. `heading` is plain text."""
    style = f"{asset('base.css')}\n{asset('report.css')}"
    policy = [
        "default-src 'none'",
        f"style-src '{_digest(style)}'",
        f"script-src '{_digest(script)}'" if script else "script-src 'none'",
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
    return files("gatekeeper.reports.html").joinpath("assets", name).read_text(encoding="utf-8")
