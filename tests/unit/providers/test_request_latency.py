"""The time of one request by itself, by the kernel's clock."""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest

from gatekeeper.providers.http.http_client import own_time_ms


class FakeSocket:
    """A connection that last sent and received data so many milliseconds ago."""

    def __init__(self, sent_ago: int = 0, received_ago: int = 0, *, broken: bool = False) -> None:
        fields = [0] * 24
        fields[9], fields[11] = sent_ago, received_ago
        self._info = bytes(8) + struct.pack("@24I", *fields)
        self._broken = broken

    def getsockopt(self, level: int, option: int, length: int) -> bytes:
        assert (level, option) == (socket.IPPROTO_TCP, socket.TCP_INFO)
        if self._broken:
            raise OSError("not a TCP connection")
        return self._info[:length]


@pytest.mark.parametrize(
    ("elapsed", "connection", "own"),
    [
        (711.0, FakeSocket(700, 200), 500.0),  # the answer lay in the socket for 200 ms
        (503.2, FakeSocket(501, 1), 503.2),  # within a tick the clock is finer
        (3.5, FakeSocket(4, 0), 3.5),
        (711.0, FakeSocket(100, 300), 711.0),  # received before anything was sent: not ours
        (711.0, FakeSocket(broken=True), 711.0),
        (711.0, None, 711.0),
    ],
)
def test_own_time(elapsed: float, connection: Any, own: float) -> None:
    assert own_time_ms(elapsed, connection) == own


def test_without_the_kernels_help_the_clock_has_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "TCP_INFO")
    assert own_time_ms(711.0, FakeSocket(700, 200)) == 711.0  # type: ignore[arg-type]
