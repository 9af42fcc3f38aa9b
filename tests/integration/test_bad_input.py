"""Bad input through the command line: a clear error, exit 2, and nothing written."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.recorded_repository import GOOD, check, write_contract

from gatekeeper.cli.main import main

# What is written over the sound repository at head; what the error must say.
FAULTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "broken YAML": (
        {"contracts/words.yaml": edited(GOOD, "fixtures:", "fixtures: [")},
        ["contracts/words.yaml:"],
    ),
    "unknown key": (
        {"contracts/words.yaml": edited(GOOD, "checks:", "cheks:")},
        ["contracts/words.yaml:", "cheks", "checks"],
    ),
    "missing prompt": (
        {"contracts/words.yaml": edited(GOOD, "words.txt", "wordz.txt")},
        ["contracts/words.yaml:4:", "prompts/wordz.txt"],
    ),
    "undefined variable": (
        {"prompts/words.txt": "Say a word.\nIt is {{ wrod }}.\n"},
        ["prompts/words.txt:2", "wrod"],
    ),
    "fixture file missing": (
        {"contracts/words.yaml": edited(GOOD, "words.csv", "worms.csv")},
        ["contracts/words.yaml:", "worms.csv"],
    ),
    "fixture file empty": ({"contracts/words.csv": ""}, ["contracts/words.csv"]),
    "duplicate fixture ids": (
        {"contracts/words.csv": "id,word\na,tree\na,house\n"},
        ["contracts/words.csv:3", "contracts/words.csv:2", "a"],
    ),
    "regex that does not compile": (
        {"contracts/words.yaml": edited(GOOD, "pattern: ok", "pattern: '(ok'")},
        ["contracts/words.yaml:", "(ok"],
    ),
    "schema that is not one": (
        {
            "contracts/words.yaml": edited(
                GOOD, "{type: regex, pattern: ok}", "{type: json_schema, schema: {type: wrong}}"
            )
        },
        ["contracts/words.yaml:", "schema"],
    ),
    "unknown check": (
        {"contracts/words.yaml": edited(GOOD, "type: regex", "type: regexp")},
        ["contracts/words.yaml:", "regexp", "regex"],
    ),
}


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("words")
    write_contract(made)
    made.commit("sound")
    made.branch("pr")
    return made


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_head_is_named_with_its_place(fault, repository, tmp_path, capsys):
    files, words = FAULTS[fault]
    for path, text in files.items():
        repository.write(path, text)
    repository.commit(fault)
    out = tmp_path / "out"

    code = check(repository, out)

    error = capsys.readouterr().err
    assert code == 2, error
    assert all(word in error for word in words), error
    assert not out.exists()
    assert "Traceback" not in error


@pytest.mark.parametrize("fault", FAULTS)
def test_validate_finds_the_same_faults(fault, repository, capsys):
    files, words = FAULTS[fault]
    for path, text in files.items():
        repository.write(path, text)

    code = main(["validate", "--repo", str(repository.path)])

    error = capsys.readouterr().err
    assert code == 2, error
    assert all(word in error for word in words), error


def test_a_sound_contract_validates(repository, capsys):
    assert main(["validate", "--repo", str(repository.path)]) == 0
    assert "contracts/words.yaml" in capsys.readouterr().out


def test_validate_takes_single_files(repository, monkeypatch, capsys):
    repository.write("contracts/broken.yaml", "contract: [")
    monkeypatch.chdir(repository.path)

    assert main(["validate", "contracts/words.yaml"]) == 0
    assert main(["validate"]) == 2


def test_two_contracts_of_one_name_do_not_validate(repository, capsys):
    repository.write("contracts/again.yaml", GOOD)

    assert main(["validate", "--repo", str(repository.path)]) == 2
    assert "contracts/again.yaml" in capsys.readouterr().err


def test_a_repository_without_contracts_is_told_how_to_begin(git_repository, capsys):
    empty = git_repository("empty")

    assert main(["validate", "--repo", str(empty.path)]) == 0
    assert "gatekeeper init" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("no-such-provider/x", ["no-such-provider/x"]),
        ("local/no-such-model", ["local/no-such-model"]),
        ("recorded/nowhere.jsonl", ["nowhere.jsonl"]),
    ],
)
def test_an_unknown_model_is_the_authors_mistake(model, words, repository, tmp_path, capsys):
    repository.write(
        "contracts/words.yaml", edited(GOOD, "recorded/contracts/words.samples.jsonl", model)
    )
    repository.commit("another model")
    out = tmp_path / "out"

    code = check(repository, out)

    error = capsys.readouterr().err
    assert code == 2, error
    assert all(word in error for word in words), error
    assert not out.exists()


def test_an_unknown_ref(repository, capsys):
    code = main(["check", "--repo", str(repository.path), "--base", "mian", "--head", "pr"])

    assert code == 2
    assert "mian" in capsys.readouterr().err


def test_not_a_git_repository(tmp_path, capsys):
    assert main(["check", "--repo", str(tmp_path), "--base", "main"]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_an_unknown_contract_name_is_answered_with_the_nearest(repository, tmp_path, capsys):
    code = check(repository, tmp_path / "out", "--contract", "wrods")

    assert code == 2
    assert "'words'" in capsys.readouterr().err


def test_a_broken_policy_at_base(repository, capsys):
    repository.switch("main")
    repository.write(".github/gatekeeper.yml", "limits: {cals: 3}\n")
    repository.commit("policy")
    repository.branch("later")

    code = main(["check", "--repo", str(repository.path), "--base", "main", "--head", "later"])

    error = capsys.readouterr().err
    assert code == 2
    assert ".github/gatekeeper.yml:1:" in error
    assert "calls" in error


def test_a_bad_flag_ends_in_2():
    with pytest.raises(SystemExit) as ended:
        main(["check", "--nonsense"])

    assert ended.value.code == 2


@pytest.mark.parametrize("command", ["check", "run", "affected", "validate", "sweep"])
@pytest.mark.parametrize(
    ("model", "word"),
    [
        ("opnai/gpt-4o", "`openai`"),
        ("local/smolm2", "local/smollm2"),
        ("recorded/no.jsonl", "no.jsonl"),
    ],
)
def test_a_model_that_is_not_there_is_told_with_its_line_by_every_command(
    command, model, word, repository, tmp_path, capsys
):
    repository.write(
        "contracts/words.yaml", edited(GOOD, "recorded/contracts/words.samples.jsonl", model)
    )
    repository.commit("another model")
    more = [] if command in ("affected", "validate") else ["--out", str(tmp_path / "out")]
    more += ["--base", "main"] if command in ("check", "affected") else []
    more += ["--contract", "words", "--param", "temperature=0,1"] if command == "sweep" else []

    code = main([command, "--repo", str(repository.path), *more])
    told = capsys.readouterr()
    assert code == (0 if command == "affected" else 2)
    assert "sampling" not in told.err
    (line,) = [
        line for line in (told.out + told.err).splitlines() if word in line and ":6:" in line
    ]
    assert "contracts/words.yaml:6:8: model:" in line


@pytest.mark.parametrize("command", ["affected", "validate", "sweep"])
def test_a_misspelt_model_is_told_with_its_line(command, repository, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    repository.write(
        "contracts/words.yaml",
        edited(GOOD, "recorded/contracts/words.samples.jsonl", "openai/gpt-4o-mni"),
    )
    repository.commit("another model")
    more = ["--base", "main"] if command == "affected" else []
    if command == "sweep":
        more = ["--contract", "words", "--param", "temperature=0,1", "--out", str(tmp_path / "out")]

    main([command, "--repo", str(repository.path), *more])
    told = capsys.readouterr()
    assert "contracts/words.yaml:6:8: model:" in told.out + told.err
    assert "`openai/gpt-4o-mini`?\n" in told.out + told.err
