"""Removes from the installed packages what the gate never runs.

    python prune.py SITE_PACKAGES

The packages are installed as locked, with their hashes checked, and cut down afterwards:
each entry of REMOVED is a pattern, what of it stays, and why it can go. What is left is
proved to do the gate's work by rehearse.py, which the build runs next.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Removal:
    """What `pattern` finds, but for the names in `but`."""

    pattern: str
    reason: str
    but: frozenset[str] = frozenset()


REMOVED = (
    Removal("**/__pycache__", "rehearse.py compiles what is loaded, and nothing else"),
    Removal("**/tests", "packages' own tests"),
    Removal("**/*.pyi", "for type checkers"),
    Removal("numpy/_core/include", "for compilers"),
    Removal("numpy/_core/_simd.*", "numpy's own tests"),
    Removal(
        "scipy/*",
        "statistics need scipy.special alone, which needs these; a test holds the gate to it",
        frozenset(
            {
                "__init__.py",
                "__config__.py",
                "_cyutility.cpython-*.so",
                "_distributor_init.py",
                "_external",
                "_lib",
                "linalg",
                "special",
                "version.py",
            }
        ),
    ),
    Removal("scipy/special/cython_special.*", "for Cython programs"),
    Removal(
        "rapidfuzz/**/*_avx2.*",
        "a second copy for newer processors; the outputs compared here are short",
    ),
    Removal("sqlalchemy/**/*.so", "the same code beside them, in Python, reads as fast here"),
    Removal("apprise/i18n/*/", "apprise's messages in other languages"),
    Removal("litellm/rust_bridge/_native.*", "reads scans and speech; chats go through Python"),
    Removal("litellm/proxy/_lazy_openapi_snapshot.json", "litellm's own server"),
    Removal("litellm/proxy/_experimental/out", "the web console of litellm's own server"),
    Removal("litellm/proxy/swagger", "the web console of litellm's own server"),
    Removal("litellm/proxy/client", "the command line of litellm's own server"),
    Removal(
        "botocore/data/*",
        "descriptions of 400 services: a model on Bedrock or SageMaker needs these, and those "
        "that log in",
        frozenset(
            {
                "*.json",
                "bedrock-runtime",
                "sagemaker-runtime",
                "signin",
                "sso",
                "sso-oidc",
                "sts",
            }
        ),
    ),
    Removal("stdnum/oui.dat", "makers of network cards"),
    Removal("stdnum/imsi.dat", "operators of mobile networks"),
    Removal("hf_xet*", "downloads models; models are called, not run, here"),
)

SERVER_PACKAGES = ("fastapi", "httpx2", "mcp", "orjson", "prisma", "starlette", "websockets")
"""litellm's server needs them. They are not in the lock, so whatever imports them is dead."""

_NEEDS_SERVER = re.compile(rf"^(?:from|import) (?:{'|'.join(SERVER_PACKAGES)})\b", re.MULTILINE)


def found(root: Path, removal: Removal) -> Iterator[Path]:
    """The paths to remove."""
    for path in sorted(root.glob(removal.pattern)):
        if not any(path.match(kept) for kept in removal.but):
            yield path


def dead_server_modules(root: Path) -> Iterator[Path]:
    """Modules of litellm's server that cannot be imported with what is installed."""
    for path in sorted((root / "litellm" / "proxy").rglob("*.py")):
        if _NEEDS_SERVER.search(path.read_text(encoding="utf-8")):
            yield path


def remove(path: Path) -> int:
    """Removes a file or a folder, and returns how many bytes it held."""
    if not path.is_dir():
        size = path.lstat().st_size
        path.unlink()
        return size
    size = sum(inner.lstat().st_size for inner in path.rglob("*") if inner.is_file())
    shutil.rmtree(path)
    return size


def main(arguments: list[str]) -> int:
    """Prunes the folder, and says what each entry was worth."""
    root = Path(arguments[0])
    for removal in REMOVED:
        size = sum(remove(path) for path in list(found(root, removal)) if path.exists())
        print(f"{size / 1e6:7.1f} MB  {removal.pattern}: {removal.reason}")
    size = sum(remove(path) for path in list(dead_server_modules(root)))
    print(f"{size / 1e6:7.1f} MB  litellm/proxy: modules that need {', '.join(SERVER_PACKAGES)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
