"""The check `similar`: one embedding call for each output, from the server to a replay."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.judged_contract import check
from support.openai_server import Fault, OpenAIServer, bad_request

from gatekeeper.cli.main import main

KEY = "sk-0123456789abcdef"
EMBEDDER = "text-embedding-3-small"
CONTRACT = f"""\
contract: 1
name: polite
prompt: ../prompts/polite.txt
model: openai/gpt-4o-mini
params: {{temperature: 0, max_tokens: 20}}
fixtures:
  - file: words.csv
checks:
  - {{type: similar, value: "{{{{ word }}}} please", min: 0.9, model: openai/{EMBEDDER}}}
sampling: {{samples: 1, mode: fixed}}
"""
FILES = {
    "contracts/polite.yaml": CONTRACT,
    "contracts/words.csv": "id,word\n" + "".join(f"w{n},w{n}\n" for n in range(8)),
    "prompts/polite.txt": "Say {{ word }} politely.\n",
}


def vectors(body: Mapping[str, Any]) -> Fault:
    """A vector says how many words a text has, and whether one is `please`."""
    data = [
        {"index": n, "embedding": [len(text.split()) / 2, 4.0 * ("please" in text), 0]}
        for n, text in enumerate(body["input"])
    ]
    usage = {"prompt_tokens": 1000, "total_tokens": 1000}
    return Fault("raw", body=json.dumps({"data": data[::-1], "model": EMBEDDER, "usage": usage}))


def answer(body: Mapping[str, Any]) -> str | Fault:
    if "input" in body:
        return vectors(body)
    text = body["messages"][-1]["content"]
    return f"{text.split()[1]} please" if "politely" in text else f"{text.split()[1]} now"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with OpenAIServer(answer) as started:
        yield started


@pytest.fixture
def proposed(git_repository: Callable[..., GitRepository]) -> GitRepository:
    return git_repository("proposed").propose(
        {"prompts/polite.txt": "Say {{ word }} rudely.\n"}, FILES
    )


def test_outputs_that_mean_something_else_are_blocked_and_a_replay_agrees(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    code, result = check(proposed, tmp_path / "first")
    assert (code, result["contracts"][0]["reasons"][0]["code"]) == (1, "regression")
    asked = [body for body in server.requests if "input" in body]
    assert len(asked) == 16
    assert all(body["model"] == EMBEDDER and len(body["input"]) == 2 for body in asked)
    # 1,000 tokens of the price list's 0.02 USD a million.
    assert result["calls"]["judge"]["cost_usd"] == pytest.approx(16 * 1000 * 2e-8)
    lines = (tmp_path / "first/samples.jsonl").read_text("utf-8").splitlines()
    by_arm = {row["arm"]: row["checks"][0] for row in map(json.loads, lines)}
    assert (by_arm["base"]["passed"], by_arm["base"]["score"]) == (True, 1.0)
    assert (by_arm["head"]["passed"], by_arm["head"]["score"]) == (False, pytest.approx(0.242536))
    before = len(server.requests)
    recorded = str(tmp_path / "first/samples.jsonl")
    again, second = check(proposed, tmp_path / "second", "--replay", recorded)
    assert (again, len(server.requests)) == (code, before)
    assert second["contracts"][0]["fixtures"] == result["contracts"][0]["fixtures"]


def test_without_vectors_nothing_is_measured(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    server._answer = lambda body: bad_request() if "input" in body else answer(body)
    code, result = check(proposed, tmp_path)
    assert code != 0
    assert code != 1
    assert "regression" not in json.dumps(result)


@pytest.mark.parametrize("model", ["local/smollm2", "groq/embedder"])
def test_models_that_cannot_be_asked_are_refused(
    model: str, proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    changed = CONTRACT.replace(f"openai/{EMBEDDER}", model)
    proposed.commit("another", {"contracts/polite.yaml": changed})
    code, _ = check(proposed, tmp_path)
    assert code == 2
    assert not [body for body in server.requests if "input" in body]


def test_labels_say_which_minimum_to_use(
    proposed: GitRepository,
    server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    outputs = {"w0 please": "pass", "w1 please please": "pass", "w2 now": "fail", "no": "fail"}
    rows = [
        {"contract": "polite", "fixture": f"w{n}", "output": output, "verdict": verdict}
        for n, (output, verdict) in enumerate(outputs.items())
    ]
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    command = ["judge", "--repo", str(proposed.path), "calibrate", "polite", "--json"]
    assert main([*command, "--labels", str(labels)]) == 0
    (judge,) = json.loads(capsys.readouterr().out)["judges"]
    scores = judge["scores"]
    assert (scores["labels"], scores["roc_auc"]["value"]) == (4, 1.0)
    # (1, 4) and (1.5, 4)
    assert scores["best_minimum"] == pytest.approx(17.5 / (17 * 18.25) ** 0.5, abs=1e-6)


def test_a_model_in_use_at_base_is_allowed_and_a_new_providers_is_not(
    git_repository: Callable[..., GitRepository],
    server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = CONTRACT.replace(f"openai/{EMBEDDER}", "groq/embedder")
    for name, base, allowed in (("used", other, True), ("new", CONTRACT, False)):
        made = git_repository(name)
        made.propose(
            {"contracts/polite.yaml": other.replace("0.9", "0.8")},
            {**FILES, "contracts/polite.yaml": base},
        )
        assert check(made, tmp_path / name)[0] == 2
        refused = "the base branch uses no model of the provider" in capsys.readouterr().err
        assert refused is not allowed
    assert not server.requests


CONSISTENT = f"""\
contract: 1
name: polite
prompt: ../prompts/polite.txt
model: openai/gpt-4o-mini
params: {{max_tokens: 20}}
fixtures:
  - file: words.csv
