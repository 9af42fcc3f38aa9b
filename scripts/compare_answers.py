"""Compares what two trees answer to the same tests: exit codes, reports and what is shown.

    ANSWERS=/tmp/before.jsonl pytest -n 2 -p support.answers_corpus tests/integration
    python scripts/compare_answers.py /tmp/before.jsonl /tmp/after.jsonl [/tmp/before-again.jsonl]

A third file, from a second run of the first tree, says which lines differ by themselves: those are
left out. Prints every other difference, and exits with 1 if there is one.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

MEASURED = re.compile("latency|ttft|seconds|_ms|started|finished|duration")
"""In the names of fields and columns that differ between two runs of one tree."""
CHANGES = (
    (re.escape(tempfile.gettempdir()) + r"/[^\s\"'<>)]*", "<path>"),
    (r"\b(?=[0-9]*[a-f])[0-9a-f]{7,64}\b", "<digest>"),
    (r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", "<time>"),
    (r"\b\d+(\.\d+)? ?(s|ms)\b", "<duration>"),
    (r"\b\d+(\.\d+)?/s\b", "<speed>"),
    (r"(127\.0\.0\.1|localhost):\d+", "<server>"),
    (rf'"[^"]*({MEASURED.pattern})[^"]*": [^,\n]+', "<measured>"),
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
            (test, _stable(name)): _stable(_comparable(name, text))
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
    """Return a report without what is measured, and the rows of CSV in order: equal runs differ
    there."""
    if name.endswith(".csv"):
        rows = list(csv.reader(io.StringIO(text)))
        kept = [
            at for at, title in enumerate(rows[0] if rows else []) if not MEASURED.search(title)
        ]
        return "\n".join(sorted(repr([row[at] for at in kept if at < len(row)]) for row in rows))
    if name.endswith(".json"):
        try:
            return json.dumps(_unmeasured(json.loads(text)), indent=1, ensure_ascii=False)
        except ValueError:  # a test may leave a broken file
            return text
    return re.sub(r"latency p\d+ [^;|\n]*", "latency", text)


def _unmeasured(value: Any) -> Any:
    """Leave out the fields that are measured, and every object that names a latency."""
    if isinstance(value, dict):
        return {key: _unmeasured(each) for key, each in value.items() if not MEASURED.search(key)}
    if isinstance(value, list):
        return [_unmeasured(each) for each in value if not _is_of_latency(each)]
    return value


def _is_of_latency(value: Any) -> bool:
    named = value.values() if isinstance(value, dict) else ()
    return any(isinstance(each, str) and each.startswith("latency_p") for each in named)


def _unstable(first: dict[tuple[str, str], str], second: dict[tuple[str, str], str]) -> set[Any]:
    return {key for key in {*first, *second} if first.get(key) != second.get(key)}


def _differences(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=0)
    cut = [line[:300] for line in lines][2:]
    return cut[:SHOWN] + ([f"… {len(cut) - SHOWN} more lines"] if len(cut) > SHOWN else [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
