"""`gatekeeper generate --resume` after a run that failed, with a scripted model on 127.0.0.1."""

from __future__ import annotations

import json

import pytest
from support.generate_fixtures import ANSWERS, CONTRACT, FIXTURES, SPEC
from support.openai_server import Reply
from support.scripted_author import PROMPT, author, stage_of


@pytest.fixture
def run(repository, generate):
    def ask(*flags: str, answer=None) -> tuple[int, list[str]]:
        code, server = generate(*flags, answer=answer)
        return code, sorted(stage_of(body) for body in server.requests)

    ask.path = repository.path
    return ask


def stages(run) -> list[str]:
    rows = (run.path / ANSWERS).read_text("utf-8").splitlines()
    return sorted(json.loads(row)["stage"] for row in rows)


def failing(stage: str, reply):
    """Answer as the author does, but this stage with the reply."""
    return lambda body: reply if stage_of(body) == stage else author()(body)


@pytest.mark.parametrize("reply", ["no", Reply(None, refusal="I will not.")])
def test_a_failed_run_is_continued_and_asks_only_what_is_missing(run, reply, capsys):
    assert run(answer=failing("rule_checks", reply))[0] == 3
    assert "--resume" in capsys.readouterr().err
    assert run("--resume") == (0, ["rule_checks", "tests", "tests"])
    assert "3 calls" in capsys.readouterr().out

    # The recording is whole.
    before = (run.path / FIXTURES).read_text("utf-8")
    (run.path / FIXTURES).unlink()
    (run.path / SPEC).unlink()
    assert run("--replay", ANSWERS) == (0, [])
    assert (run.path / FIXTURES).read_text("utf-8") == before


def test_a_run_that_fails_again_loses_no_answer(run):
    def both(body):
        return "no" if stage_of(body) in ("tests", "rules") else author()(body)

    assert run(answer=failing("tests", "no"))[0] == 3
    before = stages(run)
    # Another prompt: the second stage fails, and what was paid for the first prompt is still there.
    (run.path / "prompts/review.txt").write_text(f"Be brief.\n{PROMPT}", "utf-8")
    assert run("--resume", answer=both)[0] == 3
    assert set(before) <= set(stages(run))
    (run.path / "prompts/review.txt").write_text(PROMPT, "utf-8")
    assert run("--resume") == (0, ["tests", "tests"])


def test_a_killed_run_is_continued_with_every_answer_that_it_got(run):
    seen = []

    def answer(body):
        if stage_of(body) == "tests":
            seen.append((run.path / ANSWERS).read_bytes())
        return author()(body)

    assert run(answer=answer)[0] == 0
    for made in (SPEC, FIXTURES, CONTRACT):
        (run.path / made).unlink()
    # The process was killed while it wrote the next line.
    (run.path / ANSWERS).write_bytes(seen[0] + seen[0][:50])
    assert run("--resume") == (0, ["tests", "tests"])
    assert len(stages(run)) == 7


def test_answers_that_git_tracks_are_not_taken_for_those_of_an_earlier_run(run, repository, capsys):
    assert run(answer=failing("tests", "no"))[0] == 3
    repository.git("add", "--force", ANSWERS)
    assert run("--resume") == (2, [])
    assert "git tracks" in capsys.readouterr().err


def test_a_run_that_its_limit_would_end_stops_before_its_tests(run, capsys):
    policy = run.path / ".github" / "gatekeeper.yml"
    policy.parent.mkdir()
    policy.write_text("limits: {calls: 6}\n", "utf-8")
    assert run() == (3, ["input_specification", "rules"])
    assert "limit" in capsys.readouterr().err
    # What the recording answers counts as no call, so the same limit is enough now.
    assert run("--resume")[0] == 0


@pytest.mark.parametrize(
    ("content", "flags", "named"),
    [
        (None, ("--resume",), "without --resume"),
        ("no recording\n", ("--resume",), "generate.answers.jsonl"),
        ("", ("--resume", "--replay", ANSWERS), "--resume and --replay"),
    ],
)
def test_what_cannot_be_continued_is_refused(run, capsys, content, flags, named):
    if content is not None:
        (run.path / ANSWERS).parent.mkdir(parents=True)
        (run.path / ANSWERS).write_text(content, "utf-8")
    assert run(*flags) == (2, [])
    assert named in capsys.readouterr().err
    assert content is None or (run.path / ANSWERS).read_text("utf-8") == content
