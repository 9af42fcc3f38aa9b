"""`gatekeeper validate` as a person or a program runs it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support.git_repository import GitRepository
from support.recorded_repository import write_contract

from gatekeeper.cli.main import main


def test_the_json_tells_errors_warnings_and_the_inventory(
    git_repository: Callable[..., GitRepository], capsys
) -> None:
    made = git_repository("words")
    write_contract(made)
    made.write("contracts/broken.yaml", "contract: 1\nname: broken\n")
    made.write("src/app.py", 'SYSTEM_PROMPT = "You are a helpful assistant."\n')
    made.commit("first")

    assert main(["validate", "--repo", str(made.path), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] is False
    assert {f["path"] for f in found["findings"] if f["level"] == "error"} == {
        "contracts/broken.yaml"
    }
    uncovered = [prompt["reference"] for prompt in found["prompts"] if not prompt["contracts"]]
    assert uncovered == ["src/app.py:SYSTEM_PROMPT"]


def test_a_broken_policy_on_the_base_branch_is_a_warning(
    git_repository: Callable[..., GitRepository], capsys
) -> None:
    made = git_repository("words")
    write_contract(made)
    made.write(".github/gatekeeper.yml", "limits: {cals: 3}\n")
    made.commit("policy")
    made.branch("mended")
    made.write(".github/gatekeeper.yml", "limits: {calls: 3000}\n")

    assert main(["validate", "--repo", str(made.path)]) == 0
    (line,) = [
        line for line in capsys.readouterr().out.splitlines() if "every pull request" in line
    ]
    assert line.startswith("warning: .github/gatekeeper.yml:1:")
    assert "did you mean `calls`? With this mistake on the branch main, every" in line


@pytest.mark.parametrize(
    "location",
    [
        "branch:a..b",
        "branch:",
        "runs.txt",
        "missing.txt",
        "https://example.com/runs.jsonl",
        f"{'r' * 300}.jsonl",
        f"{'r' * 300}.sqlite",
        f"{'folder/' * 1000}runs.jsonl",
        "\\0.jsonl",
    ],
)
def test_a_history_that_cannot_be_is_an_error_beside_the_others(
    git_repository: Callable[..., GitRepository], capsys, location: str
) -> None:
    made = git_repository("words")
    write_contract(made)
    made.write("contracts/broken.yaml", "contract: 1\nname: broken\n")
    made.write("runs.txt", "")
    made.write(".github/gatekeeper.yml", f'history: "{location}"\n')
    made.commit("first")

    assert main(["validate", "--repo", str(made.path), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    paths = {f["path"] for f in found["findings"] if f["level"] == "error"}
    assert paths == {"contracts/broken.yaml", ".github/gatekeeper.yml"}


def test_no_limit_on_cost_is_a_warning(
    git_repository: Callable[..., GitRepository], capsys
) -> None:
    made = git_repository("words")
    write_contract(made)
    for limits, warns in (("{cost_usd: null}", True), ("{cost_usd: 5}", False), ("{}", False)):
        made.write(".github/gatekeeper.yml", f"limits: {limits}\n")
        made.commit(limits)
        assert main(["validate", "--repo", str(made.path)]) == 0
        assert ("one run may spend any amount" in capsys.readouterr().out) is warns, limits


@pytest.mark.parametrize(
    ("policy", "place"),
    [
        ("limits: {cost_usd: null}\n", "1:20"),
        ("# No limit.\nlimits:\n  calls: 5\n  cost_usd: null\n", "4:13"),
        ("limits:\n  cost_usd: # any\n", "2:12"),
        ("limits: {cost_usd: ~, calls: 9}\nmodels: [openai/*]\n", "1:20"),
    ],
)
def test_no_limit_on_cost_is_warned_of_at_its_line(
    git_repository: Callable[..., GitRepository], capsys, policy: str, place: str
) -> None:
    made = git_repository("words")
    write_contract(made)
    made.write(".github/gatekeeper.yml", policy)
    made.commit("any price")
    assert main(["validate", "--repo", str(made.path)]) == 0
    start = f"warning: .github/gatekeeper.yml:{place}: limits.cost_usd: no limit on cost"
    assert start in capsys.readouterr().out
