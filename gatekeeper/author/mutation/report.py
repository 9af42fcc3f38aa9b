"""The words and numbers that every report of a mutation run uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatekeeper import __version__, numbers
from gatekeeper.author.mutation.measure import Finding, MutantResult, MutationResult
from gatekeeper.author.mutation.mutants import Part
from gatekeeper.reports.escape import clip, code_cell, plain, plain_line, prose, visible
from gatekeeper.reports.html import markup
from gatekeeper.reports.html.page import page
from gatekeeper.reports.terminal.console import log_console

FINDINGS: Mapping[Finding, str] = {
    "noticed": "noticed",
    "too_few_broke": "breaks too few",
    "not_noticed": "not noticed",
    "no_effect": "no effect",
    "unknown": "not measured",
}
URGENCY: Mapping[Finding, int] = {
    "not_noticed": 4,
    "too_few_broke": 3,
    "no_effect": 2,
    "unknown": 1,
    "noticed": 0,
}
"""How much attention a finding needs: that with the highest number comes first."""
_VERBS = {"drop": "dropped", "negate": "negated", "soften": "softened", "model": "rewritten"}
_LONGEST = 70


def headline(result: MutationResult) -> str:
    """Return the mutation score as one sentence."""
    noticed = result.count("noticed")
    changed = noticed + result.count("too_few_broke") + result.count("not_noticed")
    if result.score is None:
        unknown = result.count("unknown")
        if unknown == len(result.mutants):
            return f"No mutant of {result.prompt_path} could be measured."
        left = f"; {numbers.count(unknown, 'mutant')} could not be measured" if unknown else ""
        return f"No measured mutant of {result.prompt_path} changed an output{left}."
    interval = numbers.percent_interval(result.score_interval)
    return (
        f"Mutation score {numbers.percent(result.score)} ({interval}): "
        f"{numbers.count(changed, 'mutant')} changed an output, and the "
        f"contract noticed {noticed} of these mutants."
    )


def advice(result: MutationResult) -> tuple[str, ...]:
    """Return what to do about the parts that the contract does not protect."""
    said = []
    missed, dead = result.count("not_noticed"), _dead(result)
    if missed:
        said.append(
            f"For {numbers.count(missed, 'change')} of the prompt, outputs differ, but the number "
            "of passing fixtures does not drop. Add fixtures or checks that depend on the changed "
            "lines."
        )
    weak = [one for one in result.mutants if one.finding == "too_few_broke"]
    if weak:
        said.append(_advice_to_add(weak, result))
    if dead:
        said.append(_advice_to_delete(dead))
    return tuple(said)


def bill(result: MutationResult) -> str:
    """Return what the run took."""
    calls = f"{numbers.count(result.calls.made, 'call')} made"
    cached = f", {result.calls.cached:,} recorded" if result.calls.cached else ""
    return f"{calls}{cached}, {numbers.dollars(result.cost_usd)}"


def lines_of(part: Part) -> str:
    """Return the lines of a part, such as `line 3` or `lines 3-5`."""
    if part.line == part.last_line:
        return f"line {part.line}"
    return f"lines {part.line}-{part.last_line}"


def change_of(found: MutantResult) -> str:
    """Return what was changed, such as `list item dropped`."""
    return f"{found.mutant.part.kind} {_VERBS[found.mutant.mutation]}"


def excerpt(found: MutantResult) -> str:
    """Return the beginning of the part, on one line, or what it was changed to."""
    return clip(plain(" ".join((found.mutant.now or found.mutant.part.text).split())), _LONGEST)


def evidence(found: MutantResult, result: MutationResult) -> str:
    """Return the numbers behind the finding of a mutant of the result."""
    if found.finding == "no_effect":
        tokens = f", {numbers.tokens(found.tokens)} tokens" if found.tokens is not None else ""
        return f"{numbers.count(found.pairs, 'output')} the same{tokens}"
    if found.finding == "unknown":
        return numbers.count(found.pairs, "pair")
    needed = ""
    if found.fixtures_needed:
        needed = f"; about {numbers.count(found.fixtures_needed, _unit(result))} needed"
    return (
        f"{numbers.count(found.pairs, 'pair')}: {numbers.count(found.broke, 'fixture')} broke, "
        f"{found.fixed} fixed, {numbers.count(found.changed_outputs, 'output')} changed{needed}"
    )


def drops_parts(result: MutationResult) -> bool:
    """Return whether at least one mutant lacks a part."""
    return any(one.mutant.mutation == "drop" for one in result.mutants)


def findings_by_line(result: MutationResult) -> Mapping[int, tuple[Finding, ...]]:
    """Return what happens if the line's parts are dropped, or changed if nothing was dropped, by
    line number. A line of several parts has each finding once, that which needs attention most
    first. All examples together do not count if one of them has a finding of its own."""
    found: dict[int, set[Finding]] = {}
    dropped = drops_parts(result)
    for one in result.mutants:
        if dropped and one.mutant.mutation != "drop":
            continue
        if one.mutant.part.kind == "all examples":
            continue
        for line in range(one.mutant.part.line, one.mutant.part.last_line + 1):
            found.setdefault(line, set()).add(one.finding)
    return {
        line: tuple(sorted(findings, key=lambda finding: -URGENCY[finding]))
        for line, findings in found.items()
    }


def mutation_document(result: MutationResult) -> dict[str, Any]:
    """Return the whole result for `mutation.json`."""
    interval = result.score_interval
    return {
        "version": 1,
        "gatekeeper": __version__,
        "contract": result.contract,
        "prompt": result.prompt_path,
        "model": result.model,
        "fixtures": result.fixtures,
        "clustered": result.clustered,
        "score": result.score,
        "score_interval": [interval.low, interval.high] if interval else None,
        "calls": result.calls.made,
        "recorded_calls": result.calls.cached,
        "cost_usd": result.cost_usd,
        "order_seed": result.order_seed,
        "notices": list(result.notices),
        "mutants": [
            {
                "id": one.mutant.id,
                "mutation": one.mutant.mutation,
                "part": one.mutant.part.kind,
                "line": one.mutant.part.line,
                "last_line": one.mutant.part.last_line,
                "text": one.mutant.part.text,
                "now": one.mutant.now,
                "finding": one.finding,
                "pairs": one.pairs,
                "changed_outputs": one.changed_outputs,
                "broke": one.broke,
                "fixed": one.fixed,
                "p_value": one.p_value,
                "level": one.level,
                "tokens": one.tokens,
                "fixtures_needed": one.fixtures_needed,
            }
            for one in result.mutants
        ],
    }


def _advice_to_add(weak: Sequence[MutantResult], result: MutationResult) -> str:
    """Return how many fixtures would let the contract notice what breaks too few of them."""
    unit = _unit(result)
    said = (
        f"{numbers.count(len(weak), 'change')} of the prompt broke fixtures, but so few that "
        "chance can be the cause, so the contract does not notice these changes. "
        f"Add {unit}s: the contract has {result.fixtures:,}"
    )
    known = [one.fixtures_needed for one in weak if one.fixtures_needed is not None]
    if not known:
        return f"{said}."
    least, most = min(known), max(known)
    enough = f"{least:,} to {most:,}" if most > least else f"{most:,}"
    return (
        f"{said}, and needs about {enough} to notice the changes if the same share of "
        "fixtures breaks."
    )


def _advice_to_delete(dead: Sequence[MutantResult]) -> str:
    """Return what to do about the parts without which no output changes. Each was dropped alone:
    without several of them, an output can change."""
    tokens = [one.tokens for one in dead if one.tokens is not None]
    size = f"{numbers.tokens(sum(tokens))} input tokens of each call" if tokens else ""
    if len(dead) == 1:
        return (
            f"You can remove 1 part of the prompt{size and f' ({size})'} without a change of any "
            "output. Delete this text, or add fixtures that need it."
        )
    return (
        f"You can remove any one of {numbers.count(len(dead), 'part')} of the prompt without a "
        f"change of any output{size and f'; together, these parts have {size}'}. The outputs can "
        "change if you remove several of these parts. Delete one part and run the command again, "
        "or add fixtures that need these parts."
    )


def _unit(result: MutationResult) -> str:
    return "cluster" if result.clustered else "fixture"


def _dead(result: MutationResult) -> list[MutantResult]:
    """Return the dropped parts without an effect; not each example again if all have none
    together."""
    dead = [
        one
        for one in result.mutants
        if one.finding == "no_effect" and one.mutant.mutation == "drop"
    ]
    has_all = any(one.mutant.part.kind == "all examples" for one in dead)
    return [one for one in dead if not (has_all and one.mutant.part.kind == "example")]


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
    what = "without each line" if drops_parts(result) else "if a line changes"
    console.print(Text(f"{plain(result.prompt_path)}: what happens {what}", "bold"))
    console.print(_prompt(result))
    marks = "   ".join(f"{_MARKS[key]} {FINDINGS[key]}" for key in _MARKS)
    console.print(Text(marks, "dim"))
    console.print(_table(result, console))
    for notice in result.notices:
        console.print(Text(plain(notice), "dim"))
    for path in files.values():
        console.print(Text(str(path), "dim"))
    console.print(Text(bill(result), "dim"))
    for said in advice(result):
        console.print(Text(said))
    console.print(Text(plain(headline(result)), "bold"))


def _prompt(result: MutationResult) -> Text:
    by_line = findings_by_line(result)
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
    for one in sorted(result.mutants, key=lambda one: -URGENCY[one.finding]):
        part = one.mutant.part
        table.add_row(
            f"{_MARKS[one.finding]} {FINDINGS[one.finding]}",
            f"{part.line}" if part.line == part.last_line else f"{part.line}-{part.last_line}",
            change_of(one),
            excerpt(one),
            evidence(one, result),
            style=_STYLES[one.finding],
        )
    return table


_CLASSES: Mapping[Finding, str] = {
    "noticed": "pass",
    "too_few_broke": "fail",
    "not_noticed": "fail",
    "no_effect": "inconclusive",
    "unknown": "quiet",
}


def render_mutation(result: MutationResult) -> str:
    """Render Markdown: the score, what to do, every mutant, those that need attention first."""
    parts = [f"## Mutation test of {prose(result.contract, 80)}", prose(headline(result))]
    parts += [prose(text) for text in advice(result)]
    parts += [mutant_table(result), prose(bill(result))]
    parts += [prose(notice) for notice in result.notices]
    return "\n\n".join(parts) + "\n"


def render_mutation_page(result: MutationResult) -> str:
    """Render one self-contained file, which loads nothing from the network and runs no script."""
    title = f"Mutation test of {plain(result.contract)}"
    missed = result.count("not_noticed") + result.count("too_few_broke")
    verdict = "fail" if missed else "pass"
    lead = "".join(f"<p>{escape(text)}</p>" for text in advice(result))
    notices = "".join(f'<p class="quiet">{escape(plain(text))}</p>' for text in result.notices)
    what = "without each line of" if drops_parts(result) else "if a line changes in"
    sections = [
        f'<header class="verdict {verdict}"><h1>{escape(title)}</h1>'
        f'<p class="lead">{escape(plain(headline(result)))}</p>{lead}'
        f'<p class="quiet">{escape(bill(result))}</p></header>',
        f'<section aria-labelledby="prompt"><h2 id="prompt">What happens {what} '
        f"{escape(plain(result.prompt_path))}</h2>{_heat_map(result)}</section>",
        '<section aria-labelledby="mutants"><h2 id="mutants">Mutants</h2>'
        '<div class="words scroll" tabindex="0" role="region" aria-label="Mutants">'
        f"{markup.blocks(mutant_table(result))}</div>{notices}</section>",
        f'<p class="quiet">gatekeeper {escape(__version__)}</p>',
    ]
    return page(f"{title} · gatekeeper", f"<main>{''.join(sections)}</main>")


def mutant_table(result: MutationResult) -> str:
    """Render every mutant as a row of a Markdown table."""
    rows = [
        "| finding | line | change | text | evidence |",
        "| --- | ---: | --- | --- | --- |",
    ]
    for one in sorted(result.mutants, key=lambda one: -URGENCY[one.finding]):
        part = one.mutant.part
        lines = f"{part.line}" if part.line == part.last_line else f"{part.line}–{part.last_line}"
        cells = (
            FINDINGS[one.finding],
            lines,
            change_of(one),
            code_cell(excerpt(one), 80),
            evidence(one, result),
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _heat_map(result: MutationResult) -> str:
    by_line = findings_by_line(result)
    rows = []
    for number, line in result.numbered_lines:
        findings = by_line.get(number, ())
        kind = f' class="{_CLASSES[findings[0]]}"' if findings else ""
        said = ", ".join(FINDINGS[finding] for finding in findings)
        rows.append(
            f'<tr{kind}><th scope="row">{number}</th><td>{said}</td>'
            f"<td><code>{escape(visible(line))}</code></td></tr>"
        )
    head = '<tr><th scope="col">Line</th><th scope="col">Finding</th><th scope="col">Text</th>'
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Prompt by line">'
        f'<table class="lines"><thead>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
