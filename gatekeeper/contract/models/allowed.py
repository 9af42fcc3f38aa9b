"""Decides which hosted models a change may call: those that the base branch allows or already uses.

A model's name decides which provider gets the prompts, whose key is used, and who is paid. A pull
request therefore cannot use a new provider: the base policy's `models` names the allowed models,
and without that key they are those of the providers in use at base.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gatekeeper.contract.checks.judge_settings import judges_named_in
from gatekeeper.contract.files.contract_document import ContractDocument, read_contract_document
from gatekeeper.contract.files.contract_files import contract_paths
from gatekeeper.contract.models.faults import NamedModel
from gatekeeper.contract.models.names import ModelName, is_hosted, matches, read_model_name
from gatekeeper.contract.policies.policy import POLICY_PATH, Policy
from gatekeeper.contract.prompts.load import parse_written
from gatekeeper.contract.prompts.reference import locate_prompt
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Position
from gatekeeper.errors import ContractError, Problem


@dataclass(frozen=True, slots=True)
class AllowedModels:
    """The patterns that a model has to match one of, and whether the policy wrote them."""

    patterns: tuple[str, ...]
    from_policy: bool

    def allows(self, model: ModelName) -> bool:
        """Return whether the model may be called."""
        return any(matches(model, pattern) for pattern in self.patterns)


EVERY_MODEL = AllowedModels(("*",), from_policy=False)
"""The permission for models that a person names on the command line."""


def allowed_models(policy: Policy, revisions: Iterable[Revision]) -> AllowedModels:
    """Return the models that may be called.

    Args:
        policy: The base's.
        revisions: Of the base branch, read only if the policy names no models: each provider that
            a contract there uses is allowed with all its models.
    """
    if policy.models is not None:
        return AllowedModels(policy.models, from_policy=True)
    distinct = {revision.sha: revision for revision in revisions}
    used = {name.provider for r in distinct.values() for name in models_in_use(r, policy)}
    return AllowedModels(tuple(f"{provider}/*" for provider in sorted(used)), from_policy=False)


def model_problems(models: Iterable[NamedModel], allowed: AllowedModels) -> tuple[Problem, ...]:
    """Return a problem for each model of a file with an invalid name or without permission, at the
    first place that names it: many checks may have one judge. `local/` and `recorded/` need no key
    and no permission."""
    first: dict[tuple[str, str], Position] = {}
    for place, model in models:
        if is_hosted(model):
            first.setdefault((place.path, model), place)
    found = (_problem(place, model, allowed) for (_, model), place in first.items())
    return tuple(problem for problem in found if problem)


def _problem(place: Position, model: str, allowed: AllowedModels) -> Problem | None:
    try:
        name = read_model_name(model)
    except ValueError as error:
        what = f"`{model[:100]}` cannot be called"
        return place.problem(what, str(error), "model")
    if allowed.allows(name):
        return None
    if allowed.from_policy:
        what = f"the base branch does not allow the model `{model}`"
        fix = f"add `{name.provider}/*` or `{name}` to `models` in {POLICY_PATH}"
    else:
        what = f"the base branch uses no model of the provider of `{model}`"
        listed = ", ".join(dict.fromkeys((*allowed.patterns, f"{name.provider}/*")))
        fix = f"add `models: [{listed}]` to {POLICY_PATH}"
    fix += " on the base branch, because a pull request cannot allow its own models"
    return place.problem(what, fix, "model")


def models_in_use(revision: Revision, policy: Policy) -> Iterator[ModelName]:
    """Return the hosted models of the contracts, as far as they are known without loading them
    completely.

    A contract that cannot be read allows nothing; loading it reports the mistake.
    """
    for path in contract_paths(revision, policy):
        for model in _models_of(revision, path):
            try:
                if is_hosted(model):
                    yield read_model_name(model)
            except ValueError:
                continue


def _models_of(revision: Revision, path: str) -> list[str]:
    """Return the model of a contract and its judges."""
    try:
        read = read_contract_document(revision, path)
        data = read.document.data
        if not isinstance(data, dict) or "contract" not in data:
            return []
        judges = list(judges_named_in(data))
    except ContractError:
        return []
    try:
        model = _model_of(revision, read)
    except (UnreadableError, ContractError, ValueError):
        model = None
    return [model, *judges] if model else judges


def _model_of(revision: Revision, read: ContractDocument) -> str | None:
    data = read.document.data
    if data.get("model"):
        return str(data["model"])
    if read.prompt is not None:
        return read.prompt.model
    prompt = locate_prompt(str(data.get("prompt")), read.document.path)
    if prompt.part:
        return None
    return parse_written(read_text(revision, prompt.path), prompt.path).model
