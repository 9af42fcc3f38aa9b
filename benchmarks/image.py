"""How large the image is beyond its base, and how long a container takes to answer.

    python benchmarks/image.py [--image TAG] [--repeat 5] [--megabytes 350] [--seconds 1.5]

Builds the image unless `--image` names one, and runs it as GitHub's runner does on a pull
request that touches no prompt: from the start of the tool for containers to the end of the
answer, status included. Beside it the same tool starting a program that does nothing, which is
what the machine takes, and `gatekeeper --version`. Medians; the first run is left out.

Ends with 1 above a limit, and with 0 and the reason where there is no tool for containers.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.container_lab import Lab, find_lab  # noqa: E402
from support.github_server import FakeGithub  # noqa: E402
from support.pull_request import PullRequest  # noqa: E402

TAG = "localhost/gatekeeper-benchmark:latest"
ANSWER = "no contract is affected"
TOUCHES_NO_PROMPT = {"README.md": "Another product.\n"}


@dataclass(frozen=True)
class Containers:
    """`podman` or `docker`, and the variables it needs."""

    tool: str
    environment: Mapping[str, str]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [self.tool, *arguments]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )

    def output(self, *arguments: str) -> str:
        done = self.run(*arguments)
        if done.returncode:
            raise SystemExit(f"{self.tool} {arguments[0]}: {done.stderr or done.stdout}")
        return done.stdout.strip()

    def size(self, image: str) -> float:
        """Megabytes of all layers."""
        return int(self.output("image", "inspect", "--format", "{{.Size}}", image)) / 1e6

    def seconds(self, repeat: int, *arguments: str) -> float:
        """The median of a container's whole life."""
        self.output("run", "--rm", *arguments)
        walls = []
        for _ in range(repeat):
            started = time.perf_counter()
            self.output("run", "--rm", *arguments)
            walls.append(time.perf_counter() - started)
        return statistics.median(walls)


def find_containers() -> Containers | str:
    """What runs containers here, or why nothing does."""
    lab = find_lab()
    environment = lab.environment if isinstance(lab, Lab) else os.environ
    for tool in ("podman", "docker"):
        found = Containers(tool, environment)
        if shutil.which(tool, path=environment.get("PATH")) and not found.run("info").returncode:
            return found
    return "neither podman nor docker works here"


def base_image() -> str:
    """What the Dockerfile builds upon."""
    found = re.search(r"^ARG PYTHON_IMAGE=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("the Dockerfile names no base image")
    return found[1]


def runner_arguments(folder: Path, github: FakeGithub) -> list[str]:
    """The runner's mounts and variables, for a pull request that touches no prompt."""
    change = PullRequest.make(folder, TOUCHES_NO_PROMPT)
    github.pull_request(7, change.head)
    given = change.environment(folder / "event.json", github.url)
    variables = [f"--env={name}={value}" for name, value in given.items()]
    return [
        "--network=host",
        f"--workdir={change.workspace}",
        f"--volume={folder}:{folder}",
        *variables,
    ]


def main() -> int:
    """Prints the numbers; 1 where they break the promise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", help="a tag that is there already")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=350, help="added to the base")
    parser.add_argument("--seconds", type=float, default=1.5, help="until the answer")
    options = parser.parse_args()
    containers = find_containers()
    if isinstance(containers, str):
        print(f"image: skipped, {containers}")
        return 0
    image = options.image or TAG
    if options.image is None:
        containers.output("build", "--tag", TAG, str(ROOT))
    added = containers.size(image) - containers.size(base_image())
    print(f"{'added to ' + base_image():60}{added:8.0f} MB")
    with tempfile.TemporaryDirectory() as temporary, FakeGithub() as github:
        arguments = runner_arguments(Path(temporary), github)
        if ANSWER not in (said := containers.output("run", "--rm", *arguments, image)):
            print(said)
            return 1
        program = "/opt/gatekeeper/bin/gatekeeper"
        measured = {
            "a program that does nothing": ["--entrypoint=/bin/true", image],
            "gatekeeper --version": [f"--entrypoint={program}", image, "--version"],
            "the action, no prompt changed": [*arguments, image],
        }
        for name, command in measured.items():
            seconds = containers.seconds(options.repeat, *command)
            print(f"{name:60}{seconds:8.2f} s")
    broken = []
    if added > options.megabytes:
        broken.append(f"the image adds {added:.0f} MB to its base, above {options.megabytes:.0f}")
    if seconds > options.seconds:
        broken.append(f"an answer takes {seconds:.2f} s, above {options.seconds:.2f}")
    for limit in broken:
        print(f"image: {limit}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
