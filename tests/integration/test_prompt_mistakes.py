"""Mistakes in a prompt that each command names with their line."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.recorded_repository import GOOD, answers, write_contract

from gatekeeper.cli.main import main


@pytest.mark.parametrize("command", ["check", "affected", "run"])
def test_a_variable_in_single_braces_is_named_wherever_the_prompt_runs(
    command, git_repository, tmp_path, capsys
):
    made = git_repository("braces")
    write_contract(made, recorded=answers("Say {word}.\n", {"": "ok"}))
    made.propose({"prompts/words.txt": "Say {word}.\n"})
    more = ["--out", str(tmp_path / "out")] if command != "affected" else []
    more += ["--base", "main"] if command != "run" else []

    main([command, "--repo", str(made.path), *more])
    said = capsys.readouterr()
    named = [line for line in (said.out + said.err).splitlines() if "prompts/words.txt:1: " in line]
    assert any("`{word}`" in line for line in named)


@pytest.mark.parametrize("command", ["check", "affected", "run", "validate"])
def test_turns_made_by_a_loop_are_refused_with_their_line(
    command, git_repository, tmp_path, capsys
):
    made = git_repository("loop")
    write_contract(made)
    made.commit("sound")
    made.branch("pr")
    prompt = "system:\nBe nice.\n{% for r in ['user', word] %}\n{{ r }}:\nhi\n{% endfor %}\n"
    contract = edited(GOOD, "words.txt", "words.md")
    made.commit("loop", {"prompts/words.md": prompt, "contracts/words.yaml": contract})
    more = ["--out", str(tmp_path / "out")] if command in ("check", "run") else []
    more += ["--base", "main"] if command in ("check", "affected") else []

    assert main([command, "--repo", str(made.path), *more]) == 2
    assert capsys.readouterr().err.startswith("prompts/words.md:4: `{{ r }}:`")
