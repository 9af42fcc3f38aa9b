"""What a comment says of the push before, and what nobody can make it say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import results as examples

from gatekeeper.gate.results.parts import Calls, FixtureResult
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.markdown.comment import comment_text, render_summary
from gatekeeper.reports.markdown.since import since_last_push, state_line

LIMIT = 65_536
A, B, C = ("a" * 40, "b" * 40, "c" * 40)


def check(
    sha: str, states: str, name: str = "speech-tag", calls: int = 100, cost: float | None = 0.002
) -> GateResult:
    """Return a check of one contract. `states` has a letter for each fixture: Broke, Passes, or
    is Unknown."""
    found = [_fixture(at, letter) for at, letter in enumerate(states)]
    contract = replace(examples.failing_contract(name), fixtures=tuple(found))
    return examples.result(contract, head_sha=sha, calls=Calls(made=calls), cost_usd=cost)


def _fixture(at: int, letter: str) -> FixtureResult:
    made = replace(examples.fixture(at, "broke"), id=f"f{at}")
    if letter == "U":
        return replace(made, change=None, head_passed=None)
    return made if letter == "B" else replace(made, change="same", head_passed=True)


def after(*pushes: GateResult) -> str:
    """Return the comment after these pushes, each of which replaces the one before."""
    body = ""
    for push in pushes:
        body = since_last_push(comment_text(push), body, LIMIT)
    return body


def said(body: str) -> str:
    found = re.search(r"^\*\*Since .*$", body, re.MULTILINE)
    return found[0] if found else ""


def test_the_first_comment_says_nothing_and_remembers_no_text() -> None:
    body = after(check(A, "BBP"))
    assert said(body) == ""
    hidden = re.search(r"<!-- gatekeeper-state:.* -->", body)
    assert hidden
    assert not re.search("speech|f0|tag", hidden[0])
    assert "gatekeeper-state" not in render_summary(check(A, "BBP"))


def test_a_push_says_what_fails_no_longer_newly_and_still() -> None:
    body = after(check(A, "BBBPP"), check(B, "PBUBP", calls=1200, cost=0.0084))
    assert said(body) == (
        "**Since `aaaaaaaaaa`** (❌ fail): fixtures that fail: 1 no longer, 1 newly, 1 still, "
        "1 not measured again, calls 100 → 1,200, cost 0.0020 → 0.0084 USD."
    )
    assert body.index("> [!CAUTION]") < body.index("**Since") < body.index("| Contract |")


def test_a_contract_that_is_affected_no_more_is_not_called_passing() -> None:
    body = after(check(A, "BB"), check(B, "PP", name="other", cost=None))
    assert "fixtures that fail: 2 no longer affected, calls" in said(body)
    assert "cost" not in said(body)
    assert "no fixture failed then or fails now" in said(after(check(A, "PP"), check(B, "PU")))


def test_the_same_push_again_is_compared_with_the_push_before() -> None:
    first, again = check(B, "PB"), check(B, "PP")
    assert said(after(check(A, "BB"), first, again)) == said(after(check(A, "BB"), again))
    assert said(after(first, again)) == ""
    twice = after(check(A, "BB"), first, first)
    assert twice == after(check(A, "BB"), first)
    assert said(after(check(A, "BB"), first, check(C, "BB"))).startswith("**Since `bbbbbbbbbb`**")


def test_an_error_or_progress_forgets_nothing() -> None:
    kept = since_last_push("## 🚫 Could not measure\n", after(check(A, "BBP")), LIMIT)
    assert said(since_last_push(comment_text(check(B, "BPP")), kept, LIMIT)).startswith(
        "**Since `aaaaaaaaaa`** (❌ fail): fixtures that fail: 1 no longer, 1 still"
    )


def test_progress_above_the_comment_before_says_nothing_twice() -> None:
    body = after(check(A, "BBP"), check(B, "BPP"))
    assert since_last_push(f"> 40 of 100 calls\n\n{body}", body, LIMIT).count("**Since") == 1


def test_of_too_many_fixtures_only_the_numbers_are_compared() -> None:
    body = after(check(A, "B" * 900), check(B, "P" * 900))
    assert said(body).startswith("**Since `aaaaaaaaaa`** (❌ fail): calls 100 → 100")
    unknown = after(check(A, "BB" + "P" * 900), check(B, "BU" + "U" * 900))
    assert "1 still, 1 not measured again" in said(unknown)


def test_the_longest_state_is_found_again() -> None:
    states = "B" * 190 + "U" * 190
    body = after(check(A, states), check(B, states), check(C, states))
    assert said(body).startswith("**Since `bbbbbbbbbb`**")


def test_a_full_comment_stays_within_its_limit() -> None:
    full = after(examples.HUGE, replace(examples.HUGE, head_sha=B))
    assert len(full) <= LIMIT
    body = comment_text(check(B, "P"))
    assert since_last_push(body, comment_text(check(A, "B")), len(body) + 10) == body


def test_without_a_contract_there_is_nothing_to_remember() -> None:
    quiet: tuple[ContractResult, ...] = ()
    assert state_line(replace(examples.QUIET, contracts=quiet)) == ""
    assert state_line(examples.RUN) == ""


def forged(**changes: Any) -> str:
    state = json.loads(state_line(check(A, "BP")).split(":", 1)[1].removesuffix(" -->"))
    return f"<!-- gatekeeper-state:{json.dumps({**state, **changes})} -->"


@pytest.mark.parametrize(
    "line",
    [
        forged(sha="x](http://evil)"),
        forged(verdict="<b>"),
        forged(verdict=["pass"]),
        forged(calls="1"),
        forged(calls=-1),
        forged(calls=True),
        forged(cost=float("nan")),
        forged(cost="0"),
        forged(failing=[["a"]]),
        forged(failing={"--><img src=x>": []}),
        forged(unknown={"0123456789": ["--><img src=x>"]}),
        forged(failing={"a": [["b"]]}),
        forged(unknown=3),
        "<!-- gatekeeper-state:[] -->",
        "<!-- gatekeeper-state:{" + "[" * 8_000 + "} -->",
    ],
)
def test_what_somebody_wrote_into_the_comment_counts_as_none(line: str) -> None:
    body = comment_text(check(B, "PP"))
    assert since_last_push(body, line, LIMIT) == body


def test_what_else_is_in_the_line_is_not_carried_on() -> None:
    line = forged(more="--><img src=x>", before={"sha": A, "x": "--><img src=x>"})
    assert "<img" not in since_last_push("## 🚫 Could not measure\n", line, LIMIT)
    assert "<img" not in since_last_push(comment_text(check(B, "P")), line, LIMIT)


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_comment_before_breaks_the_new_one(text: str, more: str) -> None:
    body = comment_text(check(B, "PP"))
    for line in (text, forged(sha=text), forged(failing={text: [more]})):
        made = since_last_push(body, line, LIMIT)
        assert made.startswith("## ❌ Do not merge")
        assert "http" not in said(made)
