"""Renders what a change does to the promises of prompts: one folded part for each prompt."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from gatekeeper.gate.results.author_results import Promises, PromptPromises
from gatekeeper.gate.results.result import GateResult
from gatekeeper.numbers import count
from gatekeeper.reports.escape import code, html_code, prose
from gatekeeper.reports.markdown.page import Page, fold

_TEXT = 300


def add_promises(page: Page, result: GateResult) -> None:
    """Add a part for each prompt whose specification the change touches."""
    for promises in result.promises:
        opening, closing = fold(
            f"📜 Specification of {html_code(promises.prompt, 120)} ({_summary(promises)})"
        )
        page.add_rows(
            f"{opening}{_where(promises)}\n\n",
            list(_rows(promises)),
            closing=closing,
            more=lambda left: f"- …and {left:,} more",
        )


def _summary(promises: PromptPromises) -> str:
    if promises.state == "outdated":
        return f"{count(len(promises.unsettled), 'rule')} to check again"
    changed = promises.rules
    parts = [
        f"{len(texts):,} {word}"
        for texts, word in (
            (changed.added, "added"),
            (changed.dropped, "dropped"),
            (changed.reworded, "reworded"),
        )
        if texts
    ]
    rules = f"rules: {', '.join(parts)}" if parts else "no rule changed"
    return f"{rules}; the input specification changed" if promises.input.changed else rules


def _where(promises: PromptPromises) -> str:
    path = code(promises.specification, 200)
    if promises.state == "added":
        return f"{path} is new."
    if promises.state == "removed":
        return f"This change removes {path} and keeps the prompt."
    if promises.state == "changed":
        return f"These changes are in {path}."
    return (
        f"The prompt changed, but {path} did not change. The rules below come from prompt lines "
        "that changed. Run "
        f"{code(f'gatekeeper generate --update {quote(promises.prompt)} --model MODEL')} "
        "to update these rules."
    )


def _rows(promises: PromptPromises) -> Iterator[str]:
    yield from _changes(promises.rules, "rule")
    yield from _changes(promises.input, "input")
    for text in promises.unsettled:
        yield f"- {prose(text, _TEXT)}"


def _changes(changes: Promises, kind: str) -> Iterator[str]:
    for text in changes.added:
        yield f"- ➕ {kind}: {prose(text, _TEXT)}"
    for text in changes.dropped:
        yield f"- ➖ {kind}: {prose(text, _TEXT)}"
    for pair in changes.reworded:
        yield f"- ✏️ {kind}: {prose(pair.before, _TEXT)} → {prose(pair.after, _TEXT)}"
