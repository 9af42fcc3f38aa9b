"""The page with the reports of earlier runs that are kept in the site."""

from __future__ import annotations

from gatekeeper import numbers
from gatekeeper.reports.site.frame import RUNS, Site, TableCell, render_page, shown_name


def render_runs(site: Site) -> str:
    """Render the page."""
    rows = []
    for run in site.kept:
        when, sha = numbers.moment(run.started), shown_name(run.sha[:10])
        contracts = len(run.contracts)
        first = shown_name(", ".join(run.contracts))
        rows.append(
            [
                TableCell(when, when, link=run.page),
                TableCell(run.verdict, run.verdict, badge=run.verdict),
                TableCell(sha, sha),
                TableCell(f"{contracts:,}", contracts),
                TableCell(first, first),
            ]
        )
    head = [
        ("Run", False),
        ("Verdict", False),
        ("Commit", False),
        ("Contracts", True),
        ("Their names", False),
    ]
    headline = f"{numbers.count(len(site.kept), 'report')} of earlier runs"
    return render_page(site, "runs", "Reports", RUNS, headline=headline, head=head, rows=rows)
