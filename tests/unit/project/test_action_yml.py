"""action.yml, the documentation and the code say the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gatekeeper.action.inputs import read_settings

ROOT = Path(__file__).parents[3]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
DOCUMENT = (ROOT / "docs" / "github-action.md").read_text()
WORKFLOW = (ROOT / ".github" / "workflows" / "gate.yml").read_text()
STEP = {
    "GITHUB_EVENT_NAME": "x",
    "GITHUB_EVENT_PATH": "/x",
    "GITHUB_WORKSPACE": "/w",
    "GITHUB_REPOSITORY": "o/r",
}


def table(heading: str) -> dict[str, list[str]]:
    """First cell -> the other cells of the table below a heading."""
    section = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): [cell.strip() for cell in row[1:]] for row in rows}


def test_the_inputs_are_documented_with_their_defaults() -> None:
    documented = {name: cells[0].strip("`") for name, cells in table("Inputs").items()}
    assert documented == {
        name: str(given.get("default", "")) for name, given in ACTION["inputs"].items()
    }


def test_the_outputs_are_documented() -> None:
    assert list(table("Outputs")) == list(ACTION["outputs"])


def test_every_input_is_read_and_no_other() -> None:
    read = set()

    class Environment(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            read.add(name)
            return super().get(name, default)

    read_settings(Environment(STEP))
    names = {name.removeprefix("INPUT_").lower() for name in read if name.startswith("INPUT_")}
    assert names == set(ACTION["inputs"])


def test_the_documentation_takes_outputs_that_there_are() -> None:
    texts = [path.read_text() for path in (ROOT / "README.md", *ROOT.glob("docs/*.md"))]
    taken = {name for text in texts for name in re.findall(r"steps\.gate\.outputs\.([\w-]+)", text)}
    assert "verdict" in taken
    assert taken <= set(ACTION["outputs"])


def test_the_defaults_of_action_yml_are_those_of_the_code() -> None:
    inputs = {
        f"INPUT_{name.upper()}": str(given.get("default", ""))
        for name, given in ACTION["inputs"].items()
        if name != "token"
    }
    assert read_settings(STEP | inputs) == read_settings(STEP)


def test_the_workflow_to_paste_is_the_one_that_runs_here() -> None:
    pasted = yaml.safe_load(re.search(r"```yaml\n(.*?)```", DOCUMENT, re.DOTALL)[1])  # type: ignore[index]
    next(s for s in pasted["jobs"]["gate"]["steps"] if s.get("id") == "gate")["uses"] = "./"
    assert pasted == yaml.safe_load(WORKFLOW)


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")))
def test_actions_are_pinned_with_their_version(path: Path) -> None:
    used = re.findall(r"- uses: (\S+)(.*)", path.read_text())
    for name, comment in used:
        # What stands in the same repository, at the same commit, needs no pin.
        if name not in ("./", "$/."):
            assert re.search(r"@[0-9a-f]{40}$", name), name
            assert re.search(r"# v\d+\.\d+\.\d+$", comment), name


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")))
def test_permissions_are_given_by_job_and_explained(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        for name, access in job["permissions"].items():
            assert re.search(rf"{name}: {access} # \w+", path.read_text())


def test_the_image_starts_nothing_from_the_checkout() -> None:
    final = (ROOT / "Dockerfile").read_text().rsplit("\nFROM ", 1)[1]
    assert 'ENTRYPOINT ["/opt/gatekeeper/bin/python", "-I"' in final
    assert not re.search(r"^(USER|WORKDIR) ", final, re.MULTILINE)
