"""How often the gate errs on a suite, from base's own samples and by the gate's own decisions."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from support.outcomes import contract, outcome
from support.plain_spaces import spaced

from gatekeeper.contract.changes.affected import AffectedContract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.definition import (
    Contract,
    Fixture,
    GatePolicy,
    Quarantine,
    SamplingPolicy,
)
from gatekeeper.gate import selftest as module
from gatekeeper.gate.decision.conclude import conclude
from gatekeeper.gate.measuring.monitor import Watches
from gatekeeper.gate.plan.plan import Job, plan_job
from gatekeeper.gate.results.selftest_result import (
    CHANGES,
    HARMLESS,
    OPEN,
    Change,
    Selftest,
    selftest_lines,
    selftest_of,
    selftest_sentence,
)
from gatekeeper.gate.selftest import (
    against_itself,
    missing_samples,
    pools_of,
    pools_of_counts,
    rehearse,
    selftest,
)
from gatekeeper.sampling.runner import Run


def job_of(fixtures: int = 20, samples: int = 2, **fields) -> Job:
    return paired(contract(*(f"f{i}" for i in range(fixtures)), samples=samples, **fields))


def paired(made: Contract) -> Job:
    affected = AffectedContract(made.name, made.path, None, made, (), True)
    found = against_itself(plan_job(affected, Policy(), "0" * 32))
    assert found is not None
    return found


def counts(job: Job, failed: int, samples: int = 20) -> dict[str, tuple[int, int]]:
    return {fixture.id: (samples, failed) for fixture in job.contract.fixtures}


def test_the_same_seed_gives_the_same_result() -> None:
    job = job_of(12)
    pools = pools_of_counts(job, counts(job, 2))
    assert selftest(job, pools, 6, "a") == selftest(job, pools, 6, "a")
    assert selftest(job, pools, 6, "a").counts.keys() == {*(c.name for c in CHANGES), OPEN}


def test_what_never_fails_is_never_blocked_and_what_breaks_outright_is_found() -> None:
    job = job_of(20)
    found = selftest(job, pools_of_counts(job, counts(job, 0)), 8, "a")
    assert found.counts[HARMLESS.name] == (8, 0)
    assert found.counts["broken_1"] == (8, 8)
    assert found.fixtures == 20
    assert found.calls is not None
    assert found.planned == 80
    assert found.calls <= found.planned


def test_one_of_two_samples_lost_everywhere_is_found() -> None:
    job = job_of(20, 3)
    found = selftest(job, pools_of_counts(job, counts(job, 1)), 6, "a", [Change("half", drop=0.5)])
    assert found.counts == {"half": (6, 6)}


def test_the_halves_of_a_fixture_are_drawn_without_repeats(monkeypatch) -> None:
    """Both halves of six samples, of which three failed, hold three failures together."""
    job = job_of(4, 3, sampling=SamplingPolicy(3, mode="fixed"))
    monkeypatch.setattr(module, "confirm_broken", _nothing)
    pools = pools_of_counts(job, counts(job, 3, samples=6))
    drawn: list[bool | None] = []
    taken = Watches.add
    monkeypatch.setattr(Watches, "add", lambda s, o: (drawn.append(o.passed), taken(s, o))[0])
    rehearse(job, pools, HARMLESS, random.Random(1))  # noqa: S311
    assert len(drawn) == 24
    assert drawn.count(False) == 12


def test_counts_that_nobody_could_have_sampled_take_no_memory() -> None:
    job = job_of(4)
    fixture = job.evaluations[0].trials[0].fixture
    [outcomes] = pools_of_counts(job, {fixture: (10**12, 10**11)}).values()
    assert len(outcomes) == 1_000
    assert [outcome.passed for outcome in outcomes].count(False) == 100


async def _nothing(*_: object) -> None:
    """Take no fresh sample."""


@pytest.mark.parametrize(
    ("change", "failed", "gate"),
    [
        (HARMLESS, 0, GatePolicy()),
        (HARMLESS, 6, GatePolicy()),
        (Change("one", broken=1), 1, GatePolicy()),
        (Change("one", broken=1), 1, GatePolicy(claim="inputs")),
        (Change("three", broken=3), 1, GatePolicy(claim="fixtures")),
        (Change("three", broken=3), 1, GatePolicy(allow_broken=3)),
        (Change("all", drop=0.3), 2, GatePolicy()),
        (Change("all", drop=0.2), 2, GatePolicy(slices="category")),
        (Change("three", broken=3), 1, GatePolicy(slices="category", claim="inputs")),
    ],
)
def test_a_run_ends_as_the_gate_decides_it(
    change: Change, failed: int, gate: GatePolicy, monkeypatch
) -> None:
    """`ending` says of every run what `conclude` says of the same samples."""
    _assert_same_endings(_in_categories(12, gate), change, failed, monkeypatch)


def test_a_suite_that_can_show_no_drop_ends_as_the_gate_decides_it(monkeypatch) -> None:
    kept = _assert_same_endings(_in_categories(4, GatePolicy()), HARMLESS, 1, monkeypatch)
    assert set(kept) == {"inconclusive"}


def _in_categories(fixtures: int, gate: GatePolicy) -> Job:
    """A job with every other fixture in another category."""
    each = contract(*(f"f{i}" for i in range(fixtures)), samples=2, gate=gate)
    halves = (replace(f, category="ab"[n % 2]) for n, f in enumerate(each.fixtures))
    return paired(replace(each, fixtures=tuple(halves)))


def _assert_same_endings(job: Job, change: Change, failed: int, monkeypatch) -> list[str]:
    pools = pools_of_counts(job, counts(job, failed, samples=8))
    ending = module.ending
    kept: list[tuple[str, str]] = []

    def both(monitor):
        watches = Watches([job])
        watches._watches["words"] = {"head": monitor}
        (result,) = conclude(
            [job], watches, Run((), 0, 0, 0, 0, 0.0, "done"), None, Policy(), datetime.now(UTC)
        )
        codes = ("regression", "broke", "must_pass", "undecided", "unseen", "slice")
        verdicts = {r.verdict for r in result.reasons if r.code in codes}
        worst = next((v for v in ("fail", "inconclusive") if v in verdicts), "pass")
        kept.append((ending(monitor), worst))
        return kept[-1][0]

    monkeypatch.setattr(module, "ending", both)
    for seed in range(4):
        rehearse(job, pools, change, random.Random(seed))  # noqa: S311
    assert len(kept) == 4
    assert [mine for mine, _ in kept] == [theirs for _, theirs in kept]
    return [mine for mine, _ in kept]


def test_fixtures_with_one_input_share_an_answer() -> None:
    inputs = {"a": "a", "twin": "a", "b": "b"}
    made = contract(fixtures=tuple(Fixture(name, {"word": w}) for name, w in inputs.items()))
    job = paired(replace(made, sampling=SamplingPolicy(2)))
    assert job.evaluations[0].same_input == {"twin": "a"}
    pools = pools_of_counts(job, {"a": (8, 0), "twin": (8, 8), "b": (8, 0)})
    _, calls = rehearse(job, pools, HARMLESS, random.Random(1))  # noqa: S311
    assert calls == 8  # two samples of two inputs on two arms


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({}, "there is no sample of the fixture `f0` and 2 more"),
        ({"f0": (9, 0), "f2": (9, 0)}, "there is no sample of the fixture `f1`"),
        (dict.fromkeys(("f0", "f1", "f2"), (2, 0)), "2.0 samples of each fixture do not tell"),
        (dict.fromkeys(("f0", "f1", "f2"), (4, 0)), None),
    ],
)
def test_too_few_samples_are_named(known, text) -> None:
    job = job_of(3)
    found = missing_samples(job, pools_of_counts(job, known))
    assert found is None if text is None else text in (found or "")


def test_lost_samples_are_no_samples() -> None:
    found = pools_of([outcome("a", "head", 0, True), outcome("a", "head", 1, None)])
    assert [o.passed for o in found["a"]] == [True]


def test_a_suite_in_which_nothing_passes_cannot_break() -> None:
    job = job_of(5)
    found = selftest(job, pools_of_counts(job, counts(job, 20)), 2, "a")
    assert "broken_1" not in found.counts
    assert found.counts["drop_5"] == (2, 0)


def test_the_words_name_sizes_shares_and_intervals() -> None:
    told = {"harmless": (200, 0), OPEN: (200, 6), "broken_1": (200, 194), "drop_5": (200, 48)}
    found = Selftest(40, told, 108.4, 160)
    assert spaced(selftest_sentence(found)) == (
        "on this suite, this is found: 1 of 40 broken in 97 %, 5 points spread over all inputs in "
        "24 %; harmless changes were blocked 0 of 200 times (0 % – 1.9 %)"
    )
    lines = [spaced(line) for line in selftest_lines(found)]
    assert lines[0] == "harmless change: blocked 0 of 200 times (0 % – 1.9 %)"
    assert "harmless change: inconclusive in 3 %" in lines
    assert lines[-1] == "harmless change: 108 of 160 calls on average"


@pytest.mark.parametrize(
    "counts",
    [{}, {"harmless": (0, 0), "broken_1": (5, 5)}, {"broken_1": (5, 5)}, {"other": (9, 9)}],
)
def test_counts_of_a_history_may_say_nothing(counts) -> None:
    assert selftest_of(counts, 9) is None


def test_what_a_history_counts_of_unknown_changes_is_left_out() -> None:
    found = selftest_of({"harmless": (4, 0), "drop_5": (0, 0), "<b>": (4, 4)}, 9)
    assert found == Selftest(9, {"harmless": (4, 0)})
    assert spaced(selftest_sentence(found)).startswith("on this suite, harmless changes were")


def test_what_is_in_quarantine_is_never_the_fixture_that_breaks() -> None:
    held = Quarantine("9999-12-31", "somebody", "it flickers")
    each = contract("a", "b", samples=2)
    first, second = each.fixtures
    job = paired(replace(each, fixtures=(replace(first, quarantine=held), second)))
    pools = pools_of_counts(job, {"a": (8, 0), "b": (8, 8)})
    # Nothing passes but what is held.
    found = selftest(job, pools, 2, "a", [Change("broken_1", broken=1)])
    assert found.counts == {}
