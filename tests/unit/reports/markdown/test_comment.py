"""What a reviewer reads on the pull request."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support import early_results as early_examples
from support import results as examples
from support.report_texts import comment_of, row_of
from support.ticket_run import PROMPT, run_result

from gatekeeper import __version__
from gatekeeper.gate.decision.verdict import waived
from gatekeeper.gate.results.parts import FixtureFailure, PreferenceResult
from gatekeeper.gate.results.result import Calls, GateResult, Reason, Waiver
from gatekeeper.reports.formats.junit import render_junit
from gatekeeper.reports.formats.result_json import result_document, result_schema
from gatekeeper.reports.markdown.comment import (
    COMMENT_LIMIT,
    SUMMARY_LIMIT,
    render_comment,
    render_summary,
)
from gatekeeper.reports.markdown.page import Page, byte_length
from gatekeeper.stats.objectives.error_budget import ErrorBudget


def _preference(check: str) -> PreferenceResult:
    return PreferenceResult(
        check, ("a/m",), 9, 9, 0, 0, None, None, 0.002, 0.05, -1.0, True, True, True, "regressed"
    )


def _is_whole(markdown: str) -> bool:
    """Every fold and fence that opens also closes, and only the gate's own HTML is there."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    html = "".join(t.content for t in tokens if t.type == "html_block")
    inline = {
        child.content
        for token in tokens
        for child in token.children or []
        if child.type == "html_inline"
    }
    assert inline <= {"<br>", "<sub>", "</sub>"}
    return html.count("<details>") == html.count("</details>")


def test_a_failure_is_understood_from_the_first_lines() -> None:
    lines = comment_of(examples.FAIL).splitlines()
    assert lines[0] == "<!-- gatekeeper:gatekeeper -->"
    assert lines[1] == "## ❌ Do not merge: `speech-tag` got worse"
    assert lines[3] == "> [!CAUTION]"
    assert (
        "38 of 40 → 30 of 40 fixtures pass, **−20 points** (95 % interval [−28.3, −12.9])"
        in lines[4]
    )
    assert "p = 0.011, more than chance explains" in lines[4]
    assert lines[6].startswith("> **What to do:** Look at the fixtures that broke")


def test_one_row_a_contract_the_worst_first() -> None:
    comment = comment_of(examples.FAIL)
    assert comment.index("| `speech-tag`") < comment.index("| `order-id`")
    assert row_of(comment, "speech-tag") == [
        "`speech-tag`",
        "95 %<br>38/40",
        "75 %<br>30/40",
        "**−20 points**<br>[−28.3, −12.9]",
        "0.011",
        "❌ success rate 77.5 %, wanted ≥ 95 %; 1 met",
        "61.7 %",
        "❌ fail",
    ]
    # What is not significant says what could have been seen.
    assert row_of(comment, "order-id")[4] == "0.88<br>shows ≥ 12 points"


def test_the_details_show_the_failing_check_and_both_outputs() -> None:
    comment = comment_of(examples.FAIL)
    assert "❌ 9 fixtures broke in <code>speech-tag</code>" in comment
    assert "✅ 1 fixture fixed in <code>speech-tag</code>" in comment
    assert "1 fixture fails on base as well in <code>speech-tag</code>" in comment
    broke = row_of(comment, "nn-000")
    assert broke[1:3] == ["5/5", "1/5"]
    assert broke[3].startswith("`is a tag`: the output does not match")
    assert broke[4:] == ["`NN`", "`The word “fox” is a noun.`"]


def test_a_long_output_gets_a_block_of_its_own() -> None:
    comment = comment_of(examples.PASS)
    assert "Head said:\n\n```text\nI am sorry,\n\nbut `A-17` is not\nan order.\n```" in comment


def test_short_and_long_outputs_are_in_one_list() -> None:
    contract = examples.failing_contract()
    long = examples.fixture(99, "broke", head_output="word " * 100)
    contract = replace(contract, fixtures=(*contract.fixtures, long))
    comment = comment_of(examples.result(contract))
    assert comment.count("<summary>❌ 10 fixtures broke</summary>") == 1
    assert comment.index("`nn-000` (base") < comment.index("word word") < comment.index("diff of")
    assert _is_whole(comment)


def test_several_failing_checks_are_counted() -> None:
    fixture = examples.fixture(0, "broke")
    more = FixtureFailure("head", "is short", "", "x")
    fixture = replace(fixture, failures=(*fixture.failures, more))
    contract = replace(examples.failing_contract(), fixtures=(fixture,))
    assert "`is a tag` (+1 more): the output" in comment_of(examples.result(contract))


