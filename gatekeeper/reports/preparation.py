"""Loads what the end of a run needs, at a time when nothing waits for it."""

from __future__ import annotations


def prepare_reports() -> None:
    """Import the libraries of the reports of every run, and compile the templates of the page.

    Without this it happens when they are written, and a person waits for it.
    """
    import markdown_it  # noqa: F401
    import rich.box
    import rich.table  # noqa: F401

    import gatekeeper.reports.formats.csv_parquet
    import gatekeeper.reports.formats.junit
    import gatekeeper.reports.formats.result_json
    import gatekeeper.reports.formats.samples
    import gatekeeper.reports.html
    import gatekeeper.reports.markdown.comment
    import gatekeeper.reports.markdown.summary
    import gatekeeper.reports.terminal.console
    import gatekeeper.reports.terminal.screen
    import gatekeeper.reports.write  # noqa: F401
    from gatekeeper.reports.html.body import load_templates
    from gatekeeper.reports.html.charts import import_pygal
    from gatekeeper.reports.html.markup import reader

    reader()
    import_pygal()
    load_templates()
