"""The gate on files of other tools, and on what `gatekeeper convert` makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from support.checked import CheckOf
from support.edited_text import edited
from support.git_repository import GitRepository
from support.record_all import record_all
from support.recorded_repository import WORDS, recording

from gatekeeper.cli.main import main

CONFIGS = Path(__file__).parents[1] / "support/promptfoo_configs"
RECORDING = "answers.jsonl"
POLICY = {".github/gatekeeper.yml": 'contracts: ["evals/**/*.json", "evals/**/*.y*ml"]\n'}


def github(prompt: str) -> str:
    tests = "".join(f"  - input: {word}\n" for word in WORDS)
    return (
        f"name: words\nmodel: recorded/{RECORDING}\n"
        f"messages:\n  - role: user\n    content: {prompt} {{{{input}}}}.\n"
        f"testData:\n{tests}"
        "evaluators:\n  - name: fine\n    string: {startsWith: OK}\n  - uses: acme/grader\n"
    )


def pcsl(prompt: str) -> dict[str, str]:
    profile = {
        "pcsl": "0.3.0",
        "targets": [{"type": "recorded", "model": RECORDING}],
        "fixtures": [{"id": word, "input": word} for word in WORDS],
        "execution": {"mode": "observe"},
    }
    checks = [{"type": "pc.check.regex_present", "pattern": "OK"}, {"type": "com.acme.check"}]
    parts = {"ep": profile, "es": {"checks": checks}, "pd": {"id": "words", "prompt": prompt}}
    return {f"evals/{name}.json": json.dumps(data) for name, data in parts.items()}


def harness(prompt: str) -> dict[str, str]:
    suite = {
        "name": "words",
        "model": f"recorded/{RECORDING}",
        "prompt_template": f"{prompt} {{word}}.",
        "cases": [{"id": word, "inputs": {"word": word}, "expected": "OK"} for word in WORDS],
        "invariants": [{"type": "equals", "spec": "{expected}"}, {"type": "acme"}],
    }
    return {"evals/suite.json": json.dumps(suite)}


def openai(prompt: str) -> dict[str, str]:
    criteria = [
        {
            "type": "string_check",
            "operation": "ilike",
            "input": "{{ sample.output_text }}",
            "reference": "{{ item.ideal }}",
        },
        {"type": "python", "source": ""},
    ]
    source = {
        "model": f"recorded/{RECORDING}",
        "input_messages": {
            "template": [{"role": "user", "content": f"{prompt} {{{{item.word}}}}."}]
        },
        "source": {"content": [{"item": {"word": word, "ideal": "ok"}} for word in WORDS]},
    }
    data = {"name": "words", "testing_criteria": criteria, "data_source": source}
    return {"evals/eval.json": json.dumps(data)}


def answers(sent: Callable[[str, str], str]) -> str:
    """A recording in which the new prompt fails for every word but the first."""
    said: dict[str, str | list[str]] = {}
    for number, word in enumerate(WORDS):
        said[sent("Say", word)] = "OK"
        said[sent("Shout", word)] = "OK" if number == 0 else "no"
    return recording(said)


CASES = {
    "github": (
        {"evals/words.prompt.yml": github("Say")},
        {"evals/words.prompt.yml": github("Shout")},
        answers(lambda prompt, word: f"{prompt} {word}."),
        "evals/words.prompt.yml",
    ),
    "pcsl": (
        pcsl("Say"),
        {"evals/pd.json": pcsl("Shout")["evals/pd.json"]},
        answers(lambda prompt, word: f"{prompt}\n\n[USER INPUT]\n{word}"),
        "evals/ep.json",
    ),
    "harness": (
        harness("Say"),
        harness("Shout"),
        answers(lambda prompt, word: f"{prompt} {word}."),
        "evals/suite.json",
    ),
    "openai": (
        openai("Say"),
        openai("Shout"),
        answers(lambda prompt, word: f"{prompt} {word}."),
        "evals/eval.json",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_converted_contract_gives_the_same_result(
    case: str,
    git_repository: Callable[..., GitRepository],
    capsys: pytest.CaptureFixture[str],
) -> None:
    foreign, change, answered, file = CASES[case]
    base = {**foreign, **POLICY, RECORDING: answered}
    own = _checked(git_repository("own"), base, change)
    before = _native(git_repository("before"), base, file)
    after = _native(git_repository("after"), {**base, **change}, file)
    said = capsys.readouterr().out
    assert ("next: delete" in said) == (not file.endswith(".prompt.yml"))
    kept = {path: text for path, text in base.items() if not path.startswith("evals/")}
    again = _checked(git_repository("again"), {**kept, **before}, after)
    assert _said(own) == _said(again)
    [contract] = own["contracts"]
    assert contract["paired"]["broke"] == len(WORDS) - 1
    assert [(part["kind"], part["path"]) for part in contract["not_run"]] in (
        [("acme/grader", file)],
        [("com.acme.check", "evals/es.json")],
        [("acme", file)],
        [("python", file)],
    )
    [contract] = again["contracts"]
    [part] = contract["not_run"]
    line = before[part["path"]].splitlines()[part["line"] - 1]
    assert (part["path"], line) == ("evals/words.yaml", f"- kind: {part['kind']}")


PROMPTY = """\
---
name: words
model: openai/gpt-4o-mini
sample: {input: tree}
---
user:
Say {{input}}.
"""


@pytest.mark.parametrize(
    ("file", "text", "tests"),
    [
        ("evals/words.prompt.yml", github("Say"), "`evaluators`"),
        ("evals/words.prompty", PROMPTY, "its sample data"),
    ],
)
def test_a_converted_file_whose_prompt_is_still_used_is_not_to_be_deleted(
    file: str,
    text: str,
    tests: str,
    git_repository: Callable[..., GitRepository],
    capsys: pytest.CaptureFixture[str],
) -> None:
    repository = git_repository("words")
    policy = {".github/gatekeeper.yml": f"contracts: [{file}, native/*.yaml]\n"}
    repository.write_all({file: text, **policy, RECORDING: ""})
    where = ["--repo", str(repository.path)]
    path = str(repository.path / file)
    assert main(["convert", path, *where, "--out", str(repository.path / "native")]) == 0
    said = capsys.readouterr().out
    assert f"next: remove {tests} from {file}," in said
    assert "do not delete the file, because native/words.yaml uses its prompt" in said

    without = text.split("testData")[0].replace("sample: {input: tree}\n", "")
    repository.write_all({file: without})
    assert main(["validate", *where]) == 0
    assert "1 contract valid" in capsys.readouterr().out


def _checked(
    repository: GitRepository, base: Mapping[str, str], head: Mapping[str, str]
) -> dict[str, Any]:
    repository.write_all(dict(base))
    repository.commit("base")
    repository.branch("pr")
    repository.write_all(dict(head))
    repository.commit("head")
    out = repository.path.parent / f"{repository.path.name}-out"
    arms = ["--repo", str(repository.path), "--base", "main", "--head", "pr", "--out", str(out)]
    assert main(["check", *arms]) == 1
    return dict(json.loads((out / "result.json").read_text("utf-8")))


def _native(repository: GitRepository, files: Mapping[str, str], file: str) -> dict[str, str]:
    """What `convert` makes of the file, without it, as the files of a repository."""
    repository.write_all(dict(files))
    repository.commit("before")
    path = repository.path
    code = main(["convert", str(path / file), "--repo", str(path)])
    assert code == 0
    assert main(["convert", str(path / file), "--repo", str(path)]) == 2  # overwrites nothing
    made = [found for found in path.glob("evals/words*") if found.suffix != ".yml"]
    texts = {f"evals/{found.name}": found.read_text("utf-8") for found in made}
    if file.endswith(".prompt.yml"):  # it still is the prompt
        texts[file] = files[file].split("testData")[0]
    return texts


def _said(result: Mapping[str, Any]) -> Any:
    """The result without commits and time, and without the names of files and their lines."""
    [contract] = result["contracts"]
    places = [f"({part['path']}:{part['line']})" for part in contract["not_run"]]
    reasons = [
        {**reason, "text": reduce(lambda text, at: text.replace(at, ""), places, reason["text"])}
        for reason in contract["reasons"]
    ]
    without_files = {
        **contract,
        "path": None,
        "reasons": reasons,
        "affected_by": [found["change"] for found in contract["affected_by"]],
        "not_run": [(part["kind"], part["why"]) for part in contract["not_run"]],
        **{arm: {**contract[arm], "prompt": None} for arm in ("base", "head")},
    }
    of_the_run = ("base", "head", "started", "seconds")
    return {
        **{key: value for key, value in result.items() if key not in of_the_run},
        "contracts": [without_files],
    }


def test_each_report_says_what_is_not_run(check_of: CheckOf, tmp_path: Path) -> None:
    foreign, change, answered, file = CASES["github"]
    found = check_of({**foreign, **POLICY, RECORDING: answered}, change)
    assert found.comment is not None
    assert "acme/grader" in found.comment
    assert "acme/grader" in (tmp_path / "report.html").read_text("utf-8")
    cases = ET.parse(tmp_path / "junit.xml").iter("testcase")  # noqa: S314
    [skipped] = [c for c in cases if c.get("name", "").startswith("acme/grader")]
    assert skipped.find("skipped") is not None
    assert skipped.get("file") == file


def test_an_unchanged_prompt_and_a_lost_test_are_told_apart(check_of: CheckOf) -> None:
    foreign, _, answered, file = CASES["github"]
    fewer = edited(foreign[file], "  - input: tree\n", "")
    found = check_of({**foreign, **POLICY, RECORDING: answered}, {file: fewer})
    assert found.contract["weakened"]
    assert [a["path"] for a in found.contract["affected_by"]] == [file]


def test_a_file_that_stops_being_a_contract_is_a_contract_that_was_removed(
    check_of: CheckOf,
) -> None:
    foreign, _, answered, file = CASES["github"]
    untested = foreign[file].split("evaluators")[0]
    found = check_of({**foreign, **POLICY, RECORDING: answered}, {file: untested})
    assert found.code == 1
    assert found.codes() == {"removed"}


def test_the_contracts_of_a_suite_that_cannot_be_read_any_more_fail(check_of: CheckOf) -> None:
    foreign, _, answered, _ = CASES["pcsl"]
    found = check_of({**foreign, **POLICY, RECORDING: answered}, {"evals/es.json": None})
    assert (found.code, found.codes()) == (1, {"removed"})
    assert found.result is not None
    (text,) = (r["text"] for c in found.result["contracts"] for r in c["reasons"])
    assert "evals/ep.json:1:1: this evaluation profile needs `es.json`" in text


def test_a_pull_request_that_converts_a_suite_changes_nothing(
    check_of: CheckOf, git_repository: Callable[..., GitRepository]
) -> None:
    foreign, _, answered, file = CASES["pcsl"]
    base = {**foreign, **POLICY, RECORDING: answered}
    natives = _native(git_repository("before"), base, file)
    found = check_of(base, {**dict.fromkeys(foreign), **natives})
    assert found.code == 0
    assert found.result is not None
    assert (found.result["contracts"], found.result["unaffected"]) == ([], 1)


@pytest.mark.parametrize("prompt", ["Say", "Shout"])
def test_an_entry_of_not_run_may_be_removed(
    prompt: str, check_of: CheckOf, git_repository: Callable[..., GitRepository]
) -> None:
    foreign, _, answered, file = CASES["harness"]
    base = {**foreign, **POLICY, RECORDING: answered}
    before = _native(git_repository("before"), base, file)
    after = _native(git_repository("after"), {**base, **harness(prompt)}, file)
    without = {path: text.split("not_run:")[0] for path, text in after.items()}
    assert without != after
    found = check_of({**POLICY, RECORDING: answered, **before}, without)
    assert found.result is not None
    if prompt == "Say":
        assert (found.code, found.result["contracts"], found.result["unaffected"]) == (0, [], 1)
    else:
        assert found.codes() == {"regression"}
        assert (found.contract["weakened"], found.contract["not_run"]) == ([], [])


def test_validate_names_what_a_converted_contract_does_not_run(
    git_repository: Callable[..., GitRepository], capsys: pytest.CaptureFixture[str]
) -> None:
    foreign, _, answered, file = CASES["harness"]
    base = {**foreign, **POLICY, RECORDING: answered}
    natives = _native(git_repository("before"), base, file)
    repository = git_repository("words")
    repository.write_all({**POLICY, RECORDING: answered, **natives})
    line = natives["evals/words.yaml"].splitlines().index("- kind: acme") + 1
    capsys.readouterr()
    assert main(["validate", "--repo", str(repository.path)]) == 0
    note = "not run: `acme`: gatekeeper has no check for invariants of this type"
    assert f"note: evals/words.yaml:{line}:3: {note}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("output", "code", "failing"),
    [
        ("hello", 0, []),
        ("hello hello", 1, ["python /11/own.py:short"]),
        ("hallo", 1, ["python /11/own.py:get_assert", "contains hello"]),
    ],
)
def test_python_functions_of_promptfoo_run_before_and_after_the_conversion(
    output: str,
    code: int,
    failing: list[str],
    git_repository: Callable[..., GitRepository],
    tmp_path: Path,
) -> None:
    made, name = git_repository("code"), "11-code.yaml"
    made.write_all({f"11/{p.name}": p.read_text("utf-8") for p in (CONFIGS / "11").glob("*.*")})
    made.write(name, (CONFIGS / name).read_text("utf-8"))
    policy = f"contracts: [{name}, native/*.yaml]\nchecks: {{python: [11/*.py]}}\n"
    made.write(".github/gatekeeper.yml", policy)
    made.commit("suite")
    where = ["--repo", str(made.path)]
    replay = ["--replay", str(tmp_path / "recording.jsonl")]
    record_all(made.path, tmp_path / "recording.jsonl", lambda *_: output)
    assert main(["run", *where, *replay, "--out", str(tmp_path / "own")]) == code
    native = str(made.path / "native")
    assert main(["convert", str(made.path / name), *where, "--out", native]) == 0
    made.delete(name)
    made.commit("convert")
    assert main(["run", *where, *replay, "--out", str(tmp_path / "again")]) == code
    for out in ("own", "again"):
        rows = (tmp_path / out / "samples.jsonl").read_text("utf-8").splitlines()
        [sample] = map(json.loads, rows)
        assert [c["check"] for c in sample["checks"] if not c["passed"]] == failing
        assert len(sample["checks"]) == 3


PROMPTFOO = """\
prompts: ["Say {{word}}."]
providers: [openai:chat:gpt-4o-mini]
tests:
  - vars: {word: tree}
    assert: [{type: contains, value: OK}]
"""


@pytest.mark.parametrize(
    ("out", "pattern"), [([], "evals/evals.yaml"), (["--out", "native"], "native/*.yaml")]
)
def test_the_advice_after_a_conversion_leaves_one_contract_of_each_name(
    out: list[str],
    pattern: str,
    git_repository: Callable[..., GitRepository],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repository = git_repository("words")
    file = "evals/promptfooconfig.yaml"
    suite = {file: PROMPTFOO, ".github/gatekeeper.yml": f"contracts: [{file}]\n"}
    repository.write_all(suite)
    monkeypatch.chdir(repository.path)
    assert main(["convert", file, *out]) == 0
    said = capsys.readouterr().out
    assert f"next: delete {file}, or remove it from `contracts`" in said
    assert f"next: add {pattern} to `contracts` in .github/gatekeeper.yml (now: {file})\n" in said
    repository.write_all({".github/gatekeeper.yml": f"contracts: [{pattern}]\n"})
    assert main(["validate"]) == 0
