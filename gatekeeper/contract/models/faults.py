"""Finds models that cannot be called or are likely misspelt, each with the line that names it.

`providers` knows the existing providers and models; it is passed in as a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract, Position
from gatekeeper.errors import Problem


@dataclass(frozen=True, slots=True)
class ModelFault:
    """What is wrong with a model, and its remedy. `certain` says that the model cannot be called;
    otherwise it retires soon, or its name may be right, but new."""

    what: str
    fix: str
    certain: bool


FindFault = Callable[[str], ModelFault | None]
NamedModel = tuple[Position, str]
"""A model, and the place that names it."""


def no_fault(_: str) -> ModelFault | None:
    """Find nothing."""
    return None


@dataclass(frozen=True, slots=True)
class ModelFaults:
    """`refused` models cannot be called; `doubtful` ones are likely misspelt, or retire soon."""

    refused: tuple[Problem, ...] = ()
    doubtful: tuple[Problem, ...] = ()

    def with_refused(self, others: Sequence[Problem]) -> tuple[Problem, ...]:
        """Return all refused models. Other problems of a model that does not exist, such as how to
        allow it, are left out."""
        places = {(problem.path, problem.line) for problem in self.refused}
        kept = [problem for problem in others if (problem.path, problem.line) not in places]
        return (*self.refused, *kept)

    @property
    def notices(self) -> tuple[str, ...]:
        """Return sentences about doubtful models."""
        return tuple(str(problem) for problem in self.doubtful)


def find_faults(models: Iterable[NamedModel], find: FindFault) -> ModelFaults:
    """Look at each model once for each place that names it."""
    refused: list[Problem] = []
    doubtful: list[Problem] = []
    for place, model in dict.fromkeys(models):
        fault = find(model)
        if fault:
            found = refused if fault.certain else doubtful
            found.append(place.problem(fault.what, fault.fix, "model"))
    return ModelFaults(tuple(refused), tuple(doubtful))


def named_model(contract: Contract, model: str) -> NamedModel:
    """Return the model with its position, if the contract or its prompt names it; else with the
    contract's path alone."""
    is_own = contract.target.model == model and contract.model_at
    return is_own or Position(contract.path), model


def with_recordings(find: FindFault, revisions: Sequence[Revision]) -> FindFault:
    """Find also recordings that none of the revisions has."""

    def find_any(model: str) -> ModelFault | None:
        path = recording_path(model)
        if path is None or any(path in revision.entries for revision in revisions):
            return find(model)
        fix = "run the contract with the real model, and commit its `samples.jsonl` as this file"
        return ModelFault(f"the recording `{path}` does not exist", fix, certain=True)

    return find_any
