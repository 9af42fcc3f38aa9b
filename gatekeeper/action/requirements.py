"""Installs the packages that the workflow's input `requirements` names, before anything else.

The list is the one on the branch to merge into. Every package in it has its version and hashes, and
nothing is built: pip runs no code of a package.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.errors import MeasurementError, UsageError

if TYPE_CHECKING:
    from gatekeeper.contract.values.change import Revision

_SECONDS = 600
_SHOWN = 500
# None of these is a secret of the job; addresses of an index may hold one, which is for pip.
_PASSED_ON = ("PATH", "LANG", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")
_OF_PIP = "PIP_"

_installed: set[str] = set()
"""The requirement files that this process has installed."""


def install_requirements(path: Path | None, trusted: Revision) -> None:
    """Install what the file at `path` of the trusted revision lists, and make it importable.

    Raises UsageError if there is no such file, and MeasurementError if it cannot be installed.
    """
    if path is None:
        return
    from gatekeeper.contract.reading.read import UnreadableError, read_text

    try:
        text = read_text(trusted, path.as_posix())
    except UnreadableError as error:
        raise UsageError(f"input `requirements`: {error} on the base branch; {error.fix}") from None
    if text in _installed:
        return
    folder = Path(tempfile.mkdtemp(prefix="gatekeeper-requirements-"))
    lock, target = folder / "requirements.txt", folder / "site-packages"
    lock.write_text(text, "utf-8")
    _install(lock, target, path)
    # At the end, so that no package takes the place of a module of gatekeeper.
    sys.path.append(str(target))
    _installed.add(text)


def _install(lock: Path, target: Path, path: Path) -> None:
    command = [
        *(_python_with_pip(), "-I", "-m", "pip", "install", "--quiet", "--no-input"),
        *("--disable-pip-version-check", "--no-cache-dir", "--require-hashes", "--no-deps"),
        *("--only-binary", ":all:", "--target", str(target), "--requirement", str(lock)),
    ]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            cwd=lock.parent,
            env=dict(_environment()),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"{path}: pip did not end within {_SECONDS} s") from None
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise MeasurementError(f"{path}: pip cannot install these packages: {said[:_SHOWN]}")


def _python_with_pip() -> str:
    """Return the interpreter that has pip: the image's own environment has none."""
    base = getattr(sys, "_base_executable", None)
    known = [name for name in (sys.executable, base) if name]
    for name in known:
        found = subprocess.run(  # noqa: S603
            [name, "-I", "-c", "import pip"], capture_output=True, check=False
        )
        if found.returncode == 0:
            return str(name)
    raise MeasurementError(
        "input `requirements`: the packages cannot be installed, because this Python has no pip"
    )


def _environment() -> Iterator[tuple[str, str]]:
    for name, value in os.environ.items():
        if name in _PASSED_ON or name.startswith(_OF_PIP):
            yield name, value
