"""Reads which models judge and compare texts: the contract's `judge`, what a check sets for itself,
and the key `similar` of an objective on consistency and of `repair`. And identifies the questions
to judges, so that equal questions share one answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper.contract.meaning.digests import digest, request_digest
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import CheckSpec, Contract
from gatekeeper.contract.values.objectives import CATEGORIES
from gatekeeper.contract.values.trial import JudgeAnswer, QuestionId, Request, Sample
from gatekeeper.errors import Problem

ASKING = ("judge", "similar")
"""The types of checks that ask a model."""
ENOUGH = 0.75
"""The lowest score that passes if a check does not say which. For claims, all are to be supported.
"""

_MODELS = ("model", "models")


def with_contract_judge(judge: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a check with the contract's judge, as far as it sets none of its
    own.

    The settings become parameters of the check. So a change of the contract's judge is a change of
    every check that uses it.
    """
    own_models = any(name in params for name in _MODELS)
    defaults = {
        name: value
        for name, value in judge.items()
        if name not in params and not (own_models and name in _MODELS)
    }
    sent = {**judge.get("params", {}), **params.get("params", {})}
    return {**defaults, **params, **({"params": sent} if sent else {})}


def judges_of(spec: CheckSpec) -> Iterator[str]:
    """Yield the models that a check and its inner checks name as judges."""
    if spec.type in ASKING:
        yield from _models(spec.params)
    for part in spec.parts:
        yield from judges_of(part)


def judges_named_in(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the models that a contract file names as judges, simulated user or for embeddings, as
    far as they are written in the file itself; it need not be valid."""
    yield from embedding_models_in(data)
    yield from _models(data.get("judge"))
    yield from _models(data.get("user"))
    yield from _in_checks(data.get("checks"), 0)
    groups = data.get("groups")
    of_groups = list(groups.values()) if isinstance(groups, dict) else []
    of_steps = _mappings(data.get("steps"))
    for holder in (*_mappings(data.get("fixtures")), *_mappings(of_groups), *of_steps):
        yield from _in_checks(holder.get("checks"), 0)


def _in_checks(checks: Any, level: int) -> Iterator[str]:
    for item in _mappings(checks):
        if "judge" in item or item.get("type") in ASKING:
            yield from _models(item)
        if level < _DEEPEST:
            yield from _in_checks(item.get("checks"), level + 1)


_DEEPEST = 5


def _models(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        several = value.get("models")
        listed = several if isinstance(several, list) else []
        yield from (model for model in (value.get("model"), *listed) if isinstance(model, str))


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def question_id(question: Request) -> QuestionId:
    """Return what identifies the question: model, messages, parameters and repetition."""
    asked = request_digest(question)
    return QuestionId(question.model, asked, question.repetition)


def question_key(asked: QuestionId) -> str:
    """Return the question's key in files that keep answers between runs. No key of a trial's
    request is equal to it."""
    return digest(["judge", *asked])


def answer_to(question: Request, sample: Sample) -> JudgeAnswer | None:
    """Return the answer that the sample carries; None if the question was not asked yet."""
    if not sample.judge_answers:
        return None
    asked = question_id(question)
    return next((a for a in sample.judge_answers if a.asked == asked), None)


_EMBEDDED = "local/"


def embedding_models(contract: Contract) -> tuple[str, ...]:
    """Return the embedding models that the contract may ask, apart from those of its checks."""
    found = [objective.similar for objective in contract.slo]
    if contract.mode != "observe" and contract.repair.steps:
        found.append(contract.repair.similar)
    return tuple(dict.fromkeys(similar.model for similar in found if similar))


def embedding_models_in(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the embedding models that a contract file names outside its checks; it need not be
    valid."""
    for _, model in _named_models(data):
        yield model


def similar_problems(document: Document, data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each embedding model that is the embedded model, whose vectors do not
    separate texts of different meaning."""
    for key, model in _named_models(data):
        if model.startswith(_EMBEDDED):
            what = "the model that comes with gatekeeper cannot distinguish meanings well enough"
            fix = "use a model of a provider, such as openai/text-embedding-3-small"
            yield document.problem(key, what, fix)


def _named_models(data: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yield each model with its key in the file."""
    yield from _model_of(("repair",), data.get("repair"))
    slo = _value_of(data, "slo")
    yield from _model_of(("slo", "consistency"), _value_of(slo, "consistency"))
    categories = _value_of(slo, CATEGORIES)
    for name, objectives in categories.items() if isinstance(categories, dict) else ():
        found = _value_of(objectives, "consistency")
        yield from _model_of(("slo", CATEGORIES, name, "consistency"), found)


def _model_of(key: KeyPath, holder: Any) -> Iterator[tuple[KeyPath, str]]:
    model = _value_of(_value_of(holder, "similar"), "model")
    if isinstance(model, str):
        yield (*key, "similar", "model"), model


def _value_of(holder: Any, key: str) -> Any:
    """Return the value at a key of a mapping; None for any other holder, in a file that is not
    valid."""
    return holder.get(key) if isinstance(holder, dict) else None
