"""Whatever a model or a judge answers, every check gives a finding, without raising.

Memory is bounded, too. Each example of each check of the registry is tried: a new check is tested
as soon as it is listed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.check_examples import all_examples, answered_text, judged, prepared

from gatekeeper.checks.registry import CHECKS

MEGABYTE = 1_000_000
LARGE = 500_000
MOST_MEMORY = 200 * MEGABYTE

HOSTILE = {
    "empty": "",
    "white space": " \n\t\u2003",
    "unicode": "Ünïcödé 漢字 \u202eright to left\u202c 👩‍👩‍👧 e\u0301 \u0130\u0131 ß ﬀ",
    "control characters": "\x00\x01\x1b[31m\x7f\ufeff",
    "half a surrogate pair": "a\ud83d b \udc00",
    "escaped surrogate": '{"a": "\\ud83d", "\\udc00": 1}',
    "1 MB of one letter": "a" * MEGABYTE,
    "1 MB of words": "word " * (MEGABYTE // 5),
    "1 MB of different words": " ".join(str(n) for n in range(150_000)),
    "1 MB of lines": "a\n" * (MEGABYTE // 2),
    "1 MB of JSON": '{"a": [' + "1," * (MEGABYTE // 2) + "1]}",
    "1 MB of digits": "4111 1111 1111 1111 " * (MEGABYTE // 20),
    "1 MB of addresses": "a@b.example 10.0.0.1 " * (MEGABYTE // 21),
    "1 MB of markup": "*a_[`<|" * (MEGABYTE // 7),
    "deep JSON": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "deep brackets": "(" * 100_000,
    "deep tags": "<a>" * 100_000,
    "deep quotation": ">" * 100_000 + " a",
    "duplicate keys": '{"a": 1, "a": 2}',
    "not a number": '{"a": NaN, "b": Infinity, "c": -Infinity}',
    "huge numbers": '{"a": 1e999, "b": ' + "9" * 10_000 + "}",
    "entity bomb": (
        '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
        + "".join(f'<!ENTITY {c} "{f"&{p};" * 10}">' for p, c in zip("abcdefgh", "bcdefghi"))  # noqa: B905
        + "]><a>&i;</a>"
    ),
    "alias bomb": "\n".join(
        ["a: &a [x, x]"]
        + [f"{c}: &{c} [{f'*{p}, ' * 9}*{p}]" for p, c in zip("abcdefgh", "bcdefghi")]  # noqa: B905
    ),
    "catastrophic for patterns": "a" * 5_000 + "!" + "0" * 5_000 + "-" * 5_000 + "@" * 5_000,
}


@pytest.mark.parametrize(("name", "at"), all_examples())
def test_every_check_answers_to_hostile_outputs(name, at):
    evaluator = prepared(name, at)
    example = CHECKS[name].examples[at]
    for label, text in HOSTILE.items():
        if at and len(text) >= LARGE:
            continue  # the first example of a check is enough
        sample = answered_text(example, text)
        before = _reset_peak_memory()
        if evaluator.questions(sample):
            sample = judged(evaluator, sample, text)
        (result,) = evaluator.evaluate(sample)
        assert result.passed in (True, False, None), label
        assert result.score is None or 0 <= result.score <= 1, label
        assert len(result.message) < 2_000, label
        result.message.encode("utf-8")
        assert before is None or _peak_memory() - before < MOST_MEMORY, label


def _reset_peak_memory() -> int | None:
    """Forget the highest use of memory so far. Return the use now; None if the system has neither
    (it needs Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _peak_memory()


def _peak_memory() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")
