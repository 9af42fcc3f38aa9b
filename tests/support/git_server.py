"""git's own HTTP server on 127.0.0.1, which asks for a token as GitHub does.

    with GitServer(folder, token="ghs_0123456789") as server:
        ...  # server.url/octo/prompts is the repository folder/octo/prompts

`requests` keeps what was asked, `refused` how often without the token, `sent` how many bytes
went out.
"""

from __future__ import annotations

import base64
import subprocess
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

from support.git_repository import isolated_environment
from support.local_server import LocalServer, QuietHandler


class GitServer(LocalServer):
    """Serves every repository below `root` to who brings the token; to all without one."""

    def __init__(self, root: Path, token: str = "") -> None:
        self.requests: list[str] = []
        self.refused = 0
        self.sent = 0
        server = self
        wanted = base64.b64encode(f"x-access-token:{token}".encode()).decode()

        class Handler(QuietHandler):
            def handle_one_git(self) -> None:
                given = self.headers.get_all("Authorization") or []
                body = self.read_body()
                server.requests.append(f"{self.command} {self.path}")
                if token and [value.split(" ")[-1] for value in given] != [wanted]:
                    server.refused += 1
                    self.send(401, b"", {"WWW-Authenticate": 'Basic realm="GitHub"'})
                    return
                self._answer(server.backend(self, body))

            do_GET = handle_one_git  # noqa: N815
            do_POST = handle_one_git  # noqa: N815

            def _answer(self, output: bytes) -> None:
                head, content = output.split(b"\r\n\r\n", 1)
                headers = [line.split(": ", 1) for line in head.decode().split("\r\n")]
                status = next((value for name, value in headers if name == "Status"), "200")
                server.sent += len(content)
                others = {name: value for name, value in headers if name != "Status"}
                self.send(int(status.split(" ")[0]), content, others)

        self._root = root
        super().__init__(self.http(Handler))

    def backend(self, request: BaseHTTPRequestHandler, body: bytes) -> bytes:
        """What `git http-backend` answers, by the rules of CGI."""
        parts = urlsplit(request.path)
        environment = isolated_environment() | {
            "GIT_PROJECT_ROOT": str(self._root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": request.command,
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
            "HTTP_GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], env=environment, input=body, capture_output=True, check=False
        )
        return done.stdout
