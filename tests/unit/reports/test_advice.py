"""What to do about a verdict: words that fit the reason and the contract."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from support import results as examples

from gatekeeper.contract.values.clusters import ClusterCounts
from gatekeeper.contract.values.objectives import LimitName
from gatekeeper.gate.results.parts import LimitFinding, LimitResult
from gatekeeper.gate.results.result import (
    ContractResult,
    PastRun,
    Reason,
    ReasonCode,
    SloResult,
    Verdict,
)
from gatekeeper.reports.markdown.comment import render_comment
from gatekeeper.reports.words.advice import advice
from gatekeeper.reports.words.headline import headline


def _because(
    *codes: ReasonCode, contract: ContractResult | None = None, verdict: Verdict = "fail"
) -> ContractResult:
    reasons = tuple(Reason(code, "Found.", verdict) for code in codes)
    found = contract or examples.failing_contract("poem")
    return replace(found, reasons=reasons, verdict=verdict)


def _advice(contract: ContractResult) -> str:
    return advice(examples.result(contract), contract)


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("success_rate", "If the answers are wrong, correct the new prompt"),
        ("latency_p95_ms", "Make the new prompt meet its objectives"),
    ],
)
def test_a_new_prompt_is_not_brought_back(objective: str, words: str) -> None:
    slo = SloResult(objective, 0.5, 0.0, None, False)
    known = replace(_because("slo"), slo=(slo,))
    assert "Improve the prompt" in _advice(known)
    new = replace(known, base=None, paired=None)
    assert words in _advice(new)
    assert "back" not in _advice(new)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (("one", "one"), "The prompt is the same as in the run before"),
        (("two", "one"), "The prompt is the same as in the run before"),
        (("one", "two"), "Correct the prompt"),
        (("one", None), "If the prompt is the same as when"),
        ((), "If the prompt is the same as when"),
    ],
)
def test_a_run_looks_at_the_digest_before_it_blames_the_prompt(
    before: tuple[str | None, ...], words: str
) -> None:
    slo = SloResult("success_rate", 0.95, 0.5, None, False)
    known = replace(_because("slo"), slo=(slo,))
    known = replace(known, head=replace(known.head, prompt_digest="one"))
    time = datetime(2026, 11, 1, tzinfo=UTC)
    past = [PastRun("poem", time, "a" * 40, 9, 1, None, prompt_digest=d) for d in before]
    past.append(PastRun("other", time, "a" * 40, 9, 1, None, prompt_digest="three"))
    measured = replace(examples.result(known), kind="run", past=tuple(past))
    said = advice(measured, known)
    assert said.startswith(words)
    assert "Improve the prompt" not in said
    assert ("gatekeeper drift" in said) == (words.startswith("The prompt is"))


def test_a_change_of_another_part_never_says_to_improve_the_prompt() -> None:
    known = replace(_because("slo"), slo=(SloResult("success_rate", 0.95, 0.5, None, False),))
    arms = {"base": "one", "head": "one"}
    same = replace(
        known, **{arm: replace(getattr(known, arm), prompt_digest=d) for arm, d in arms.items()}
    )
    assert _advice(same).startswith("The prompt did not change: look at the changes of the model")
    other = replace(same, head=replace(same.head, prompt_digest="two"))
    assert "Improve the prompt" in _advice(other)


def test_the_title_counts_the_fixtures_of_which_none_passes() -> None:
    fixtures = tuple(replace(examples.fixture(n, "failing"), id=str(n)) for n in range(80))
    contract = replace(_because("nothing_passes"), fixtures=fixtures)
    assert headline(examples.result(contract)).endswith("`poem` passes none of its 80 fixtures")
    lost = replace(fixtures[0], head_passed=None)
    contract = replace(contract, fixtures=(lost, *fixtures[1:]))
    assert "none of the 79 measured fixtures" in headline(examples.result(contract))
    contract = replace(contract, fixtures=fixtures[:1])
    assert headline(examples.result(contract)).endswith("`poem` passes no fixture")


def _limited(
    found: LimitFinding, name: LimitName = "cost", *, inputs: int = 40, head: float | None = 0.0015
) -> ContractResult:
    limit = LimitResult(name, 0.2, 0.001, head, 0.1, 0.2, 0.05, inputs, 32, found)
    verdict: Verdict = "fail" if found == "exceeded" else "inconclusive"
    return replace(_because("resource_limit", verdict=verdict), limits=(limit,))


@pytest.mark.parametrize(
    ("contract", "words"),
    [
        (_limited("unmeasured", head=None), "Use `gate.tokens` instead of `gate.cost`"),
        (
            _limited("unmeasured", "tokens", head=None),
            "choose a model that reports this amount",
        ),
        (_limited("open", inputs=30), "the limit needs 32 distinct inputs, and only 30 were"),
        (_limited("open"), "Add fixtures or samples"),
        (_limited("exceeded"), "Shorten the prompt or its answers"),
    ],
)
def test_a_limit_gets_the_advice_that_can_help(contract: ContractResult, words: str) -> None:
    assert words in _advice(contract)
    assert ("samples" in _advice(contract)) == (words == "Add fixtures or samples")


@pytest.mark.parametrize(
    ("found", "head", "cell"),
    [
        ("exceeded", 0.0015, "cost +50 %"),
        ("open", 0.0015, "cost +50 %"),
        ("unmeasured", None, "cost unknown"),
    ],
)
def test_the_table_shows_what_a_limit_decides(
    found: LimitFinding, head: float | None, cell: str
) -> None:
    comment = render_comment(examples.result(_limited(found, head=head))).replace("\u00a0", " ")
    assert "| Cost and latency [99 %] |" in comment
    assert cell in comment.partition("<details>")[0]
    kept = render_comment(examples.result(_limited("kept")))
    assert "| Cost and latency [99\u00a0%] |" not in kept


@pytest.mark.parametrize("code", ["slo", "regression"])
def test_a_freeze_beside_another_failure_names_the_waiver(code: ReasonCode) -> None:
    said = _advice(_because(code, "budget"))
    assert said.startswith(advice(examples.result(_because(code)), _because(code)))
    assert (
        "A maintainer can waive the result with the comment `/gatekeeper waive poem: REASON`"
        in said
    )
    assert "waive poem" not in _advice(_because(code))


@pytest.mark.parametrize("code", ["unseen", "undecided", "new_contract"])
def test_where_clusters_count_clusters_are_added(code: ReasonCode) -> None:
    plain = _because(code, contract=examples.undecided_contract(), verdict="inconclusive")
    assert plain.paired
    assert "Add fixtures" in _advice(plain)
    paired = replace(plain.paired, clusters=ClusterCounts(4, 1, 0))
    assert "Add clusters" in _advice(replace(plain, paired=paired))
    assert "Add fixtures" not in _advice(replace(plain, paired=paired))
    related = replace(examples.fixture(0, "failing"), cluster="refunds")
    new = replace(plain, base=None, paired=None, fixtures=(related,))
    assert "Add clusters" in _advice(new)
