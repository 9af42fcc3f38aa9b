"""What a reader sees of a result in each report."""

from __future__ import annotations

import html
import io
import re

from rich.console import Console

from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.markdown.comment import render_comment
from gatekeeper.reports.terminal.console import print_result


def comment_of(result: GateResult) -> str:
    """Return the comment with ordinary spaces."""
    return render_comment(result).replace("\u00a0", " ")


def row_of(comment: str, name: str) -> list[str]:
    """Return the cells of the row that begins with a name."""
    line = next(line for line in comment.splitlines() if line.startswith(f"| `{name}`"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def printed(result: GateResult, width: int = 200) -> str:
    """Return what a terminal without colours shows, with ordinary spaces."""
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_result(result, {}, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().replace("\u00a0", " ")


def text_of(page: str) -> str:
    """Return what a reader of a page reads, with one blank between words."""
    body = page.partition("<body>")[2].partition("<script>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())
