"""The whole gate on a change of model, with the real outputs of real models behind HTTP.

The server answers from recorded outputs of four models on the prompt `speech-tag`; the
expected counts are counted straight from that data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.recorded_repository import check, result_of

TAGS = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO "
    "UH VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB Unknown CantAnswer"
)
IS_A_TAG = r"^\s*(?:" + "|".join(re.escape(tag) for tag in TAGS.split()) + r")\s*$"

CONTRACT = """\
contract: 1
name: speech-tag
prompt: ../prompts/speech-tag.prompty
model: {model}
params: {{temperature: 1.0, max_tokens: 64}}
fixtures:
  - file: speech-tag.fixtures.jsonl
checks:
  - type: regex
    pattern: '{pattern}'
    name: is a tag
sampling: {{samples: 1, mode: {mode}}}
"""


@pytest.fixture(scope="module")
def rows(shared_data: Path) -> list[dict[str, Any]]:
    lines = (shared_data / "promptpex/speech-tag.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def server(rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    outputs = {row["input"].strip(): row["outputs"] for row in rows}

    def answer(body: dict[str, Any]) -> str:
        return outputs[body["messages"][-1]["content"].strip()][body["model"]]["text"]

    with OpenAIServer(answer) as running:
        monkeypatch.setenv("OPENAI_API_KEY", "test-key")
        yield running


@pytest.fixture
def repository(
    git_repository: Callable[..., GitRepository], shared_data: Path, rows: list[dict[str, Any]]
) -> GitRepository:
    made = git_repository("speech")
    prompt = (shared_data / "promptpex/speech-tag.prompty").read_text("utf-8")
    fixtures = [{"id": row["id"], "vars": {"sentenceword": row["input"]}} for row in rows]
    made.write("prompts/speech-tag.prompty", prompt)
    made.write(
        "contracts/speech-tag.fixtures.jsonl", "".join(json.dumps(f) + "\n" for f in fixtures)
    )
    return made


def pull_request(repository: GitRepository, model: str, mode: str = "fixed") -> None:
    """`main` on gpt-4o-mini, `pr` changes nothing but the model."""

    def contract(name: str) -> str:
        return CONTRACT.format(model=name, pattern=IS_A_TAG, mode=mode)

    repository.write("contracts/speech-tag.yaml", contract("openai/gpt-4o-mini"))
    repository.commit("the contract")
    repository.branch("pr")
    repository.write("contracts/speech-tag.yaml", contract(model))
    repository.commit("another model")


def discordant(rows: list[dict[str, Any]], model: str) -> tuple[int, int]:
    """(broke, fixed) from gpt-4o-mini to the model, counted without gatekeeper."""
    good = [
        [bool(re.search(IS_A_TAG, row["outputs"][name]["text"])) for name in ("gpt-4o-mini", model)]
        for row in rows
    ]
    return sum(a and not b for a, b in good), sum(b and not a for a, b in good)


def test_a_change_to_a_model_that_cannot_do_it_fails(repository, server, rows, tmp_path):
    pull_request(repository, "openai/llama3.2:1b")

    code = check(repository, tmp_path / "out")
    result = result_of(tmp_path / "out")

    paired = result["contracts"][0]["paired"]
    assert code == 1
    assert result["verdict"] == "fail"
    assert paired["p_value"] < 1e-6
    assert (paired["broke"], paired["fixed"]) == discordant(rows, "llama3.2:1b")
    assert "regression" in [reason["code"] for reason in result["contracts"][0]["reasons"]]
    assert result["calls"]["made"] == 2 * len(rows) == len(server.requests)


def test_a_change_to_a_model_nearly_as_good_does_not_fail(repository, server, rows, tmp_path):
    pull_request(repository, "openai/gemma2:9b")

    code = check(repository, tmp_path / "out")
    result = result_of(tmp_path / "out")

    paired = result["contracts"][0]["paired"]
    assert code == 0
    assert (paired["broke"], paired["fixed"]) == discordant(rows, "gemma2:9b")
    assert "regression" not in [reason["code"] for reason in result["contracts"][0]["reasons"]]


def test_adaptive_sampling_gives_the_same_verdict_for_fewer_calls(
    repository, server, rows, tmp_path
):
    # With few calls at once, what is under way when the answer is sure is little.
    repository.write(".github/gatekeeper.yml", "limits: {concurrency: 2}\n")
    pull_request(repository, "openai/llama3.2:1b", mode="adaptive")

    code = check(repository, tmp_path / "out")
    result = result_of(tmp_path / "out")

    assert code == 1
    assert result["contracts"][0]["paired"]["stopped"] == "regressed"
    assert result["calls"]["made"] < 2 * len(rows)
    assert result["calls"]["saved"] > 0


def test_a_run_can_be_replayed_from_its_samples_without_a_call(repository, server, rows, tmp_path):
    pull_request(repository, "openai/gemma2:9b")
    check(repository, tmp_path / "first")
    first = result_of(tmp_path / "first")
    calls = len(server.requests)

    samples = tmp_path / "first" / "samples.jsonl"
    code = check(repository, tmp_path / "second", "--replay", str(samples))

    second = result_of(tmp_path / "second")
    assert code == 0
    assert len(server.requests) == calls
    assert second["contracts"][0]["paired"] == first["contracts"][0]["paired"]
