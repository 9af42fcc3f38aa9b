"""`gatekeeper sweep` as its user runs it: real git, a model on 127.0.0.1."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import openai_server as faults
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.recorded_repository import GOOD, csv

from gatekeeper.cli.main import main

MANY = tuple(f"word{number:02}" for number in range(24))


@pytest.fixture
def repository(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch
) -> GitRepository:
    made = git_repository("sweep")
    contract = edited(GOOD, "recorded/contracts/words.samples.jsonl", "openai/gpt-4o-mini")
    made.write("contracts/words.yaml", contract)
    made.write("contracts/words.csv", csv(MANY))
    made.write("prompts/words.txt", "Say {{ word }}")
    made.write("prompts/polite.txt", "Please say {{ word }}")
    made.commit("sound")
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    return made


def sweep(made: GitRepository, out: Path, *flags: str) -> tuple[int, dict[str, Any]]:
    arguments = ["sweep", "--repo", str(made.path), "--contract", "words", "--out", str(out)]
    code = main([*arguments, *flags])
    file = out / "sweep.json"
    return code, json.loads(file.read_text()) if file.exists() else {}


def test_models_temperatures_and_prompts_are_tried_side_by_side(repository, tmp_path, capsys):
    """The larger model answers well whatever is asked, the smaller only when asked politely."""

    def answer(body: dict[str, Any]) -> str:
        said = body["messages"][0]["content"]
        return "ok" if body["model"] == "gpt-4o" or said.startswith("Please") else "no"

    with OpenAIServer(answer) as server:
        code, found = sweep(
            repository,
            tmp_path,
            "--model=openai/gpt-4o-mini,openai/gpt-4o",
            "--prompt=prompts/words.txt,prompts/polite.txt",
            "--param=temperature=0,0.7",
        )
    assert code == 0
    # Eight settings, and the contract's own, which sets no temperature.
    assert len(found["settings"]) == 9
    assert found["calls"]["made"] == 9 * len(MANY) == len(server.requests)
    best = found["settings"][found["recommended"]]
    assert (best["model"], best["prompt"]) == ("openai/gpt-4o-mini", "prompts/polite.txt")
    assert "5 other settings have no significantly lower rate" in found["reason"]
    assert len(found["pairs"]) == 9 * 8 / 2
    for pair in found["pairs"]:
        rates = [found["settings"][pair[k]]["success_rate"] for k in ("first", "second")]
        assert pair["difference"] == pytest.approx(rates[1] - rates[0])
    markdown = (tmp_path / "sweep.md").read_text()
    assert "**Recommended:** `openai/gpt-4o-mini, prompts/polite.txt, temperature 0" in markdown
    screen = capsys.readouterr().out
    assert "Recommended: openai/gpt-4o-mini, prompts/polite.txt" in screen
    assert "differ significantly" in screen
    assert len([line for line in screen.splitlines() if line.startswith("today ")]) == 1


def test_tests_of_rules_have_a_table_by_model(repository, tmp_path, capsys):
    """The smaller model breaks what the opposite of each rule asks for; of one test it says
    nothing."""
    kinds = ("rule", "inverse_rule", "baseline")
    rows = [
        f"{kind}{number},{kind} {number},{kind},{'' if kind == 'baseline' else f'r{number}'}"
        for number in range(7)
        for kind in kinds
    ]
    repository.write("contracts/words.csv", "\n".join(["id,word,category,cluster", *rows]))

    def answer(body: dict[str, Any]) -> Any:
        said = body["messages"][0]["content"]
        if said == "Say rule 3" and body["model"] == "small":
            return faults.bad_request("content filter")
        return "no" if "inverse_rule" in said and body["model"] == "small" else "ok"

    with OpenAIServer(answer):
        _, found = sweep(repository, tmp_path, "--model=openai/small")
    rates = found["suitability"]["settings"][1]
    assert (rates["inverse_rule"]["share"], rates["baseline"]["share"]) == (1, 0)
    counts = rates["rule"]["non_compliant"], rates["rule"]["measured"], rates["rule"]["planned"]
    assert counts == (0, 6, 7)
    assert found["suitability"]["units"] == 7
    screen = capsys.readouterr().out
    assert "Significantly worse on these tests: openai/small." in screen
    for report in (
        screen,
        (tmp_path / "sweep.md").read_text(),
        (tmp_path / "sweep.html").read_text(),
    ):
        assert "inverse rules (7)" in report
        assert "1 unknown" in report


def test_a_judge_of_compliance_sees_the_prompt_of_the_setting(repository, tmp_path):
    contract = edited(GOOD, "recorded/contracts/words.samples.jsonl", "openai/gpt-4o-mini")
    check = "  - {judge: complies, model: openai/gpt-4o}"
    repository.write(
        "contracts/words.yaml", edited(contract, "  - {type: regex, pattern: ok}", check)
    )
    repository.write("contracts/words.csv", csv(MANY[:2]))
    shown: list[bool] = []

    def answer(body: dict[str, Any]) -> str:
        if body["model"] != "gpt-4o":
            return "polite" if body["messages"][0]["content"].startswith("Please") else "short"
        question = body["messages"][-1]["content"]
        shown.append(("polite" in question) == ("Please say" in question))
        return '{"reason": "none", "verdict": "yes"}'

    with OpenAIServer(answer):
        sweep(repository, tmp_path, "--prompt=prompts/words.txt,prompts/polite.txt")
    assert shown == [True, True]


def test_the_work_tree_is_tried_unless_a_revision_is_named(repository, tmp_path):
    repository.write("prompts/words.txt", "Tell {{ word }}")
    asked: list[str] = []

    def answer(body: dict[str, Any]) -> str:
        asked.append(body["messages"][0]["content"])
        return "ok"

    with OpenAIServer(answer):
        assert sweep(repository, tmp_path, "--param=temperature=0")[0] == 0
        assert all(said.startswith("Tell ") for said in asked)
        asked.clear()
        assert sweep(repository, tmp_path, "--param=temperature=0", "--ref=main")[0] == 0
        assert all(said.startswith("Say ") for said in asked)


def test_samples_are_drawn_as_often_as_asked(repository, tmp_path):
    with OpenAIServer(lambda _: "ok"):
        code, found = sweep(repository, tmp_path, "--param=temperature=0", "--samples=3")
    assert code == 0
    assert found["samples"] == 3
    assert [s["samples"] for s in found["settings"]] == [3 * len(MANY)] * 2


def test_an_outage_recommends_nothing(repository, tmp_path, capsys):
    with OpenAIServer(lambda _: faults.unauthorized()):
        code, found = sweep(repository, tmp_path, "--param=temperature=0")
    assert code == 3
    assert found["recommended"] is None


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ((), "nothing to vary"),
        (("--param=temperature",), "--param temperature: write NAME=VALUE"),
        (("--model=,",), "--model: give at least one value"),
        (("--param=temperature=0", "--samples=0"), "--samples 0: give at least 1"),
        (("--prompt=prompts/none.txt",), "prompts/none.txt"),
        (("--param=temperature=0", "--samples=100"), "limits.calls"),
        (("--param=temprature=0",), "did you mean `temperature`?"),
        (("--param=temperature=0", "--param=api_base=http://evil.example"), "environment"),
        (("--param=temperature=0", "--replay=none.jsonl"), "--replay none.jsonl"),
        (
            ("--param=temperature=0,0.7", "--model=openai/gpt-5"),
            "--param temperature: `openai/gpt-5` does not take `temperature`",
        ),
        (("--param=top_p=1,0.5", "--model=openai/gpt-4o-mini,openai/o3"), "`openai/o3` does not"),
        (("--param=stop=[END]", "--model=azure/gpt-5-mini"), "remove `stop`"),
        (
            ("--param=temperature=0", "--model=anthropic/claude-opus-4-7"),
            "`anthropic/claude-opus-4-7` does not take `temperature`",
        ),
        (("--param=temperature=hot",), "--param temperature: 'hot' is not a number"),
        (("--param=temperature=0", "--out=.git/sweep"), "--out .git/sweep: this is inside of"),
    ],
)
def test_bad_input_is_explained_before_any_call(repository, tmp_path, capsys, flags, says):
    with OpenAIServer(lambda _: "ok") as server:
        code, found = sweep(repository, tmp_path, *flags)
    assert (code, found, server.requests) == (2, {}, [])
    assert says in capsys.readouterr().err


def test_a_parameter_of_the_contract_that_another_model_refuses_is_named_before_any_call(
    repository, tmp_path, capsys
):
    with_temperature = repository.path / "contracts/words.yaml"
    with_temperature.write_text(f"{with_temperature.read_text()}params: {{temperature: 0}}\n")
    with OpenAIServer(lambda _: "ok") as server:
        code, _ = sweep(repository, tmp_path, "--model=openai/gpt-4o,openai/gpt-5")
        assert (code, server.requests) == (2, [])
        assert (
            "--model openai/gpt-5: params.temperature of contracts/words.yaml: `openai/gpt-5` "
            "does not take `temperature`" in capsys.readouterr().err
        )
        # Neither a value that the model takes nor none at all is refused.
        flags = ("--model=openai/gpt-5-nano", "--param=temperature=1,null")
        code, found = sweep(repository, tmp_path, *flags)
    assert code in (0, 3)
    assert len(found["settings"]) == 3


@pytest.mark.parametrize(
    ("sampling", "flags", "seeds", "says"),
    [
        (
            "{samples: 3}",
            ("--param=temperature=0",),
            [[42, 43, 44]] * 2,
            "Seeds sent: 42 to 44, one for each sample of a fixture.",
        ),
        (
            "{samples: 1, seed: 7}",
            ("--param=temperature=0",),
            [[7], [7]],
            "Seeds sent: 7.",
        ),
        (
            "{samples: 2, seed: null}",
            ("--param=temperature=0",),
            [[], []],
            "Seeds sent: none.",
        ),
        (
            "{samples: 1, seed: null}",
            ("--param=seed=1,5",),
            [[], [1], [5]],
            "Seeds sent: none (seed not set), 1 (seed 1), 5 (seed 5).",
        ),
        (
            "{samples: 2}",
            ("--param=seed=9",),
            [[42, 43], [9]],
            "Seeds sent: 42 to 43, one for each sample of a fixture (seed not set), 9 (seed 9).",
        ),
    ],
)
def test_the_reports_say_which_seeds_the_model_got(
    repository, tmp_path, capsys, sampling, flags, seeds, says
):
    contract = repository.path / "contracts/words.yaml"
    contract.write_text(f"{contract.read_text()}sampling: {sampling}\n")
    repository.write("contracts/words.csv", csv(MANY[:2]))
    with OpenAIServer(lambda _: "ok") as server:
        _, found = sweep(repository, tmp_path, *flags)
    assert [setting["seeds"] for setting in found["settings"]] == seeds
    sent = {body.get("seed") for body in server.requests}
    assert sent - {None} == {seed for each in seeds for seed in each}
    assert (None in sent) is ([] in seeds)
    screen = " ".join(capsys.readouterr().out.split())
    page = (tmp_path / "sweep.html").read_text()
    assert says in screen
    assert says in page
    assert says in (tmp_path / "sweep.md").read_text()


def test_an_unknown_contract_is_explained(repository, capsys):
    assert main(["sweep", "--repo", str(repository.path), "--contract=wrods", "--model=a"]) == 2
    assert "did you mean 'words'?" in capsys.readouterr().err


LIFT = """\
contract: 1
name: words
instructions: ../AGENTS.md
model: openai/gpt-4o-mini
fixtures: [{file: tasks.csv}]
checks: [{type: equals, value: ok}]
"""
"""Its fixtures are tasks. The scripted model does what it is told by the words of AGENTS.md."""


def with_instructions(made: GitRepository) -> None:
    made.write("contracts/words.yaml", LIFT)
    rows = "\n".join(f"t{number:02},task {number}" for number in range(24))
    made.write("contracts/tasks.csv", f"id,task\n{rows}\n")
    made.write("AGENTS.md", "Say {{ ok }} if the number is even.\n")
    made.commit("instructions")
    made.write("AGENTS.md", "Say ok, always.\n")


def follows(body: dict[str, Any]) -> faults.Reply:
    """Always ok; ok for even tasks; ok for one in four without instructions."""
    *system, task = [message["content"] for message in body["messages"]]
    number = int(task.split()[1])
    often = 4 if not system else 2 if "even" in system[0] else 1
    return faults.Reply("no" if number % often else "ok", prompt_tokens=5 + 20 * len(system))


def test_the_lift_of_instructions_is_measured_against_none_and_base(repository, tmp_path, capsys):
    with_instructions(repository)
    with OpenAIServer(follows) as server:
        code, found = sweep(repository, tmp_path, "--lift=main")
    assert code == 0
    assert len(server.requests) == 3 * 24
    assert [s["success_rate"] for s in found["settings"]] == [1, 0.5, 0.25]
    base, none = found["lifts"]
    assert (base["than"], base["difference"], base["prompt_tokens"]) == ("main", 0.5, 0)
    assert (none["than"], none["difference"], none["prompt_tokens"]) == ("none", 0.75, 20)
    low, high = none["interval"]
    assert 0.4 < low < 0.75 < high < 1
    assert none["p_value"] < 0.001
    told = " ".join(capsys.readouterr().out.split())
    assert "Instructions against no instructions: better; +75 points, 95 % interval [+" in told
    assert "A call takes 20 more tokens of prompts." in told
    assert "Instructions against those of main: better; +50 points" in told


def test_instructions_that_harm_or_do_nothing_are_told_so(repository, tmp_path, capsys):
    with_instructions(repository)
    repository.write("AGENTS.md", "Say no, always.\n")

    def answer(body: dict[str, Any]) -> str:
        return "no" if "always" in body["messages"][0]["content"] else "ok"

    with OpenAIServer(answer):
        code, found = sweep(repository, tmp_path, "--lift=main", "--samples=2")
    assert code == 0
    assert {lift["difference"] for lift in found["lifts"]} == {-1}
    assert all(lift["interval"][0] == -1 < lift["interval"][1] < 0 for lift in found["lifts"])
    assert found["settings"][found["recommended"]]["varied"] != {"instructions": "today"}
    assert "no instructions: worse; −100 points" in " ".join(capsys.readouterr().out.split())
    repository.write("AGENTS.md", "Say {{ ok }} if the number is even.\n")
    with OpenAIServer(lambda _: "ok"):
        _, found = sweep(repository, tmp_path, "--lift=main")
    (lift,) = found["lifts"]
    assert (lift["than"], lift["difference"]) == ("none", 0)
    assert "no difference is shown; 0 points" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--lift=main", "--model=openai/gpt-4o"), "--lift: give no other setting to try"),
        (("--lift=main~1",), "--lift: there is no file `AGENTS.md` at that revision"),
        (("--lift=main", "--ref=main~1"), "the contract words has no `instructions`"),
    ],
)
def test_a_lift_that_cannot_be_measured_is_refused(repository, tmp_path, capsys, flags, said):
    with_instructions(repository)
    assert sweep(repository, tmp_path, *flags)[0] == 2
    assert said in capsys.readouterr().err
