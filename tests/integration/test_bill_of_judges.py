"""What judges and simulated users cost: in the history, under one limit, and in the forecast. The
scripted server on 127.0.0.1 charges for every token, as OpenAI does."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.judges import verdict
from support.openai_server import OpenAIServer, Reply

from gatekeeper.cli.main import main
from gatekeeper.history.costs import month_spending, monthly_costs, price_of
from gatekeeper.history.record import Record
from gatekeeper.history.stores.lines import to_record

PRICES = {"gpt-4o-mini": (0.15e-6, 0.6e-6), "gpt-4o": (2.5e-6, 10e-6)}
WORDS = "id,word\n" + "".join(f"w{number},word{number}\n" for number in range(24))
PLAIN = """\
contract: 1
name: {name}
prompt: ../prompts/polite.txt
model: openai/gpt-4o-mini
params: {{temperature: 0, max_tokens: 500}}
fixtures: [{{file: words.csv}}]
checks: [{{type: contains, value: please}}]
sampling: {{samples: 1, mode: fixed}}
slo: {{success_rate: 0.5}}
"""
JUDGED = """\
judge: {model: openai/gpt-4o, params: {max_tokens: 3000}}
"""
CRITERIA = "{judge: rubric, criteria: The output is polite., name: is polite}"
USER = """\
user:
  model: openai/gpt-4o
  goal: Learn more of the word.
  max_turns: 2
  params: {max_tokens: 100}
