"""Describes a mutation run: the score, the prompt by line, and every mutant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from gatekeeper import __version__, numbers
from gatekeeper.author.mutation.measure import Finding, MutantResult, MutationResult
from gatekeeper.reports.document import (
    Document,
    Quote,
    Row,
    Section,
    Table,
    Tone,
    Words,
    code,
    columns,
)

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
TONES: Mapping[Finding, Tone] = {
    "noticed": "pass",
    "too_few_broke": "fail",
    "not_noticed": "fail",
    "no_effect": "inconclusive",
    "unknown": "quiet",
}
_VERBS = {"drop": "dropped", "negate": "negated", "soften": "softened", "model": "rewritten"}
_LONGEST = 70


def describe_mutation(result: MutationResult) -> Document:
    """Describe the score, what to do, the lines of the prompt, and every mutant."""
    what = "without each line of " if drops_parts(result) else "if a line changes in "
    missed = result.count("not_noticed") + result.count("too_few_broke")
    return Document(
        ("Mutation test of ", Quote(result.contract.name, 80)),
        "fail" if missed else "pass",
        (_headline(result), *_advice(result), _bill(result)),
        (
            Section(
                ("What happens ", what, Quote(result.prompt.path)), [_prompt(result)], "prompt"
            ),
            Section("Mutants", [_mutants(result)]),
        ),
        tuple(map(Quote, result.run.notices)),
    )


def _prompt(result: MutationResult) -> Table:
    """Return the lines of the prompt, each with what happens without it."""
    by_line = findings_by_line(result)
    return Table(
        columns("Line", "Finding", "Text"),
        [
            Row(
                (
                    str(number),
                    ", ".join(FINDINGS[one] for one in by_line.get(number, ())),
                    Quote(line, form="line"),
                ),
                TONES[by_line[number][0]] if number in by_line else "plain",
            )
            for number, line in result.numbered_lines
        ],
        "Prompt by line",
        kind="lines",
    )


def _mutants(result: MutationResult) -> Table:
    """Return a row for each mutant, those that need attention first."""
    return Table(
        columns("finding", right=["line"], last=("change", "text", "evidence")),
        [
            Row(
                (
                    FINDINGS[one.finding],
                    one.mutant.part.place,
                    change_of(one),
                    code(one.mutant.now or one.mutant.part.text, _LONGEST),
                    evidence(one, result),
                ),
                TONES[one.finding],
            )
            for one in sorted(result.mutants, key=lambda one: -URGENCY[one.finding])
        ],
        "Mutants",
    )


def _headline(result: MutationResult) -> Words:
    """Return the mutation score as one sentence."""
    noticed = result.count("noticed")
    changed = noticed + result.count("too_few_broke") + result.count("not_noticed")
    prompt = Quote(result.prompt.path)
    if result.score is None:
        unknown = result.count("unknown")
        if unknown == len(result.mutants):
            return "No mutant of ", prompt, " could be measured."
        left = f"; {numbers.count(unknown, 'mutant')} could not be measured" if unknown else ""
        return "No measured mutant of ", prompt, f" changed an output{left}."
    interval = numbers.percent_interval(result.score_interval)
    return (
        f"Mutation score {numbers.percent(result.score)} ({interval}): "
        f"{numbers.count(changed, 'mutant')} changed an output, and the "
        f"contract noticed {noticed} of these mutants."
    )


def _advice(result: MutationResult) -> tuple[str, ...]:
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


def _bill(result: MutationResult) -> str:
    """Return what the run took."""
    calls = f"{numbers.count(result.run.calls.made, 'call')} made"
    cached = f", {result.run.calls.cached:,} recorded" if result.run.calls.cached else ""
    return f"{calls}{cached}, {numbers.dollars(result.run.cost_usd)}"


def change_of(found: MutantResult) -> str:
    """Return what was changed, such as `list item dropped`."""
    return f"{found.mutant.part.kind} {_VERBS[found.mutant.mutation]}"


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
        "contract": result.contract.name,
        "prompt": result.prompt.path,
        "model": result.contract.target.model,
        "fixtures": result.fixtures,
        "clustered": result.clustered,
        "score": result.score,
        "score_interval": [interval.low, interval.high] if interval else None,
        "calls": result.run.calls.made,
        "recorded_calls": result.run.calls.cached,
        "cost_usd": result.run.cost_usd,
        "order_seed": result.run.order_seed,
        "notices": list(result.run.notices),
        "mutants": [
            {
                "id": one.mutant.id,
                "mutation": one.mutant.mutation,
                "part": one.mutant.part.kind,
                "line": one.mutant.part.line,
                "last_line": one.mutant.part.last_line,
                "text": one.mutant.part.text,
                "now": one.mutant.now,
                **{field.name: getattr(one, field.name) for field in fields(one)[1:]},
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
