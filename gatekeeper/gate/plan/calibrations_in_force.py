"""Decides which calibrations count in a run, and what a judge without one means.

They come from the base branch. A pull request cannot bring labels of its own for a judge that is
there already, or it could choose its corrections. If it brings another judge, the base contract
grades with the old one too, so the new one may bring its calibration along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.checks.judged_check import judge_models_of
from gatekeeper.checks.judges.presets import DATA_RULES, PRESETS, added_prompts, preset_prompt
from gatekeeper.checks.pair_check import compares_pairs
from gatekeeper.contract.checks.judge_calibration import JudgeIdentity
from gatekeeper.contract.policies.policy import POLICY_PATH, JudgePolicy, Policy
from gatekeeper.contract.values.calibration_record import Calibrations
from gatekeeper.contract.values.definition import CheckSpec, Contract
from gatekeeper.errors import Problem
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.gate.results.result import Reason

if TYPE_CHECKING:
    from gatekeeper.checks.evaluate import Evaluator
    from gatekeeper.stats.judges.judge_accuracy import Confusion

# Finds the judges of a contract's checks, and the calibrations that count for them.


def judge_identities(contract: Contract, evaluator: Evaluator) -> dict[str, JudgeIdentity]:
    """Return the judges of a contract's checks, by the name of the check."""
    specs = {
        (fixture.id, spec.name): spec
        for fixture in contract.fixtures
        for spec in (*contract.checks, *fixture.checks)
    }
    found: dict[str, JudgeIdentity] = {}
    for fixture, checks in evaluator.checks.items():
        for check in checks:
            models = judge_models_of(check.evaluate)
            # What compares two outputs is not right or wrong about one.
            pairs = compares_pairs(check.evaluate)
            if models and not pairs and check.name not in found:
                found[check.name] = _identity(specs[fixture, check.name], models)
    return found


def _identity(spec: CheckSpec, models: Sequence[str]) -> JudgeIdentity:
    return JudgeIdentity(spec, tuple(models), _built_in_prompt(spec))


def _built_in_prompt(spec: CheckSpec) -> dict[str, str]:
    """Return the prompt of a judge that has none of its own: another version may change it."""
    name = spec.params.get("judge")
    if spec.type != "judge" or name not in PRESETS or "prompt" in spec.params:
        return {}
    added = added_prompts(spec.params)
    return {"prompt": preset_prompt(name), "data_rules": DATA_RULES, **added}


def matching_calibrations(
    contract: Contract, evaluator: Evaluator, known: Calibrations
) -> Calibrations:
    """Return the calibrations of the contract's own judges: those of others do not count."""
    judges = judge_identities(contract, evaluator)
    return {
        name: known[name]
        for name, judge in judges.items()
        if name in known and known[name].judge == judge.digest
    }


def use_calibrations(job: Job) -> Job:
    """Return the job with the calibrations that count for each evaluation."""
    if not any(evaluation.evaluator.has_judges for evaluation in job.evaluations):
        return job
    evaluations = tuple(
        replace(evaluation, calibrations=_calibrations(job, evaluation))
        for evaluation in job.evaluations
    )
    return replace(job, evaluations=evaluations)


def _calibrations(job: Job, evaluation: Evaluation) -> Calibrations:
    contract, evaluator = evaluation.contract, evaluation.evaluator
    if job.base is None:
        return matching_calibrations(contract, evaluator, contract.calibrations)
    found = matching_calibrations(contract, evaluator, job.base.calibrations)
    before = next((e for e in job.evaluations if e.contract_from == "base"), None)
    if evaluation.contract_from != "head" or before is None:
        return found
    old = {name: j.digest for name, j in judge_identities(job.base, before.evaluator).items()}
    now = judge_identities(contract, evaluator)
    own = matching_calibrations(contract, evaluator, contract.calibrations)
    new = {name: own[name] for name in own if now[name].digest not in old.values()}
    return {**new, **found}


