"""A judge that favours length blocks a shorter prompt; labels show that it is as good."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.judges import verdict
from support.openai_server import OpenAIServer

from gatekeeper.cli.main import main

WORDS = [f"word{number}" for number in range(40)]
CONTRACT = """\
contract: 1
name: reply
prompt: ../prompts/reply.txt
model: openai/gpt-4o-mini
params: {temperature: 0, max_tokens: 50}
judge: {model: openai/gpt-4o}
fixtures:
  - file: words.csv
checks:
  - {judge: rubric, criteria: It is right., name: right}
sampling: {samples: 1, mode: fixed}
"""
FILES = {
    "contracts/reply.yaml": CONTRACT,
    "contracts/words.csv": "id,word\n" + "".join(f"{word},{word}\n" for word in WORDS),
    "prompts/reply.txt": "Explain {{ word }} at length.\n",
}


def answer(body: Mapping[str, Any]) -> str:
    """Answer briefly or at length; as the judge, pass the long ones and some of the short."""
    text = body["messages"][-1]["content"]
    if body["model"] == "gpt-4o":
        output = text.split("<data output")[1].split("\n")[1]
        return verdict("yes" if len(output) > 20 or "1" in output else "no")
    word = text.split()[1]
    return f"{word} is right" + (" and has many more words" if "length" in text else "")


@pytest.fixture
def run(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Path]:
    made = git_repository("correct")
    made.propose({"prompts/reply.txt": "Explain {{ word }} briefly.\n"}, FILES)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    with OpenAIServer(answer):
        out = tmp_path / "out"
        arms = ["--repo", str(made.path), "--base", "main", "--head", "pr", "--out", str(out)]
        assert main(["check", *arms]) == 1
        yield out


def label(run: Path, fixtures: int) -> Path:
    """People find every answer right."""
    wanted = set(WORDS[:fixtures])
    lines = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    rows = [
        {"fixture": line["fixture"], "output": line["output"], "verdict": "pass"}
        for line in lines
        if line["fixture"] in wanted
    ]
    file = run / "labels.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_labels_of_the_run_show_that_head_is_as_good(run, capsys) -> None:
    capsys.readouterr()
    command = ["judge", "correct", "reply", "--run", str(run), "--labels", str(label(run, 20))]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # 13 of the 40 short answers have a 1 in them: 1, 10 to 19, 21 and 31.
    assert found["check"] == "right"
    assert found["difference"]["judged"] == pytest.approx(13 / 40 - 1)
    assert (found["difference"]["inputs"], found["difference"]["labelled"]) == (40, 20)
    low, high = found["difference"]["interval"]
    assert low < 0 < high
    assert found["p_value_worse"] > 0.05
    assert found["head"]["judged"] == 13 / 40
    assert found["head"]["corrected"] > 0.8
    assert main(command) == 0
    assert "as judged" in capsys.readouterr().out


def test_scores_of_people_correct_the_mean_score(run, capsys) -> None:
    capsys.readouterr()
    labels = label(run, 20)
    rows = [json.loads(line) | {"score": 0.75} for line in labels.read_text().splitlines()]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["judge", "correct", "reply", "--run", str(run), "--labels", str(labels)]
    assert main([*command, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert scores["head"]["judged"] == 13 / 40
    assert scores["head"]["corrected"] == pytest.approx(0.75, abs=0.05)
    low, high = scores["difference"]["interval"]
    assert low < 0 < high
    assert main(command) == 0
    assert "score of right" in capsys.readouterr().out
    labels.write_text(json.dumps(rows[0] | {"score": "seven"}) + "\n")
    assert main(command) == 2
    assert "score" in capsys.readouterr().err


def test_labels_of_every_fixture_speak_for_themselves(run, capsys) -> None:
    capsys.readouterr()
    command = ["judge", "correct", "reply", "--run", str(run), "--labels", str(label(run, 40))]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["difference"]["corrected"] == 0
    assert found["head"]["corrected"] == 1


def test_a_check_without_a_verdict_is_refused(run, capsys) -> None:
    command = ["judge", "correct", "reply", "--run", str(run), "--labels", str(label(run, 5))]
    assert main([*command, "--check", "none"]) == 2
    assert "none" in capsys.readouterr().err
    assert main(["judge", "correct", "other", *command[3:]]) == 2
