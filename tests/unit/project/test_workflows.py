"""Every workflow, those to copy included: least permissions, pinned, no credentials left behind."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml

from gatekeeper.providers.models.catalogue import CATALOGUE

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import lint_workflows  # noqa: E402

OWN = (
    "./",
    "$/.",
    "OWNER/gatekeeper@COMMIT",
    "OWNER/gatekeeper/.github/workflows/prompt-gate.yml@COMMIT",
)
"""This action and its reusable workflow, at the commit that a reader fills in."""
WORKFLOWS = dict(lint_workflows.workflows(ROOT))


@pytest.fixture(params=WORKFLOWS)
def text(request: pytest.FixtureRequest) -> str:
    return WORKFLOWS[request.param]


def test_all_places_are_looked_at() -> None:
    for place in (
        ".github/workflows/ci.yml",
        ".github/workflows/gate.yml",
        ".github/workflows/release.yml",
        "README.md block 2",
        "docs/github-action.md block 1",
        "gatekeeper/cli/starter/workflow.yml",
        "gatekeeper/cli/starter/nightly.yml",
    ):
        assert place in WORKFLOWS


def test_permissions_are_given_by_job_and_explained(text: str) -> None:
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        for name, access in job["permissions"].items():
            assert re.search(rf"^ +{name}: {access} # \w+", text, re.MULTILINE), name


def test_only_what_gates_has_the_name_of_the_required_check(text: str) -> None:
    """GitHub finds a required check by its name and the commit, whatever event the run is for."""
    workflow = yaml.safe_load(text)
    events = set(workflow[True] or ())  # YAML 1.1 reads `on` as true
    others = events - {"pull_request", "merge_group", "workflow_call"}
    for job in workflow["jobs"].values():
        name = str(job.get("name", ""))
        if others and name.endswith(("Prompt gate", "'Prompt gate' }}")):
            assert others == {"workflow_dispatch"}
            assert name.startswith("${{ github.event_name == 'workflow_dispatch' && 'Prompt suite'")


def test_actions_are_pinned_with_their_version(text: str) -> None:
    for name, comment in re.findall(r"^ +(?:- )?uses: (\S+)(.*)", text, re.MULTILINE):
        if name not in OWN:
            assert re.search(r"@[0-9a-f]{40}$", name), name
            assert re.search(r"# v\d+\.\d+\.\d+$", comment), name


def test_a_checkout_leaves_no_credentials(text: str) -> None:
    for job in yaml.safe_load(text)["jobs"].values():
        for step in job.get("steps", ()):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_the_action_is_given_inputs_that_it_has(text: str) -> None:
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    for job in yaml.safe_load(text)["jobs"].values():
        for step in job.get("steps", ()):
            if step.get("uses") in OWN:
                assert set(step.get("with", {})) <= set(inputs)


@pytest.mark.parametrize("place", ["README.md block 2", "docs/github-action.md block 3"])
def test_the_reusable_workflow_gives_what_it_takes(place: str) -> None:
    workflow = yaml.safe_load(WORKFLOWS[".github/workflows/prompt-gate.yml"])
    called, job = workflow[True]["workflow_call"], workflow["jobs"]["gate"]
    caller = yaml.safe_load(WORKFLOWS[place])["jobs"]["prompts"]
    [step] = [step for step in job["steps"] if step["uses"] == "$/."]

    assert set(called["inputs"]) | {"cache"} == set(step["with"])
    assert {name: f"${{{{ secrets.{name} }}}}" for name in called["secrets"]} == step["env"]
    # A called workflow that asks for more than its caller gives does not start at all.
    assert caller["permissions"] == job["permissions"]
    assert set(caller["secrets"]) <= set(called["secrets"])
    known = {name for provider in CATALOGUE.values() for name in provider.keys}
    assert set(called["secrets"]) - {"GATEKEEPER_WAIVER_KEY"} <= known


PULL_REQUESTS = ("pull_request", "pull_request_target")


def test_only_pull_requests_are_cancelled(text: str) -> None:
    workflow = yaml.safe_load(text)
    events = set(workflow[True])  # YAML 1.1 takes `on` for a truth value
    if events == {"workflow_call"}:
        return  # its caller cancels
    cancel = workflow["concurrency"]["cancel-in-progress"]
    if events <= set(PULL_REQUESTS):
        assert cancel is True
        assert "github.event.pull_request.number" in workflow["concurrency"]["group"]
    else:
        only = [f"${{{{ github.event_name == '{event}' }}}}" for event in PULL_REQUESTS]
        assert cancel in (False, *only)


def test_no_workflow_can_leave_a_required_check_pending(text: str) -> None:
    assert "paths" not in str(yaml.safe_load(text)[True])


def test_nothing_is_found_here() -> None:
    assert lint_workflows.lint(ROOT)


FAULTS = [
    ("docs/a.md", "persist-credentials: false", "fetch-depth: 1", "artipacked"),
    ("docs/a.md", "github.sha", "github.shaa", "shaa"),
    ("docs/a.md", "    runs-on:", "    runs-om:", "runs-om"),
    ("action.yml", "runs:", "rums:", "rums"),
    ("contracts/sentiment.yaml", "fixtures:", "fixtrues:", "fixtrues"),
]
"""Where, what is right there, what is wrong, and the word of the linter that finds it."""


def test_what_is_wrong_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All at once, each in a workflow of its own: every linter takes a while to start."""
    block = f"```yaml\n{WORKFLOWS['docs/github-action.md block 1']}```\n"
    copied = (
        "action.yml",
        "contracts/sentiment.yaml",
        "gatekeeper/contract/meaning/schema.v1.json",
    )
    files = {name: (ROOT / name).read_text() for name in copied} | {"README.md": ""}
    for number, (place, right, wrong, _) in enumerate(FAULTS):
        document = place == "docs/a.md"
        text = block if document else files[place]
        assert right in text
        name = f"docs/{number}.md" if document else place
        files[name] = text.replace(right, wrong)
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert not lint_workflows.lint(tmp_path)
    found = capsys.readouterr().out
    assert [word for *_, word in FAULTS if word not in found] == []
