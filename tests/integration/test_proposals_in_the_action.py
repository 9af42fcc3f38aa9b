"""The action proposes contracts for changed prompts without one, and the bot commits them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.bot_comments import CheckedPull
from support.propose_fixtures import NEW, POLICY
from support.scripted_author import PROMPT

FILES = ["contracts/review.fixtures.jsonl", "contracts/review.yaml", "prompts/review.spec.yaml"]


def folder_of(pull: CheckedPull) -> Path:
    return pull.change.workspace / ".gatekeeper/out/proposals"


def proposed(pull: CheckedPull) -> list[str]:
    root = folder_of(pull)
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())


def test_the_run_keeps_a_proposal_and_the_comment_names_it(pull, writer):
    made = pull()
    assert made.run_check() == 0
    assert proposed(made) == sorted([*FILES, "generate.answers.jsonl"])
    result = made.result()
    assert (result["verdict"], result["calls"]["made"]) == ("pass", len(writer.requests))
    assert 0 < result["cost_usd"] < 0.2
    assert "proposals/contracts/review.yaml" in made.own[0]
    assert "no model was called" not in made.own[0]


def test_a_fork_gets_no_proposal(pull, writer):
    made = pull()
    made.act("pull_request", made.change.event(fork=True))
    assert (writer.requests, folder_of(made).exists()) == ([], False)


def test_the_policy_of_the_pull_request_pays_for_nothing(pull, writer):
    made = pull({NEW: PROMPT, **POLICY}, {})
    assert made.run_check() == 0
    assert (writer.requests, folder_of(made).exists()) == ([], False)
    assert "propose.cost_usd" in json.dumps(made.result()["policy_weakened"])


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_a_folder_in_the_checkout_leads_no_file_elsewhere(pull, writer, kind):
    made = pull()
    elsewhere = made.folder / "elsewhere"
    elsewhere.mkdir()
    folder_of(made).parent.mkdir(parents=True)
    if kind == "link":
        folder_of(made).symlink_to(elsewhere)
    else:
        folder_of(made).mkdir()
        (folder_of(made) / "contracts").symlink_to(elsewhere)
    assert made.run_check() == 0
    assert list(elsewhere.iterdir()) == []
    assert bool(writer.requests) == (kind == "link")
    if kind == "link":  # the next run replaces its own proposals
        assert made.run_check() == 0
        assert not folder_of(made).is_symlink()
        assert set(FILES) < set(proposed(made))


def test_a_proposal_that_cannot_be_written_changes_no_verdict(pull, monkeypatch):
    from gatekeeper.errors import WriteError

    def fail(_, folder):
        raise WriteError(folder, OSError(28, "No space left on device"))

    monkeypatch.setattr("gatekeeper.author.generation.replace_files.replace_files", fail)
    made = pull()
    assert made.run_check() == 0
    assert any("could not be written" in notice for notice in made.result()["notices"])
