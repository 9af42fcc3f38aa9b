"""`gatekeeper fixtures add` as its user runs it."""

from __future__ import annotations

import json
import re
import resource
import signal

import pytest
import yaml
from support.edited_text import edited
from support.recorded_repository import GOOD, csv

from gatekeeper.cli.main import main

CONTRACT = edited(GOOD, "recorded/contracts/words.samples.jsonl", "openai/gpt-4o-mini")


@pytest.fixture
def repository(git_repository):
    made = git_repository("logs")
    made.write("contracts/words.yaml", CONTRACT)
    made.write("contracts/words.csv", csv(("one", "two")))
    made.write("prompts/words.txt", "Say {{ word }}")
    made.commit("sound")
    return made


def add(made, log: str, *flags: str) -> int:
    (made.path / "log.jsonl").write_text(log, "utf-8")
    arguments = ["fixtures", "--repo", str(made.path), "add", str(made.path / "log.jsonl")]
    return main([*arguments, "--contract", "words", *flags])


def test_new_inputs_become_a_fixture_file_that_can_be_used(repository, capsys):
    lines = [{"messages": [{"role": "user", "content": f"Say {word}"}]} for word in ("one", "ten")]
    log = "".join(f"{json.dumps(line)}\n" for line in [*lines, *lines])
    log += '{"message": "cut\n\n[1]\n'
    assert add(repository, log) == 0
    file = repository.path / "contracts/words.from-logs.jsonl"
    (row,) = map(json.loads, file.read_text("utf-8").splitlines())
    assert row["vars"] == {"word": "ten"}
    said = capsys.readouterr().out
    assert "- file: words.from-logs.jsonl" in said
    assert "4 requests" in said
    assert "in 2 lines" in said
    assert "log.jsonl:5" in said
    # A second run overwrites nothing.
    assert add(repository, log) == 2
    repository.write(
        "contracts/words.yaml",
        edited(
            CONTRACT, "  - file: words.csv", "  - file: words.csv\n  - file: words.from-logs.jsonl"
        ),
    )
    assert main(["validate", "--repo", str(repository.path)]) == 0


def test_keys_of_the_environment_and_their_owners_are_not_written(repository, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "correct-horse-battery")
    assert add(repository, '{"vars": {"word": "my key is correct-horse-battery"}}\n') == 0
    (row,) = (repository.path / "contracts/words.from-logs.jsonl").read_text("utf-8").splitlines()
    assert json.loads(row)["vars"] == {"word": "my key is ***"}


def test_the_line_to_add_names_the_file_from_the_contract(repository, capsys):
    folder = repository.path / "fixtures"
    folder.mkdir()
    log = '{"vars": {"word": "x"}}\n'
    assert add(repository, log, "--out", str(folder / "new.jsonl")) == 0
    assert capsys.readouterr().out.endswith("\n  - file: ../fixtures/new.jsonl\n")
    contract = repository.path / "contracts/words.yaml"
    text = contract.read_text("utf-8")
    contract.write_text(
        re.sub("(?m)^fixtures: .*", "fixtures: [{file: ../fixtures/new.jsonl}]", text)
    )
    assert main(["validate", "--repo", str(repository.path)]) == 0


def test_a_full_disk_leaves_no_file(repository, tmp_path):
    out = tmp_path / "new.jsonl"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    log = json.dumps({"vars": {"word": "long " * 5_000}})
    (repository.path / "log.jsonl").write_text(log)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, before[1]))
    try:
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        path = str(repository.path)
        flags = ["--contract", "words", "--out", str(out)]
        code = main(["fixtures", "--repo", path, "add", f"{path}/log.jsonl", *flags])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert code == 3
    assert not out.exists()


def test_an_input_that_is_too_long_is_counted(repository, capsys):
    assert add(repository, json.dumps({"vars": {"word": "long " * 50_000}})) == 0
    said = capsys.readouterr().out
    assert "1 input left out" in said
    assert "No fixture was added" in said
    assert "100 %" not in said