checks:
  - {{type: not_contains, value: "never in any answer"}}
repair: {{steps: [lowercase], similar: {{model: openai/{EMBEDDER}, min: 0.9}}}}
slo: {{consistency: {{target: 0.85, similar: {{model: openai/{EMBEDDER}, min: 0.9}}}}}}
sampling: {{samples: 3, mode: fixed}}
"""


class InOtherWords:
    """Answers three times with other words: those to w0 to w3 once with another meaning, and one to
    w7 loses its meaning in lower case."""

    def __init__(self, embeddings: Callable[[Mapping[str, Any]], Fault] = vectors) -> None:
        self.embeddings = embeddings
        self.answers: Counter[str] = Counter()

    def __call__(self, body: Mapping[str, Any]) -> str | Fault:
        if "input" in body:
            return self.embeddings(body)
        word = body["messages"][-1]["content"].split()[1]
        self.answers[word] += 1
        third = f"{word} now" if word < "w4" else "W7 PLEASE" if word == "w7" else f"{word} please"
        return [f"{word} please", f"{word} oh please", third][self.answers[word] - 1]


@pytest.fixture
def consistent(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("consistent")
    made.commit("others", {"contracts/others.yaml": CONTRACT.replace("polite\n", "others\n", 1)})
    made.commit("polite", {**FILES, "contracts/polite.yaml": CONSISTENT})
    return made


def test_consistency_and_repairs_by_meaning_are_forecast_paid_and_replayed(
    consistent: GitRepository,
    server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    named = ["--repo", str(consistent.path), "--contract", "polite"]
    main(["affected", *named[:2], "--base", "main~1", "--head", "main"])
    # 3 pairs of answers to each of 8 fixtures, and one repair of each of 24 answers.
    assert "48 of the calls to judges" in capsys.readouterr().out
    server._answer = InOtherWords()
    first, second = tmp_path / "first", tmp_path / "second"
    assert main(["run", *named, "--out", str(first)]) == 0
    found = json.loads((first / "result.json").read_text("utf-8"))
    (contract,) = found["contracts"]
    # Of three pairs one agrees in w0 to w3, and all in the others: most of them by meaning.
    slo = contract["slo"][0]
    assert slo["observed"] == pytest.approx((1 / 3 + 1) / 2)
    assert slo["similar"] == {"model": f"openai/{EMBEDDER}", "min": 0.9}
    assert "(by embedding)" in (first / "comment.md").read_text("utf-8")
    repairs = contract["repairs"]["head"]
    assert [repairs[n] for n in ("repaired", "meaning_changed", "meaning_unknown")] == [1, 1, 0]
    asked = [body for body in server.requests if "input" in body]
    assert len(asked) == found["calls"]["judge"]["made"] == 4 * 3 + 4 * 1 + 1
    assert found["calls"]["judge"]["cost_usd"] == pytest.approx(len(asked) * 1000 * 2e-8)
    before = len(server.requests)
    replay = ["--replay", str(first / "samples.jsonl")]
    assert main(["run", *named, "--out", str(second), *replay]) == 0
    again = json.loads((second / "result.json").read_text("utf-8"))["contracts"][0]
    assert (again["slo"], again["repairs"]) == (contract["slo"], contract["repairs"])
    assert len(server.requests) == before


def test_without_vectors_answers_in_other_words_do_not_agree(
    consistent: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    server._answer = InOtherWords(lambda _: bad_request())
    named = ["--repo", str(consistent.path), "--contract", "polite", "--out", str(tmp_path)]
    assert main(["run", *named]) == 3
    (contract,) = json.loads((tmp_path / "result.json").read_text("utf-8"))["contracts"]
    assert contract["slo"][0]["unmeasured"] is True
