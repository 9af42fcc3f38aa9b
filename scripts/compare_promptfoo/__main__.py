"""Compares gatekeeper with promptfoo: the same assertions on the same outputs, case by case.

    npm install --prefix .gatekeeper/promptfoo promptfoo@0.121.20 node-sql-parser
    .venv/bin/python -m scripts.compare_promptfoo .gatekeeper/promptfoo/node_modules/.bin/promptfoo

promptfoo runs with a provider that gives recorded answers. The models that grade are scripted, so
the comparison needs no key and no network. It prints how many of the cases agree for each assertion
type, and each disagreement. `--cases` sets their number, `--seed` chooses others.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from scripts.compare_promptfoo.cases import Case, generate
from scripts.compare_promptfoo.programs import gatekeeper_results, promptfoo_results


def report(
    cases: list[Case], theirs: Mapping[int, bool], ours: Mapping[int, bool | None]
) -> Iterator[str]:
    """Yield the lines of the report."""
    total: Counter[str] = Counter()
    same: Counter[str] = Counter()
    different: list[str] = []
    for index, case in enumerate(cases):
        total[case.kind] += 1
        if index in ours and ours[index] == theirs.get(index):
            same[case.kind] += 1
            continue
        here = ours.get(index, "not run")
        shown = json.dumps(case.test, ensure_ascii=False)
        answer = " and ".join(map(str, case.calls)) or repr(case.output)
        different.append(f"  promptfoo {theirs.get(index)}, here {here}: {shown} on {answer}")
    for kind in sorted(total):
        yield f"{kind:26} {same[kind]:4} of {total[kind]:4} agree"
    yield f"{'in all':26} {sum(same.values()):4} of {len(cases):4} agree"
    yield from different


def main(arguments: list[str]) -> int:
    """Run both programs and print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the path of promptfoo's program")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    cases = generate(chosen.cases, chosen.seed)
    theirs, ours = promptfoo_results(cases, chosen.program), gatekeeper_results(cases)
    print("\n".join(report(cases, theirs, ours)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
