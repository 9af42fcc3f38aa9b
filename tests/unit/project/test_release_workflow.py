"""The shell of the release workflow, run on a repository of its own.

`gh` and `docker` stand in for their namesakes: the one carries the three calls out in that
repository, the other knows the digest of every image.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.git_repository import GitRepository, isolated_environment

ROOT = Path(__file__).parents[3]
RELEASE: Mapping[str, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
DIGEST = "sha256:" + "0123456789abcdef" * 4
GH = """\
#!/usr/bin/env python3
import os, subprocess, sys

def git(*arguments, **options):
    done = subprocess.run(["git", *arguments], capture_output=True, check=True, **options)
    return done.stdout.decode().strip()

assert os.environ["GH_TOKEN"] and sys.argv[1] == "api", sys.argv
call = sys.argv[2].removeprefix("repos/Octo/Gatekeeper/git/")
given = {}
for flag, field in zip(sys.argv[3:], sys.argv[4:]):
    name, _, value = field.partition("=")
    if flag == "-F" and value.startswith("@"):
        value = open(value[1:]).read()
    if flag in ("-f", "-F"):
        given[name] = value
if call == "trees":
    os.environ["GIT_INDEX_FILE"] = "release-index"
    git("read-tree", given["base_tree"])
    assert given["tree[][type]"] == "blob"
    blob = git("hash-object", "-w", "--stdin", input=given["tree[][content]"].encode())
    entry = given["tree[][mode]"] + "," + blob + "," + given["tree[][path]"]
    git("update-index", "--cacheinfo", entry)
    print(git("write-tree"))
elif call == "commits":
    parent = given["parents[]"]
    print(git("commit-tree", given["tree"], "-p", parent, "-m", given["message"]))
elif call == "refs":
    git("update-ref", given["ref"], given["sha"], "0" * 40)
else:
    sys.exit("no such call: " + call)
"""
DOCKER = f"""\
#!/bin/sh
test "$*" = "buildx imagetools inspect $BASE --format {{{{.Manifest.Digest}}}}" && echo {DIGEST}
"""


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """The commit that the tag v1.2.3 is on, checked out."""
    made = GitRepository.create(tmp_path / "repository")
    for name in ("action.yml", "Dockerfile", "scripts/release_action.py"):
        (made.path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, made.path / name)
    made.commit("what is released")
    made.git("tag", "v1.2.3")
    for name, text in (("gh", GH), ("docker", DOCKER)):
        made.path.parent.joinpath(name).write_text(text)
        made.path.parent.joinpath(name).chmod(0o755)
    return made


def start(
    repository: GitRepository, job: str, position: int, **variables: str
) -> subprocess.CompletedProcess[str]:
    """One step's shell as the runner starts it."""
    step = [step for step in RELEASE["jobs"][job]["steps"] if "run" in step][position]
    folder = repository.path.parent
    told = folder / "told"
    environment = isolated_environment() | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "GITHUB_REPOSITORY": "Octo/Gatekeeper",
        "GITHUB_REF_NAME": "v1.2.3",
        "GITHUB_SHA": repository.head(),
        "GITHUB_OUTPUT": str(told),
        "GITHUB_STEP_SUMMARY": str(told),
    }
    assert set(step.get("env", {})) <= set(variables)
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=repository.path,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def run(repository: GitRepository, job: str, position: int, **variables: str) -> str:
    """What a step's shell wrote for the runner."""
    done = start(repository, job, position, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return (repository.path.parent / "told").read_text()


def test_the_release_is_one_commit_with_one_line_changed(repository: GitRepository) -> None:
    image = f"ghcr.io/octo/gatekeeper@{DIGEST}"
    told = run(repository, "action", 0, GH_TOKEN="ghs_0123456789", IMAGE=image)
    commit = repository.sha("refs/tags/v1.2.3-image")
    assert told == f"uses: Octo/Gatekeeper@{commit} # v1.2.3\n"
    assert repository.sha(f"{commit}^") == repository.sha("v1.2.3")
    assert repository.git("diff", "--numstat", "v1.2.3", commit) == "1\t1\taction.yml"
    text = repository.git("show", f"{commit}:action.yml")
    assert yaml.safe_load(text)["runs"] == {"using": "docker", "image": f"docker://{image}"}


def test_a_tag_is_released_once(repository: GitRepository) -> None:
    repository.git("tag", "v1.2.3-image")
    with pytest.raises(AssertionError, match="update-ref"):
        run(repository, "action", 0, GH_TOKEN="ghs_0123456789", IMAGE=f"ghcr.io/o/g@{DIGEST}")


def test_the_base_is_pinned_as_it_is_today(repository: GitRepository) -> None:
    base = re.search(r"^ARG PYTHON_IMAGE=(\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert base is not None
    told = run(repository, "image", 0, BASE=base[1])
    assert told == f"image=ghcr.io/octo/gatekeeper\nbase={base[1]}@{DIGEST}\n"


def test_the_build_gives_what_the_dockerfile_takes() -> None:
    (build,) = [s for s in RELEASE["jobs"]["image"]["steps"] if s.get("id") == "build"]
    given = [line.split("=")[0] for line in build["with"]["build-args"].splitlines()]
    taken = re.findall(r"^ARG (\w+)=", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert given == taken
    assert build["with"]["sbom"] is True
    assert build["with"]["provenance"] == "mode=max"


@pytest.mark.parametrize(("tag", "code"), [("v0.1.0", 0), ("v0.2.0", 1)])
def test_the_wheel_is_built_only_for_the_tag_of_its_version(tmp_path, tag, code) -> None:
    made = GitRepository.create(tmp_path / "repository")
    for name in ("pyproject.toml", "README.md", "LICENSE", "gatekeeper/__init__.py"):
        (made.path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, made.path / name)
    made.commit("what is released")
    (made.path / "tools").symlink_to(Path(sys.executable).parents[1])

    done = start(made, "wheel", 1, GITHUB_REF_NAME=tag)

    assert done.returncode == code, done.stdout + done.stderr
    built = [path.name for path in made.path.glob("dist/*")]
    assert built == ([] if code else ["gatekeeper-0.1.0-py3-none-any.whl"])


def test_the_release_has_the_wheel_and_the_lock(repository: GitRepository) -> None:
    for name in ("dist/gatekeeper-1.2.3-py3-none-any.whl", "requirements/runtime.lock"):
        repository.write(name, "built")
    repository.path.parent.joinpath("gh").write_text('#!/bin/sh\nprintf "%s\\n" "$@" > told\n')

    assert start(repository, "wheel", 2, GH_TOKEN="ghs_0123456789").returncode == 0

    told = (repository.path / "told").read_text().split("\n")
    assert told[:3] == ["release", "create", "v1.2.3"]
    assert told[-3:-1] == ["dist/gatekeeper-1.2.3-py3-none-any.whl", "dist/requirements.txt"]
