"""The HTML report of a run, and the HTML of other documents."""

from gatekeeper.reports.html.report import render_html

__all__ = ["render_html"]
