"""Patterns, schemas and long texts that would take all time or memory end, and are no pass."""

from __future__ import annotations

import gc
import json
import resource
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from support.machine_needs import LINUX
from unit.checks.conftest import apply_check
from unit.checks.test_evaluate import contract, spec

from gatekeeper.checks import evaluate as evaluation
from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.reading import pattern, pattern_worker
from gatekeeper.checks.reading.pattern import TIMEOUTS_ALLOWED, TimedPattern, is_simple
from gatekeeper.contract.values.definition import Fixture
from gatekeeper.errors import ContractError
from gatekeeper.sandbox.process import Answers

HOSTILE = {
    "nested counts": "(((a{1000}){1000}){1000}){1000}",
    "three counts": "((a{1000}){1000}){1000}",
    "counts in a lookbehind": "(?<=((a{1000}){1000}){1000})b",
    "counts beside each other": "(?:(?:a{900}b{900}){900}c{900}){900}",
    "optional groups": "((((a?){999}b?){999}c?){999}d?){999}",
    "many words": "|".join(f"w{n}x{n}" for n in range(300_000)),
    "set operations": "[[a-z]--[aeiou]]" * 60_000,
    "parentheses": "(" * 5_000 + "a" + ")" * 5_000,
    "fuzzy counts": "(?e)(?:((?:ab){1000}){1000}){e<=900}",
    "a class of many": "(?i)(?:[" + "".join(map(chr, range(0x4E00, 0x9FFF, 2))) + "]){9999}(a{1000}){9999999}",  # noqa: E501
}  # fmt: skip


