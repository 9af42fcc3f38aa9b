"""Random contracts with random changes: the worst verdict decides, and a second run repeats it.

The seeds are fixed, so that two trees can be compared by what they answer
(support/answers_corpus.py).
"""

from __future__ import annotations

import random
from typing import Any

import pytest
import yaml
from support.git_repository import GitRepository
from support.recorded_repository import RECORDING, WORDS, answers, check, recording, result_of
from support.same_result import without_time_and_calls

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
NAMES = ("words", "more")
SEEDS, QUICK = 70, 5
VERDICTS = ("pass", "inconclusive", "error", "fail")
"""The worst last."""


def _contract(draw: random.Random, name: str) -> dict[str, Any]:
    sampling: dict[str, Any] = {"samples": draw.choice((1, 2, 3))}
    if draw.random() < 0.5:
        sampling["mode"] = "fixed"
    found: dict[str, Any] = {
        "contract": 1,
        "name": name,
        "prompt": "../prompts/words.txt",
        "template": "jinja",
        "model": f"recorded/{RECORDING}",
        "fixtures": [{"file": "words.csv"}],
        "checks": draw.sample(CHECKS, draw.randint(1, 3)),
        "sampling": sampling,
    }
    if draw.random() < 0.15:
        found["params"] = {"seed": 1}  # the recording has no answer to such requests
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


def _changed(draw: random.Random) -> dict[str, str]:
    """Return what the pull request writes: a prompt, and sometimes more."""
    changed = {"prompts/words.txt": draw.choices(PROMPTS, (1, 4, 4))[0], "README.md": "changed\n"}
    if draw.random() < 0.3:
        changed["contracts/words.yaml"] = yaml.safe_dump(_contract(draw, "words"))
    if draw.random() < 0.2:
        changed["contracts/words.csv"] = _fixtures(draw)
    if draw.random() < 0.1:
        changed[".github/gatekeeper.yml"] = "require_contract: true\n"
    return changed


def _repository(made: GitRepository, draw: random.Random) -> int:
    """Write a random pull request, and return the exit code that the policy wants for doubts."""
    strict = draw.random() < 0.3
    contracts = {f"contracts/{name}.yaml": _contract(draw, name) for name in NAMES}
    files = {
        **{path: yaml.safe_dump(contract) for path, contract in contracts.items()},
        "contracts/words.csv": _fixtures(draw),
        "prompts/words.txt": PROMPTS[0],
        ".github/gatekeeper.yml": f"on_inconclusive: {'fail' if strict else 'pass'}\n",
        RECORDING: _answers(draw),
    }
    made.write_all(files)
    made.propose(_changed(draw))
    return int(strict)


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=pytest.mark.long) if n >= QUICK else n for n in range(SEEDS)]
)
def test_the_worst_verdict_decides_and_stands_in_a_second_run(
    git_repository, tmp_path, capsys, seed
):
    made = git_repository("words")
    doubtful = _repository(made, random.Random(seed))  # noqa: S311
    code = check(made, tmp_path / "out")
    if code == 2:
        assert "contracts/" in capsys.readouterr().err
        return
    result = result_of(tmp_path / "out")
    verdicts = [found["verdict"] for found in result["contracts"]]
    assert result["verdict"] == max(verdicts, key=VERDICTS.index, default="pass")
    reasons = [reason["code"] for found in result["contracts"] for reason in found["reasons"]]
    untested = "error" in reasons  # a contract that was broken before, whose files change
    open_ = doubtful or (3 if untested else 0)
    assert code == {"pass": 0, "inconclusive": open_, "error": 3, "fail": 1}[result["verdict"]]
    again = check(made, tmp_path / "again", "--order-seed", result["order_seed"])
    assert again == code
    repeated = result_of(tmp_path / "again")
    assert without_time_and_calls(repeated) == without_time_and_calls(result)
