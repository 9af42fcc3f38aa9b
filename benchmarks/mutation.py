"""How often does `gatekeeper mutate` call a mutant noticed that changes nothing?

    python -m benchmarks.mutation [--runs 400] [--seed 1] [--write benchmarks/error-rates.md]

A model passes every fixture with the same probability, whatever the prompt says, so that no mutant
is worse than the prompt. One part of some prompts does matter: without it, half of the answers
fail. The runs are those of the command: its mutants, its plan, its tests. It ends with an error if
more than 5 % of runs call any harmless mutant noticed, or if fewer than four fifths notice the part
that matters.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.decisions.table import precision
from benchmarks.simulation_page import CountedCases, rate
from gatekeeper import numbers
from gatekeeper.author.mutation.measure import plan_mutation, summarise_mutants
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.gate.pipeline import RunContext, measure
from gatekeeper.stats.intervals.intervals import wilson

LEVEL, POWER = 0.05, 0.8
BEGIN, END = "<!-- bench-mutation:begin -->", "<!-- bench-mutation:end -->"
_FIXTURES = 40
_MATTERS = "Rule 0 matters."
_CONTRACT = """\
contract: 1
name: words
prompt: words.txt
model: m/x
fixtures: [{{file: words.csv}}]
checks: [{{type: contains, value: ok}}]
sampling: {{samples: {samples}}}
"""


@dataclass(frozen=True, slots=True)
class Case:
    """How many parts the prompt has, how many samples of each fixture are taken, how often an
    answer passes, and whether one part matters."""

    parts: int
    samples: int
    passes: float
    matters: bool


CASES = tuple(
    Case(parts, samples, passes, matters)
    for matters in (False, True)
    for parts in (5, 20)
    for samples, passes in ((1, 0.95), (3, 0.95), (3, 0.7))
)


@dataclass
class _Model:
    case: Case
    drawn: random.Random

    async def complete(self, request: Request) -> Completion:
        broken = self.case.matters and _MATTERS not in request.messages[0].content
        passes = self.case.passes * (0.5 if broken else 1)
        return Completion("ok" if self.drawn.random() < passes else "no")

    async def aclose(self) -> None: ...


def count(case: Case, runs: int, seed: int) -> int:
    """In how many runs a harmless mutant is noticed, or the part that matters, if one does."""
    words = "".join(f"id{number},word {number}\n" for number in range(_FIXTURES))
    rules = "\n".join(f"Rule {number} matters." for number in range(case.parts))
    files = {
        "contracts/words.yaml": _CONTRACT.format(samples=case.samples),
        "contracts/words.txt": f"{rules}\n\n{{{{ word }}}}\n",
        "contracts/words.csv": f"id,word\n{words}",
    }
    revision = MemoryRevision({path: text.encode() for path, text in files.items()}, "b" * 40)
    contract = load_contract(revision, "contracts/words.yaml", SHAPES)
    policy = Policy(limits=Limits(None, None, None, 16))
    happened = 0
    for number in range(runs):
        name = f"{seed}|{number}|{case}"
        plan = plan_mutation(contract, policy, revision, ["drop"], name)
        model = _Model(case, random.Random(name))  # noqa: S311
        found = asyncio.run(measure(plan.work, RunContext(model)))  # type: ignore[arg-type]
        noticed = [
            one.mutant.part.text
            for one in summarise_mutants(plan, found).mutants
            if one.finding == "noticed"
        ]
        happened += (_MATTERS in noticed) if case.matters else bool(noticed)
    return happened


def table(counts: Mapping[Case, int], runs: int, seed: int) -> str:
    """The table of the page."""
    lines = [
        f"Each row has {runs:,} runs with seed {seed} and {_FIXTURES} fixtures. Figures are % of "
        f"runs. {precision(runs)}",
        "",
        "| parts of the prompt | samples of each fixture | pass rate | "
        "harmless part noticed, % of runs | important part noticed, % of runs |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for case in CASES:
        if not case.matters:
            other = Case(case.parts, case.samples, case.passes, matters=True)
            lines.append(
                f"| {case.parts} parts | {numbers.count(case.samples, 'sample')} | "
                f"{case.passes * 100:.0f} % pass | "
                f"{rate(counts[case], runs)} | {rate(counts[other], runs)} |"
            )
    together = {kind: [n for c, n in counts.items() if c.matters is kind] for kind in (False, True)}
    rates = [rate(sum(each), runs * len(each)) for each in together.values()]
    lines.append(f"| all rows together | | | {' | '.join(rates)} |")
    return "\n".join(lines) + "\n"


def broken_promises(counts: Mapping[Case, int], runs: int) -> list[str]:
    """What exceeds the level, or stays below the power, by more than the simulation's error."""
    broken = []
    for case, happened in counts.items():
        interval = wilson(happened, runs, 0.99)
        if not case.matters and interval.low > LEVEL:
            broken.append(f"{case}: {happened} of {runs} runs notice a harmless mutant")
        if case.matters and interval.high < POWER:
            broken.append(f"{case}: {happened} of {runs} runs notice the part that matters")
    return broken


SIMULATION = CountedCases(CASES, count, table, broken_promises, BEGIN, END)

if __name__ == "__main__":
    sys.exit(SIMULATION.main(400))
