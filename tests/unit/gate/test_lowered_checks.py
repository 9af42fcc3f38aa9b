"""A check that gated within the window and only warns now is remembered, whoever lowered it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from support.outcomes import contract
from support.past_runs import STARTED, line, record

from gatekeeper.contract.values.definition import CheckSpec, Contract, Severity
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.gate.decision.lowered_checks import error_checks, lowered_check_warnings
from gatekeeper.history.record import gating_history
from gatekeeper.history.stores.lines import to_lines, to_record

NOW = STARTED + timedelta(days=10)


def checked(**severities: Severity) -> Contract:
    specs = (CheckSpec("contains", name, {}, severity) for name, severity in severities.items())
    return replace(contract(), name="tag", checks=tuple(specs))


def told(
    now: Contract,
    base: Contract | None = None,
    names: tuple[str, ...] | None = ("safe", "short"),
    days: int = 0,
) -> tuple[str, ...]:
    runs = [record(time=STARTED + timedelta(days=days), error_checks=names)]
    return lowered_check_warnings(now, base, gating_history(runs), NOW)


LOWERED = checked(safe="warn", short="error")


def test_a_lowered_check_is_named_with_the_last_run_in_which_it_gated() -> None:
    [text] = told(LOWERED, LOWERED)
    assert "`safe`" in text
    assert "`short`" not in text
    assert f"{STARTED:%Y-%m-%d}" in text
    assert told(LOWERED) == (text,)


@pytest.mark.parametrize(
    ("count", "said"), [(5, "`c0`, `c1`, `c2`, `c3`, `c4` was"), (6, "`c3`, `c4` and 1 more was")]
)
def test_the_first_five_checks_are_named(count: int, said: str) -> None:
    names = tuple(f"c{i}" for i in range(count))
    [text] = told(checked(**dict.fromkeys(names, "warn")), names=names)
    assert said in text


@pytest.mark.parametrize(
    ("now", "base", "names"),
    [
        (checked(safe="error", short="error"), LOWERED, ("safe",)),  # put back
        (LOWERED, checked(safe="error", short="error"), ("safe",)),  # lowered by this change
        (checked(short="error"), None, ("safe",)),  # gone: named when it was removed
        (LOWERED, LOWERED, ("short",)),  # never gated
        (LOWERED, LOWERED, None),  # a record of an older version
    ],
)
def test_nothing_else_is_named(now: Contract, base: Contract | None, names) -> None:
    assert told(now, base, names) == ()


@pytest.mark.parametrize(("days", "named"), [(0, True), (-17, True), (-18, False), (11, False)])
def test_the_window_is_that_of_the_objectives(days: int, named: bool) -> None:
    assert bool(told(LOWERED, LOWERED, days=days)) == named
    longer = replace(
        LOWERED,
        slo=read_objectives(
            {"success_rate": 0.9, "latency_p95_ms": {"target": 9, "window": "90d"}}
        ),
    )
    assert bool(told(longer, longer, days=days)) == (days < 11)


def test_a_check_of_a_fixture_counts_and_gates_if_it_gates_anywhere() -> None:
    fixture = replace(contract("a").fixtures[0], checks=(CheckSpec("equals", "safe", {}),))
    both = replace(LOWERED, fixtures=(fixture,))
    assert error_checks(both) == ("safe", "short")
    assert told(both, both) == ()


def test_records_without_severities_are_read_and_those_with_them_come_back() -> None:
    old = to_record(line().encode())
    assert old.error_checks is None
    new = record(error_checks=("safe",))
    assert to_record(to_lines([new]).strip()) == new
    assert b"error_checks" not in to_lines([old])


def test_a_contract_that_is_renamed_keeps_its_past() -> None:
    assert told(replace(LOWERED, name="other"), LOWERED) == told(LOWERED, LOWERED) != ()


def test_long_names_are_remembered_in_records_of_bounded_size() -> None:
    long = {f"{chr(0x1F600) * 190}{n}": "error" for n in range(1980)}
    gating, lowered = checked(**long), checked(**dict.fromkeys(long, "warn"))
    names = error_checks(gating)
    assert len(to_lines([record(error_checks=names)])) < 100_000
    [text] = told(lowered, lowered, names)
    assert "1,975 more" in text
    assert chr(0x1F600) * 190 in text
