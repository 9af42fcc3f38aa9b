"""Looks for known vulnerabilities in what the locks pin, with pip-audit.

    python scripts/audit.py [--recorded] [LOCK …]

pip-audit asks OSV about each package. With --recorded it asks this process instead, which answers
from requirements/advisories.json: releases of packages of ours that were published by thieves.
Those stay known where no service can be reached, and a pull request is never red because of an
advisory of today. The weekly workflow asks OSV.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ADVISORIES = ROOT / "requirements" / "advisories.json"
OSV = "https://api.osv.dev/v1/query"


def recorded(name: str, version: str) -> list[dict[str, Any]]:
    """The recorded advisories about a release."""
    return [
        advisory
        for advisory in json.loads(ADVISORIES.read_text("utf-8"))
        for affected in advisory["affected"]
        if affected["package"]["name"] == name and version in affected["versions"]
    ]


class _Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:  # the name that http.server calls
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        found = recorded(asked["package"]["name"], asked["version"])
        body = json.dumps({"vulns": found} if found else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing about each request."""


@contextmanager
def _recorded_service() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()


def audit(locks: Sequence[Path], service: str, cache: Path) -> int:
    """Run pip-audit on the locks and return its exit code."""
    given = [argument for lock in locks for argument in ("-r", str(lock))]
    command = [str(Path(sys.executable).parent / "pip-audit"), "--require-hashes", "--disable-pip"]
    command += ["-s", "osv", "--osv-url", service, "--cache-dir", str(cache)]
    return subprocess.run([*command, "--progress-spinner=off", *given], check=False).returncode


def main(argv: Sequence[str] | None = None) -> int:
    """Audit the locks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recorded", action="store_true", help="ask no service")
    parser.add_argument("lock", nargs="*", type=Path)
    given = parser.parse_args(argv)
    locks = given.lock or sorted((ROOT / "requirements").glob("*.lock"))
    service = _recorded_service() if given.recorded else nullcontext(OSV)
    with tempfile.TemporaryDirectory() as cache, service as address:
        return audit(locks, address, Path(cache))


if __name__ == "__main__":
    sys.exit(main())
