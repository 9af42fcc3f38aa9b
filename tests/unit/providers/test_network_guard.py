from __future__ import annotations

import asyncio
import socket
import threading
import urllib.request
from collections.abc import Iterator

import pytest

from gatekeeper.providers.http import network_guard
from gatekeeper.providers.http.network_guard import HostRefused, NetworkGuard


@pytest.fixture
def guard() -> Iterator[NetworkGuard]:
    guard = NetworkGuard()
    guard.start()
    yield guard
    guard.stop()
    guard.stop()


@pytest.mark.parametrize(
    "host",
    ["evil.example", b"evil.example", "93.184.216.34", "2001:db8::1", "169.254.169.254"],
)
def test_other_hosts_are_neither_looked_up_nor_connected_to(
    guard: NetworkGuard, host: str | bytes
) -> None:
    name = host.decode() if isinstance(host, bytes) else host
    with pytest.raises(HostRefused):
        socket.getaddrinfo(host, 443)
    with pytest.raises(HostRefused):
        socket.create_connection((name, 443), timeout=1)
    assert set(guard.refused) == {name}


@pytest.mark.parametrize("host", ["93.184.216.34", "169.254.169.254"])
def test_no_socket_is_connected_without_a_lookup(guard: NetworkGuard, host: str) -> None:
    with socket.socket() as raw, pytest.raises(HostRefused):
        raw.connect((host, 443))
    with socket.socket() as raw, pytest.raises(HostRefused):
        raw.connect_ex((host, 443))
    with socket.socket(type=socket.SOCK_DGRAM) as raw, pytest.raises(HostRefused):
        raw.sendto(b"x", (host, 53))
    assert guard.refused == [host] * 3


def test_every_kind_of_client_is_refused(guard: NetworkGuard) -> None:
    with pytest.raises(OSError, match=r"evil\.example"):
        urllib.request.urlopen("http://evil.example/")
    with pytest.raises(HostRefused):
        socket.gethostbyname("evil.example")

    async def connect() -> None:
        await asyncio.open_connection("93.184.216.34", 443)

    with pytest.raises(HostRefused):
        asyncio.run(connect())
    assert guard.refused == ["evil.example", "evil.example", "93.184.216.34"]


def test_a_thread_is_refused_too(guard: NetworkGuard) -> None:
    raised: list[Exception] = []

    def look() -> None:
        try:
            socket.getaddrinfo("evil.example", 443)
        except HostRefused as error:
            raised.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert len(raised) == 1
    assert guard.refused == ["evil.example"]


def test_what_an_expected_name_stands_for_may_be_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 443))],
    )
    guard = NetworkGuard()
    guard.allow(["api.*.example"])
    guard.start()
    try:
        socket.getaddrinfo("api.eu.example", 443)
        guard.check("192.0.2.7", lookup=False)
        with pytest.raises(HostRefused):
            guard.check("192.0.2.8", lookup=False)
    finally:
        guard.stop()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "", "a.localhost", "0.0.0.0"])  # noqa: S104
def test_this_machine_is_let_through(guard: NetworkGuard, host: str) -> None:
    guard.check(host, lookup=True)
    guard.check(socket.gethostname(), lookup=True)
    assert guard.refused == []


def test_the_proxies_of_the_environment_are_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    guard = NetworkGuard()
    guard.check("proxy.example", lookup=True)
    with pytest.raises(HostRefused):
        guard.check("evil.example", lookup=True)


def test_a_server_of_this_machine_is_heard(guard: NetworkGuard) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=5),
    ):
        connection, _ = server.accept()
        connection.close()
    a, b = socket.socketpair()
    a.send(b"x")
    assert b.recv(1) == b"x"
    a.close()
    b.close()
    assert guard.refused == []


def test_a_host_that_a_person_named_is_let_through(
    guard: NetworkGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NetworkGuard, "named", {"tools.example"})
    guard.check("tools.example", lookup=True)
    with pytest.raises(HostRefused):
        guard.check("more.tools.example", lookup=True)


def test_without_a_guard_everything_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = NetworkGuard()
    own = socket.getaddrinfo
    guard.start()
    guard.stop()
    assert socket.getaddrinfo is own
    with socket.socket() as raw:
        raw.settimeout(0)
        raw.connect_ex(("240.0.0.1", 9))
    assert guard.refused == []


def test_the_hook_outlives_the_names_of_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its end, the interpreter takes the names away, and sockets are closed after that."""
    monkeypatch.setattr(network_guard, "NetworkGuard", None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert server.getsockname()[1] > 0
