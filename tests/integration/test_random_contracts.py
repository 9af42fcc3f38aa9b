"""Random contracts with random changes: whatever they say, the gate ends as its verdict says.

The seeds are fixed, so that two trees can be compared by what they answer
(support/answers_corpus.py).
"""

from __future__ import annotations

import random
from typing import Any

import pytest
import yaml
from support.recorded_repository import RECORDING, WORDS, answers, check, recording, result_of

PROMPTS = ("Say {{ word }}.\n", "Please say {{ word }}.\n", "Say {{ word }}, and nothing else.\n")
OUTPUTS = ("ok", "ok.", '{"a": 1}', "no", "I cannot help with that.", "", "ok ok ok")
CHECKS: tuple[dict[str, Any], ...] = (
    {"type": "regex", "pattern": "ok"},
    {"type": "contains", "value": "ok"},
    {"type": "not_contains", "value": "cannot"},
    {"type": "length", "max": 2, "unit": "words"},
    {"type": "equals", "value": "{{ expected }}"},
    {"type": "json_schema", "schema": {"type": "object"}, "severity": "warn"},
    {"type": "starts_with", "value": "ok", "must_pass": True},
)
GATES: tuple[dict[str, Any], ...] = (
    {},
    {"claim": "inputs"},
    {"claim": "fixtures", "allow_broken": 1},
    {"margin": 0.2},
    {"slices": "category"},
    {"tolerance": 0.6},
    {"alpha": 0.2},
)
SLOS: tuple[dict[str, Any], ...] = ({}, {"success_rate": 0.5}, {"success_rate": 0.9})
SEEDS = 200
ENDS = {"pass": {0}, "fail": {1}, "inconclusive": {0, 1, 3}, "error": {3}}


def _contract(draw: random.Random) -> dict[str, Any]:
    sampling: dict[str, Any] = {"samples": draw.choice((1, 2, 3))}
    if draw.random() < 0.5:
        sampling["mode"] = "fixed"
    found: dict[str, Any] = {
        "contract": 1,
        "name": "words",
        "prompt": "../prompts/words.txt",
        "template": "jinja",
        "model": f"recorded/{RECORDING}",
        "fixtures": [{"file": "words.csv"}],
        "checks": draw.sample(CHECKS, draw.randint(1, 3)),
        "sampling": sampling,
    }
    if gate := draw.choice(GATES):
        found["gate"] = gate
    if slo := draw.choice(SLOS):
        found["slo"] = slo
    return found


def _fixtures(draw: random.Random) -> str:
    rows = "".join(f"{word},{word},ok,{draw.choice('ab')}\n" for word in WORDS)
    return "id,word,expected,category\n" + rows


def _answers(draw: random.Random) -> str:
    """What the model says: mostly what the checks want."""
    told: dict[str, str | list[str]] = {}
    weights = (12, 2, 1, draw.choice((0, 1, 4)), 1, 1, 1)
    for prompt in PROMPTS:
        outputs = {word: draw.choices(OUTPUTS, weights, k=8) for word in WORDS}
        told |= answers(prompt, outputs)
    return recording(told)


def _changed(draw: random.Random, contract: dict[str, Any]) -> dict[str, str]:
    """Return what the pull request writes: a prompt, and sometimes more."""
    changed = {"prompts/words.txt": draw.choice(PROMPTS)}
    if draw.random() < 0.3:
        changed["contracts/words.yaml"] = yaml.safe_dump(_contract(draw) | {"name": "words"})
    if draw.random() < 0.2:
        changed["contracts/words.csv"] = _fixtures(draw)
    if draw.random() < 0.1:
        changed[".github/gatekeeper.yml"] = "require_contract: true\n"
    return changed


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=pytest.mark.long) if n >= 10 else n for n in range(SEEDS)]
)
def test_the_exit_code_is_the_verdicts(git_repository, tmp_path, capsys, seed):
    draw = random.Random(seed)  # noqa: S311
    made = git_repository("words")
    contract = _contract(draw)
    files = {
        "contracts/words.yaml": yaml.safe_dump(contract),
        "contracts/words.csv": _fixtures(draw),
        "prompts/words.txt": PROMPTS[0],
        RECORDING: _answers(draw),
    }
    made.write_all(files)
    made.commit("base")
    made.branch("pr")
    made.commit("change", {**_changed(draw, contract), "README.md": "changed\n"})
    code = check(made, tmp_path / "out")
    if code == 2:
        assert "contracts/words.yaml" in capsys.readouterr().err
        return
    result = result_of(tmp_path / "out")
    assert code in ENDS[result["verdict"]]
    assert {found["verdict"] for found in result["contracts"]} <= set(ENDS)
    worst = max((list(ENDS).index(v["verdict"]) for v in result["contracts"]), default=0)
    assert worst == 0 or result["verdict"] != "pass"
