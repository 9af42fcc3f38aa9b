"""What a misspelt command or option is answered with."""

from __future__ import annotations

import pytest

from gatekeeper.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["chek"], "`check`"),
        (["check", "--bsae", "main"], "`--base`"),
        (["check", "--bsae=main"], "`--base`"),
        (["judge", "calibrat"], "`calibrate`"),
        (["history", "--trigger", "pish"], "`push`"),
        (["--verson", "check"], "`--version`"),
        (["run", "words"], "`--contract words`"),
        (["check", "words", "digits"], "`--contract words`"),
        (["diff", "HEAD~1", "HEAD", "words"], "`--contract words`"),
    ],
)
def test_the_nearest_is_suggested(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["zzz"], ["site", "zzz"], ["check", "--zzz"], ["check", "zzz", "-z"], ["run", "--worktree"]],
)
def test_what_is_near_nothing_is_only_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert next(word for word in arguments if "zzz" in word or "--" in word) in said
    assert "did you mean" not in said


@pytest.mark.parametrize("command", [["mutate"], ["judge", "calibrate", "--labels", "x.jsonl"]])
def test_a_command_for_one_contract_takes_its_name_without_an_option(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*command, "--contract", "words"])
    assert caught.value.code == 2
    assert "without `--contract`" in capsys.readouterr().err
