"""Runs commands with the tools for containers that may lie beside the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support.edited_text import edited

LAB = Path(__file__).parents[2].parent / "shared" / "tools" / "container-lab"


@dataclass(frozen=True)
class Lab:
    """Podman, a runner of workflows and the proxy, with the variables they need."""

    environment: Mapping[str, str]

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )


def find_lab() -> Lab | str:
    """The lab, or why there is none."""
    if not LAB.is_file():
        return "no tools for containers beside the repository (shared/tools/container-lab)"
    said = subprocess.run([LAB, "env"], capture_output=True, text=True, check=True).stdout
    exports = dict(
        line.removeprefix("export ").split("=", 1) for line in said.splitlines() if "=" in line
    )
    folder = Path(exports["CONTAINER_LAB"])
    if not (folder / "podman.sock").is_socket() or shutil.which("podman") is None:
        return f"the tools for containers are not up; run `{LAB.name} up`"
    path = edited(exports.pop("PATH"), "$PATH", os.environ["PATH"])
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("GITHUB_", "INPUT_"))}
    return Lab({**kept, **exports, "PATH": path})
