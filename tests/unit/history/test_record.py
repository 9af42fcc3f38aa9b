"""What is remembered of a run: counted from its samples, and nothing that was not measured."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.outcomes import outcome
from support.past_runs import record

from gatekeeper import __version__
from gatekeeper.contract.meaning.modes import Negotiation
from gatekeeper.contract.values.trial import CheckResult, Outcome
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import ArmResult, ContractResult, GateResult, SloResult, Waiver
from gatekeeper.gate.samples.outcomes import quantile
from gatekeeper.history.record import (
    ModeRecord,
    Record,
    events_of,
    fixture_key,
    past_runs,
    records_of,
)
from gatekeeper.history.stores.lines import to_lines, to_record
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.objectives.error_budget import Event

STARTED = datetime(2026, 11, 3, 10, 15, tzinfo=UTC)
WAIVER = Waiver("words", "waive", "octocat", "b" * 40, "it is meant", "2026-11-03T09:00:00Z")


def arm(passed: int = 3, samples: int = 4, **fields: Any) -> ArmResult:
    return ArmResult(
        model="openai/gpt-4o-mini",
        prompt_path="prompts/p.txt",
        prompt_text="secret prompt",
        passed=passed,
        samples=samples,
        failed_calls=fields.pop("failed_calls", 0),
        fixtures_passed=0,
        fixtures=0,
        success_rate=passed / samples if samples else None,
        interval=ConfidenceInterval(0.3, 0.95),
        latency_p95_ms=fields.pop("latency_p95_ms", None),
        cost_per_call_usd=None,
        **fields,
    )


def contract(name: str = "words", head: ArmResult | None = None, **fields: Any) -> ContractResult:
    path = f"contracts/{name}.yaml"
    return ContractResult(name, path, "pass", (), head=head or arm(), **fields)


def run(*contracts: ContractResult, outcomes: tuple[Outcome, ...] = ()) -> GateResult:
    return GateResult(
        kind="run",
        verdict="pass",
        exit_code=0,
        base_sha=None,
        head_sha="a" * 40,
        started=STARTED,
        seconds=1.0,
        contracts=contracts,
        outcomes=outcomes,
    )


def slo(objective: Any, target: float) -> SloResult:
    return SloResult(objective, target, None, None, None)


def fixture(name: str, category: str | None) -> FixtureResult:
    return FixtureResult(name, category, None, None, None, None, None)


def only(result: GateResult) -> Record:
    (record,) = records_of(result, "push")
    return record


def with_completion(found: Outcome, repairs: tuple[str, ...] = (), **fields: Any) -> Outcome:
    assert found.sample.completion
    completion = replace(found.sample.completion, **fields)
    return replace(found, sample=replace(found.sample, completion=completion, repairs=repairs))


OUTCOMES = (
    with_completion(
        outcome("a", "head", 0, True, cost=0.25, latency=100.0),
        fingerprint="m-1",
        prompt_tokens=5,
        completion_tokens=1,
    ),
    with_completion(
        outcome("a", "head", 1, False, cost=0.5, latency=300.0),
        ("strip",),
        fingerprint="m-2",
        prompt_tokens=5,
        completion_tokens=2,
    ),
    with_completion(
        outcome("b", "head", 0, True, cost=0.25, latency=200.0),
        fingerprint="m-1",
        prompt_tokens=6,
        completion_tokens=1,
    ),
    outcome("b", "head", 1, None),
)


def test_a_record_is_counted_from_the_samples() -> None:
    measured = contract(
        head=arm(2, 3, failed_calls=1, latency_p95_ms=300.0, prompt_digest="p" * 64),
        slo=(
            slo("success_rate", 0.9),
            slo("latency_p95_ms", 200.0),
            slo("cost_per_call_usd", 0.1),
            slo("repair_rate", 0.1),
            slo("checks.says ok", 0.9),
            slo("categories.hard.success_rate", 0.9),
            slo("categories.easy.checks.says ok", 0.9),
            slo("categories.gone.success_rate", 0.9),
            slo("tokens_per_call", 1),
        ),
        fixtures=(fixture("a", "hard"), fixture("b", "easy")),
        contract_digest="c" * 64,
        waiver=WAIVER,
    )
    record = only(run(measured, outcomes=OUTCOMES))
    assert record == Record(
        id=record.id,
        time=STARTED,
        trigger="push",
        sha="a" * 40,
        contract="words",
        model="openai/gpt-4o-mini",
        version=__version__,
        samples=3,
        failed=1,
        interval=ConfidenceInterval(0.3, 0.95),
        calls=4,
        failed_calls=1,
        prompt_digest="p" * 64,
        contract_digest="c" * 64,
        fingerprints=("m-1", "m-2"),
        objectives={
            "success_rate": (3, 1),
            "latency_p95_ms": (3, 1),
            "repair_rate": (3, 1),
            "checks.says ok": (3, 1),
            "categories.hard.success_rate": (2, 1),
            "categories.easy.checks.says ok": (1, 0),
        },
        checks={"says ok": (3, 1)},
        categories={"hard": (2, 1), "easy": (1, 0)},
        fixtures={fixture_key("a"): (2, 1), fixture_key("b"): (1, 0)},
        repaired=1,
        latency_ms={"p50": 200.0, "p95": 300.0},
        prompt_tokens=16,
        completion_tokens=4,
        cost_usd=1.0,
        waiver=WAIVER,
        verdict="pass",
    )
    assert record.success_rate == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("mode", "kept"),
    [
        (None, None),
        (Negotiation("repair", "repair", "it is asked for"), None),
        (Negotiation("observe", "observe", "x"), ModeRecord("observe", "observe", "x")),
        (
            Negotiation("auto", "assist", "x", "text", text="Be brief."),
            ModeRecord("auto", "assist", "x", "text", sha256(b"Be brief.").hexdigest()),
        ),
        (
            Negotiation("enforce", "enforce", "x", "grammar", {"grammar": "g", "a": 1}),
            ModeRecord(
                "enforce", "enforce", "x", "grammar", sha256(b'{"a":1,"grammar":"g"}').hexdigest()
            ),
        ),
    ],
)
def test_a_record_says_how_the_mode_applied(
    mode: Negotiation | None, kept: ModeRecord | None
) -> None:
    record = only(run(contract(mode=mode), outcomes=OUTCOMES))
    assert record.mode == kept
    assert to_record(to_lines([record])) == record


def test_what_was_not_known_stays_unknown() -> None:
    some = (OUTCOMES[0], outcome("b", "head", 0, True))
    record = only(run(contract(), outcomes=some))
    assert (record.prompt_tokens, record.completion_tokens, record.cost_usd) == (None, None, None)
    nothing = only(run(contract(head=arm(failed_calls=2))))
    assert (nothing.repaired, nothing.latency_ms, nothing.fingerprints) == (None, {}, ())
    assert (nothing.calls, nothing.failed_calls) == (6, 2)
    empty = replace(record, samples=0, failed=0)
    assert empty.success_rate is None


def test_what_a_record_cannot_hold_is_unknown_and_can_be_read() -> None:
    """A suite of half a million calls has more tokens, and a server may say anything."""
    huge = {"prompt_tokens": 10**9, "completion_tokens": 10**9, "cost_usd": 9e11}
    some = tuple(
        with_completion(outcome("a", "head", n, True, latency=1e15), **huge) for n in range(2)
    )
    record = only(run(contract(head=arm(2, 2, latency_p95_ms=1e15)), outcomes=some))
    assert (record.prompt_tokens, record.completion_tokens, record.cost_usd) == (None, None, None)
    assert record.latency_ms == {}
    assert to_record(to_lines([record]).strip()) == record


def test_a_check_that_could_not_be_applied_is_no_event() -> None:
    unclear = replace(
        OUTCOMES[0], check_results=(CheckResult("fast", None), CheckResult("ok", True))
    )
    record = only(run(contract(slo=(slo("checks.fast", 0.9),)), outcomes=(unclear,)))
    assert record.checks == {"ok": (1, 0)}
    assert record.objectives == {}
    assert record.fixtures == {}


def test_only_the_samples_of_the_contract_on_head_count() -> None:
    mine = outcome("a", "head", 0, True)
    others = (outcome("a", "base", 0, False), outcome("a", "head", 0, False, name="other"))
    under_base = replace(mine.sample, trial=replace(mine.sample.trial, contract_from="base"))
    result = run(contract(), outcomes=(mine, *others, replace(mine, sample=under_base)))
    assert only(result).checks == {"says ok": (1, 0)}


def test_a_contract_without_a_checked_sample_is_not_remembered() -> None:
    gone = replace(contract("gone"), head=None)
    assert records_of(run(contract(head=arm(0, 0)), gone), "push") == ()


def test_a_run_that_ended_in_an_error_is_not_the_past() -> None:
    verdicts = {"a": "error", "b": "pass", "c": "fail", "d": "inconclusive"}
    made = [replace(contract(name), verdict=verdict) for name, verdict in verdicts.items()]
    assert [r.contract for r in records_of(run(*made), "schedule")] == ["b", "c", "d"]


def test_a_pull_request_check_is_not_history() -> None:
    with pytest.raises(ValueError, match=r"^result: "):
        records_of(replace(run(contract()), kind="check"), "push")


def test_the_id_is_that_of_the_contract_in_the_run() -> None:
    result = run(contract("a"), contract("b"))
    ids = [record.id for record in records_of(result, "push")]
    assert ids == [record.id for record in records_of(result, "push")]
    elsewhere = replace(result, started=STARTED.astimezone(timezone(timedelta(hours=9))))
    assert [record.id for record in records_of(elsewhere, "push")] == ids
    later = replace(result, started=STARTED + timedelta(microseconds=1))
    other = replace(result, head_sha="b" * 40)
    every = ids + [r.id for made in (later, other) for r in records_of(made, "push")]
    every += [r.id for r in records_of(result, "schedule")]
    assert len(set(every)) == 8


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"time": datetime(2026, 1, 1)}, "time: "),  # noqa: DTZ001
        ({"failed": 5}, "failed: 5 is more than the total, 4"),
        ({"failed_calls": 9}, "failed_calls: "),
        ({"interval": ConfidenceInterval(0.9, 0.1)}, "interval: "),
        ({"interval": ConfidenceInterval(float("nan"), 0.1)}, "interval: "),
        ({"interval": ConfidenceInterval(-0.5, 0.1)}, "interval: "),
        ({"checks": {"a": (1, 2)}}, "checks.a: 2 is more than the total, 1"),
        ({"objectives": {"a": (1, 2)}}, "objectives.a: "),
        ({"categories": {"a": (1, 2)}}, "categories.a: "),
        ({"fixtures": {"a": (1, 2)}}, "fixtures.a: "),
    ],
)
def test_numbers_that_contradict_each_other_are_no_record(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        replace(only(run(contract())), **changes)


def test_the_budget_is_spent_by_contract() -> None:
    first, second = records_of(run(contract("a"), contract("b", arm(4, 4))), "push")
    later = replace(first, time=STARTED + timedelta(days=1), failed=0)
    assert events_of([first, second, later]) == {
        "a": {"success_rate": [Event(STARTED, 4, 1), Event(later.time, 4, 0)]},
        "b": {"success_rate": [Event(STARTED, 4, 0)]},
    }


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_the_median_is_the_quantile_of_every_other_report(values: list[float]) -> None:
    outcomes = tuple(
        outcome(str(i), "head", 0, True, latency=value) for i, value in enumerate(values)
    )
    record = only(run(contract(), outcomes=outcomes))
    assert record.latency_ms["p50"] == quantile(values, 0.5)


def test_only_the_latest_runs_of_each_contract_say_what_each_fixture_did() -> None:
    counts = {fixture_key("a"): (3, 1)}
    runs = [record(contract=name, fixtures=counts) for name in ["words", "tag"] * 31]
    found = past_runs(runs)
    assert len(found) == 62
    assert [dict(run.by_fixture) for run in found] == [{}] * 2 + [counts] * 60
