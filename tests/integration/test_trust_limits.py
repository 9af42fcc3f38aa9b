"""What was not measured is not called sound: limits, outages, spent budgets, history, clones."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.proposals import (
    CONTRACT,
    FIXTURES,
    MANY,
    NO_SLO,
    OTHER,
    POLICY,
    PROMPT_FILE,
    Proposal,
    all_say,
    only_head_answers,
    only_head_passes,
    reasons,
    rows,
    run_check,
    some_say,
    spent_budget,
    spent_lines,
)
from support.recorded_repository import (
    GOOD,
    PROMPT,
    RECORDING,
    answers,
    check,
    csv,
    recording,
    result_of,
    under_name,
)

from gatekeeper.cli.main import main

NEW = tuple(f"new{i}" for i in range(10))

REWORDED = Proposal("as it is", "", {PROMPT_FILE: OTHER}, contract=GOOD, recorded=all_say("ok"))
ESCAPES = [
    REWORDED,
    replace(
        REWORDED,
        name="the objective is lowered",
        why="by what is promised at head nothing is spent",
        writes={CONTRACT: edited(GOOD, "0.5}", "0.000001}"), PROMPT_FILE: OTHER},
    ),
    replace(
        REWORDED,
        name="the objective is removed",
        why="without an objective there is no budget",
        writes={CONTRACT: NO_SLO, PROMPT_FILE: OTHER},
    ),
    replace(
        REWORDED,
        name="the contract gets another name",
        why="the history knows the name at base",
        writes={CONTRACT: edited(GOOD, "name: words", "name: texts"), PROMPT_FILE: OTHER},
    ),
    replace(
        REWORDED,
        name="the window is shortened",
        why="what was spent falls out of it",
        writes={CONTRACT: edited(GOOD, "0.5}", "0.5, window: 1h}"), PROMPT_FILE: OTHER},
    ),
    replace(
        REWORDED,
        name="alpha is raised",
        why="at a level of 0.9 one fixture fixed is an improvement",
        writes={CONTRACT: GOOD + "gate: {alpha: 0.9}\n", PROMPT_FILE: OTHER},
        recorded=all_say("ok") | some_say("no", 1, PROMPT),
    ),
    replace(
        REWORDED,
        name="fixtures are added that only the new prompt passes",
        why="what head's own fixtures show is no improvement",
        writes={
            CONTRACT: edited(GOOD, "checks:\n", "  - file: more.jsonl\nchecks:\n"),
            "contracts/more.jsonl": only_head_passes(NEW),
            PROMPT_FILE: OTHER,
        },
        recorded=all_say("ok") | only_head_answers(NEW),
    ),
]


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda escape: escape.name)
def test_a_freeze_cannot_be_escaped(escape, run_gate):
    answered = escape.run_check(run_gate, history=spent_lines(failed=30))
    assert answered.exit_code == 1, escape.why
    assert "budget" in answered.reasons()


def test_a_history_from_the_future_is_not_dropped_unseen(git_repository, tmp_path):
    """A runner's clock may be off; the budget that it spent is spent."""
    history = spent_budget(tmp_path, past=timedelta(minutes=-10))
    code, result = run_check(REWORDED, git_repository, tmp_path / "out", "--history", history)
    assert code == 1
    assert "budget" in {reason["code"] for reason in result["contracts"][0]["reasons"]}


def test_a_history_that_cannot_be_read_is_not_one_without_a_freeze(git_repository, tmp_path):
    history = tmp_path / "history.jsonl"
    history.mkdir()
    code, result = run_check(REWORDED, git_repository, tmp_path / "out", "--history", str(history))
    assert (code, result["verdict"]) == (0, "inconclusive")
    assert "unread" in reasons(result, "inconclusive")
    assert any("cannot be read" in notice for notice in result["notices"])


@pytest.mark.parametrize(
    ("case", "policy", "contract"),
    [
        ("nothing freezes", "error_budget: {freeze: false}\n", GOOD),
        ("the contract is exempt", "error_budget: {exempt: [words]}\n", GOOD),
        ("there is no objective", "", NO_SLO),
    ],
)
def test_where_nothing_could_be_frozen_an_unread_history_holds_up_nothing(
    git_repository, tmp_path, case, policy, contract
):
    history = tmp_path / "history.jsonl"
    history.mkdir()
    proposal = replace(REWORDED, before={POLICY: policy}, contract=contract)
    code, result = run_check(proposal, git_repository, tmp_path / "out", "--history", str(history))
    assert code == 0, case
    assert "unread" not in reasons(result, "inconclusive")


