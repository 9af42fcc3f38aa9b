"""The key `similar` of objectives and repairs: how it is read, refused, and weakened."""

from __future__ import annotations

import pytest
from support.outcomes import contract

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.checks.judge_settings import embedding_models
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.meaning.digests import contract_digest
from gatekeeper.contract.meaning.repair_policy import read_repairs
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.objectives import SimilarTexts, read_objectives
from gatekeeper.contract.weakening.weakening import weakenings
from gatekeeper.errors import ContractError

MODEL = "openai/text-embedding-3-small"


def similar(least: float = 0.9, model: str = MODEL) -> dict[str, object]:
    return {"model": model, "min": least}


def consistent(written: object):
    return contract("f", samples=3, slo=read_objectives({"consistency": written}))


def by(*given: object):
    return consistent({"target": 0.9, "similar": similar(*given)})


PLAIN = consistent(0.9)


@pytest.mark.parametrize(
    ("base", "head", "says"),
    [
        (PLAIN, by(), ["slo.consistency: `similar` added"]),
        (by(), PLAIN, []),
        (by(), by(), []),
        (by(0.8), by(0.9), []),
        (by(0.9), by(0.8), ["slo.consistency: similar.min lowered from 0.9 to 0.8"]),
        (
            by(),
            by(0.95, "openai/other"),
            [f"slo.consistency: similar.model changed from {MODEL} to openai/other"],
        ),
    ],
)
def test_what_lets_more_answers_agree_is_a_weakening(base, head, says):
    assert list(weakenings(base, head)) == says


def test_the_digest_knows_it():
    assert len({contract_digest(one) for one in (PLAIN, by(), by(0.8))}) == 3
    repairs = [
        contract("f", repair=read_repairs({"steps": ["lowercase"], **more}))
        for more in ({}, {"similar": similar()})
    ]
    assert len(set(map(contract_digest, repairs))) == 2


def test_the_models_are_those_that_can_be_asked():
    policy = read_repairs({"steps": ["lowercase"], "similar": similar(0.5, "openai/other")})
    assert policy.similar == SimilarTexts("openai/other", 0.5)
    both = contract("f", slo=by().slo, repair=policy)
    assert embedding_models(both) == (MODEL, "openai/other")
    observed = contract("f", mode="observe", repair=policy)
    assert embedding_models(observed) == embedding_models(PLAIN) == ()


@pytest.mark.parametrize(
    ("written", "fields"),
    [
        (f"slo: {{consistency: {{target: 0.9, similar: {{model: {MODEL}, min: 0.9}}}}}}", []),
        (
            "slo: {consistency: {target: 0.9, similar: {model: local/smollm2, min: 0.9}}}",
            ["slo.consistency.similar.model"],
        ),
        (
            "slo: {categories: {a: {consistency: {target: 1, similar: {model: local/m, min: 1}}}}}",
            ["slo.categories.a.consistency.similar.model"],
        ),
        (
            "repair: {steps: [lowercase], similar: {model: local/smollm2, min: 0.9}}",
            ["repair.similar.model"],
        ),
        ("repair: {similar: {model: openai/m}}", ["repair.similar"]),
        ("slo: {success_rate: {target: 1, similar: {}}}", ["slo.success_rate.similar"]),
        ("slo: {categories: 3}\nrepair: 4", ["repair", "slo.categories"]),
    ],
)
def test_the_loader_names_each_mistake(written, fields):
    text = f"""\
contract: 1
name: words
prompt: p.txt
model: openai/m
checks: [{{type: contains, value: ok}}]
fixtures: [{{id: f, vars: {{word: red}}, category: a}}]
sampling: {{samples: 3}}
{written}
"""
    revision = MemoryRevision({"c.yaml": text.encode(), "p.txt": b"Say {{ word }}."})
    found: list[str] = []
    try:
        load_contract(revision, "c.yaml", SHAPES)
    except ContractError as error:
        found = [problem.field or "" for problem in error.problems]
    assert sorted(found) == fields
