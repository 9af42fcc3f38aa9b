"""What is said of judges that drifted, and how the history finds them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.history.drift import drifts
from gatekeeper.history.judge_drift import judge_drifts
from gatekeeper.history.record import JudgeAnchors, Record, events_of
from gatekeeper.reports.described.drift import (
    describe_drifts,
    drift_document,
    drift_issue,
    judge_news,
)
from gatekeeper.reports.site.contract_history import contract_histories
from gatekeeper.reports.terminal.console import print_blocks

FIRST = datetime(2026, 3, 1, tzinfo=UTC)
STEADY, STRICT = (
    JudgeAnchors("c", "openai/j", 30, 28, 0, 0),
    JudgeAnchors("c", "openai/j", 30, 28, 14, 0),
)
AGAIN = JudgeAnchors("new", "openai/j", 30, 29, 0, 0)


def record(night: int, found: JudgeAnchors | None, contract: str = "polite") -> Record:
    return Record(
        id=f"{contract}-{night}",
        time=FIRST + timedelta(days=night),
        trigger="schedule",
        sha="a" * 40,
        contract=contract,
        model="openai/m",
        version="1",
        samples=20,
        failed=1,
        interval=None,
        calls=20,
        failed_calls=0,
        fixtures={"f": (20, 1)},
        judges={"tone": found} if found else {},
    )


def past(*nights: JudgeAnchors | None) -> list[Record]:
    return [record(number, found) for number, found in enumerate(nights)]


@pytest.mark.parametrize(
    ("nights", "status"),
    [
        ((STEADY,), "steady"),
        ((STEADY, STRICT), "watch"),
        ((STEADY, STRICT, STRICT), "drifted"),
        ((STRICT, STEADY, STRICT), "watch"),
        ((STRICT, STRICT, STEADY), "steady"),
        # A night without anchors, such as one that a limit ended, says nothing.
        ((STRICT, None, STRICT), "drifted"),
        ((STRICT, STRICT, AGAIN), "steady"),
    ],
)
def test_two_nights_in_a_row_make_a_drift(nights: tuple[JudgeAnchors | None, ...], status: str):
    (found,) = judge_drifts(past(*nights))
    assert found.status == status


def test_one_drift_keeps_its_name_and_another_contract_is_left_out():
    (second,), (third,) = (judge_drifts(past(STEADY, *[STRICT] * n)) for n in (2, 3))
    assert second.id == third.id
    assert second.detected == third.detected == FIRST + timedelta(days=2)
    assert judge_drifts(past(STRICT, STRICT), ["other"]) == ()


def test_nights_of_a_drifted_judge_count_for_no_budget_and_no_model():
    records = past(STEADY, STRICT, STRICT)
    (events,) = events_of(records)["polite"]["success_rate"]
    assert (events.events, events.failed) == (20, 1)
    (model,) = drifts(records)
    assert model.nights == 1
    assert drifts(past(STRICT)) == ()


def test_counts_that_contradict_each_other_are_refused():
    with pytest.raises(ValueError, match="judges"):
        record(0, JudgeAnchors("c", "j", 10, 8, 9, 0))
    with pytest.raises(ValueError, match="judges"):
        record(0, JudgeAnchors("c", "j", 10, 8, 0, 3))


def test_the_issue_names_judges_alone_and_beside_models():
    judges = judge_drifts([*past(STRICT, STRICT), *(record(n, STRICT, "other") for n in (0, 1))])
    assert drift_issue((), judges).title == "Judge drift: other and 1 more"
    body = drift_issue((), judges).body
    assert "14 of 30" in body
    assert "new calibration closes this issue" in body
    assert "A model changed" not in body
    assert drift_issue(()).title == "Model drift: over"
    (one, _) = judge_news(judges)
    assert one.kind == "drift"


def test_the_table_and_the_document_show_every_judge(capsys: pytest.CaptureFixture[str]):
    judges = judge_drifts(past(STEADY, STRICT))
    print_blocks(describe_drifts((), (), judges))
    shown = capsys.readouterr()
    assert "openai/j" in shown.out + shown.err
    assert "no run to check" not in shown.out + shown.err
    (document,) = drift_document((), (), judges)["judges"]
    assert (document["status"], document["agrees_now"]) == ("watch", 14)


def test_the_dashboard_names_a_judge_that_drifted():
    records = past(STEADY, STRICT, STRICT)
    (history,) = contract_histories(records, {}, Policy(), FIRST + timedelta(days=3))
    (finding,) = (found for found in history.findings if found.code == "drift")
    assert finding.severity == "inconclusive"
    assert "14 of 30" in finding.text
