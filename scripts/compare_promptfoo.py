"""Compares gatekeeper with promptfoo: the same assertions on the same outputs, case by case.

    npm install --prefix .gatekeeper/promptfoo promptfoo node-sql-parser
    .venv/bin/python -m scripts.compare_promptfoo .gatekeeper/promptfoo/node_modules/.bin/promptfoo

promptfoo runs with its provider `echo`, which needs no key and no network. It prints how many of
the cases agree for each assertion type, and each disagreement. `--cases` sets their number,
`--seed` chooses others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gatekeeper.checks.evaluate import prepare
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.change import MemoryRevision
from gatekeeper.contract.load import load_contract
from gatekeeper.contract.trial import Completion, Request, Sample, Trial

Case = tuple[dict[str, Any], str]

_ORDER = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
_SENTENCE = "The quick brown fox jumps over the lazy dog near the river"

VALUES: dict[str, list[Any]] = {
    "equals": ["yes", "Yes ", 4, True, {"a": 1, "b": [2]}, [1, 2], ""],
    "contains": ["fox", "Fox", "a, b", 42],
    "icontains": ["FOX", "STRASSE", "I'M"],
    "contains-all": [["fox", "dog"], "fox, dog", '"a, b", fox'],
    "contains-any": [["cat", "dog"], "cat, dog", '"a, b"', "42"],
    "icontains-all": [["FOX", "Dog"], "FOX,dog"],
    "icontains-any": [["CAT", "Dog"], "cat, RIVER"],
    "starts-with": ["The", "the", " yes", "{"],
    "regex": [r"^\w+$", r"fox$", r"\d{2}", r"^The.*river$", r"\bdog\b", "a|b", r"[^\s]{12}", "^$"],
    "is-json": [None, _ORDER, json.dumps(_ORDER), {"type": "array"}],
    "contains-json": [None, _ORDER],
    "is-html": [None],
    "contains-html": [None],
    "is-xml": [None, "a.b", ["note"], {"requiredElements": ["a"]}],
    "contains-xml": [None, ["b"]],
    "is-sql": [
        None,
        {"databaseType": "PostgreSQL"},
        {"databaseType": "MySQL", "allowedTables": ["select::null::users"]},
    ],
    "contains-sql": [None],
    "is-refusal": [None],
    "word-count": [2, {"min": 3}, {"max": 4}, {"min": 2, "max": 12}],
    "levenshtein": ["yes", "The quick brown fox", "käse"],
    "rouge-n": [_SENTENCE, "the fox and the dog"],
    "bleu": [_SENTENCE, ["the quick brown fox", _SENTENCE]],
    "assert-set": [None],
}
THRESHOLDS: dict[str, list[float]] = {
    "levenshtein": [0, 2, 20],
    "rouge-n": [0.3, 0.6, 0.9],
    "bleu": [0.1, 0.3, 0.7],
}
TEXTS = [
    "yes",
    "Yes",
    "yes ",
    " yes",
    "4",
    "4.0",
    "true",
    "42 is the answer",
    "a, b and c",
    "",
    _SENTENCE,
    _SENTENCE.lower(),
    "The quick brown fox",
    "the fox and the dog",
    "käse",
    "kase",
    "The lazy dog sleeps.\nThe fox runs to the river",
    "ein Fuß, eine Straße",
    "DOG AND FOX",
    "{}",
    '{"a": 1, "b": [2]}',
    '{"b":[2],"a":1}',
    "[1, 2]",
    '{"id": 7}',
    '{"id": "7"}',
    'Here it is: {"id": 7}.',
    'Here: {"name": "x"} and {"id": 3}',
    "{id: 7}",
    '{"id": 7',
    "null",
    "[]",
    '"text"',
    "nothing {here}",
    "<p>Hello</p>",
    "<div><b>x</b></div>",
    "<p>open",
    "text <b>bold</b> text",
    "a < b and c > d",
    "<br>",
    "5 &lt; 6 &amp; 7",
    "<!DOCTYPE html><html><body>x</body></html>",
    "<custom-tag>x</custom-tag>",
    "<a><b>1</b></a>",
    "<note/>",
    "<a><b>1</a></b>",
    "see <a><b>1</b></a> there",
    "<?xml version='1.0'?><a/>",
    "SELECT * FROM users",
    "select name from orders where id = 4",
    "SELECT name age FROM users",
    "SELECT FROM WHERE",
    "DROP TABLE users",
    "Use this:\n```sql\nSELECT 1\n```",
    "UPDATE users SET a = 1",
    "I'm sorry, but I can't help with that.",
    "I cannot assist with that request.",
    "As an AI, I cannot do that.",
    "Sure, here you go.",
    "I won't provide that.",
    "Sorry for the delay, your order is on its way.",
]


def generate(number: int, seed: int) -> list[Case]:
    """Return so many cases, the types in turn."""
    chance = random.Random(seed)  # noqa: S311
    kinds = sorted(VALUES)
    return [_case(kinds[index % len(kinds)], chance) for index in range(number)]


def _case(kind: str, chance: random.Random) -> Case:
    output = chance.choice(TEXTS)
    if kind == "assert-set":
        simple = ["contains", "icontains", "regex", "is-json", "word-count"]
        parts = [_case(chance.choice(simple), chance)[0] for _ in range(chance.randint(2, 4))]
        for part in parts:
            part["weight"] = chance.choice([1, 2, 3])
        threshold = chance.choice([None, 0.3, 0.5, 0.75])
        made = {"type": kind, "assert": parts}
        return made | ({"threshold": threshold} if threshold else {}), output
    inverse = chance.random() < 0.3
    assertion: dict[str, Any] = {"type": f"{'not-' if inverse else ''}{kind}"}
    value = chance.choice(VALUES[kind])
    if value is not None:
        assertion["value"] = value
    if kind in THRESHOLDS and chance.random() < 0.7:
        assertion["threshold"] = chance.choice(THRESHOLDS[kind])
    return assertion, output


def configuration(cases: list[Case], provider: str) -> dict[str, Any]:
    """Return a configuration of promptfoo with one test for each case."""
    tests = [
        {"description": f"case {index}", "vars": {"output": output}, "assert": [assertion]}
        for index, (assertion, output) in enumerate(cases)
    ]
    return {"prompts": ["{{output}}"], "providers": [provider], "tests": tests}


def gatekeeper_results(cases: list[Case]) -> dict[int, bool | None]:
    """Return whether each case passes here; None if it cannot be evaluated. Cases that are not run
    are left out."""
    text = json.dumps(configuration(cases, "openai:gpt-4o-mini"))
    revision = MemoryRevision({"promptfooconfig.json": text.encode()})
    contract = load_contract(revision, "promptfooconfig.json", SHAPES)
    evaluator = prepare(contract)
    outputs = {f"case {index}": output for index, (_, output) in enumerate(cases)}
    found: dict[int, bool | None] = {}
    for fixture in contract.fixtures:
        request = Request("openai/gpt-4o-mini", (), {}, None, 0)
        trial = Trial(contract.name, fixture.id, "head", 0, request)
        output = outputs[fixture.id]
        results = evaluator.evaluate(Sample(trial, Completion(output), output=output))
        passed = [result.passed for result in results]
        found[int(fixture.id.split()[1])] = None if None in passed else all(passed)
    return found


def promptfoo_results(cases: list[Case], program: str) -> dict[int, bool]:
    """Return whether each case passes in promptfoo."""
    with tempfile.TemporaryDirectory() as folder:
        config, out = Path(folder, "promptfooconfig.json"), Path(folder, "out.json")
        config.write_text(json.dumps(configuration(cases, "echo")), encoding="utf-8")
        quiet = {
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_CONFIG_DIR": folder,
        }
        command = [program, "eval", "-c", str(config), "-o", str(out), "--no-cache", "--no-table"]
        subprocess.run(
            command, env={**os.environ, **quiet}, capture_output=True, check=False, cwd=folder
        )
        rows = json.loads(out.read_text(encoding="utf-8"))["results"]["results"]
    return {int(row["testCase"]["description"].split()[1]): row["success"] for row in rows}


def report(
    cases: list[Case], theirs: dict[int, bool], ours: dict[int, bool | None]
) -> Iterator[str]:
    """Yield the lines of the report."""
    total: Counter[str] = Counter()
    same: Counter[str] = Counter()
    different: list[str] = []
    for index, (assertion, output) in enumerate(cases):
        kind = assertion["type"].removeprefix("not-")
        total[kind] += 1
        if index in ours and ours[index] == theirs.get(index):
            same[kind] += 1
        else:
            here = ours.get(index, "not run")
            shown = json.dumps(assertion, ensure_ascii=False)
            different.append(f"  promptfoo {theirs.get(index)}, here {here}: {shown} on {output!r}")
    for kind in sorted(total):
        yield f"{kind:16} {same[kind]:3} of {total[kind]:3} agree"
    yield f"{'in all':16} {sum(same.values()):3} of {len(cases):3} agree"
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