@pytest.mark.parametrize(
    ("log", "flags", "named"),
    [
        ("", (), "no request"),
        ("Hello\nyou\n", (), "log.jsonl:1"),
        ('{"input": "hello"}\n', (), "prompts/words.txt"),
        ('{"vars": {"word": "x"}}\n', ("--most", "0"), "--most"),
        ('{"vars": {"word": "x"}}\n', ("--countries", "Germany"), "GERMANY"),
        ('{"vars": {"word": "x"}}\n', ("--out", "no/such/folder.jsonl"), "no/such/folder.jsonl"),
        ('{"vars": {"word": "x"}}\n', ("--out", "new.csv"), "--out new.csv"),
    ],
)
def test_bad_input_is_refused(repository, capsys, log, flags, named):
    assert add(repository, log, *flags) in (2, 3)
    assert named in capsys.readouterr().err
    assert not list(repository.path.glob("contracts/*.from-logs.jsonl"))


def test_a_suite_that_covers_everything_gets_no_file(repository, capsys):
    assert add(repository, '{"vars": {"word": "one"}}\n') == 0
    assert "No fixture was added" in capsys.readouterr().out
    assert not list(repository.path.glob("contracts/*.from-logs.jsonl"))


@pytest.mark.parametrize(
    ("checks", "prompt", "log", "values"),
    [
        # In the parameter of a check, logged as messages.
        (
            "[{type: equals, value: '{{ expected_label }}'}]",
            "Say {{ word }}",
            {"messages": [{"role": "user", "content": "Say ten"}]},
            {"word": "ten"},
        ),
        # In the condition of a check.
        (
            "[{type: contains, value: ok, when: \"expected_label != 'ok'\"}]",
            "Say {{ word }}",
            {"messages": [{"role": "user", "content": "Say ten"}]},
            {"word": "ten"},
        ),
        # Read by nothing, and logged as values.
        (
            "[{type: contains, value: ok}]",
            "{% if word %}Say {{ word }}{% endif %}",
            {"vars": {"word": "ten"}},
            {"word": "ten"},
        ),
        # Logged too.
        (
            "[{type: equals, value: '{{ expected_label }}'}]",
            "Say {{ word }}",
            {"vars": {"word": "ten", "expected_label": "ok", "more": 1}},
            {"word": "ten", "expected_label": "ok"},
        ),
    ],
)
def test_a_column_for_checks_alone_is_not_needed_to_recognise_a_request(
    repository, capsys, checks, prompt, log, values
):
    contract = yaml.safe_load(CONTRACT) | {"checks": yaml.safe_load(checks)}
    repository.write("contracts/words.yaml", yaml.safe_dump(contract))
    repository.write("contracts/words.csv", "word,expected_label\none,a very long label\n")
    repository.write("prompts/words.txt", prompt)
    other = {"messages": [{"role": "user", "content": "Sing ten"}]}
    again = {"messages": [{"role": "user", "content": "Say one"}]}
    lines = "".join(f"{json.dumps(line)}\n" for line in (log, other, again))
    assert add(repository, lines) == 0
    said = capsys.readouterr().out
    file = repository.path / "contracts/words.from-logs.jsonl"
    rows = [json.loads(row)["vars"] for row in file.read_text("utf-8").splitlines()]
    # What a fixture has is covered, whatever its label is.
    assert rows == [values]
    advice = "add `expected_label` to the `vars` of each line in "
    assert (advice in said) is ("expected_label" not in values)


def test_a_missing_column_is_an_error_of_the_fixture_and_no_empty_text(repository, capsys):
    contract = yaml.safe_load(CONTRACT)
    contract["checks"] = [{"type": "contains", "value": "{{ expected_label }}"}]
    contract["fixtures"] = [{"file": "words.csv"}, {"file": "words.from-logs.jsonl"}]
    repository.write("contracts/words.csv", "word,expected_label\none,ok\n")
    repository.write(
        "contracts/words.yaml", yaml.safe_dump({**contract, "fixtures": contract["fixtures"][:1]})
    )
    assert add(repository, '{"vars": {"word": "ten"}}\n') == 0
    repository.write("contracts/words.yaml", yaml.safe_dump(contract))
    assert main(["validate", "--repo", str(repository.path)]) == 2
    assert "expected_label" in capsys.readouterr().err


def test_a_prompt_without_variables_takes_no_request_of_others(repository, capsys):
    repository.write("prompts/words.txt", "Say anything")
    assert add(repository, '{"messages": [{"role": "user", "content": "Say anything"}]}\n') == 2
    assert "hold no values for `word`" in capsys.readouterr().err