def test_a_frozen_contract_may_get_more_fixtures(run_gate):
    """Head's prompt is base's, so that merging cannot spend anything."""
    more = replace(REWORDED, writes={FIXTURES: csv(MANY)}, before={FIXTURES: csv(MANY[:39])})
    assert more.run_check(run_gate, history=spent_lines()).exit_code == 0


def test_the_full_suite_is_not_frozen(git_repository, tmp_path):
    """It is what shows that a prompt has recovered."""
    made = REWORDED.propose(git_repository)
    made.switch("main")
    run = ["run", "--repo", str(made.path), "--history", spent_budget(tmp_path)]
    assert main([*run, "--out", str(tmp_path / "out")]) == 0


HOSTED = edited(GOOD, "recorded/contracts/words.samples.jsonl", "openai/test-model")
LIMITED = replace(
    REWORDED,
    contract=HOSTED.replace("0.5", "0.8"),
    before={POLICY: "limits: {calls: 10}\n"},
)


def test_an_interrupted_suite_writes_no_history(git_repository, tmp_path, monkeypatch):
    """Half a suite is a chance selection of it."""
    made = LIMITED.propose(git_repository)
    made.switch("main")
    history = tmp_path / "history.jsonl"
    run = ["run", "--repo", str(made.path), "--history", str(history)]
    with OpenAIServer(lambda _: "ok") as server:
        _ask(server, monkeypatch)
        assert main([*run, "--out", str(tmp_path / "out")]) == 3
    assert len(server.requests) == 10
    assert not history.exists()


