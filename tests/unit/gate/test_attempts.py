"""The objectives `success_all_of` and `success_any_of`: the values, and what decides them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from support.outcomes import contract, outcome

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.objectives import label_of, read_objectives
from gatekeeper.contract.values.trial import Completion, Outcome, Sample
from gatekeeper.contract.weakening.weakening import weakenings
from gatekeeper.gate.decision.reasons import slo_reasons
from gatekeeper.gate.measuring.monitor import EvaluationMonitor, Watches
from gatekeeper.gate.objectives.objectives import objective_status, slo_results
from gatekeeper.gate.results.result import SloResult
from gatekeeper.gate.work import plan_check


def attempts(fixture: str, fates: str) -> list[Outcome]:
    """The samples of a fixture: `+` passed, `-` failed, `?` is a call that failed."""
    fate = {"+": True, "-": False, "?": None}
    return [outcome(fixture, "head", n, fate[one]) for n, one in enumerate(fates)]


def result(
    objective: str, target: float, fixtures: Sequence[str], planned: int = 4, **options: object
) -> SloResult:
    kind, _, k = objective.partition(".")
    outcomes = [o for n, fates in enumerate(fixtures) for o in attempts(f"f{n}", fates)]
    names = list(dict.fromkeys(o.sample.trial.fixture for o in outcomes))
    objectives = read_objectives({kind: {k: target}})
    whole = contract(*names, samples=planned, slo=objectives)
    (found,) = slo_results(whole, outcomes, dict.fromkeys(names, planned), **options)
    return found


@pytest.mark.parametrize(
    ("objective", "observed"),
    [
        # Of 4 samples 4, 3 and 0 pass: 6, 3 and 0 of 6 pairs; 4, 1 and 0 of 4 triples.
        ("success_all_of.1", (4 / 4 + 3 / 4 + 0) / 3),
        ("success_all_of.2", (6 / 6 + 3 / 6 + 0) / 3),
        ("success_all_of.3", (4 / 4 + 1 / 4 + 0) / 3),
        ("success_all_of.4", (1 + 0 + 0) / 3),
        ("success_any_of.1", (4 / 4 + 3 / 4 + 0) / 3),
        ("success_any_of.2", (1 + 1 + 0) / 3),
    ],
)
def test_the_value_is_the_mean_over_inputs(objective, observed):
    assert result(objective, 0.5, ["++++", "++-+", "----"]).observed == pytest.approx(observed)


@pytest.mark.parametrize(
    ("objective", "fates", "status"),
    [
        ("success_all_of.4", ["++++"] * 80, "met"),
        ("success_all_of.4", ["++++"] * 8, "likely"),
        ("success_all_of.4", ["+++-"] * 80, "missed"),
        ("success_all_of.4", ["++++"] * 6 + ["+++-"] * 2, "unlikely"),
        ("success_any_of.4", ["---+"] * 80, "met"),
        ("success_any_of.4", ["----"] * 20, "missed"),
    ],
)
def test_only_enough_inputs_decide(objective, fates, status):
    assert objective_status(result(objective, 0.9, fates)) == status


def test_samples_of_one_input_prove_nothing_about_others():
    found = result("success_all_of.4", 0.9, ["+" * 1000] * 3, planned=1000)
    assert (found.observed, found.met, found.inputs, found.inputs_needed) == (1, None, 3, 36)


def test_lost_answers_could_have_passed_or_failed():
    assert result("success_all_of.4", 0.9, ["+++?"] * 80).unmeasured
    assert result("success_all_of.4", 0.9, ["+--?"] * 80).met is False  # they cannot all pass
    assert result("success_any_of.4", 0.9, ["+--?"] * 80).met is True
    assert result("success_any_of.4", 0.9, ["---?"] * 80).unmeasured


def test_a_cluster_is_one_unit():
    same = dict.fromkeys([f"f{n}" for n in range(1, 80)], "f0")
    found = result("success_all_of.2", 0.9, ["++++"] * 80, counts_with=same, same_input={})
    assert (found.met, found.inputs, found.observed) == (None, 1, 1)


def test_fewer_samples_than_k_are_said_to_be_too_few():
    found = result("success_all_of.4", 0.9, ["+++"] * 80, planned=3)
    assert (found.observed, found.met, found.unmeasured) == (None, None, False)
    (reason,) = slo_reasons([found], ())
    assert reason.verdict == "inconclusive"
    assert reason.text == (
        "Objective not measured: all-of-4 pass rate. Too few samples of each fixture were taken."
    )


def test_labels_name_the_number_and_the_category():
    assert label_of("categories.billing.success_any_of.3") == "billing: any-of-3 pass rate"


def test_a_smaller_number_of_attempts_is_a_removed_objective():
    names = ("a", "b")
    base, head = (
        contract(*names, samples=5, slo=read_objectives({"success_all_of": written}))
        for written in ({"5": 0.8, "2": 0.9}, {"2": 0.85, "4": 0.8})
    )
    found = [w.partition("slo.")[2] for w in weakenings(base, head)]
    assert found == [
        "success_all_of.2 lowered from 0.9 to 0.85",
        "success_all_of.5 removed; the value was 0.8",
    ]
    assert weakenings(head, replace(head, slo=(*head.slo, *base.slo[1:]))) == ()


CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/words.md
model: openai/small
checks: [{{type: contains, value: ok}}]
sampling: {{samples: 4}}
slo: {slo}
fixtures: [{rows}]
"""


def watched(slo: str) -> EvaluationMonitor:
    """Take the samples of a harmless change until no more are wanted."""
    rows = ", ".join(f"{{id: f{n}, vars: {{word: w{n}}}}}" for n in range(80))
    files = {"contracts/words.yaml": CONTRACT.format(slo=slo, rows=rows)}
    base, head = (
        MemoryRevision({p: t.encode() for p, t in {**files, "prompts/words.md": text}.items()})
        for text in ("Say {{ word }}.", "Tell {{ word }}.")
    )
    (job,) = plan_check(Change(base, head), Policy()).jobs
    watches = Watches([job])
    for trial in job.trials:
        if watches.wants(trial):
            watches.add(watches.evaluate(Sample(trial, Completion("ok"), output="ok")))
    (watch,) = watches.of(job)
    return watch


@pytest.mark.parametrize(
    ("slo", "rounds"),
    [
        ("{success_rate: 0.5}", 1),
        ("{success_all_of: {4: 0.5}}", 4),
        ("{success_any_of: {2: 0.5}, success_rate: 0.5}", 2),
        ("{consistency: 0.5}", 2),
    ],
)
def test_sampling_goes_on_until_the_objective_has_a_value(slo, rounds):
    watch = watched(slo)
    taken = Counter(o.sample.trial.repetition for o in watch.outcomes)
    assert max(taken) + 1 == rounds
    assert all(found.met for found in watch.slo or ())
