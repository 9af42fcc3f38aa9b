"""Nights add up what they measure of the gate, as long as they are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.nightly_records import night
from support.outcomes import contract

from gatekeeper.contract.changes.affected import AffectedContract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.gate.plan.plan import Job, plan_job
from gatekeeper.history import selftests
from gatekeeper.history.record import Record
from gatekeeper.history.selftests import RUNS_A_NIGHT, with_selftest
from gatekeeper.history.stores.lines import to_lines, to_record

NAMES = ("a", "b", "c")


@pytest.fixture(scope="module")
def job() -> Job:
    made = contract(*NAMES)
    return plan_job(AffectedContract(made.name, made.path, None, made, (), True), Policy())


@pytest.fixture(autouse=True)
def _few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftests, "RUNS_A_NIGHT", 2)


def kept(job: Job, nights: Sequence[dict[str, Any]]) -> list[Record]:
    """The records of these nights, each with four samples of every fixture."""
    past: list[Record] = []
    for number, fields in enumerate(nights):
        tonight = night(number, dict.fromkeys(NAMES, 0), 4, **fields)
        past.append(with_selftest(tonight, job, past))
    return past


def test_alike_nights_add_up(job: Job) -> None:
    found = kept(job, [{}, {}, {}])
    assert [each.selftest["harmless"] for each in found] == [(2, 0), (4, 0), (6, 0)]
    assert RUNS_A_NIGHT == 10


@pytest.mark.parametrize(
    "changed", [{"prompt_digest": "p2"}, {"contract_digest": "c2"}, {"model": "other/model"}]
)
def test_another_prompt_contract_or_model_begins_anew(job: Job, changed: dict[str, Any]) -> None:
    found = kept(job, [{}, {}, changed])
    assert found[-1].selftest["harmless"] == (2, 0)


def test_another_contract_is_another_suite(job: Job) -> None:
    others = kept(job, [{"contract": "others"}, {}])
    assert others[-1].selftest["harmless"] == (2, 0)


def test_too_few_samples_leave_the_record_as_it_is(job: Job) -> None:
    tonight = night(0, dict.fromkeys(NAMES, 0), 1)
    assert with_selftest(tonight, job, []) is tonight
    without = night(0, {"a": 0, "b": 0}, 9)
    assert with_selftest(without, job, []) is without


def test_what_was_measured_is_written_and_read(job: Job) -> None:
    (record,) = kept(job, [{}])
    assert to_record(to_lines([record]).strip()) == record


def test_more_blocked_than_made_is_no_record() -> None:
    line = to_lines([night(0, dict.fromkeys(NAMES, 0))]).strip()
    wrong = line.removesuffix(b"}") + b',"selftest":{"harmless":[2,3]}}'
    with pytest.raises(ValueError, match=r"selftest\.harmless"):
        to_record(wrong)