def uncalibrated_reasons(job: Job) -> list[Reason]:
    """Return notes for judges whose errors are not known, and for judges whose calibration shows
    that they are worthless. They decide nothing."""
    found = dict(item for e in job.evaluations for item in _uncalibrated(e))
    texts = [fault_text(f"The judge of `{name}`", fault) for name, fault in found.items() if fault]
    names = [name for name, fault in found.items() if fault is None]
    if names:
        listed = ", ".join(f"`{name}`" for name in names)
        texts.append(
            f"Nobody has measured how often the judges of {listed} are wrong, so their verdicts "
            "are reported without a correction. Label outputs and run `gatekeeper judge calibrate`."
        )
    return [Reason("uncalibrated", text, "pass") for text in texts]


def fault_text(judge: str, fault: tuple[str, str]) -> str:
    """Return sentences about a judge."""
    why, fix = fault
    return f"{judge} counts as not calibrated: {why}. {fix[0].upper()}{fix[1:]}."


def calibration_fault(confusion: Confusion) -> tuple[str, str] | None:
    """Return why a judge counts as not calibrated, because the labels do not show that it tells
    good outputs from bad ones, and what to do; None if they show that."""
    if not confusion.is_worthless:
        return None
    labels = numbers.count(confusion.labels, "labelled output")
    kappa, specificity = confusion.kappa(), confusion.specificity()
    if not kappa or not specificity or not confusion.human_passes:
        verdict = "passes" if confusion.human_passes else "fails"
        why = (
            f"people gave all {labels} the same verdict ({verdict}), so nobody knows how it grades "
            "other outputs"
        )
        return why, "label such outputs too, then calibrate the judge again"
    figures = f"kappa {kappa.value:.2f}, specificity {numbers.percent(specificity.value)}"
    why = f"it hardly tells good outputs from bad ones ({figures} on {labels})"
    return why, "make the judge's criteria clearer or choose another judge, then calibrate again"


def calibration_problems(jobs: Iterable[Job], policy: Policy) -> tuple[Problem, ...]:
    """Return a problem for each judge that the policy refuses."""
    found = (
        problem
        for job in jobs
        for e in job.evaluations
        for problem in _refused(e, policy.at(*job.places))
    )
    return tuple(dict.fromkeys(found))


def _uncalibrated(evaluation: Evaluation) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """Yield each judge that counts as not calibrated, and why if it has a calibration."""
    for name in judge_identities(evaluation.contract, evaluation.evaluator):
        found = evaluation.calibrations.get(name)
        fault = calibration_fault(found.confusion) if found else None
        if fault or not found:
            yield name, fault


_NO_CALIBRATION = (
    "the base branch has no file with one",
    "label outputs, run `gatekeeper judge calibrate`, and merge the file that it writes",
)


def _refused(evaluation: Evaluation, policy: Policy) -> Iterator[Problem]:
    contract = evaluation.contract
    if policy.judge == JudgePolicy():
        return
    for name, judge in judge_identities(contract, evaluation.evaluator).items():
        at = judge.check.position
        path, line, column = (at.path, at.line, at.column) if at else (contract.path, None, None)
        calibration = evaluation.calibrations.get(name)
        fault = calibration_fault(calibration.confusion) if calibration else None
        if policy.judge.require_calibration and (fault or calibration is None):
            why, fix = fault or _NO_CALIBRATION
            what = f"{POLICY_PATH} requires a calibration, which the check's judge has not: {why}"
            yield Problem(path, what, fix, line, column, f"check `{name}`")
        if calibration is None:
            continue
        kappa, least = calibration.confusion.kappa(), policy.judge.min_kappa
        if least is not None and (kappa is None or kappa.value < least):
            found = "cannot be computed" if kappa is None else f"is {kappa.value:.2f}"
            what = (
                f"the kappa of the check's judge {found}, but {POLICY_PATH} requires at "
                f"least {least:g}"
            )
            fix = "make the judge's criteria clearer or choose another judge, then calibrate again"
            yield Problem(path, what, fix, line, column, f"check `{name}`")