def test_the_prompt_diff_goes_by_section() -> None:
    comment = comment_of(examples.FAIL)
    assert "Prompt diff of <code>prompts/speech-tag.prompty</code>: 1 section changed" in comment
    assert "`system › # Rules`\n\n```diff\n@@ -7,4 +7,4 @@" in comment
    assert "-- Never explain.\n+- Be friendly" in comment
    assert comment.count("Prompt diff of") == 2


def test_a_prompt_shared_by_contracts_is_diffed_once() -> None:
    two = examples.result(examples.failing_contract(), examples.failing_contract("other"))
    assert comment_of(two).count("Prompt diff of") == 1


def test_a_changed_model_is_named() -> None:
    contract = examples.failing_contract()
    head = examples.arm(30, 40, model="openai/llama3.2:1b")
    comment = comment_of(examples.result(replace(contract, head=head)))
    assert "Model of `speech-tag`: `openai/gpt-4o-mini` → `openai/llama3.2:1b`" in comment
    assert "Prompt diff" not in comment


def test_the_footer_names_what_was_checked() -> None:
    footer = comment_of(examples.FAIL).splitlines()[-1]
    assert footer == (
        "<sub>`9be31f07c6` against `0f3a9c1de2` · 2026-03-02 10:31 UTC, 42 s · "
        "400 calls made, 120 not needed · cost 0.0084 USD · 12 other contracts not affected · "
        f"gatekeeper {__version__}</sub>"
    )


def test_an_unknown_cost_is_unknown() -> None:
    assert "cost unknown" in comment_of(replace(examples.FAIL, cost_usd=None))


def test_inconclusive_says_what_could_have_been_seen() -> None:
    comment = comment_of(examples.INCONCLUSIVE)
    assert "## ⚠️ Not enough evidence: the policy allows the merge" in comment
    assert "This run could only have shown a drop of 31 points or more over all inputs." in comment
    assert (
        "**What to do:** Look at the 2 broken fixtures below. "
        "Add fixtures to detect smaller drops: 134 fixtures would" in comment
    )
    paired = examples.paired(20, 2, 0, 0.25, fixtures_needed=20)
    enough = replace(examples.undecided_contract(), paired=paired)
    assert "Add fixtures or samples" in comment_of(examples.result(enough))
    blocked = comment_of(replace(examples.INCONCLUSIVE, exit_code=1))
    assert "Not enough evidence: the policy blocks the merge" in blocked


def test_a_doubtful_objective_is_quoted() -> None:
    reason = Reason("slo", "Objective in doubt: success rate 93 %.", "inconclusive")
    contract = replace(examples.undecided_contract(), reasons=(reason,))
    assert "`support-answer`: Objective in doubt: success rate 93 %." in comment_of(
        examples.result(contract)
    )


def test_an_error_is_no_verdict_on_the_prompt() -> None:
    comment = comment_of(examples.ERROR)
    assert "## 🚫 Could not measure\n" in comment
    assert "`speech-tag` could not be measured: No sample could be measured on head." in comment
    assert "A failed measurement says nothing about the prompt." in comment
    assert "- 🚫 *limit*: The measurement is incomplete: 20 minutes are over." in comment
    assert "- `nn-000`: `429 Too Many Requests: slow down` (+1 more)" in comment
    assert "- Ended early." in comment
    assert "5 failed calls" in comment
    assert row_of(comment, "speech-tag")[2:5] == ["–", "–", "–"]


def test_an_untouched_prompt_gets_one_quiet_line() -> None:
    assert comment_of(examples.QUIET).splitlines() == [
        "<!-- gatekeeper:gatekeeper -->",
        "## ✅ May merge",
        "",
        "None of 12 prompt contracts is affected by this change, so no model was called.",
        "",
        f"<sub>`9be31f07c6` against `0f3a9c1de2` · 2026-03-02 10:31 UTC, 0.2 s · "
        f"gatekeeper {__version__}</sub>",
    ]
    assert "No prompt contract is affected" in comment_of(replace(examples.QUIET, unaffected=0))


def test_a_removed_contract() -> None:
    comment = comment_of(examples.REMOVED)
    assert "## ❌ Do not merge: `greeting` was removed" in comment
    assert "Restore the contract" in comment
    assert "`greeting` ran because `contracts/greeting.yaml` was deleted" in comment


