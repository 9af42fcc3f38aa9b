"""The result of a run as one HTML page of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from gatekeeper import __version__, numbers
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.html.page import asset, page
from gatekeeper.reports.markdown.page import byte_length
from gatekeeper.reports.words.headline import lead, title

LIMIT = 2_000_000
"""Bytes of the whole file."""
_BODY_SHARE = 0.5
"""The share of the size limit for contracts. Beyond it, fewer contracts are shown in full, to leave
room for samples."""
_PICTURES_SHARE = 0.3
"""The largest share for pictures of fixtures."""
_DETAILED = (40, 15, 5, 1, 0)
_WIDEST = 10**9
"""The number of samples as a placeholder of fixed width."""


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
    from gatekeeper.reports.html.samples import Packed, evaluations, pack, pictures

    evaluated = evaluations(result)
    body = ""
    for detailed in _DETAILED:
        body = render_body(result, evaluated, detailed, notices)
        if byte_length(body) <= limit * _BODY_SHARE:
            break
    script = "\n".join(asset(name) for name in ("jsdiff/diff.min.js", "table.js", "report.js"))
    seen = pictures(evaluated, int(limit * _PICTURES_SHARE))
    frame = render_samples(evaluated, Packed("-", _WIDEST, 2 * _WIDEST), seen)
    bare = page(heading, body + frame, script, pictures=bool(seen))
    packed = pack(evaluated, limit - byte_length(bare), clean)
    samples = render_samples(evaluated, packed, seen)
    return page(heading, body + samples, script, pictures=bool(seen))


def _quiet(result: GateResult) -> str:
    """Print the verdict, and that no model was called, if nothing is affected."""
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in lead(result))
    when = escape(f"{numbers.moment(result.started)} · gatekeeper {__version__}")
    return (
        f'<main><header class="verdict {result.verdict}"><h1>{escape(title(result))}</h1>'
        f'{text}<p class="quiet">{when}</p></header>'
    )
