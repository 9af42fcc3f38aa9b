"""Suites of other tools that a pull request renames, breaks, or leaves as broken as they were."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from support.edited_text import edited
from support.openai_server import OpenAIServer

from gatekeeper.action.events import Command, read_command
from gatekeeper.cli.main import main

WORDS = ("apple", "bread", "chair", "dance", "eagle", "flame", "grape", "house", "igloo", "jelly")
POLICY = 'contracts: ["evals/**/*.yaml"]\nprompts: ["**/*.txt"]\nmodels: ["openai/*"]\n'
PATH, OTHER = "evals/promptfooconfig.yaml", "evals/other/promptfooconfig.yaml"
GOOD, WORSE = "Good prompt for {{word}}", "Worse prompt for {{word}}"
PROGRAM = "file://provider.py"


def answer(body: Mapping[str, Any]) -> str:
    text = body["messages"][-1]["content"]
    return f"ok {text.split()[-1]}" if "Good" in text else "nonsense"


def suite(*prompts: Any, providers: Any = ("openai:gpt-4o-mini",), **others: Any) -> str:
    data = {
        "prompts": [*prompts],
        "providers": [*providers],
        "defaultTest": {"assert": [{"type": "equals", "value": "ok {{word}}"}]},
        "tests": [{"vars": {"word": word}, "description": word} for word in WORDS],
        **others,
    }
    return yaml.safe_dump(data, sort_keys=False)


BASE = {PATH: suite(GOOD)}
BROKEN = edited(suite(GOOD), "defaultTest", "defaultTests")
TEXT = {"evals/word.txt": GOOD}
LONG = "".join(f"Rule {number}: answer the question as a friend would.\n" for number in range(9))


def native(name: str) -> str:
    return yaml.safe_dump(
        {
            "contract": 1,
            "name": name,
            "prompt": "./word.txt",
            "template": "nunjucks",
            "model": "openai/gpt-4o-mini",
            "params": {"temperature": 0, "max_tokens": 1024},
            "fixtures": [{"id": word, "vars": {"word": word}} for word in WORDS],
            "checks": [{"type": "equals", "value": "ok {{word}}", "strip": False}],
        }
    )


def harness(prompt: str) -> str:
    """Return a suite with a misspelt key."""
    cases = [{"id": word, "inputs": {"word": word}} for word in WORDS]
    checks = [{"type": "contains", "spec": "ok", "categry": "x"}]
    data = {"name": "h", "model": "openai/gpt-4o-mini", "prompt_template": prompt}
    return yaml.safe_dump({**data, "cases": cases, "invariants": checks}, sort_keys=False)


@pytest.mark.parametrize(
    "head",
    [
        pytest.param({PATH: suite(GOOD, "Good other prompt for {{word}}")}, id="prompt"),
        pytest.param({PATH: suite("Good other prompt for {{word}}", GOOD)}, id="prompt first"),
        pytest.param(
            {PATH: suite(GOOD, providers=["openai:gpt-4o", "openai:gpt-4o-mini"])}, id="model"
        ),
        pytest.param({PATH: suite({"label": "words", "raw": GOOD})}, id="label"),
        pytest.param({PATH: None, "evals/words.yaml": native("words"), **TEXT}, id="native"),
    ],
)
def test_an_honest_change_of_a_suite_may_merge(run_gate, head):
    answered = run_gate(BASE, head, policy=POLICY, answer=answer)
    assert (answered.exit_code, answered.verdict) == (0, "pass")


@pytest.mark.parametrize(
    "head",
    [
        pytest.param({PATH: suite(WORSE, "Good other prompt for {{word}}")}, id="prompt"),
        pytest.param({PATH: suite(WORSE, GOOD)}, id="copy"),
        pytest.param(
            {PATH: suite(WORSE, providers=["openai:gpt-4o", "openai:gpt-4o-mini"])}, id="model"
        ),
        pytest.param({PATH: suite({"label": "words", "raw": WORSE})}, id="label"),
    ],
)
def test_a_worse_prompt_does_not_hide_behind_a_new_name(run_gate, head):
    answered = run_gate(BASE, head, policy=POLICY, answer=answer)
    assert answered.exit_code == 1
    assert "regression" in answered.reasons()


def test_a_worse_prompt_does_not_hide_behind_another_format(run_gate):
    head = {PATH: None, "evals/words.yaml": native("words"), "evals/word.txt": WORSE}
    base = {PATH: suite("file://word.txt"), **TEXT}
    answered = run_gate(base, head, policy=POLICY, answer=answer)
    assert answered.exit_code == 1
    assert "regression" in answered.reasons()


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(BROKEN, id="misspelt key"),
        pytest.param(suite(GOOD, providers=[PROGRAM]), id="program as model"),
        pytest.param(suite("file://prompt.py"), id="program as prompt"),
        pytest.param(suite("file://missing.txt"), id="missing file"),
        pytest.param(suite(GOOD, tests=[{"vars": {}, "assert": 1}]), id="wrong type"),
        pytest.param(suite(GOOD) + "tests: [\n", id="not YAML"),
    ],
)
def test_a_contract_is_not_removed_by_breaking_its_suite(run_gate, broken):
    """The others are decided all the same."""
    base = {**BASE, OTHER: suite(GOOD)}
    head = {PATH: broken, OTHER: suite("Good and new prompt for {{word}}")}
    answered = run_gate(base, head, policy=POLICY, answer=answer)
    assert answered.exit_code == 1
    assert answered.reasons() == {"removed"}
    verdicts = {one["name"]: one["verdict"] for one in answered.result["contracts"]}
    assert verdicts == {"evals": "fail", "evals-other": "pass"}
    assert PATH in answered.text


@pytest.mark.parametrize(
    "broken", [BROKEN, suite(GOOD, providers=[PROGRAM]), suite(GOOD) + "tests: [\n"]
)
def test_a_suite_that_base_could_not_use_either_stops_nothing(run_gate, broken):
    base = {PATH: broken, OTHER: suite(GOOD)}
    good = {OTHER: suite("Good and new prompt for {{word}}")}
    answered = run_gate(base, good, policy=POLICY, answer=answer)
    assert (answered.exit_code, answered.verdict) == (0, "pass")
    assert any(
        notice.startswith(f"Gatekeeper does not run the contracts of {PATH}: ")
        for notice in answered.result["notices"]
    )
    worse = run_gate(base, {OTHER: suite(WORSE)}, policy=POLICY, answer=answer)
    assert worse.exit_code == 1
    assert "regression" in worse.reasons()


@pytest.mark.parametrize("broken", ["defaultTests", None])
def test_the_prompt_of_an_unusable_suite_has_no_contract(run_gate, broken):
    """A misspelt key, or a variable that no test sets."""
    whole = suite("file://word.txt")
    if broken:
        written = yaml.safe_load(whole)
        written[broken] = written.pop("defaultTest")
        whole = yaml.safe_dump(written)
    base = {PATH: whole, "evals/word.txt": GOOD if broken else "Good {{missing}} for {{word}}"}
    head = {"evals/word.txt": WORSE if broken else "Worse {{missing}} for {{word}}"}
    policy = f"{POLICY}require_contract: true\n"
    answered = run_gate({**base, OTHER: suite(GOOD)}, head, policy=policy, answer=answer)
    assert answered.exit_code == 1
    assert answered.reasons("inconclusive") == {"error"}


@pytest.mark.parametrize(
    ("base", "head"),
    [
        pytest.param({PATH: suite("file://word.txt", scenaros=[]), **TEXT}, TEXT, id="prompt file"),
        pytest.param({PATH: suite("file://*.txt", scenaros=[]), **TEXT}, TEXT, id="pattern"),
        pytest.param(
            {PATH: suite(GOOD, scenaros=[])}, {PATH: suite(WORSE, scenaros=[])}, id="inside"
        ),
        pytest.param(
            {PATH: suite("file://word.txt"), "evals/word.txt": "Good {{no}} {{word}}"},
            TEXT | {"evals/word.txt": "Worse {{no}} {{word}}"},
            id="variable",
        ),
        pytest.param(
            {"evals/h.yaml": harness("Good {word}"), **TEXT},
            {"evals/h.yaml": harness("Worse {word}")},
            id="harness",
        ),
    ],
)
def test_a_change_that_a_broken_suite_should_test_is_inconclusive(run_gate, base, head):
    head = {path: WORSE if text == GOOD else text for path, text in head.items()}
    answered = run_gate({**base, OTHER: suite(GOOD)}, head, policy=POLICY, answer=answer)
    assert (answered.exit_code, answered.verdict) == (3, "inconclusive")
    assert answered.reasons("inconclusive") == {"error"}
    (contract,) = answered.result["contracts"]
    assert "So nothing tests the change of evals/" in answered.text
    assert contract["verdict"] == "inconclusive"
    command = read_command(f"/gatekeeper waive {contract['name']}: we mend the suite later")
    assert isinstance(command, Command)
    strict = f"{POLICY}on_inconclusive: fail\n"
    assert run_gate(base, head, policy=strict, answer=answer).exit_code == 1


@pytest.mark.parametrize(
    ("broken", "head", "verdict"),
    [
        pytest.param({"scenaros": []}, {"evals/word.txt": WORSE}, "inconclusive", id="worse"),
        pytest.param({"scenaros": []}, {}, "pass", id="only the suite"),
        pytest.param({"scenaros": []}, {"evals/word.txt": None}, "pass", id="with its prompt"),
        pytest.param({"providers": [PROGRAM]}, {"evals/word.txt": WORSE}, "pass", id="program"),
    ],
)
def test_a_broken_suite_is_not_removed_to_change_its_prompt(run_gate, broken, head, verdict):
    base = {PATH: suite("file://word.txt", **broken), **TEXT}
    answered = run_gate(base, {PATH: None, **head}, policy=POLICY, answer=answer)
    assert (answered.exit_code, answered.verdict) == (3 * (verdict == "inconclusive"), verdict)
    replaced = {PATH: None, OTHER: suite("file://../word.txt"), **TEXT}
    assert run_gate(base, replaced, policy=POLICY, answer=answer).verdict == "pass"


@pytest.mark.parametrize(
    ("head", "verdict"),
    [
        pytest.param({"evals/new.txt": f"{LONG}{WORSE}"}, "inconclusive", id="renamed"),
        pytest.param({"evals/a/b.txt": f"{GOOD} {WORSE}"}, "inconclusive", id="longer"),
        pytest.param(
            {"evals/new.txt": f"{LONG}{WORSE}", "evals/copy.txt": f"{LONG}{GOOD}"},
            "inconclusive",
            id="beside a copy",
        ),
        pytest.param({"evals/new.txt": f"{LONG}{GOOD}"}, "pass", id="only moved"),
        pytest.param({"evals/new.txt": "Nothing that is like it."}, "pass", id="another"),
    ],
)
def test_a_broken_suite_is_not_removed_to_move_its_prompt(run_gate, head, verdict):
    old = GOOD if "evals/a/b.txt" in head else f"{LONG}{GOOD}"
    base = {PATH: suite("file://word.txt", scenaros=[]), "evals/word.txt": old}
    gone = {PATH: None, "evals/word.txt": None}
    answered = run_gate(base, {**gone, **head}, policy=POLICY, answer=answer)
    assert (answered.exit_code, answered.verdict) == (3 * (verdict == "inconclusive"), verdict)
    told = f"the change of {next(iter(head))}" in answered.text
    assert told == (verdict == "inconclusive")


TWINS = {"evals/a.yaml": native("twin"), "evals/b.yaml": native("twin"), **TEXT}
THIRD = {"evals/c.yaml": edited(native("third"), "word.txt", "third.txt")}
THIRD |= {"evals/third.txt": GOOD}


@pytest.mark.parametrize(
    "base",
    [
        pytest.param({**TWINS, **THIRD}, id="two files"),
        pytest.param({**TWINS, "evals/z/d.yaml": TWINS["evals/a.yaml"], **THIRD}, id="three"),
        pytest.param(
            {"evals/b.yaml": native("evals"), PATH: suite("file://word.txt"), **TEXT, **THIRD},
            id="a suite and a contract",
        ),
    ],
)
def test_contracts_that_share_a_name_stop_no_other(run_gate, base):
    base = base | ({"evals/z/word.txt": GOOD} if "evals/z/d.yaml" in base else {})
    better = {"evals/third.txt": "Good and new prompt for {{word}}"}
    answered = run_gate(base, better, policy=POLICY, answer=answer)
    assert (answered.exit_code, answered.verdict) == (0, "pass")
    notices = answered.result["notices"]
    assert sum("has the name" in notice for notice in notices) == len(base) // 2
    assert run_gate(base, {"evals/third.txt": WORSE}, policy=POLICY, answer=answer).exit_code == 1
    # What they should test is not known, and never a pass.
    answered = run_gate(base, {"evals/word.txt": WORSE}, policy=POLICY, answer=answer)
    assert (answered.exit_code, answered.verdict) == (3, "inconclusive")
    assert "So nothing tests the change of evals/word.txt" in answered.text
    strict = f"{POLICY}require_contract: true\n"
    assert run_gate(base, {"evals/word.txt": WORSE}, policy=strict, answer=answer).exit_code == 1


@pytest.mark.parametrize("old", [{}, {"evals/a.yaml": native("other")}, TWINS])
def test_a_change_that_gives_a_taken_name_is_bad_input(run_gate, old):
    """Also if it touches one of two files that had the name before."""
    head = {"evals/a.yaml": native("twin") + "description: new\n"}
    base = {"evals/b.yaml": native("twin"), **TEXT, **THIRD, **old}
    answered = run_gate(base, head, policy=POLICY, answer=answer)
    assert answered.exit_code == 2
    assert "evals/a.yaml" in answered.log
    assert "evals/b.yaml" in answered.log
    mended = {"evals/a.yaml": native("own")}
    assert run_gate(base, mended, policy=POLICY, answer=answer).exit_code == 0


def test_a_new_suite_without_anything_to_run_is_named(run_gate):
    head = {OTHER: suite(GOOD, providers=[PROGRAM])}
    answered = run_gate(BASE, head, policy=POLICY, answer=answer)
    assert answered.exit_code == 0
    assert any(OTHER in notice for notice in answered.result["notices"])


def test_a_new_suite_with_a_mistake_is_bad_input(run_gate):
    answered = run_gate(BASE, {OTHER: BROKEN}, policy=POLICY, answer=answer)
    assert answered.exit_code == 2
    assert "did you mean `defaultTest`?" in answered.log


def test_the_full_suite_runs_beside_an_unusable_one(git_repository, tmp_path, monkeypatch) -> None:
    repository = git_repository("run")
    files = {
        **BASE,
        OTHER: BROKEN,
        "evals/c/promptfooconfig.yaml": suite("Good {{missing}} {{word}}"),
    }
    repository.commit("suites", {**files, ".github/gatekeeper.yml": POLICY})
    out = tmp_path / "out"
    with OpenAIServer(answer):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
        assert main(["run", "--repo", str(repository.path), "--out", str(out)]) == 0
    result = json.loads((out / "result.json").read_text())
    assert [one["name"] for one in result["contracts"]] == ["evals"]
    assert sum("Gatekeeper does not run" in notice for notice in result["notices"]) == 2