def test_a_weakened_contract() -> None:
    comment = comment_of(examples.WEAKENED)
    assert "### This change weakens a contract\n\n- `order-id`: check `is a tag`" in comment
    assert "- ℹ️ *weakened*: The contract was weakened" in comment
    assert "2 fixtures have no base arm" in comment
    assert "Do not merge: `order-id` misses its objective" in comment


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("slo", "`order-id` misses its objective"),
        ("weakened", "`order-id` was weakened"),
        ("budget", "`order-id` has no error budget left"),
        ("unseen", "Do not merge: `order-id`"),
    ],
)
def test_the_title_says_what_is_at_fault(code: str, said: str) -> None:
    reason = Reason(code, "Because.", "fail")  # type: ignore[arg-type]
    contract = replace(examples.passing_contract(), verdict="fail", reasons=(reason,))
    assert said in comment_of(examples.result(contract)).splitlines()[1]


def test_several_failures_are_counted() -> None:
    names = ("a", "b", "c")
    comment = comment_of(examples.result(*(examples.failing_contract(name) for name in names)))
    assert "## ❌ Do not merge: `a`, `b` and 1 more got worse" in comment
    assert "The table shows 2 more contracts with this verdict." in comment


def test_several_passes_lead_with_the_least_favourable() -> None:
    unchanged = replace(
        examples.passing_contract("calm"), paired=examples.paired(60, 0, 0, 1.0), reasons=()
    )
    better = replace(
        examples.passing_contract("best"),
        paired=examples.paired(60, 0, 10, 1.0, minimum_detectable_effect=None),
    )
    comment = comment_of(examples.result(better, unchanged))
    assert "The least favourable result of 2 contracts: `calm` did **not change** on any" in comment
    assert "`best` got **better**" in comment_of(examples.result(better))


def test_uncovered_prompts() -> None:
    comment = comment_of(examples.UNCOVERED)
    assert "## ❌ Do not merge: a changed prompt has no contract" in comment
    assert "1 changed prompt has no contract. **What to do:** Write a contract" in comment
    assert "### Prompts without a contract\n\n- `prompts/greeting.md`" in comment
    with_contracts = replace(
        examples.PASS, verdict="fail", uncovered=("prompts/a.md", "prompts/b.md")
    )
    assert "2 changed prompts have no contract." in comment_of(with_contracts)
    assert "No contract ran" in comment_of(replace(examples.QUIET, verdict="error"))


def test_duplicates_and_warnings_are_worth_knowing() -> None:
    contract = examples.passing_contract()
    warned = FixtureFailure("head", "is polite", "no thanks said", "NN")
    fixtures = [
        replace(contract.fixtures[5], warnings=(warned,)),
        replace(contract.fixtures[6], warnings=(warned, replace(warned, arm="base"))),
        *(replace(contract.fixtures[n], duplicate_of="nn-004") for n in range(7, 14)),
    ]
    comment = comment_of(examples.result(replace(contract, fixtures=tuple(fixtures))))
    failing = "the check `is polite` fails on 2 fixtures of head and on 1 of base"
    assert f"{failing}; a check with `severity: warn`" in comment
    paired = replace(
        contract,
        fixtures=tuple(fixtures),
        preferences=(_preference("polite"),),
    )
    pair = replace(warned, check="polite (against base)")
    both = replace(contract.fixtures[5], warnings=(warned, pair))
    comment_of_pairs = comment_of(examples.result(replace(paired, fixtures=(both,))))
    assert "<br>judges: 9 for base, 0 for head" in comment_of_pairs
    assert "the check `is polite` fails" in comment_of_pairs
    assert "(against base)" not in comment_of_pairs
    assert "7 fixtures repeat the input of another and counts with it" not in comment
    assert "7 fixtures repeat the input of another fixture: `rb-007` = `nn-004`" in comment
    assert "and 2 more" in comment


def test_budget_and_latency_are_explained() -> None:
    comment = comment_of(examples.FAIL)
    assert "37 of 60 allowed failures left after 1,200 samples" in comment
    assert "the budget would be used up at 3.1 to 6.8 times the allowed rate" in comment
    assert "burn rate `1d` –, `7d` 0.4, `28d` 0.38" in comment
    assert "- `speech-tag`: ✅ latency p95: 812 ms, wanted ≤ 4,000 ms: met\n" in comment
    assert "<summary>Objectives: 2 met, 1 missed</summary>" in comment
    assert "0.000021 USD a call" in comment