def test_a_reached_limit_decides_no_objective(git_repository, tmp_path, monkeypatch):
    """35 of 40 pass where 0.8 is promised; the five that fail are the ones that were asked."""
    made = LIMITED.propose(git_repository)
    with OpenAIServer(lambda _: "ok") as server:
        _ask(server, monkeypatch)
        check(made, tmp_path / "first")
    lines = (tmp_path / "first/samples.jsonl").read_text("utf-8").splitlines()
    asked = {json.loads(line)["fixture"] for line in lines}
    assert 0 < len(asked) < 8

    def answer(body: dict[str, Any]) -> str:
        said = body["messages"][0]["content"].strip().rstrip(".")
        return "no" if said.split()[-1] in asked else "ok"

    with OpenAIServer(answer) as server:
        _ask(server, monkeypatch)
        assert check(made, tmp_path / "second") == 3
    lines = (tmp_path / "second/samples.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["output"] for line in lines} == {"no"}


def _ask(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")


def test_repeating_a_question_is_no_new_evidence_of_a_rate(git_repository, tmp_path):
    """18 of 20 fixtures pass whenever they are asked; asking 40 times makes them no 800."""
    verdicts = []
    for times in (1, 40):
        made = git_repository(f"asked-{times}")
        said = {word: ["no" if i < 2 else "ok"] * times for i, word in enumerate(MANY[:20])}
        contract = GOOD.replace("0.5", "0.95") + f"sampling: {{samples: {times}}}\n"
        made.write_all({CONTRACT: contract, FIXTURES: csv(MANY[:20]), PROMPT_FILE: PROMPT})
        made.commit("base", {RECORDING: recording(answers(PROMPT, said))})
        out = tmp_path / str(times)
        main(["run", "--repo", str(made.path), "--out", str(out)])
        verdicts.append(result_of(out)["verdict"])
    assert verdicts == ["inconclusive", "inconclusive"]


@pytest.mark.parametrize(
    ("silent", "broken", "expected"),
    [(MANY[:4], (), 1), (MANY[3:6], MANY[:3], 3)],
    ids=["too few to be a regression, so the policy decides", "with the broken ones enough"],
)
def test_fixtures_without_an_answer_may_have_broken(silent, broken, expected, run_gate):
    """Calls fail on head alone, and what they would have said could be worse."""
    said = {word: "no" if word in broken else "ok" for word in MANY if word not in silent}
    outage = Proposal(
        "outage",
        "",
        {PROMPT_FILE: OTHER},
        recorded=answers(OTHER, said),
        before={POLICY: "on_inconclusive: fail\n"},
    )
    assert outage.run_check(run_gate).exit_code == expected


def test_an_outage_of_one_contract_makes_another_no_surer(run_gate):
    """Two contracts share the level, also where the one's calls fail."""
    tell, please = "Tell {{ word }}.\n", "Please tell {{ word }}.\n"
    second = under_name(NO_SLO, "second", "txt", "csv", "samples")
    found = []
    for name, told in (
        ("sound", all_say("ok", tell) | all_say("ok", please)),
        ("outage", {"nothing": "ok"}),
    ):
        two = Proposal(
            name,
            "",
            {PROMPT_FILE: OTHER, "prompts/second.txt": please},
            recorded=some_say("no", 5),
            before={
                "contracts/second.yaml": second,
                "contracts/second.samples.jsonl": recording(told),
                "contracts/second.csv": csv(MANY[:4]),
                "prompts/second.txt": tell,
            },
        )
        answered = two.run_check(run_gate)
        assert answered.result is not None
        contracts = {c["name"]: c for c in answered.result["contracts"]}
        found.append((contracts["words"]["verdict"], contracts["words"]["reasons"][0]["code"]))
    assert found[0] == found[1]


def test_a_run_with_removed_fixtures_replays(git_repository, tmp_path):
    """The base contract's samples are recorded too, so that the same is decided from them."""
    fewer = Proposal(
        "fewer",
        "",
        {FIXTURES: csv(MANY[10:]), PROMPT_FILE: OTHER},
        recorded=some_say("no", 10),
    )
    made = fewer.propose(git_repository)
    first = check(made, tmp_path / "first")
    samples = tmp_path / "first/samples.jsonl"
    again = check(made, tmp_path / "again", "--replay", str(samples))
    decided = [result_of(tmp_path / out)["contracts"][0] for out in ("first", "again")]
    assert first == again == 1
    assert decided[0]["reasons"] == decided[1]["reasons"]
    assert decided[0]["under_base"]["paired"] == decided[1]["under_base"]["paired"]


def test_a_shallow_clone_does_not_take_the_author_s_commit_for_the_base(git_repository, tmp_path):
    """The first parent of the author's own merge holds the broken prompt already."""
    made = Proposal("merged", "", {PROMPT_FILE: OTHER}, recorded=all_say("no")).propose(
        git_repository
    )
    made.switch("main")
    made.commit("second", {"README.md": "1"})
    made.switch("pr")
    made.merge("main")
    made.switch("main")
    made.commit("third", {"README.md": "2"})
    made.commit("fourth", {"README.md": "3"})
    clone = GitRepository.clone(made, tmp_path / "clone", depth=2, branch="pr")
    clone.git("fetch", "--depth=1", "origin", "main:refs/remotes/origin/main")
    arms = ["--repo", str(clone.path), "--base", "origin/main", "--head", "HEAD"]
    assert main(["check", *arms, "--out", str(tmp_path / "out")]) == 2


def test_what_can_be_seen_is_foretold_where_ids_change(git_repository, tmp_path, capsys):
    """Inputs that only got new ids are compared, so the forecast counts them."""
    renumbered = Proposal(
        "renumbered",
        "",
        {FIXTURES: rows(lambda i, _: f"new{i}", lambda _, word: word), PROMPT_FILE: OTHER},
    )
    made = renumbered.propose(git_repository)
    main(["affected", "--repo", str(made.path), "--base", "main", "--head", "pr", "--json"])
    (contract,) = json.loads(capsys.readouterr().out)["contracts"]
    # As of 40 inputs that are compared; were they not, there would be none.
    assert contract["minimum_detectable_effect"] == pytest.approx(0.162, abs=0.001)


def test_validate_refuses_a_path_outside_the_repository(git_repository, tmp_path):
    """A contract of which no revision knows is not one of the repository's."""
    made = Proposal("sound", "", {}).propose(git_repository)
    outside = tmp_path / "outside.yaml"
    outside.write_text("contract: 1\n", "utf-8")
    assert main(["validate", "--repo", str(made.path), str(outside)]) == 2
