"""Finds the judges of a contract's checks, and the calibrations that count for them."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.checks.evaluate import Evaluator
from gatekeeper.checks.judged_check import judge_models_of
from gatekeeper.checks.judges.presets import DATA_RULES, PRESETS, preset_prompt, rule_prompt
from gatekeeper.checks.pair_check import compares_pairs
from gatekeeper.contract.checks.judge_calibration import JudgeIdentity
from gatekeeper.contract.values.calibration_record import Calibrations
from gatekeeper.contract.values.definition import CheckSpec, Contract


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
    of_rule = {"rule_prompt": rule_prompt()} if "rule" in spec.params else {}
    return {"prompt": preset_prompt(name), "data_rules": DATA_RULES, **of_rule}


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
