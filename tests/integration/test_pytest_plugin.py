"""`pytest --gatekeeper`, run by pytest itself on repositories whose model is a recording."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.edited_text import edited
from support.proposed_change import propose
from support.recorded_repository import GOOD, PROMPT, WORDS, answers, contract_files, under_name

import gatekeeper
import gatekeeper.runs.library.pytest_items

pytest_plugins = "pytester"

PAGE = (Path(__file__).parents[2] / "docs/other-systems.md").read_text("utf-8")
PAGE = PAGE.split("\n## pytest\n")[1].split("\n## ")[0]
WORSE = "Spell {{ word }}.\n"
UNKNOWN = "Shout {{ word }}.\n"
PLAIN = "def test_plain():\n    assert True\n"
OTHER = edited(under_name(GOOD, "others"), "prompts/words.txt", "prompts/others.txt")
LONE = "require_contract: true\nprompts: ['prompts/*', 'lone/*']\n"

Run = Callable[..., pytest.RunResult]


@pytest.fixture(autouse=True, scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Import what a run imports. pytester forgets the modules that a run inside this process
    imports, and not all can be imported twice: an audit hook stays, for example."""
    made = propose(tmp_path_factory.mktemp("first"), contract_files(), {"README.md": "\n"})
    gatekeeper.run(repo=made.origin.path)


