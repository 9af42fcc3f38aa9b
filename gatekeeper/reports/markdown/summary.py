"""The job summary: the comment's content with more room."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.markdown.comment import compose
from gatekeeper.reports.markdown.details import Depth
from gatekeeper.reports.markdown.page import byte_length

SUMMARY_LIMIT = 1_000_000
"""GitHub drops a summary above 1 MiB altogether, and the job still passes."""

_DEPTH = Depth(broken=500, others=200, output=4_000, diff=40_000)


def render_summary(
    result: GateResult, notices: Sequence[str] = (), *, limit: int = SUMMARY_LIMIT
) -> str:
    """Render Markdown of at most `limit` bytes of UTF-8. `notices` are later than the result."""
    return compose(result, notices, limit=limit, depth=_DEPTH, size=byte_length)