@pytest.mark.long
@LINUX.mark
@pytest.mark.parametrize("name", HOSTILE)
def test_a_pattern_too_large_does_not_compile(name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with suppress(ParameterError):  # a faster machine may compile one of them
        TimedPattern(HOSTILE[name])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000  # kB
    assert TimedPattern("(a|b)c").search("xbc")


@pytest.mark.parametrize("place", ["pattern", "patternProperties"])
def test_a_schema_s_patterns_are_compiled_in_the_child_too(place: str) -> None:
    hostile = HOSTILE["nested counts"]
    schema = {place: hostile if place == "pattern" else {hostile: {}}}
    with pytest.raises(ParameterError, match="cannot be compiled"):
        apply_check("json_schema", "{}", schema=schema)


@pytest.mark.long
@pytest.mark.parametrize(
    ("hostile", "text"),
    [
        ("(?:(a)|(b))*[c-f]", "ab" * 2_000_000),
        ("((((((((a))))))))*[c-f]", "a" * 4_000_000),
        ("(?:a|b|c){1,10000000}[d-f]", "abc" * 1_000_000),
        ("(?P<x>(?:a(?&x)|b(?&x))?)[x-z]", "ab" * 500_000),
        ("(a+)+[x-z]", "a" * 5_000),
        ("a*a*a*a*a*a*[x-z]", "a" * 50_000),
    ],
)
def test_a_search_that_takes_too_much_is_undetermined(hostile: str, text: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    finding = apply_check("regex", text, pattern=hostile)
    assert finding.passed is None
    assert "did not finish" in finding.message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


@pytest.mark.parametrize("stalled", [Answers([], "killed"), Answers([{"fault": "time"}])])
def test_a_search_is_tried_again_after_the_machine_stalled(
    stalled: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = TimedPattern("(a)b")
    answers = iter([stalled, Answers([{"found": True}])])
    monkeypatch.setattr(pattern._CHILD, "ask", lambda request: next(answers))
    assert made.search("ab") is True


def test_a_search_in_this_process_is_tried_again_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class StallsOnce:
        tries = 0

        def search(self, text: str, timeout: float) -> object:
            self.tries += 1
            if self.tries == 1:
                raise TimeoutError
            return None

    made, compiled = TimedPattern("ab"), StallsOnce()
    monkeypatch.setattr(made, "_compiled", compiled)
    assert made.search("ab") is False
    assert compiled.tries == 2


def test_a_machine_that_stalls_often_takes_no_sound_pattern_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = TimedPattern("(a)b")
    answers = [Answers([], "killed"), Answers([{"found": True}])] * TIMEOUTS_ALLOWED
    monkeypatch.setattr(pattern._CHILD, "ask", lambda request: answers.pop(0))
    assert all(made.search("ab") for _ in range(TIMEOUTS_ALLOWED))


def test_a_search_that_is_killed_twice_is_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made = TimedPattern("(a)b")
    monkeypatch.setattr(pattern._CHILD, "ask", lambda request: Answers([], "killed"))
    with pytest.raises(TimeoutError, match="did not finish within"):
        made.search("ab")
    with pytest.raises(TimeoutError, match="does not try the pattern again"):
        made.search("ab")
    with pytest.raises(ParameterError, match="killed"):
        TimedPattern("(a)c")


def test_memory_that_a_search_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made = TimedPattern("(a)b")
    monkeypatch.setattr(pattern._CHILD, "ask", lambda request: Answers([{"fault": "memory"}]))
    with pytest.raises(TimeoutError, match="memory"):
        made.search("ab")


def test_what_cannot_be_sent_is_undetermined() -> None:
    with pytest.raises(TimeoutError, match="cannot be applied"):
        TimedPattern("(a)b").search("x" * 65_000_000)
    with pytest.raises(ParameterError, match="cannot be compiled"):
        TimedPattern("(a)" * 22_000_000)


def test_a_contract_whose_patterns_take_all_time_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = iter(range(0, 10_000, 15))
    monkeypatch.setattr(evaluation, "compile_seconds", lambda: float(next(seconds)))
    fixtures = tuple(Fixture(f"f{n}", {"x": str(n)}) for n in range(9))
    with pytest.raises(ContractError, match="takes too much time"):
        evaluation.prepare(contract(spec("regex", pattern="(a{{ x }})"), fixtures=fixtures))


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        (r"^\d{4}-\d\d-\d\d$", True),
        (r"ok|yes\.", True),
        ("[^a-z_]+?\\b", True),
        ("é*", True),
        ("", True),
        ("(a)", False),
        ("a{1000}", False),
        ("a{2}{3}", False),
        ("(?i)a", False),
        ("a{e<=1}", False),
        (r"\p{L}", False),
        (r"\L<words>", False),
        (r"\N{BULLET}", False),
        ("[[a-z]--[a]]", False),
        ("[a-z--b]", False),
        ("[a||b]", False),
        ("a" * 201, False),
        ("[" * 150, False),
    ],
)
def test_what_is_simple(text: str, simple: bool) -> None:
    assert is_simple(text) is simple


PIECES = st.lists(
    st.sampled_from(
        ["a", "b", ".", r"\d", "[ab]", "*", "+?", "{1,3}", "^", "$", "|", "(", ")", "é"]
    )
).map("".join)


@given(PIECES, st.text("ab1é\n", max_size=12), st.booleans())
def test_both_processes_find_the_same(text: str, searched: str, fold: bool) -> None:
    request = {"pattern": text, "ignore_case": fold, "text": searched, "timeout": 5.0}
    (there,) = pattern._CHILD.ask(request).responses
    try:
        found = TimedPattern(text, ignore_case=fold).search(searched)
    except ParameterError:
        assert there["error"] is not None
    else:
        assert there["found"] is found
        assert found is (regex.search(text, searched, regex.I if fold else 0) is not None)


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    """What a limit raises is lost if it comes while hypothesis's callback of a collection runs."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collection")
def test_the_service_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_worker, "allow_cpu", lambda seconds: None)

    def ask(pattern: str, **more: Any) -> Any:
        return next(pattern_worker.answer({"pattern": pattern, "ignore_case": True, **more}))

    assert ask("(a)")["error"] is None
    assert ask("(a")["error"] is not None
    assert ask("(" * 5_000 + ")" * 5_000)["overrun"]
    assert ask("(A)", text="xa", timeout=1)["found"] is True
    assert ask("(a+)+[x-z]", text="a" * 5_000, timeout=0.01)["fault"] == "time"
    monkeypatch.setattr(pattern_worker, "COMPILE_SECONDS", 0.01)
    assert "time" in ask("|".join(f"w{n}" for n in range(9_000)))["error"]


@pytest.mark.parametrize("length", [400_000, 60_000])
def test_texts_too_long_to_compare_are_undetermined(length: int) -> None:
    finding = apply_check("similarity", "ab" * (length // 2), value="ba" * (length // 2))
    assert (finding.passed, finding.score) == (None, None)
    assert "too long to compare" in finding.message


def test_a_long_text_is_compared_with_a_short_one_and_with_itself() -> None:
    assert apply_check("similarity", "ab" * 5_000_000, value="ab").passed is False
    assert apply_check("similarity", "ab" * 200_000, value="ab" * 200_000).score == 1.0


LARGE = json.dumps(list(range(1_200_000)))
SCHEMAS = {
    "unique items": ({"uniqueItems": True}, LARGE),
    "unique numbers of one hash": (
        {"uniqueItems": True}, json.dumps([n * (2**61 - 1) for n in range(1, 60_000)]),
    ),
    "any of many": ({"anyOf": [{"type": "string"}] * 5_000}, LARGE),
    "any of many deep": (
        {"anyOf": [{"anyOf": [{"anyOf": [{"maxItems": 1}] * 20}] * 20}] * 20}, LARGE,
    ),
    "many values": ({"items": {"enum": [f"v{n}" for n in range(20_000)]}}, LARGE),
    "many names": (
        {"items": {"properties": {f"p{n}": {} for n in range(15_000)}}},
        json.dumps([{}] * 1_000_000),
    ),
    "items again": ({"allOf": [{"items": {"type": "integer"}}] * 500}, LARGE),
    "a reference": (
        {"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
        "[" * 90 + LARGE + "]" * 90,
    ),
    "names and patterns": (
        {"patternProperties": {f"(p{n}|q)": {} for n in range(200)}, "additionalProperties": {}},
        json.dumps({f"x{n}": 1 for n in range(200_000)}),
    ),
    "contains": ({"contains": {"contains": {"const": 1}}}, json.dumps([[0] * 900] * 900)),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_ends_on_a_large_output(name: str) -> None:
    schema, output = SCHEMAS[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    finding = apply_check("json_schema", output, schema=schema)
    assert finding.passed is not False or "unique" not in name
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 900_000  # kB


def test_a_schema_of_too_many_parts_is_refused() -> None:
    with pytest.raises(ParameterError, match="parts"):
        apply_check("json_schema", "{}", schema={"anyOf": [{"type": "string"}] * 100_000})


def test_an_output_that_is_a_long_regular_expression_is_not_tried() -> None:
    schema = {"format": "regex"}
    for output, passed in (('"a+"', True), ('"("', False), (json.dumps("a|" * 9_999), None)):
        assert apply_check("json_schema", output, schema=schema, formats=True).passed is passed
