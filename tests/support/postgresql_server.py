"""A PostgreSQL server of its own for tests, from the machine's packages, in a temporary folder.

It listens on a socket in that folder alone. PostgreSQL refuses to run as root: then it runs as
`nobody`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """The folder of initdb and pg_ctl, the newest version's; Debian does not put it in PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).resolve().parent if on_path else None


@contextmanager
def postgresql_server() -> Iterator[str]:
    """The address of its database `postgres`, whose owner needs no password."""
    bin_folder = programs()
    assert bin_folder, "PostgreSQL is not installed"
    with tempfile.TemporaryDirectory(prefix="pg-") as name:
        folder = Path(name)
        user: list[str] = []
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
            user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        data = folder / "data"

        def run(program: str, *arguments: str) -> None:
            command = [*user, str(bin_folder / program), "-D", str(data), *arguments]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=120)

        run("initdb", "--auth=trust", "--username=gate", "--no-sync", "--encoding=UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://gate@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