"""


class Bank:
    """Answers politely, grades kindly, and writes down what it charges. `words` is how many words
    an answer has."""

    def __init__(self) -> None:
        self.charged: list[float] = []
        self.words = 20

    @property
    def bill(self) -> float:
        return math.fsum(self.charged)

    def __call__(self, body: Mapping[str, Any]) -> Reply:
        text = "".join(message["content"] for message in body["messages"])
        said = " ".join(
            [body["messages"][-1]["content"].split()[1], "please", *["so"] * self.words]
        )
        if body["model"] == "gpt-4o":
            said = verdict("yes", "The output asks politely for what it needs, and it says please.")
        if "Learn more of the word." in text:
            said = json.dumps({"message": "Which word?", "done": False, "reached": False})
        tokens = len(text) // 4, len(said) // 4 + 1
        self.charged.append(sum(map(math.prod, zip(tokens, PRICES[body["model"]], strict=True))))
        return Reply(said, *tokens)


@pytest.fixture
def bank(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bank]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    found = Bank()
    with OpenAIServer(found):
        yield found


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """`a` has a judge, `b` has none, and `c` has a simulated user."""
    made = git_repository("paid")
    files = {f"contracts/{name}.yaml": PLAIN.format(name=name) for name in "abc"}
    files["contracts/a.yaml"] += JUDGED
    files["contracts/c.yaml"] += USER
    head, _, tail = files["contracts/a.yaml"].partition("{type: contains, value: please}")
    assert tail
    files["contracts/a.yaml"] = head + CRITERIA + tail
    prompts = {"prompts/polite.txt": "Say {{ word }} politely.\n", "contracts/words.csv": WORDS}
    made.commit("paid", files | prompts)
    return made


def run(repository: GitRepository, tmp_path: Path, *more: str) -> tuple[int, dict[str, Any]]:
    out = tmp_path / "out"
    code = main(["run", "--repo", str(repository.path), "--out", str(out), *more])
    return code, json.loads((out / "result.json").read_text("utf-8"))


def records(history: Path) -> list[Record]:
    return [to_record(line) for line in history.read_bytes().splitlines()]


def test_the_history_has_the_whole_bill(
    repository: GitRepository, bank: Bank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tmp_path / "history.jsonl"
    assert run(repository, tmp_path, "--history", str(history))[0] == 0
    found = records(history)
    assert month_spending(found, datetime.now(UTC)).usd == pytest.approx(bank.bill)
    assert math.fsum(price_of(record) or 0.0 for record in found) == pytest.approx(bank.bill)
    (models,) = monthly_costs(found).values()
    assert models["openai/gpt-4o"].calls == 24 + 24 * 3
    assert models["openai/gpt-4o"].runs == 0
    assert (models["openai/gpt-4o"].usd or 0) > 5 * (models["openai/gpt-4o-mini"].usd or 1)
    assert {record.contract: set(record.asked) for record in found} == {
        "a": {"openai/gpt-4o"}, "b": set(), "c": {"openai/gpt-4o"}
    }  # fmt: skip

    # The calls of the contracts' own model alone would be far below the limit.
    limit = f"limits: {{month_usd: {bank.bill / 2:.6f}}}\n"
    repository.commit("limit", {".github/gatekeeper.yml": limit})
    before = len(bank.charged)
    command = ["run", "--repo", str(repository.path), "--out", str(tmp_path / "more")]
    assert main([*command, "--history", str(history)]) == 2
    assert "were spent this month" in capsys.readouterr().err
    assert len(bank.charged) == before


def test_a_judge_leaves_the_other_contracts_their_calls(
    repository: GitRepository, bank: Bank, tmp_path: Path
) -> None:
    repository.commit("limit", {".github/gatekeeper.yml": "limits: {cost_usd: 0.075}\n"})
    code, result = run(repository, tmp_path)
    assert code == 3
    found = {contract["name"]: contract["verdict"] for contract in result["contracts"]}
    assert list(found) == ["a", "b", "c"], "reports keep their order"
    assert found == {"a": "error", "b": "pass", "c": "error"}
    assert bank.bill <= 0.075


def test_a_judge_leaves_the_other_contracts_their_fresh_samples(
    repository: GitRepository, bank: Bank, tmp_path: Path
) -> None:
    """What seems to have broken is asked again, although a judge has reached the limit."""
    repository.propose(
        {"prompts/polite.txt": "Ask {{ word }} politely.\n"},
        {".github/gatekeeper.yml": "limits: {cost_usd: 0.075}\n"},
    )
    answer = bank.__class__.__call__

    class Rude(Bank):
        def __call__(self, body: Mapping[str, Any]) -> Reply:
            said = answer(bank, body)
            last = body["messages"][-1]["content"]
            rude = last.startswith("Ask word3 ")
            return Reply("no", said.prompt_tokens, 1) if rude else said

    with OpenAIServer(Rude()):
        out = tmp_path / "out"
        command = ["check", "--repo", str(repository.path), "--base", "main", "--head", "pr"]
        main([*command, "--out", str(out)])
    result = json.loads((out / "result.json").read_text("utf-8"))
    plain = next(contract for contract in result["contracts"] if contract["name"] == "b")
    codes = {reason["code"]: reason["text"] for reason in plain["reasons"]}
    assert "limit" not in codes
    assert "`w3` passed 2 of 2 on base and passes 0 of 2 now" in codes["broke"]
    judged = next(contract for contract in result["contracts"] if contract["name"] == "a")
    assert judged["verdict"] == "error"


@pytest.mark.long
@pytest.mark.parametrize("words", [20, 150])
@pytest.mark.parametrize("most", [500, 4000])
def test_the_forecast_is_near_the_bill(
    words: int, most: int, repository: GitRepository, bank: Bank, tmp_path: Path
) -> None:
    """Of answers that are much shorter than `max_tokens`, and of judges that say three sentences at
    most. After the first run, the history says how long they are."""
    bank.words = words
    for name in "abc":
        path = f"contracts/{name}.yaml"
        text = edited(
            (repository.path / path).read_text("utf-8"), "max_tokens: 500", f"max_tokens: {most}"
        )
        repository.commit(
            "longer", {path: text, ".github/gatekeeper.yml": "limits: {cost_usd: 9}\n"}
        )
    history = tmp_path / "history.jsonl"
    factors = []
    for _ in range(2):
        bank.charged.clear()
        _, result = run(repository, tmp_path, "--history", str(history))
        factors.append(result["forecast"]["expected"]["cost_usd"] / bank.bill)
    assert 1 / 1.5 < factors[0] < 3, "the length of an answer is a guess"
    assert 1 / 1.2 < factors[1] < 1.2


def forecast_after(
    repository: GitRepository, tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> dict[str, Any]:
    """What a run is to take after one whose records were changed."""
    history = tmp_path / "history.jsonl"
    run(repository, tmp_path, "--history", str(history))
    lines = [json.loads(line) for line in history.read_text("utf-8").splitlines()]
    for line in lines:
        change(line)
    history.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    found: dict[str, Any] = run(repository, tmp_path, "--history", str(history))[1]["forecast"]
    return found


@pytest.mark.long
def test_no_forecast_holds_a_longer_prompt_than_models_read(
    repository: GitRepository, bank: Bank, tmp_path: Path
) -> None:
    """A provider that counts wrongly would fill the memory of every later run."""

    def count_wrongly(line: dict[str, Any]) -> None:
        if line["contract"] == "a":
            line["asked"]["openai/gpt-4o"][:2] = [1, 3_000_000]

    found = forecast_after(repository, tmp_path, count_wrongly)
    questions, beside = 24, 1_000_000
    assert found["expected"]["prompt_tokens"] <= questions * 1_000_000 + beside


@pytest.mark.long
def test_no_more_is_expected_than_the_most(
    repository: GitRepository, bank: Bank, tmp_path: Path
) -> None:
    """Whatever a record says of the lengths and of the models."""
    others = {f"openai/x{number}": [1, 10**9] for number in range(200)}
    asked = {"openai/gpt-4o": [1, 10**9, 10**9, None], **others}
    before = getrusage(RUSAGE_SELF).ru_maxrss
    found = forecast_after(repository, tmp_path, lambda line: line.update(asked=asked))
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"
    expected, most = found["expected"], found["most"]
    for name in ("calls", "prompt_tokens", "completion_tokens", "cost_usd"):
        assert expected[name] <= most[name]
