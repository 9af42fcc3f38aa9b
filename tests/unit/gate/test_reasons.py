"""What single findings call for, and how it is worded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.plain_spaces import spaced
from support.verdicts import called_for, paired

from gatekeeper.contract.policies.policy import Allow, Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.clusters import ClusterCounts
from gatekeeper.gate.decision.conclude import blind_text
from gatekeeper.gate.decision.fixture_reasons import must_pass_reasons, nothing_passes_reasons
from gatekeeper.gate.decision.reasons import paired_reasons, warnings_of
from gatekeeper.gate.plan.contract_reasons import new_contract_reasons
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.results.parts import (
    FixtureResult,
    MustPassFinding,
    MustPassResult,
    Tally,
)
from gatekeeper.gate.work import plan_check, plan_run


def fixture(number: int, passed: bool | None, *errors: str) -> FixtureResult:
    head = None if passed is None else Tally(int(passed), 1)
    return FixtureResult(f"f{number}", None, None, head, None, passed, None, errors=errors)


@pytest.mark.parametrize(
    ("clusters", "advice"),
    [(None, "add fixtures."), (ClusterCounts(3, 0, 0), "add clusters.")],
)
def test_who_sees_no_drop_is_told_what_to_add(clusters: ClusterCounts | None, advice: str) -> None:
    found = paired(fixtures=3, minimum_detectable_effect=None, clusters=clusters)
    (reason,) = called_for(found)
    assert reason.code == "unseen"
    assert reason.text.endswith(advice)


def test_what_no_drop_could_be_seen_in_is_told_with_how_many_it_takes() -> None:
    found = paired(fixtures=4, minimum_detectable_effect=None, broke=1, fixtures_needed=93)
    (reason,) = called_for(found)
    assert spaced(reason.text) == (
        "No drop over all inputs could have been detected: 1 of 4 fixtures broke, 0 fixed; add "
        "fixtures (93 are needed to detect a drop of 5 points)."
    )


def test_a_comparison_that_another_result_ended_needs_no_more_fixtures() -> None:
    found = paired(fixtures=60, minimum_detectable_effect=None, broke=6, stopped="regressed")
    (reason,) = called_for(found)
    assert reason.code == "unseen"
    assert "add fixtures" not in reason.text


@pytest.mark.parametrize("effect", [None, 0.16])
def test_broken_fixtures_are_named_whatever_the_suite_could_have_shown(
    effect: float | None,
) -> None:
    found = paired(minimum_detectable_effect=effect, broke=1, clusters=ClusterCounts(4, 1, 0))
    (reason,) = paired_reasons(
        found, could_be_worse=False, largest_drop=0.3, margin=0.05, broken="`f1` (1/1 → 0/1)"
    )
    assert reason.verdict == "inconclusive"
    assert "these fixtures broke: `f1`" in reason.text


@pytest.mark.parametrize(
    ("fields", "flips"),
    [
        ({"fixtures": 60, "broke": 30, "fixed": 30}, True),
        ({"fixtures": 60, "broke": 10, "fixed": 10}, True),
        ({"fixtures": 60, "broke": 9, "fixed": 10}, False),  # fewer than a third
        ({"fixtures": 60, "broke": 30, "fixed": 5}, False),  # one direction, beyond chance
        ({"fixtures": 4, "broke": 2, "fixed": 2}, False),  # too few to say
        ({"fixtures": 60, "broke": 30, "fixed": 30, "clusters": ClusterCounts(9, 1, 1)}, False),
        ({"fixtures": 60, "broke": 30, "fixed": 30, "clusters": ClusterCounts(9, 3, 3)}, True),
    ],
)
@pytest.mark.parametrize("effect", [None, 0.16])
@pytest.mark.parametrize("drop", [0.0, 0.3])
def test_fixtures_that_flip_both_ways_point_away_from_the_prompt(
    fields: dict[str, Any], flips: bool, effect: float | None, drop: float
) -> None:
    found = paired(minimum_detectable_effect=effect, **fields)
    (reason,) = called_for(found, largest_drop=drop)
    assert ("provider or from a temperature" in reason.text) is flips
    assert ("add " in reason.text) is (effect is None and not flips)


@pytest.mark.parametrize("fields", [{"rounds": 1, "difference": -0.2}, {"rounds": 3}])
def test_a_pass_rate_is_told_only_beside_fixtures_that_it_differs_from(
    fields: dict[str, float],
) -> None:
    """Of one sample each, fixtures are the pass rate; a difference of 0 is none."""
    (reason,) = called_for(paired(broke=9, p_value=0.002, **fields))
    assert reason.code == "regression"
    assert "pass rate" not in reason.text


@pytest.mark.parametrize(
    ("passed", "verdicts"),
    [
        ([], []),
        ([None, None], []),
        ([False, True], []),
        ([True, None], []),
        ([False, False, False], ["fail"]),
        ([False, None], ["error"]),
    ],
)
def test_a_suite_in_which_nothing_passes(passed: list[bool | None], verdicts: list[str]) -> None:
    suite = [
        fixture(i, one, *([] if one is not None else ["lost"])) for i, one in enumerate(passed)
    ]
    reasons = nothing_passes_reasons(suite)
    assert [reason.verdict for reason in reasons] == verdicts
    assert {reason.code for reason in reasons} <= {"nothing_passes"}


def test_why_most_samples_were_lost_is_said_although_some_fail() -> None:
    lost = [fixture(n, None, "f.py was not run") for n in (1, 2)]
    (reason,) = nothing_passes_reasons([fixture(0, False), *lost, fixture(3, None, "a timeout")])
    assert "3 could not be measured: f.py was not run." in reason.text


def test_what_was_not_drawn_is_not_lost() -> None:
    (reason,) = nothing_passes_reasons([fixture(0, False), fixture(1, None)])
    assert reason.verdict == "fail"
    assert "1 of 1 measured" in reason.text


@pytest.mark.parametrize(
    ("found", "verdict"), [("broke", "fail"), ("unknown", "error"), ("open", "pass")]
)
def test_each_finding_of_must_pass_has_its_verdict(found: MustPassFinding, verdict: str) -> None:
    result = MustPassResult("f1", None, Tally(3, 3), Tally(1, 3), found)
    (reason,) = must_pass_reasons([result])
    assert (reason.code, reason.verdict) == ("must_pass", verdict)
    assert "`f1`" in reason.text


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a"], "1 fixture can no longer show a regression (`a`)"),
        (["a", "b"], "2 fixtures can no longer show a regression (`a`, `b`)"),
    ],
)
def test_fixtures_that_can_show_nothing_are_counted(names: list[str], said: str) -> None:
    assert spaced(blind_text(names)).startswith(said)


@pytest.mark.parametrize(
    ("count", "named"),
    [(3, "(`f0`, `f1`, `f2`)"), (4, "(`f0`, `f1`, `f2` and 1 more)")],
)
def test_the_first_fixtures_that_can_show_nothing_are_named(count: int, named: str) -> None:
    assert named in blind_text([f"f{i}" for i in range(count)])


# A contract and its plan

CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/words.md
model: openai/small
checks: [{type: contains, value: ok}]
fixtures:
"""


