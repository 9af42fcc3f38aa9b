"""Which proxy of the environment is used, and which cannot be."""

from __future__ import annotations

import pytest
from support.local_server import JsonHandler, LocalServer
from support.native_clients import ask, asked, point_at

from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.providers.hosted import HostedClient
from gatekeeper.providers.http.network_guard import NetworkGuard, environment_proxies, proxy_for

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_which_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "own.example")
    proxies = {"https": "http://proxy:1", "http": "http://proxy:2"}
    assert proxy_for("https://a.example/v1", proxies) == "http://proxy:1"
    assert proxy_for("http://a.example/v1", proxies) == "http://proxy:2"
    assert proxy_for("https://own.example/v1", proxies) is None
    assert proxy_for("https://a.example/v1", {"all": "http://proxy:3"}) == "http://proxy:3"
    assert proxy_for("https://a.example/v1", {}) is None


def test_a_proxy_without_a_scheme_is_meant_with_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("ALL_PROXY", "http://user:pass@other.example")
    assert environment_proxies() == {
        "https": "http://proxy.example:3128",
        "all": "http://user:pass@other.example",
    }
    guard = NetworkGuard()
    guard.check("proxy.example", lookup=True)
    guard.check("other.example", lookup=True)


@pytest.mark.parametrize(
    ("written", "variable"),
    [
        ("socks5://me:hunter2@proxy.example:1080", "HTTPS_PROXY"),
        ("http://me:hunter2@proxy.example:none", "HTTP_PROXY"),
        ("http://me:hunter2@:80", "ALL_PROXY"),
        ("http://[me:hunter2", "HTTPS_PROXY"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused_before_any_call(
    monkeypatch: pytest.MonkeyPatch, written: str, variable: str
) -> None:
    monkeypatch.setenv(variable, written)
    with pytest.raises(UsageError) as refused:
        HostedClient()
    assert str(refused.value).startswith(variable)
    assert "hunter2" not in str(refused.value)


def test_a_proxy_that_refuses_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Refusing(JsonHandler):
        def do_CONNECT(self) -> None:  # noqa: N802
            self.send(407, b"", {})

    with LocalServer(LocalServer.http(Refusing)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:hunter2@127.0.0.1:{proxy.port}")
        point_at("https://model.example", monkeypatch)
        failed = ask(asked(), through_litellm=False)
    assert isinstance(failed, CallFailed)
    assert "407" in str(failed)
    assert "hunter2" not in str(failed)
