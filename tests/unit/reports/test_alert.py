"""What of a run is worth a message, and the message."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gatekeeper.gate.results.result import ContractResult, GateResult, Reason
from gatekeeper.reports.news import (
    LONGEST,
    News,
    news_of,
    notification_body,
    notification_title,
    wanted,
)

WORSE = Reason("regression", "It got worse on 7 of 20 fixtures.", "fail")
SPENT = Reason("budget", "The error budget is spent.", "fail")
SLOW = Reason("slo", "It is too slow.", "fail")


def contract(name: str, *reasons: Reason, verdict: str = "fail") -> ContractResult:
    return ContractResult(name, f"contracts/{name}.yaml", verdict, reasons)  # type: ignore[arg-type]


def result(*contracts: ContractResult) -> GateResult:
    started = datetime(2026, 1, 2, tzinfo=UTC)
    return GateResult(
        kind="check",
        verdict="fail",
        exit_code=1,
        base_sha="b" * 40,
        head_sha="a" * 40,
        started=started,
        seconds=1.0,
        contracts=contracts,
    )


def test_regressions_and_spent_budgets_are_news_and_nothing_else_is() -> None:
    found = news_of(
        result(contract("one", SPENT, SLOW), contract("two", WORSE), contract("three", SLOW))
    )
    assert [(n.kind, n.contract) for n in found] == [("freeze", "one"), ("regression", "two")]


def test_what_was_waived_is_no_news() -> None:
    waived = contract("one", Reason("waived", "Waived by @a", "pass"), WORSE, verdict="pass")
    assert news_of(result(waived)) == ()


def test_a_regression_that_the_policy_lets_through_is_no_news() -> None:
    assert news_of(result(contract("one", replace(WORSE, verdict="pass"), SLOW))) == ()


def test_the_worst_comes_first_and_what_is_not_wanted_is_left_out() -> None:
    news = [News(kind, "one", "text") for kind in ("drift", "freeze", "regression")]
    assert [n.kind for n in wanted(news, ("drift", "regression"))] == ["regression", "drift"]


def test_the_message_says_where_what_and_how_many() -> None:
    news = [News("regression", "one", "It got worse."), News("drift", "two", "It drifted.")]
    assert notification_title(news, "octo/prompts") == (
        "octo/prompts: a change made a prompt worse (and 1 more)"
    )
    body, wrong = notification_body(news, commit="a" * 40, url="https://example.org/run/1")
    assert wrong is None
    assert body == (
        "one: It got worse.\ntwo: It drifted.\nCommit aaaaaaaaaa\nhttps://example.org/run/1"
    )


def test_a_template_of_ones_own_takes_its_place() -> None:
    template = "{{ news | length }} in {{ commit }}: {{ news[0].kind }}"
    body, wrong = notification_body(
        [News("freeze", "one", "text")], commit="b" * 40, template=template
    )
    assert (body, wrong) == ("1 in bbbbbbbbbb: freeze", None)


@pytest.mark.parametrize(
    "template",
    ["{% for", "{{ nothing }}", "{{ news.__class__ }}", "{% for a in range(10**7) %}x{% endfor %}"],
)
def test_a_bad_template_is_told_and_the_message_goes_out(template: str) -> None:
    body, wrong = notification_body([News("freeze", "one", "spent")], template=template)
    assert body == "one: spent"
    assert wrong is not None
    assert "the template for notifications cannot be rendered" in wrong


@pytest.mark.parametrize("hostile", ["@everyone", "<!channel>", "<https://evil|fine>", "a\u202eb"])
def test_what_a_pull_request_wrote_mentions_nobody_and_hides_nothing(hostile: str) -> None:
    body, _ = notification_body([News("regression", hostile, hostile)])
    title = notification_title([News("regression", "one", "text")], hostile)
    for text in (body, title):
        assert hostile not in text
        assert "<" not in text


def test_a_flood_is_cut() -> None:
    news = [News("regression", "one", "x" * 100_000)] * 50
    assert len(notification_body(news)[0]) <= LONGEST
