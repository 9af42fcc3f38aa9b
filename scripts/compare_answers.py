"""Compares what two trees answer to the same tests: exit codes, reports and what is shown.

    ANSWERS=/tmp/before.jsonl pytest -n 2 -p support.answers_corpus tests/integration
    python scripts/compare_answers.py /tmp/before.jsonl /tmp/after.jsonl [/tmp/before-again.jsonl]

A third file, from a second run of the first tree, says which lines differ by themselves: those are
left out. Prints every other difference, and exits with 1 if there is one.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

CHANGES = (
    (re.escape(tempfile.gettempdir()) + r"/[^\s\"'<>)]*", "<path>"),
    (r"\b(?=[0-9]*[a-f])[0-9a-f]{7,64}\b", "<digest>"),
    (r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", "<time>"),
    (r"\b\d+(\.\d+)? (s|ms)\b", "<duration>"),
    (r"\b\d+(\.\d+)?/s\b", "<speed>"),
    (r"(127\.0\.0\.1|localhost):\d+", "<server>"),
    (r'"[^"]*(latency|seconds|_ms|started|finished|duration)[^"]*": [^,\n]+', "<measured>"),
    (r'(time|timestamp)="[^"]*"', "<measured>"),
)
"""What differs between two runs of one tree, and what stands instead."""

SHOWN = 12
"""Lines shown of each difference."""


def main(arguments: list[str]) -> int:
    """Print the differences, and return 1 if there are any."""
    before, after, *again = (_read(Path(name)) for name in arguments)
    unstable = _unstable(before, again[0]) if again else set()
    tests = {key[0] for key in before} & {key[0] for key in after}
    found = 0
    for key in sorted(key for key in {*before, *after} if key[0] in tests and key not in unstable):
        if before.get(key) != after.get(key):
            found += 1
            print(f"== {key[0]} · {key[1]}")
            print("\n".join(_differences(before.get(key, ""), after.get(key, ""))))
    lost = len({key[0] for key in before} - tests)
    print(f"{len(tests)} tests compared, {found} answers differ; {lost} tests are gone")
    return 1 if found else 0


def _read(file: Path) -> dict[tuple[str, str], str]:
    """Return each answer by its test and name."""
    answers: dict[tuple[str, str], str] = {}
    for line in file.read_text("utf-8").splitlines():
        told: dict[str, Any] = json.loads(line)
        test = told.pop("test")
        reports = told.pop("reports", {})
        answers |= {
            (test, _stable(name)): _comparable(name, _stable(text))
            for name, text in reports.items()
        }
        answers |= {(test, name): _stable(str(value)) for name, value in told.items()}
    return answers


def _stable(text: str) -> str:
    """Return the text without paths, digests, times and durations."""
    for pattern, instead in CHANGES:
        text = re.sub(pattern, instead, text)
    return text


def _comparable(name: str, text: str) -> str:
    """Return a report without latencies, and the rows of CSV in order: equal runs differ there."""
    lines = text.splitlines()
    if name.endswith(".csv"):
        return "\n".join(sorted(lines))
    if not name.endswith(".json"):
        return "\n".join(re.sub(r"latency p\d+ [^;|]*", "latency", line) for line in lines)
    return "\n".join(_without_latencies(lines))


def _without_latencies(lines: list[str]) -> list[str]:
    """Leave out every JSON object that names a latency among its values."""
    kept: list[str] = []
    skip_to: int | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if skip_to is not None:
            skip_to = None if indent <= skip_to else skip_to
            continue
        if re.search(r': "latency_p\d+', line):
            while kept and len(kept[-1]) - len(kept[-1].lstrip()) >= indent:
                kept.pop()
            skip_to = indent - 2
            continue
        kept.append(line)
    return kept


def _unstable(first: dict[tuple[str, str], str], second: dict[tuple[str, str], str]) -> set[Any]:
    return {key for key in {*first, *second} if first.get(key) != second.get(key)}


def _differences(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=0)
    cut = [line[:300] for line in lines][2:]
    return cut[:SHOWN] + ([f"… {len(cut) - SHOWN} more lines"] if len(cut) > SHOWN else [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
