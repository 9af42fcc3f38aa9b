"""The command as a process of its own: signals, imports, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from support import openai_server as faults
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import Fault, OpenAIServer
from support.recorded_repository import (
    GOOD,
    RECORDING,
    WORDS,
    check,
    csv,
    result_of,
    write_contract,
)

from gatekeeper.cli.main import main

HEAVY = ("litellm", "openai", "scipy", "numpy", "github", "xllamacpp", "rich", "jsonschema")
HEAVY += ("aiohttp", "asyncio", "concurrent.futures")
MEASURING = ("gatekeeper.gate.measuring.monitor", "gatekeeper.gate.comparison.paired_comparison")


@pytest.fixture
def hosted(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """A contract on an OpenAI model, and a pull request that rewords its prompt."""
    made = git_repository("hosted")
    contract = edited(GOOD, "recorded/contracts/words.samples.jsonl", "openai/test-model")
    made.write("contracts/words.yaml", contract)
    made.write("contracts/words.csv", csv(WORDS))
    made.write("prompts/words.txt", "Say {{ word }}")
    return made.propose({"prompts/words.txt": "Please say {{ word }}"})


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_a_signal_ends_the_run_with_what_was_gathered(number, hosted, tmp_path):
    answered = 4
    asked = threading.Semaphore(0)
    count = 0

    def answer(body: dict[str, Any]) -> str | Fault:
        nonlocal count
        count += 1
        asked.release()
        return "ok" if count <= answered else faults.hang()

    command = [sys.executable, "-m", "gatekeeper", "check", "--repo", str(hosted.path)]
    with OpenAIServer(answer) as server:
        environment = os.environ | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test-key"}
        with subprocess.Popen(
            [*command, "--base", "main", "--head", "pr", "--out", str(tmp_path / "out")],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            for _ in range(2 * len(WORDS)):
                assert asked.acquire(timeout=60)
            process.send_signal(number)
            _, error = process.communicate(timeout=60)

    result = result_of(tmp_path / "out")
    assert process.returncode == 3, error.decode()
    assert result["verdict"] == "error"
    assert "interrupted" in [r["code"] for r in result["contracts"][0]["reasons"]]
    samples = (tmp_path / "out/samples.jsonl").read_text("utf-8").splitlines()
    assert len(samples) >= 1
    assert all(json.loads(line)["output"] == "ok" for line in samples)
    assert b"Traceback" not in error


def test_a_change_without_prompts_is_answered_without_what_is_heavy_or_measures(
    git_repository, tmp_path
):
    made: GitRepository = git_repository("words")
    write_contract(made)
    made.propose({"README.md": "hello\n"})
    program = (
        "import sys; from gatekeeper.cli.main import main; code = main(sys.argv[1:]);"
        f"print(code, [name for name in {HEAVY + MEASURING} if name in sys.modules])"
    )

    arms = ["check", "--repo", str(made.path), "--base", "main", "--head", "pr"]

    ran = subprocess.run(
        [sys.executable, "-c", program, *arms, "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout.splitlines()[-1] == "0 []"


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "heavy"),
    [
        # It simulates when adaptive sampling ends, and so needs scipy.
        (["affected", "--base", "main"], ("litellm", "openai", "httpx", "xllamacpp")),
        (["validate"], ("litellm", "openai", "httpx", "scipy", "numpy", "xllamacpp")),
    ],
)
def test_a_command_that_only_looks_loads_no_heavy_package(command, heavy, git_repository):
    made: GitRepository = git_repository("words")
    write_contract(made, GOOD.replace(f"recorded/{RECORDING}", "openai/gpt-4o-mini"))
    made.propose({"prompts/words.txt": "Please say {{ word }}.\n"})
    program = (
        "import sys; from gatekeeper.cli.main import main; code = main(sys.argv[1:]);"
        f"print(code, [name for name in {heavy} if name in sys.modules])"
    )

    ran = subprocess.run(
        [sys.executable, "-c", program, *command, "--repo", str(made.path)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout.splitlines()[-1] == "0 []"


@pytest.mark.long
def test_a_check_with_an_openai_compatible_server_loads_no_litellm(hosted, tmp_path):
    program = (
        "import sys; from gatekeeper.cli.main import main; code = main(sys.argv[1:]);"
        "print(code, [n for n in ('litellm', 'openai', 'httpx', 'aiohttp') if n in sys.modules])"
    )
    arguments = ["check", "--repo", str(hosted.path), "--base", "main", "--head", "pr"]
    with OpenAIServer(lambda _: "ok") as server:
        ran = subprocess.run(
            [sys.executable, "-c", program, *arguments, "--out", str(tmp_path / "out")],
            capture_output=True,
            text=True,
            env={**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test-key"},
            check=True,
        )

    assert ran.stdout.splitlines()[-1] == "0 ['aiohttp']"
    assert server.requests


def test_the_module_is_the_command(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "gatekeeper", "--version"], capture_output=True, text=True
    )

    assert ran.returncode == 0
    assert ran.stdout.startswith("gatekeeper ")


def test_a_fault_of_our_own_could_not_measure(hosted, tmp_path, monkeypatch, capsys):
    def fault(*_: object) -> None:
        raise ZeroDivisionError("unforeseen")

    monkeypatch.setattr("gatekeeper.runs.library.suite.policy_in_force", fault)

    assert check(hosted, tmp_path / "out") == 3
    error = capsys.readouterr().err
    assert "unforeseen" in error
    assert "bug in gatekeeper" in error


def test_ctrl_c_before_the_first_call_could_not_measure(hosted, tmp_path, monkeypatch, capsys):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gatekeeper.runs.library.suite.policy_in_force", interrupted)

    assert check(hosted, tmp_path / "out") == 3
    assert "interrupted" in capsys.readouterr().err


def test_the_action_is_a_command_too(capsys):
    assert main(["action"]) == 2
    assert "GITHUB_" in capsys.readouterr().out
