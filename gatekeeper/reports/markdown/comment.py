"""The sticky comment on the pull request, and the job summary: the same with more room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gatekeeper import __version__
from gatekeeper.gate.results.result import GateResult, Verdict
from gatekeeper.reports.markdown.causes import shared_causes
from gatekeeper.reports.markdown.decision import add_objectives
from gatekeeper.reports.markdown.details import Depth, add_details, add_promises
from gatekeeper.reports.markdown.glance import add_glance
from gatekeeper.reports.markdown.names import pages
from gatekeeper.reports.markdown.page import Page, alert, byte_length
from gatekeeper.reports.markdown.revert import add_reverts
from gatekeeper.reports.markdown.sections import add_notes, add_reasons, add_table, footer
from gatekeeper.reports.markdown.since import ROOM, state_line
from gatekeeper.reports.markers import DEFAULT_ID, comment_marker
from gatekeeper.reports.words.headline import headline, lead

COMMENT_LIMIT = 65_000
"""GitHub refuses a comment above 65,536 characters; some room is left for the sender."""

_COMMENT_DEPTH = Depth(broken=50, others=20, output=1_500, diff=6_000)
_ALERTS: Mapping[Verdict, str] = {
    "fail": "CAUTION",
    "error": "CAUTION",
    "inconclusive": "WARNING",
    "pass": "TIP",
}
"""The kinds of GitHub's alerts: red, yellow and green."""
_CUT = (
    "*This comment was cut to fit. The whole result is in `result.json` and `samples.jsonl` of "
    "this run's artifact.*"
)


def render_comment(
    result: GateResult,
    notices: Sequence[str] = (),
    *,
    limit: int = COMMENT_LIMIT,
    marker_id: str = DEFAULT_ID,
) -> str:
    """Render Markdown of at most `limit` characters, or a few hundred if the limit is below that,
    with the marker in the first line. `notices` are those that came after the result was
    complete."""
    first = comment_marker(marker_id)
    return f"{first}\n{comment_text(result, notices, limit=limit - len(first) - 1)}"


def comment_text(
    result: GateResult,
    notices: Sequence[str] = (),
    *,
    limit: int = COMMENT_LIMIT,
    suggested: bool = False,
) -> str:
    """Render the comment without its marker. `suggested` says that reverts are also suggested on
    the lines of the pull request, if they can be."""
    state = state_line(result)
    if 10 * (len(state) + ROOM) > limit:
        state = ""
    # The next comment on the pull request takes the state over, and has a sentence about it.
    room = ROOM + len(state) if state else 0
    return compose(
        result,
        notices,
        limit=limit - room,
        depth=_COMMENT_DEPTH,
        suggested=suggested,
        state=state,
    )


def compose(
    result: GateResult,
    notices: Sequence[str] = (),
    *,
    limit: int,
    depth: Depth,
    size: Callable[[str], int] = len,
    suggested: bool = False,
    state: str = "",
) -> str:
    """Write the answer without the marker.

    The worst findings are added first, so that they are not cut. `state` is the hidden line under
    the verdict.
    """
    ending = f"<sub>{footer(result, __version__)}</sub>"
    page = Page(limit - size(ending) - size(_CUT) - 8, size)
    page.add(headline(result))
    said = lead(result)
    # Nothing to look at, and so no box.
    is_quiet = result.verdict == "pass" and not result.contracts
    page.add("\n\n".join(said) if is_quiet else alert(_ALERTS[result.verdict], said))
    for line in filter(None, (state, pages(result), shared_causes(result))):
        page.add(line)
    add_glance(page, result)
    add_reverts(page, result, suggested=suggested)
    if result.contracts:
        add_table(page, result)
        add_reasons(page, result)
    add_notes(page, result, notices)
    add_objectives(page, result)
    add_details(page, result, depth)
    add_promises(page, result)
    return page.text(f"{_CUT}\n\n{ending}" if page.cut else ending) + "\n"


SUMMARY_LIMIT = 1_000_000
"""GitHub drops a summary above 1 MiB altogether, and the job still passes."""

_SUMMARY_DEPTH = Depth(broken=500, others=200, output=4_000, diff=40_000)


def render_summary(
    result: GateResult, notices: Sequence[str] = (), *, limit: int = SUMMARY_LIMIT
) -> str:
    """Render Markdown of at most `limit` bytes of UTF-8. `notices` are later than the result."""
    return compose(result, notices, limit=limit, depth=_SUMMARY_DEPTH, size=byte_length)