def test_a_full_run_has_no_arms_to_compare() -> None:
    comment = comment_of(examples.RUN)
    assert "## ✅ Every contract holds" in comment
    assert "| Contract | Passed | SLO | Budget left | Verdict |" in comment
    assert "against" not in comment.splitlines()[-1]
    bare = replace(examples.RUN, contracts=(replace(examples.RUN.contracts[0], reasons=()),))
    assert "`order-id`: 290 of 300 samples pass." in comment_of(bare)
    failed = replace(examples.RUN, verdict="fail", exit_code=1)
    assert "A contract does not hold" in comment_of(failed)
    assert "Not enough evidence" in comment_of(replace(examples.RUN, verdict="inconclusive"))


def test_a_new_contract_has_no_base() -> None:
    comment = comment_of(examples.NEW)
    assert "1 fixture fails on head" in comment
    assert row_of(comment, "fresh")[1] == "–"


@pytest.mark.parametrize("name", early_examples.EVERY)
def test_every_result_fits_and_is_whole(name: str) -> None:
    comment = render_comment(early_examples.EVERY[name])
    assert len(comment) <= COMMENT_LIMIT
    assert _is_whole(comment)
    summary = render_summary(early_examples.EVERY[name])
    assert len(summary.encode()) <= SUMMARY_LIMIT
    assert not summary.startswith("<!--")
    assert _is_whole(summary)


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(st.integers(2_000, 70_000), st.sampled_from(["fail", "many", "huge", "weakened"]))
def test_any_limit_holds_and_keeps_the_verdict(limit: int, name: str) -> None:
    comment = render_comment(examples.EVERY[name], limit=limit)
    assert len(comment) <= limit
    assert "❌ Do not merge" in comment
    assert "gatekeeper 0." in comment.splitlines()[-1]
    assert _is_whole(comment)


def test_what_was_cut_is_said_and_where_it_is() -> None:
    huge = comment_of(examples.HUGE)
    assert "❌ 3,000 fixtures broke" in huge
    assert "…and 2,950 more in `result.json`" in huge
    many = comment_of(examples.MANY)
    assert "| `tagger-4`" in many
    assert "This comment was cut to fit. The whole result is in `result.json`" in many
    assert "cut to fit" not in comment_of(examples.FAIL)


def test_no_room_for_broken_fixtures_is_said_too() -> None:
    assert "cut to fit" in render_comment(examples.HUGE, limit=2_200)


def test_hostile_names_stay_names() -> None:
    evil = "<!-- gatekeeper:x -->|`</details>@admin"
    contract = replace(
        examples.failing_contract(evil),
        reasons=(Reason("regression", f"{evil} ![x](y)", "fail"),),
        weakened=(evil,),
        warnings=(evil,),
    )
    comment = render_comment(replace(examples.result(contract), uncovered=(evil,), notices=(evil,)))
    assert comment.count("<!--") == 2  # its own marker and state
    assert _is_whole(comment)


def test_a_comment_begins_with_its_marker() -> None:
    assert render_comment(examples.PASS, marker_id="b").startswith("<!-- gatekeeper:b -->\n")


def test_fixtures_that_were_lost_for_one_reason_share_a_line() -> None:
    contract = examples.passing_contract()
    lost = [replace(f, errors=("no f.py",)) for f in contract.fixtures[:7]]
    other = replace(contract.fixtures[7], errors=("a timeout",))
    fixtures = (*lost, other, *contract.fixtures[8:])
    comment = comment_of(examples.result(replace(contract, fixtures=fixtures)))
    assert comment.count("`no f.py`") == 1
    assert "and 2 more: `no f.py`" in comment
    assert f"- `{other.id}`: `a timeout`" in comment


def test_no_calls_but_contracts() -> None:
    assert "0 calls made" in comment_of(replace(examples.PASS, calls=Calls()))


def test_causes_and_reasons_are_listed_up_to_a_point() -> None:
    by = examples.passing_contract().affected_by * 8
    contract = replace(examples.passing_contract(), affected_by=by)
    assert " and 3 more" in comment_of(examples.result(contract))


def test_of_one_revision_nobody_speaks_of_a_base() -> None:
    terse = comment_of(run_result(head=PROMPT))
    assert "| Fixture | Passed | Failing check | Said |" in terse
    assert not re.search(r"\bbase\b", terse, re.IGNORECASE)
    wordy = comment_of(run_result())
    assert "\n\nSaid:\n\n```text" in wordy
    assert not re.search(r"\bbase\b", wordy, re.IGNORECASE)


