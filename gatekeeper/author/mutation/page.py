"""A mutation run as Markdown and as one HTML page: the prompt as a heat map, then every mutant."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from gatekeeper import __version__
from gatekeeper.author.mutation import words
from gatekeeper.author.mutation.result import Finding, MutationResult
from gatekeeper.reports.escape import code_cell, plain, prose, visible
from gatekeeper.reports.html import markup
from gatekeeper.reports.html.page import page

_CLASSES: Mapping[Finding, str] = {
    "noticed": "pass",
    "too_few_broke": "fail",
    "not_noticed": "fail",
    "no_effect": "inconclusive",
    "unknown": "quiet",
}


def render_mutation(result: MutationResult) -> str:
    """Render Markdown: the score, what to do, every mutant, those that need attention first."""
    parts = [f"## Mutation test of {prose(result.contract, 80)}", prose(words.headline(result))]
    parts += [prose(text) for text in words.advice(result)]
    parts += [mutant_table(result), prose(words.bill(result))]
    parts += [prose(notice) for notice in result.notices]
    return "\n\n".join(parts) + "\n"


def render_mutation_page(result: MutationResult) -> str:
    """Render one self-contained file, which loads nothing from the network and runs no script."""
    title = f"Mutation test of {plain(result.contract)}"
    missed = result.count("not_noticed") + result.count("too_few_broke")
    verdict = "fail" if missed else "pass"
    lead = "".join(f"<p>{escape(text)}</p>" for text in words.advice(result))
    notices = "".join(f'<p class="quiet">{escape(plain(text))}</p>' for text in result.notices)
    what = "without each line of" if words.drops_parts(result) else "if a line changes in"
    sections = [
        f'<header class="verdict {verdict}"><h1>{escape(title)}</h1>'
        f'<p class="lead">{escape(plain(words.headline(result)))}</p>{lead}'
        f'<p class="quiet">{escape(words.bill(result))}</p></header>',
        f'<section aria-labelledby="prompt"><h2 id="prompt">What happens {what} '
        f"{escape(plain(result.prompt_path))}</h2>{_prompt(result)}</section>",
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
    for one in sorted(result.mutants, key=lambda one: -words.URGENCY[one.finding]):
        part = one.mutant.part
        lines = f"{part.line}" if part.line == part.last_line else f"{part.line}–{part.last_line}"
        cells = (
            words.FINDINGS[one.finding],
            lines,
            words.change_of(one),
            code_cell(words.excerpt(one), 80),
            words.evidence(one, result),
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _prompt(result: MutationResult) -> str:
    by_line = words.findings_by_line(result)
    rows = []
    for number, line in result.numbered_lines:
        findings = by_line.get(number, ())
        kind = f' class="{_CLASSES[findings[0]]}"' if findings else ""
        said = ", ".join(words.FINDINGS[finding] for finding in findings)
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
