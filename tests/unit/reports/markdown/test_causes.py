"""A line for each cause that several failures have, in however many contracts they are."""

from __future__ import annotations

from dataclasses import replace

from support import results as examples
from support.report_texts import comment_of

from gatekeeper.gate.results.links import Links
from gatekeeper.gate.results.parts import FixtureFailure, FixtureResult
from gatekeeper.gate.results.result import ContractResult
from gatekeeper.reports.markdown.causes import shared_causes


def _fails(at: int, check: str, message: str, **other: object) -> FixtureResult:
    failures = (
        FixtureFailure("base", "another", "of base", ""),
        FixtureFailure("head", check, message, "said"),
    )
    made = replace(examples.fixture(at, "broke"), id=f"f{at}", failures=failures)
    return replace(made, **other)  # type: ignore[arg-type]


def _contract(name: str, *fixtures: FixtureResult) -> ContractResult:
    return replace(examples.failing_contract(name), fixtures=fixtures)


def test_failures_of_one_cause_are_one_line_across_contracts() -> None:
    one = _contract(
        "one",
        _fails(0, "valid json", "not JSON: expected value at 1:1; got 'Sure, here'"),
        _fails(1, "valid json", "not JSON: expected value at 3:12; got 'Of course'"),
        _fails(2, "is short", "has 120 characters, at most 60"),
    )
    two = _contract("two", _fails(3, "valid json", 'not JSON: expected value at 1:9; got "It\'s"'))
    said = (
        "**Same cause:**\n\n- `valid json` fails on 3 fixtures (`one` 2, `two` 1): not JSON: "
        "expected value at…\n- 1 more fails for another cause"
    )
    result = examples.result(one, two)
    assert shared_causes(result) == said
    comment = comment_of(result)
    assert comment.index("**Same cause:**") < comment.index("**For example**")


def test_other_checks_and_other_messages_are_other_causes() -> None:
    fixtures = [
        _fails(0, "is short", "has 120 characters, at most 60"),
        _fails(1, "is short", "has 80 characters, at most 60"),
        _fails(2, "is short", "is empty"),
        _fails(3, "is polite", "has 80 characters, at most 60"),
        _fails(4, "is polite", "has 81 characters, at most 60"),
    ]
    assert shared_causes(examples.result(_contract("one", *fixtures))) == (
        "**Same cause:**\n\n- `is short` fails on 2 fixtures: has…\n- `is polite` fails on 2 "
        "fixtures: has 8…\n- 1 more fails for another cause"
    )
    single = _contract("one", fixtures[0], fixtures[2])
    assert shared_causes(examples.result(single)) == ""


def test_a_quote_in_a_message_is_whole_and_does_not_part_failures() -> None:
    said = ('not JSON: "The id is \\"A\\""', 'not JSON: "The id is 7"', 'not JSON: "The \\"a"')
    one = _contract("one", *(_fails(at, "is an order", text) for at, text in enumerate(said)))
    two = _contract("two", *(_fails(at, "is polite", "too curt") for at in range(3, 5)))
    assert shared_causes(examples.result(one, two)) == (
        '**Same cause:**\n\n- `is an order` fails on 3 fixtures of `one`: not JSON: "The…"\n'
        "- `is polite` fails on 2 fixtures of `two`: too curt"
    )


def test_what_fails_on_base_as_well_or_decides_nothing_is_no_cause() -> None:
    before = [_fails(at, "c", "no", change="same", base_passed=False) for at in range(4)]
    assert shared_causes(examples.result(_contract("one", *before))) == ""
    new = replace(_contract("one", *before), base=None)
    assert shared_causes(examples.result(new)) == "**Same cause:** `c` fails on 4 fixtures: no"
    assert shared_causes(examples.result(replace(new, verdict="pass"), verdict="pass")) == ""


def test_failed_calls_of_a_run_without_a_verdict_have_a_cause() -> None:
    def lost(name: str, wait: int) -> ContractResult:
        fixture = _fails(0, "c", "m", errors=(f"429: try again in {wait} s",), failures=())
        return replace(_contract(name, fixture, fixture), verdict="error")

    result = examples.result(lost("one", 3), lost("two", 12), verdict="error")
    assert shared_causes(result) == (
        "**Same cause:** calls fail on 4 fixtures (`one` 2, `two` 2): 429: try again in…"
    )


def test_a_hostile_message_stays_a_message() -> None:
    evil = "![x](http://evil) <img src=x> @octocat `a` | **b** "
    fixtures = [_fails(at, evil, f"{evil}{at}") for at in range(2)]
    links = Links(report="https://r.example/r.html", opens=True)
    said = shared_causes(examples.result(_contract("one", *fixtures), links=links))
    told = said.partition(" fails on ")[2]
    assert not [markup for markup in ("<img", "[x](", "@octocat", " **b") if markup in told]
    assert "](https://r.example/r.html#check=one/%21%5Bx%5D%28http" in said