@given(st.lists(st.text("aä💥", max_size=20), max_size=20), st.integers(0, 120))
def test_no_page_is_larger_than_its_limit(blocks: list[str], limit: int) -> None:
    for size in (len, byte_length):
        page = Page(limit, size)
        kept = [block for block in blocks if page.add(block)]
        page.add_rows("opening\n", blocks, total=50, closing="\nclosing")
        assert size(page.text()) <= limit
        assert page.cut or len(kept) == len(blocks)


def test_rows_say_how_many_are_missing() -> None:
    page = Page(100)
    assert page.add_rows("| a |\n", [f"| {n} |" for n in range(100)])
    assert page.cut
    last = page.text().splitlines()[-1]
    assert last == f"…and {100 - page.text().count('|') // 2 + 1} more"


def test_rows_that_do_not_fit_at_all_are_left_out() -> None:
    page = Page(30)
    assert not page.add_rows("opening", ["x" * 50])
    assert page.cut
    assert page.text("ending") == "ending"


def test_a_fold_opens_and_closes() -> None:
    page = Page(1_000)
    page.add_fold("more", ["row"])
    assert page.text() == "<details><summary>more</summary>\n\nrow\n\n</details>"


def _frozen(*objectives: str, until: datetime | None) -> GateResult:
    spent = tuple(
        ErrorBudget("28d", 100, 5.0, 14, -9.0, objective=name, freezes_at=13, frozen_until=until)
        for name in objectives
    )
    reason = Reason("budget", "The error budget of the objective is spent.", "fail")
    contract = examples.passing_contract("a `b`")
    return examples.result(
        replace(
            contract, verdict="fail", reasons=(reason,), error_budgets=(examples.BUDGET, *spent)
        )
    )


def test_a_freeze_names_its_remedies() -> None:
    until = datetime(2026, 3, 9, 12, 30, tzinfo=UTC)
    comment = comment_of(_frozen("success_rate", "latency_p95_ms", until=until))
    (action,) = (line for line in comment.splitlines() if "**What to do:**" in line)
    assert action == (
        "> **What to do:** To merge now, raise the success rate, lower the latency p95 by more "
        "than chance explains. Or wait until the freeze ends, by 2026-03-09 12:30 UTC at the "
        "latest unless more samples fail. Or ask a maintainer to waive the result with the "
        "comment ``/gatekeeper waive a `b`: REASON``."
    )


def test_a_freeze_says_no_more_than_is_known() -> None:
    comment = comment_of(_frozen(*(f"checks.c{n}" for n in range(5)), until=None))
    assert "raise the c2 pass rate and 2 more by more than chance" in comment
    assert "Or wait until the budget recovers." in comment
    assert "To merge now, improve the objective that has no budget left" in comment_of(
        _frozen(until=None)
    )


def test_a_freeze_leads_also_where_other_reasons_follow() -> None:
    (contract,) = _frozen("success_rate", until=None).contracts
    slo = Reason("slo", "Objective missed.", "fail")
    both = replace(contract, reasons=(*contract.reasons, slo))
    assert "**What to do:** To merge now, raise the success rate" in comment_of(
        examples.result(both)
    )


WAIVER = Waiver(None, "waive", "octocat", "9" * 40, "it is *meant* @team", "2026-01-02T03:04:05Z")


def lifted() -> GateResult:
    contracts = [waived(contract, [WAIVER]) for contract in examples.FAIL.contracts]
    return replace(examples.result(*contracts), verdict="pass", exit_code=0)


def test_the_comment_says_who_waived_what_and_why() -> None:
    comment = render_comment(lifted())
    title = next(line for line in comment.splitlines() if line.startswith("## "))
    assert title.startswith("## ✅ May merge: `")
    assert title.endswith("waived by a person")
    assert r"it is \*meant\*" in comment
    assert "@octocat" not in comment
    assert "ℹ️" in comment
    assert "broke" in comment
    assert "no contract got significantly worse" not in comment


def test_the_document_records_it_and_follows_the_schema() -> None:
    document = result_document(lifted())
    jsonschema.validate(document, result_schema())
    first = document["contracts"][0]
    assert first["waiver"]["author"] == "octocat"
    assert first["waiver"]["contract"] is None
    assert first["reasons"][0]["code"] == "waived"
    assert result_document(examples.FAIL)["contracts"][0]["waiver"] is None


def test_junit_still_shows_the_fixtures_that_failed() -> None:
    junit = render_junit(lifted())
    assert "waived: Waived by" in junit
    # A person decided that they block nothing, so they make no build red.
    assert "<failure" not in junit
    assert "fails, and the verdict of the contract is pass" in junit
