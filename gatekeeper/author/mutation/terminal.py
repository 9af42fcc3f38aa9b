"""A mutation run on a terminal: the prompt with a mark for each line, the mutants, the score."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatekeeper.author.mutation import words
from gatekeeper.author.mutation.result import Finding, MutationResult
from gatekeeper.reports.escape import clip, plain, plain_line
from gatekeeper.reports.terminal.console import log_console

_STYLES: Mapping[Finding, str] = {
    "noticed": "green",
    "too_few_broke": "magenta",
    "not_noticed": "bold red",
    "no_effect": "yellow",
    "unknown": "dim",
}
_MARKS: Mapping[Finding, str] = {
    "noticed": "✓",
    "too_few_broke": "△",
    "not_noticed": "✗",
    "no_effect": "○",
    "unknown": "?",
}
_LONGEST_LINE = 110


def show_mutation(
    result: MutationResult, files: Mapping[str, Path], console: Console | None = None
) -> None:
    """Print the prompt's lines, the mutants that need attention first, the score, and the files."""
    console = console or log_console()
    what = "without each line" if words.drops_parts(result) else "if a line changes"
    console.print(Text(f"{plain(result.prompt_path)}: what happens {what}", "bold"))
    console.print(_prompt(result))
    marks = "   ".join(f"{_MARKS[key]} {words.FINDINGS[key]}" for key in _MARKS)
    console.print(Text(marks, "dim"))
    console.print(_table(result, console))
    for notice in result.notices:
        console.print(Text(plain(notice), "dim"))
    for path in files.values():
        console.print(Text(str(path), "dim"))
    console.print(Text(words.bill(result), "dim"))
    for advice in words.advice(result):
        console.print(Text(advice))
    console.print(Text(plain(words.headline(result)), "bold"))


def _prompt(result: MutationResult) -> Text:
    by_line = words.findings_by_line(result)
    width = max(map(len, by_line.values()), default=1)
    shown = Text()
    for number, line in result.numbered_lines:
        findings = by_line.get(number, ())
        marks = "".join(_MARKS[finding] for finding in findings)
        text = f"{number:>4} {marks:<{width}} {clip(plain_line(line), _LONGEST_LINE)}".rstrip()
        shown.append(f"{text}\n", _STYLES[findings[0]] if findings else "dim")
    return shown


def _table(result: MutationResult, console: Console) -> Table:
    table = Table(box=SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for title in ("", "line", "change", "text", "evidence"):
        table.add_column(title, overflow="fold")
    for one in sorted(result.mutants, key=lambda one: -words.URGENCY[one.finding]):
        part = one.mutant.part
        table.add_row(
            f"{_MARKS[one.finding]} {words.FINDINGS[one.finding]}",
            f"{part.line}" if part.line == part.last_line else f"{part.line}-{part.last_line}",
            words.change_of(one),
            words.excerpt(one),
            words.evidence(one, result),
            style=_STYLES[one.finding],
        )
    return table
