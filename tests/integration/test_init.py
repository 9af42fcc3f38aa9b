"""`gatekeeper init`: the files that it writes work as they are."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from support.git_repository import GitRepository

from gatekeeper.cli.main import command_parser, main
from gatekeeper.cli.starter import PLACES

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import lint_workflows

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GATE = ".github/workflows/gatekeeper.yml"
NIGHTLY = ".github/workflows/gatekeeper-nightly.yml"


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    return git_repository("new")


def init(repository: GitRepository, *more: str) -> int:
    return main(["init", "--repo", str(repository.path), *more])


def actions(path: Path) -> list[str]:
    """What the workflow runs of ours."""
    return re.findall(r"uses: (\S*gate\S*)", path.read_text("utf-8"))


def test_the_example_is_valid_without_a_warning_or_a_note(repository, capsys):
    assert init(repository) == 0
    assert "was there before" not in capsys.readouterr().out

    assert main(["validate", "--repo", str(repository.path)]) == 0
    told = capsys.readouterr()
    assert "warning: " not in told.out
    assert "note: " not in told.out
    assert told.err == ""


def test_a_mistake_of_a_policy_that_was_there_is_named(repository, capsys):
    repository.write(".github/gatekeeper.yml", "contracts: [none/*.yaml]\n")
    assert init(repository) == 0
    assert "This mistake was there before: .github/gatekeeper.yml" in capsys.readouterr().out


def test_the_history_is_fed_every_night_and_after_every_merge(repository):
    init(repository)

    workflow = yaml.safe_load((repository.path / NIGHTLY).read_text("utf-8"))
    events = workflow[True]  # YAML 1.1 takes `on` for a truth value
    assert {"schedule", "push"} <= events.keys()
    assert workflow["jobs"]["health"]["permissions"]["contents"] == "write"


@pytest.mark.parametrize("branch", ["main", "trunk", "on", "release/1+2"])
def test_the_nightly_workflow_names_the_default_branch(branch, repository):
    repository.commit("first", {"README.md": "hello\n"})
    repository.git("branch", "--move", "main", branch)
    init(repository)

    workflow = yaml.safe_load((repository.path / NIGHTLY).read_text("utf-8"))
    assert workflow[True]["push"]["branches"] == [branch]


def test_the_default_branch_of_the_remote_counts_and_not_the_present_one(repository):
    first = repository.commit("first", {"README.md": "hello\n"})
    repository.git("update-ref", "refs/remotes/origin/trunk", first)
    repository.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    repository.branch("add-the-gate")
    init(repository)

    workflow = yaml.safe_load((repository.path / NIGHTLY).read_text("utf-8"))
    assert workflow[True]["push"]["branches"] == ["trunk"]


def test_the_action_stands_in_both_workflows(repository, capsys):
    assert init(repository, "--action", f"someone/gate@{COMMIT}") == 0

    for place in (GATE, NIGHTLY):
        assert actions(repository.path / place) == [f"someone/gate@{COMMIT}"]
    assert "--action" not in capsys.readouterr().out


def test_a_placeholder_is_filled_in_later_and_nothing_else_changes(repository, capsys):
    init(repository)
    assert "--action" in capsys.readouterr().out
    gate, nightly, contract = (
        repository.path / place for place in (GATE, NIGHTLY, PLACES["contract.yaml"])
    )
    gate.write_text(gate.read_text("utf-8").replace("30", "45"), "utf-8")
    contract.write_text("mine", "utf-8")

    assert init(repository, "--action", f"someone/gate@{COMMIT}") == 0
    for place in (gate, nightly):
        assert actions(place) == [f"someone/gate@{COMMIT}"]
    assert "timeout-minutes: 45" in gate.read_text("utf-8")
    assert contract.read_text("utf-8") == "mine"

    capsys.readouterr()
    assert init(repository, "--action", f"other/gate@{COMMIT}") == 0
    assert actions(gate) == [f"someone/gate@{COMMIT}"]
    said = capsys.readouterr().out
    assert f"kept     {GATE} (to use other/gate@{COMMIT}, edit the existing file)" in said


@pytest.mark.parametrize(
    "name",
    ["", "gate", f"gate@{COMMIT}", "someone/gate", "someone/gate@v1", "someone/gate@0123456",
     f"someone/gate@{COMMIT}\nrun: x", f"https://example.org/someone/gate@{COMMIT}"],
)  # fmt: skip
def test_an_action_without_a_full_commit_is_refused(name, repository, capsys):
    assert init(repository, "--action", name) == 2
    assert "--action" in capsys.readouterr().err
    assert not (repository.path / ".github").exists()


@pytest.mark.parametrize("folder", ["contracts", ".github", ".github/workflows"])
def test_nothing_is_written_through_a_link(repository, tmp_path, capsys, folder):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = repository.path / folder
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere)
    assert init(repository) == 2
    assert folder in capsys.readouterr().err
    assert not list(elsewhere.iterdir())


def suite(rows: int, *, samples: int = 1, more: str = "") -> dict[str, str | bytes]:
    """A contract with so many fixtures, and no policy."""
    words = "".join(f"w{n},word {n}\n" for n in range(rows))
    contract = (
        "contract: 1\nname: words\nprompt: ../prompts/words.txt\ntemplate: jinja\n"
        "model: openai/gpt-4o-mini\nfixtures:\n  - file: words.csv\n"
        "checks:\n  - {type: regex, pattern: ok}\n"
        f"sampling: {{samples: {samples}}}\n{more}"
    )
    return {
        "contracts/words.yaml": contract,
        "contracts/words.csv": f"id,word\n{words}",
        "prompts/words.txt": "Say {{ word }}.\n",
    }


@pytest.mark.parametrize(
    ("files", "blocks"),
    [
        (suite(200), True),
        (suite(40, samples=5), True),
        (suite(40, samples=2), False),
        (suite(40, samples=2, more="gate: {margin: 0.1}\n"), True),
        (suite(4, samples=60), False),  # four fixtures can show no drop
        (suite(200, more="slo: {success_rate: 0.9}\n"), False),
        (suite(200) | {"prompts/other.txt": "Translate {{ text }}.\n"}, False),
    ],
)
def test_an_inconclusive_result_blocks_where_every_suite_is_large(
    files, blocks, repository, capsys
) -> None:
    repository.commit("suite", files)
    assert init(repository) == 0
    policy = yaml.safe_load((repository.path / PLACES["policy.yml"]).read_text("utf-8"))
    assert policy.get("on_inconclusive", "pass") == ("fail" if blocks else "pass")
    told = capsys.readouterr().out
    assert ("The policy says `on_inconclusive: fail`" in told) == blocks
    assert ("`gatekeeper selftest` measures whether" in told) == (not blocks)
    assert main(["validate", "--repo", str(repository.path)]) == 0


def test_a_policy_that_is_there_says_what_blocks(repository, capsys) -> None:
    policy = {PLACES["policy.yml"]: "on_inconclusive: pass\n"}
    repository.commit("suite", suite(200) | policy)
    assert init(repository) == 0
    assert "inconclusive" not in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize("hold", ["label", "environment"])
def test_a_gate_that_waits_can_never_pass_untested(hold, repository, capsys, tmp_path):
    assert init(repository, "--hold", hold, "--action", f"owner/gatekeeper@{COMMIT}") == 0
    text = (repository.path / GATE).read_text("utf-8")
    workflow = yaml.safe_load(text)
    job = workflow["jobs"]["gate"]
    # A job that GitHub skips counts as success.
    assert "if" not in job
    assert "needs" not in job
    said = capsys.readouterr().out
    [inputs] = [step["with"] for step in job["steps"] if step.get("id") == "gate"]
    types = workflow[True]["pull_request"]["types"]
    if hold == "label":
        assert (inputs["label"], job.get("environment")) == ("test-prompts", None)
        assert "labeled" in types
        # Another label must not cancel a run that is being paid for.
        assert "github.event.action != 'labeled'" in workflow["concurrency"]["cancel-in-progress"]
        assert "Create the label `test-prompts`" in said
    else:
        assert ("label" in inputs, job["environment"]) == (False, "prompt-gate")
        assert "`prompt-gate` with required reviewers" in said
    assert "ready_for_review" in types
    (tmp_path / "gatekeeper/cli/starter").mkdir(parents=True)
    (tmp_path / "gatekeeper/cli/starter/held.yml").write_text(text)
    (tmp_path / "README.md").touch()
    copies = lint_workflows.copy_workflows(tmp_path, tmp_path / "linted")
    for linter in (
        ["zizmor", "--offline", "--no-progress", "--quiet"],
        ["actionlint", "-shellcheck=", "-pyflakes="],
    ):
        assert lint_workflows._run([*linter, *map(str, copies)], tmp_path), linter


def test_a_workflow_that_exists_is_not_taken_for_one_that_waits(repository, capsys):
    assert init(repository) == 0
    before = (repository.path / GATE).read_text("utf-8")
    assert "label: " not in before
    assert init(repository, "--hold", "label") == 2
    assert f"{GATE} exists already" in capsys.readouterr().err
    assert (repository.path / GATE).read_text("utf-8") == before


SKILLS = (".agents/skills/gatekeeper/SKILL.md", ".claude/skills/gatekeeper/SKILL.md")


def test_agents_are_told_how_to_test_a_prompt_if_that_is_asked_for(repository, capsys):
    assert init(repository) == 0
    assert not (repository.path / "AGENTS.md").exists()
    assert init(repository, "--agents") == 0
    told = (repository.path / "AGENTS.md").read_text("utf-8")
    for place in SKILLS:
        _, front, body = (repository.path / place).read_text("utf-8").split("---\n", 2)
        assert yaml.safe_load(front)["name"] == "gatekeeper"
        assert yaml.safe_load(front)["description"]
        assert body.strip() == told.strip()
    # Each command that it names is one, with these options.
    for line in re.findall(r"`gatekeeper ([^`]+)`", told):
        command_parser().parse_args(line.split())
    assert "Add to AGENTS.md" not in capsys.readouterr().out
    repository.commit("agents")
    assert main(["validate", "--repo", str(repository.path)]) == 0
    told = capsys.readouterr().out  # it is no prompt of the program, and needs no contract
    assert "Not counted: 1 text for agents that work here, such as AGENTS.md." in told
    assert "1 of 1 prompt with a contract" in told


@pytest.mark.parametrize("linked", [".claude", ".claude/skills", ".claude/skills/gatekeeper"])
def test_files_for_agents_that_are_there_stay_as_they_are(linked, repository, capsys, tmp_path):
    repository.write("AGENTS.md", "Use tabs.\n")
    repository.write(SKILLS[0], "ours\n")
    (repository.path / linked).parent.mkdir(parents=True, exist_ok=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (repository.path / linked).symlink_to(elsewhere)
    assert init(repository, "--agents") == 0
    assert f"Add to AGENTS.md: After you edit a prompt, follow {SKILLS[0]}." in " ".join(
        capsys.readouterr().out.split()
    )
    assert (repository.path / "AGENTS.md").read_text("utf-8") == "Use tabs.\n"
    assert (repository.path / SKILLS[0]).read_text("utf-8") == "ours\n"
    assert not [*elsewhere.rglob("*")]
