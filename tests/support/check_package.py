"""A package with a check type, as a wheel that pip installs without a network."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

MODULE = """\
from gatekeeper.checks.check import PASSED, Check, failed, parameters

WORD = "please"

def _prepare(params, files):
    word = params["word"]
    return lambda sample: PASSED if word in sample.output else failed(f"no {word}")

CHECK = Check(
    parameters(required=("word",), word={"type": "string", "description": "A word."}), _prepare
)
"""


def write_wheel(folder: Path, module: str = MODULE, check: str = "says_word") -> Path:
    """Write the wheel of `acme-checks` 1.2.0, whose module brings a check of that name."""
    info = "acme_checks-1.2.0.dist-info"
    files: Mapping[str, str] = {
        "acme_checks.py": module,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: acme-checks\nVersion: 1.2.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[gatekeeper.checks]\n{check} = acme_checks:CHECK\n",
    }
    rows = [f"{name},{_digest(text)},{len(text)}" for name, text in files.items()]
    record = "\n".join([*rows, f"{info}/RECORD,,\n"])
    path = folder / "acme_checks-1.2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return path


def locked(wheel: Path) -> str:
    """Return the line of a lock file that installs the wheel."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"acme-checks @ {wheel.as_uri()} --hash=sha256:{digest}\n"


def _digest(text: str) -> str:
    raw = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
