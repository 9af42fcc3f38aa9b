"""Runs commands with the tools for containers that may lie beside the repository."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LAB = Path(__file__).parents[1].parent / "shared" / "tools" / "container-lab"


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
