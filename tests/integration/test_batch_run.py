"""`gatekeeper run --batch`: the verdict of single calls, and a kill makes nobody pay twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.anthropic_batch_server import AnthropicBatchServer
from support.batch_server import BatchServer, Fault, Submitted
from support.edited_text import edited
from support.git_repository import GitRepository
from support.native_clients import CLAUDE, OPENAI, point_at
from support.openai_batch_server import OpenAIBatchServer, answered, unanswered
from support.openai_server import OpenAIServer
from support.pull_request import CONTRACT, FILES, answer

from gatekeeper.cli.main import main
from gatekeeper.providers.batch import client as batch_client
from gatekeeper.runs.answers.files import UNFINISHED, refuse_unfinished_batches

CONTRACT_FILE = "contracts/sentiment.yaml"
POLICY_FILE = ".github/gatekeeper.yml"
ADAPTIVE = edited(CONTRACT, "samples: 1, mode: fixed", "samples: 3, mode: adaptive")
FIXTURES = 24


def said(body: Any) -> str:
    """The answer to a request of either API."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    return answer({"messages": [{"content": text}]})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_client, "_QUIET_SECONDS", 0.02)
    monkeypatch.setattr(batch_client, "_FIRST_POLL_SECONDS", 0.01)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIBatchServer]:
    with OpenAIBatchServer(said) as running:
        point_at(running.url, monkeypatch)
        yield running


@pytest.fixture
def suite(git_repository: Callable[..., GitRepository]) -> Callable[..., GitRepository]:
    def make(contract: str = CONTRACT, policy: str = "") -> GitRepository:
        made = git_repository("suite")
        made.commit("sound", {**FILES, CONTRACT_FILE: contract, POLICY_FILE: policy})
        return made

    return make


def arguments(made: GitRepository, out: Path, *more: str) -> list[str]:
    return ["run", "--repo", str(made.path), "--out", str(out), *more]


def result_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "result.json").read_text("utf-8"))
    return found