@pytest.fixture
def run(pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest in a repository with a change of two prompts and a test of its own."""

    def run_pytest(
        *options: str,
        words: str = WORSE,
        policy: str = "{}\n",
        contract: str = OTHER,
        bad: tuple[str, ...] = (),
        lone: str | None = None,
    ) -> pytest.RunResult:
        known = answers(PROMPT, dict.fromkeys(WORDS, "ok"))
        known |= answers(WORSE, dict.fromkeys(WORDS, "no"))
        known |= answers(PROMPT, dict.fromkeys(bad, "no"))
        known |= answers("Say the word {{ word }}.\n", dict.fromkeys(WORDS, "ok"))
        base = contract_files(recorded=known) | {
            "contracts/others.yaml": contract,
            "prompts/others.txt": PROMPT,
            ".github/gatekeeper.yml": policy,
            "test_plain.py": PLAIN,
        }
        head = {"prompts/words.txt": words, "prompts/others.txt": "Say the word {{ word }}.\n"}
        head |= {"lone/new.txt": lone} if lone else {}
        made = propose(tmp_path / "repository", base, head)
        monkeypatch.chdir(made.origin.path)
        rootdir = f"--rootdir={made.origin.path}"
        # Inside of this process, all that pytest would rewrite is imported already.
        silent = ("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")
        more = ("-p", "no:cacheprovider", "-p", "no:randomly", *silent, "-rA", "-v")
        return pytester.runpytest_inprocess(rootdir, *more, *options)

    return run_pytest


def test_each_contract_is_an_item(run):
    found = run("--gatekeeper", "--gatekeeper-base=main")

    found.assert_outcomes(passed=3, failed=1)
    found.stdout.fnmatch_lines(
        ["*test_plain*PASSED*", "gatekeeper::others PASSED*", "gatekeeper::words FAILED*"]
    )
    assert "6 of 6 fixtures broke" in found.stdout.str()  # the sentence of the reason
    assert "Traceback" not in found.stdout.str()


def test_without_the_option_there_is_nothing(run):
    run().assert_outcomes(passed=1)


def test_a_selection_measures_only_what_it_selects(run, tmp_path):
    out = tmp_path / "out"
    found = run("--gatekeeper", "--gatekeeper-base=main", f"--gatekeeper-out={out}", "-k", "others")

    found.assert_outcomes(passed=1, deselected=3)
    assert '"name": "others"' in (out / "result.json").read_text("utf-8")
    assert '"name": "words"' not in (out / "result.json").read_text("utf-8")


def test_the_marker_selects_all_contracts(run):
    found = run("--gatekeeper", "--gatekeeper-base=main", "-m", "gatekeeper", "--strict-markers")

    found.assert_outcomes(passed=2, failed=1, deselected=1)


@pytest.mark.parametrize(
    ("policy", "outcomes"),
    [
        ("{}\n", {"passed": 4, "warnings": 1}),
        ("on_inconclusive: fail\n", {"passed": 3, "failed": 1}),
    ],
)
def test_inconclusive_is_what_the_policy_says(run, policy, outcomes):
    # Five of six fixtures pass: too few for 90 percent, and too few fixtures to be certain.
    unclear = edited(OTHER, "success_rate: 0.5", "success_rate: 0.9")
    options = ("--gatekeeper", "--gatekeeper-ref=main")

    found = run(*options, policy=policy, contract=unclear, bad=("tree",))

    found.assert_outcomes(**outcomes)


def test_what_cannot_be_measured_is_an_error(run):
    found = run("--gatekeeper", "--gatekeeper-base=main", words=UNKNOWN)

    found.assert_outcomes(passed=3, errors=1)
    found.stdout.fnmatch_lines(["gatekeeper::words ERROR*"])


def test_a_changed_prompt_without_contract_is_a_matter_of_the_change(run):
    found = run("--gatekeeper", "--gatekeeper-base=main", policy=LONE, lone="Hello.\n")

    found.assert_outcomes(passed=2, failed=2)
    found.stdout.fnmatch_lines(["gatekeeper::change FAILED*"])


@pytest.mark.long
def test_with_xdist_the_process_that_starts_the_workers_measures(run):
    run(policy=LONE, lone="Hello.\n")
    command = [sys.executable, "-m", "pytest", "--gatekeeper", "--gatekeeper-base=main", "-q"]

    # None of the three processes rewrites the assertions of all of gatekeeper.
    options = ["-n2", "--assert=plain"]
    ran = subprocess.run([*command, *options], capture_output=True, text=True, check=False)

    assert "FAILED gatekeeper::change" in ran.stdout
    assert "2 failed, 2 passed" in ran.stdout


@pytest.mark.parametrize("options", [("--gatekeeper-base=nowhere",), ("--gatekeeper-ref=nowhere",)])
def test_a_revision_that_does_not_exist_is_an_error(run, options):
    found = run("--gatekeeper", *options)

    found.assert_outcomes(passed=1, errors=1)
    assert "nowhere" in found.stdout.str()
    assert "_pytest/runner.py" not in found.stdout.str()  # the message, without a traceback


def test_options_that_exclude_each_other_are_refused(run):
    found = run("--gatekeeper", "--gatekeeper-ref=main", "--gatekeeper-base=main")

    assert found.ret == pytest.ExitCode.USAGE_ERROR


def test_it_costs_nothing_unless_it_is_asked_for():
    program = (
        "import sys, pytest; import gatekeeper.runs.library.pytest_plugin;"
        "print(sorted(name for name in sys.modules if name.startswith('gatekeeper')))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    names = ["runs", "runs.library", "runs.library.pytest_plugin"]
    assert ran.stdout.strip() == str(["gatekeeper", *(f"gatekeeper.{name}" for name in names)])


def test_the_page_shows_what_pytest_prints(run):
    command, *printed = PAGE.split("```\n$ ")[1].split("```")[0].splitlines()
    program, *options = shlex.split(command)
    found = run(*options)

    assert program == "pytest"
    assert len(printed) == 4
    said = found.stdout.str()
    for line in printed:
        # Inside of this process, pytest also prints the file of an item.
        name, outcome, *_ = line.split()
        assert re.search(rf"^{name}( <- \S+)? {outcome} +\[", said, re.MULTILINE)


def test_the_page_lists_the_options(run):
    listed = re.findall(r"^\| `(--gatekeeper[\w-]*)", PAGE, re.MULTILINE)

    assert set(listed) == set(re.findall(r"--gatekeeper[\w-]*", run("--help").stdout.str()))
