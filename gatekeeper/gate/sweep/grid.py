"""Builds the settings to try: all combinations of the given values, and the contract's own
setting."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import yaml

from gatekeeper.contract.meaning.digests import target_digest
from gatekeeper.contract.models.params import setting_fault
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract, Target
from gatekeeper.errors import UsageError
from gatekeeper.gate.plan.plan import as_sent

MOST_SETTINGS = 100
"""The most settings of a sweep: every two are compared, and a longer table is not readable."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A varied axis, `model`, `prompt` or the name of a parameter, and its values."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """One combination. `varied` maps each axis to its value here; `current` says that it is
    what the contract has today."""

    varied: Mapping[str, Any]
    target: Target
    current: bool = False

    @property
    def name(self) -> str:
        """Return the values as a reader would write them: `gpt-4o, temperature 0.3`."""
        return ", ".join(
            said(value) if axis in ("model", "prompt") else f"{axis} {said(value)}"
            for axis, value in self.varied.items()
        )


def read_axis(text: str) -> Axis:
    """Read `temperature=0,0.3,0.7` as an axis.

    Values are YAML; one with a comma goes in quotes or brackets. Raises UsageError.
    """
    name, equals, values = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--param {text}: write NAME=VALUE,VALUE, such as temperature=0,0.7")
    try:
        read = yaml.safe_load(f"[{values}]")
    except yaml.YAMLError as error:
        raise UsageError(f"--param {text}: the values are not YAML ({error})") from None
    if not read:
        raise UsageError(f"--param {text}: give at least one value")
    return Axis(name.strip(), tuple(read))


def settings_of(contract: Contract, axes: Sequence[Axis], revision: Revision) -> list[Setting]:
    """Return the contract's own setting first, then every other combination in the order of the
    axes.

    Raises UsageError for an axis that is there twice, no axis, a prompt that cannot be read,
    and too many combinations.
    """
    _require_sound(axes)
    found: dict[str, Setting] = {}
    for target, varied in _targets(contract, axes, revision):
        found.setdefault(target_digest(target), Setting(varied, target))
    own = _setting_of_today(contract, axes)
    others = [s for key, s in found.items() if key != target_digest(own.target)]
    return [own, *others]


def _targets(
    contract: Contract, axes: Sequence[Axis], revision: Revision
) -> list[tuple[Target, dict[str, Any]]]:
    combinations = product(*(axis.values for axis in axes))
    found = []
    for values in combinations:
        varied = dict(zip((axis.name for axis in axes), values, strict=True))
        target = _target(contract, varied, revision)
        _require_sound_params(contract, varied, target.model)
        found.append((target, varied))
    return found


def _target(contract: Contract, varied: Mapping[str, Any], revision: Revision) -> Target:
    target = contract.target
    prompt = target.prompt
    if "prompt" in varied and str(varied["prompt"]) != prompt.reference:
        try:
            prompt = load_prompt(revision, str(varied["prompt"]), contract.template)
        except UnreadableError as error:
            raise UsageError(f"--prompt {varied['prompt']}: {error.what}; {error.fix}") from None
    model = str(varied.get("model", target.model))
    changed = replace(target, prompt=prompt, model=model, params=_params(contract, varied))
    return as_sent(replace(contract, target=changed))


def _setting_of_today(contract: Contract, axes: Sequence[Axis]) -> Setting:
    target = as_sent(contract)
    today = {"model": target.model, "prompt": target.prompt.reference}
    varied = {axis.name: today.get(axis.name, target.params.get(axis.name)) for axis in axes}
    return Setting(varied, target, current=True)


def _require_sound(axes: Sequence[Axis]) -> None:
    if not axes:
        raise UsageError("nothing to vary: give --model, --prompt or --param")
    names = [axis.name for axis in axes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"{twice} occurs twice: give all values of {twice} in one option")
    settings = 1
    for axis in axes:
        settings *= len(axis.values)
    if settings > MOST_SETTINGS:
        raise UsageError(
            f"{settings:,} combinations are too many, because at most "
            f"{MOST_SETTINGS} can be compared; vary fewer values at a time"
        )


def _require_sound_params(contract: Contract, varied: Mapping[str, Any], model: str) -> None:
    """Refuse parameters that cannot be sent to the model before the first call, not by the
    provider's refusal of each call. The contract's own were checked for its own model alone."""
    sent = _params(contract, varied)
    for name, value in sent.items():
        fault = setting_fault(model, name, value, sent)
        if fault:
            said_of = "" if f"`{model}`" in fault[0] else f" of {model}"
            place = f"--param {name}"
            if name not in varied:
                place = f"--model {model}: params.{name} of {contract.path}"
            raise UsageError(f"{place}: {fault[0]}{said_of}; {fault[1]}")


def _params(contract: Contract, varied: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in varied.items() if name not in ("model", "prompt")}
    return {**contract.target.params, **own}


def said(value: Any) -> str:
    """Write a value as a reader would."""
    if value is None:
        return "not set"
    return value if isinstance(value, str) else json.dumps(value, default=str)