def samples_of(out: Path) -> list[dict[str, Any]]:
    lines = (out / "samples.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("model", "kind"), [(OPENAI, OpenAIBatchServer), (CLAUDE, AnthropicBatchServer)]
)
def test_a_run_in_batches_asks_all_in_one_and_ends_like_any_other(
    model: str,
    kind: Callable[[Any], BatchServer],
    suite: Callable[..., GitRepository],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short = edited(ADAPTIVE, "{temperature: 0}", "{temperature: 0, max_tokens: 9}")
    made = suite(short.replace(MODEL, model))
    with kind(said) as server:
        point_at(server.url, monkeypatch)
        assert main(arguments(made, tmp_path / "out", "--batch")) == 0
    (batch,) = server.batches
    assert len(batch.requests) == 3 * FIXTURES
    result = result_of(tmp_path / "out")
    assert result["verdict"] == "pass"
    assert result["calls"]["made"] == 3 * FIXTURES
    forecast = result["forecast"]
    assert forecast["expected"]["calls"] == forecast["most"]["calls"] == 3 * FIXTURES
    assert 0 < forecast["expected"]["cost_usd"] < forecast["most"]["cost_usd"]
    assert len(samples_of(tmp_path / "out")) == 3 * FIXTURES
    assert {sample["latency_ms"] for sample in samples_of(tmp_path / "out")} == {None}
    assert not (tmp_path / "out" / UNFINISHED).exists()


def test_the_verdict_is_that_of_single_calls(
    server: OpenAIBatchServer, suite: Callable[..., GitRepository], tmp_path: Path
) -> None:
    made = suite(CONTRACT + "slo: {success_rate: 0.99}\n")
    server.rows = lambda batch: [
        answered(name, chat_of(body)) for name, body in batch.requests.items()
    ]
    code = main(arguments(made, tmp_path / "batch", "--batch"))
    with OpenAIServer(half):
        assert main(arguments(made, tmp_path / "single")) == code == 1
    one, other = result_of(tmp_path / "batch"), result_of(tmp_path / "single")
    assert one["contracts"][0]["slo"] == other["contracts"][0]["slo"]
    assert one["cost_usd"] == pytest.approx(other["cost_usd"] / 2)


def half(body: Any) -> str:
    return "positive"


def chat_of(body: Any) -> dict[str, Any]:
    """What the server of single requests answers."""
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    message = {"role": "assistant", "content": half(body)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"model": body["model"], "choices": [choice], "usage": usage}


def test_what_a_batch_left_open_is_asked_in_the_next_and_not_for_ever(
    server: OpenAIBatchServer, suite: Callable[..., GitRepository], tmp_path: Path
) -> None:
    rows = server.rows

    def expiring(batch: Submitted) -> list[Any]:
        found = rows(batch)
        return [found[0], *(unanswered(row["custom_id"]) for row in found[1:])]

    server.rows = expiring
    assert main(arguments(suite(), tmp_path / "out", "--batch")) == 3
    # What is lost after three batches is asked for once more at the end, in one batch.
    assert [len(batch.requests) for batch in server.batches] == [24, 23, 22, 21]
    assert len(samples_of(tmp_path / "out")) == FIXTURES


def test_an_answer_that_a_batch_lost_for_good_is_asked_for_once_more(
    server: OpenAIBatchServer, suite: Callable[..., GitRepository], tmp_path: Path
) -> None:
    rows = server.rows

    def losing(batch: Submitted) -> list[Any]:
        found = rows(batch)
        lost = len(server.batches) == 1
        return [unanswered(found[0]["custom_id"]), *found[1:]] if lost else found

    server.rows = losing
    main(arguments(suite(), tmp_path / "out", "--batch"))
    assert [len(batch.requests) for batch in server.batches] == [FIXTURES, 1]
    assert result_of(tmp_path / "out")["calls"]["failed"] == 0


LATENCY = edited(CONTRACT, "checks:\n", "checks:\n  - {type: latency, max_ms: 9}\n")
MODEL = "openai/gpt-4o-mini"
REFUSED = {
    "latency": (CONTRACT + "slo: {latency_p95_ms: 4000}\n", ""),
    "first token": (CONTRACT + "slo: {ttft_p95_ms: 4000}\n", ""),
    "first token check": (edited(LATENCY, "latency, max", "ttft, max"), ""),
    "latency check inside another": (
        edited(
            LATENCY,
            "{type: latency",
            "{type: any_of, checks: [{type: latency",
            "max_ms: 9}",
            "max_ms: 9}]}",
        ),
        "",
    ),
    "latency check": (
        LATENCY,
        "",
    ),
    "another provider": (
        CONTRACT.replace(MODEL, "groq/llama-3.3-70b-versatile"),
        "",
    ),
    "local": (edited(CONTRACT, "openai/gpt-4o-mini", "local/smollm2"), ""),
    "litellm": (CONTRACT, "providers: {openai: litellm}\n"),
    "only litellm": (edited(CONTRACT, "openai/gpt-4o-mini", "openai/o3-mini"), ""),
    "no price": (edited(CONTRACT, "openai/gpt-4o-mini", "openai/my-own"), ""),
    "too dear": (CONTRACT, "limits: {cost_usd: 0.000001}\n"),
}


@pytest.mark.parametrize(("contract", "policy"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_go_into_a_batch_is_refused_before_any_request(
    contract: str,
    policy: str,
    server: OpenAIBatchServer,
    suite: Callable[..., GitRepository],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-0123456789abcdef")
    assert main(arguments(suite(contract, policy), tmp_path / "out", "--batch")) == 2
    assert server.log == []
    refuse_unfinished_batches(tmp_path / "out")  # names none


def test_a_model_that_no_batch_takes_is_refused_for_that_and_not_for_its_price(
    server: OpenAIBatchServer,
    suite: Callable[..., GitRepository],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = suite(edited(CONTRACT, "openai/gpt-4o-mini", "local/smollm2"))
    assert main(arguments(made, tmp_path / "out", "--batch")) == 2
    said = capsys.readouterr().err
    assert "local/smollm2" in said
    assert "--contract" in said
    assert "limits.cost_usd" not in said
    assert server.log == []


def test_the_cost_limit_counts_what_a_batch_can_cost(
    server: OpenAIBatchServer, suite: Callable[..., GitRepository], tmp_path: Path
) -> None:
    # A call can cost 0.0049 US dollars in a batch.
    made = suite(policy="limits: {cost_usd: 0.05}\n")
    assert main(arguments(made, tmp_path / "out", "--batch")) == 0
    sizes = [len(batch.requests) for batch in server.batches]
    assert sum(sizes) == FIXTURES
    assert 5 <= sizes[0] <= 10


class TestAnInterruptedRun:
    """Leaves its batches at the provider, and the next run collects them."""

    @pytest.mark.long  # less time may be too short to submit a batch on a busy machine
    def test_the_time_limit_ends_the_wait(
        self,
        server: OpenAIBatchServer,
        suite: Callable[..., GitRepository],
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        made, out = suite(policy="limits: {minutes: 0.1}\n"), tmp_path / "out"
        server.polls = 1_000_000
        assert main(arguments(made, out, "--batch")) == 3
        notices = " ".join(result_of(out)["notices"])
        assert "batch_0" in notices
        assert f"POST {server.base}/batches/batch_0/cancel" in notices
        assert main(arguments(made, out)) == 2  # would pay again
        assert main(arguments(made, out, "--batch")) == 2
        assert main(arguments(made, out, "--resume")) == 2
        server.polls = 1
        capsys.readouterr()
        assert main(arguments(made, out, "--batch", "--resume")) == 0
        assert len(server.batches) == 1
        assert not (out / UNFINISHED).exists()

    @pytest.mark.parametrize(
        "number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.long)]
    )
    def test_a_signal_leaves_the_batch_running(
        self,
        number: int,
        server: OpenAIBatchServer,
        suite: Callable[..., GitRepository],
        tmp_path: Path,
    ) -> None:
        made, out = suite(), tmp_path / "out"
        server.polls = 1_000_000
        with process(arguments(made, out, "--batch")) as running:
            server.polled = lambda batch: running.send_signal(number)
            running.communicate(timeout=60)
        server.polls, server.polled = 1, lambda batch: None
        assert main(arguments(made, out, "--batch", "--resume")) == 0
        assert len(server.batches) == 1

    @pytest.mark.parametrize("begun", [pytest.param(False, marks=pytest.mark.long), True])
    def test_a_kill_at_the_submission_pays_for_nothing_twice(
        self,
        begun: bool,
        server: OpenAIBatchServer,
        suite: Callable[..., GitRepository],
        tmp_path: Path,
    ) -> None:
        """Between the upload and the batch, and between the batch and its id."""
        made, out = suite(), tmp_path / "out"
        server.faults = {"POST batches": [Fault(None, after=begun)]}
        with process(arguments(made, out, "--batch")) as running:

            def kill(name: str) -> None:
                if name == "POST batches":
                    running.kill()
                    running.wait()

            server.asked = kill
            running.communicate(timeout=60)
        assert len(server.batches) == begun
        server.asked = lambda name: None
        assert main(arguments(made, out, "--batch", "--resume")) == 0
        assert len(server.batches) == 1
        assert len(samples_of(out)) == FIXTURES


def both(made: GitRepository, contract: str) -> None:
    """Add a contract of another model, so that its requests go into a batch of their own."""
    named = edited(contract, "name: sentiment", "name: other", MODEL, "openai/gpt-4o")
    made.commit("other", {"contracts/other.yaml": named})


def test_a_failed_contract_loses_no_batch_of_another(
    server: OpenAIBatchServer, suite: Callable[..., GitRepository], tmp_path: Path
) -> None:
    made = suite(CONTRACT + "slo: {success_rate: 0.99}\n", "limits: {cost_usd: 100}\n")
    both(made, CONTRACT)
    out = tmp_path / "out"
    rows = server.rows

    def wrong(batch: Submitted) -> list[Any]:
        slow = next(iter(batch.requests.values()))["model"] == "gpt-4o"
        if slow:
            return rows(batch)
        return [answered(name, chat_of(body)) for name, body in batch.requests.items()]

    def polled(batch: Submitted) -> None:
        slow = next(iter(batch.requests.values()))["model"] == "gpt-4o"
        server.polls = 1_000_000 if slow and not ended else 1
        if slow and not ended and any("content" in line for line in server.log) and batch.polls > 9:
            os.kill(os.getpid(), signal.SIGTERM)

    ended: list[bool] = []
    server.rows, server.polled = wrong, polled
    assert main(arguments(made, out, "--batch")) == 1
    verdicts = {one["name"]: one["verdict"] for one in result_of(out)["contracts"]}
    assert verdicts == {"sentiment": "fail", "other": "error"}
    assert "--resume" in " ".join(result_of(out)["notices"])
    ended.append(True)
    assert main(arguments(made, out, "--batch", "--resume")) == 1
    verdicts = {one["name"]: one["verdict"] for one in result_of(out)["contracts"]}
    assert verdicts["other"] != "error"
    assert len(server.batches) == 2
    assert not (out / UNFINISHED).exists()


@pytest.mark.parametrize("place", ["GET batch_0", "GET content"])
def test_a_batch_that_the_provider_no_longer_has_could_not_be_measured(
    place: str, server: OpenAIBatchServer, suite: Callable[..., GitRepository], tmp_path: Path
) -> None:
    made, out = suite(), tmp_path / "out"
    server.faults = {place: [Fault(404)] * 9}
    assert main(arguments(made, out, "--batch")) == 3
    said = json.dumps(result_of(out))
    assert f"delete {out / UNFINISHED}" in said
    assert "To collect the answers" not in said
    (out / UNFINISHED).unlink()
    server.faults = {}
    assert main(arguments(made, out, "--batch")) == 0


def process(arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "gatekeeper", *arguments],
        env=dict(os.environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