def revision(words: list[str], prompt: str = "Say {{ word }}.\n", **more: str) -> MemoryRevision:
    rows = "".join(f"  - {{id: f{i}, vars: {{word: {w}}}}}\n" for i, w in enumerate(words))
    files = {"contracts/words.yaml": CONTRACT + rows, "prompts/words.md": prompt, **more}
    return MemoryRevision({path: text.encode() for path, text in files.items()})


def new_job(words: list[str]) -> Job:
    (job,) = plan_check(Change(MemoryRevision({}), revision(words)), Policy()).jobs
    return job


@pytest.mark.parametrize(
    ("words", "asked", "found"),
    [
        (["a", "b", "c"], 3, None),
        (["a", "b", "c"], 4, "3 fixtures with distinct inputs"),
        (["a", "b", "c", "a", "b"], 4, "3 fixtures with distinct inputs"),
        (["a", "b", "c", "a", "b"], 3, None),
    ],
)
def test_a_new_contract_needs_as_many_distinct_inputs_as_the_policy_asks_for(
    words: list[str], asked: int, found: str | None
) -> None:
    rules = Policy()
    rules = replace(rules, new_contracts=replace(rules.new_contracts, fixtures=asked))
    reasons = new_contract_reasons(new_job(words), rules)
    assert [reason.verdict for reason in reasons] == ([] if found is None else ["fail"])
    assert all(found in spaced(reason.text) for reason in reasons if found)


@pytest.mark.parametrize("fields", [{"lost_prompt": "p/old.md"}, {"successors": ("n.md",)}])
@pytest.mark.parametrize(("allowed", "codes"), [(False, ["replaced"]), (True, [])])
def test_a_prompt_that_took_the_place_of_another_is_told_unless_removal_is_allowed(
    fields: dict[str, object], allowed: bool, codes: list[str]
) -> None:
    job = replace(new_job(["a"]), **fields)  # type: ignore[arg-type]
    reasons = new_contract_reasons(job, Policy(allow=Allow(contract_removal=allowed)))
    assert [(reason.code, reason.verdict) for reason in reasons] == [
        (code, "inconclusive") for code in codes
    ]


@pytest.mark.parametrize(
    ("count", "named"), [(5, "f0, f1, f2, f3, f4"), (6, "f0, f1, f2, f3, f4 and 1 more")]
)
def test_fixtures_that_the_new_prompt_cannot_take_are_named(count: int, named: str) -> None:
    base = revision([f"w{i}" for i in range(count)])
    head = revision([], "Say {{ word }} {{ tone }}.\n")
    head.files["contracts/words.yaml"] += b"  - {id: new, vars: {word: a, tone: b}}\n"
    (job,) = plan_check(Change(base, head), Policy()).untested
    (warning,) = [text for text in warnings_of(job) if "do not fit" in text]
    assert spaced(warning).startswith(f"{count} fixtures of the base contract")
    assert spaced(warning).endswith(f"head's prompt: {named}")


def test_a_run_of_the_suite_draws_as_many_samples_as_asked() -> None:
    head = replace(revision(["a", "b"]), sha="h" * 40)
    (as_written,) = plan_run(head, Policy()).jobs
    (more,) = plan_run(head, Policy(), samples=7).jobs
    assert as_written.contract.sampling.samples == 1
    assert more.contract.sampling.samples == 7
    assert plan_run(head, Policy()).head_sha == "h" * 40
