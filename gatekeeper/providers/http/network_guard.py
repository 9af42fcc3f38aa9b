"""Blocks connections to other hosts than the models' while hosted models are called.

Most traffic uses the HTTP clients of this package, which check each request. Some traffic does not:
code that looks for AWS or Google credentials, and HTTP clients that a provider's library creates.
All of it must look up a name or open a connection, and Python reports both to audit hooks
(PEP 578). A hook cannot be removed, so there is one for the process. It allows everything unless a
guard is active.

Connections to this machine, to Unix sockets and to the proxies of the environment are always
allowed. The hook does not see libraries in C that open connections themselves (psycopg), nor other
programs (git); none of them runs while models are called.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from gatekeeper.errors import UsageError
from gatekeeper.providers.models.endpoint import is_expected_host

# The proxies of the environment: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.


_USED = ("https", "http", "all")
_SUPPORTED = ("http", "https")


def environment_proxies() -> Mapping[str, str]:
    """Return the address of each proxy by the scheme it is for, with `all` for any.

    Raises:
        UsageError: An address is invalid, or its kind of proxy unsupported. The sentence does not
            repeat it, because it may hold a password.
    """
    found = getproxies()
    return {scheme: _address(scheme, found[scheme]) for scheme in _USED if found.get(scheme)}


def proxy_for(url: str, proxies: Mapping[str, str]) -> str | None:
    """Return the proxy through which an address is reached; None for none."""
    if not proxies:
        return None
    parts = urlsplit(url)
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return None if not proxy or proxy_bypass(parts.netloc) else proxy


def _address(scheme: str, written: str) -> str:
    address = written if "://" in written else f"http://{written}"
    variable = f"{scheme.upper()}_PROXY"
    try:
        parts = urlsplit(address)
        is_address = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise UsageError(
            f"{variable} is not an address; write http://HOST:PORT or unset the variable"
        )
    if parts.scheme not in _SUPPORTED:
        raise UsageError(
            f"{variable}: gatekeeper does not support proxies with {parts.scheme}://; use a proxy "
            "with http:// or unset the variable"
        )
    return address


_LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
_CONNECTIONS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


class HostRefused(ConnectionRefusedError):
    """A connection to a host that no model was called at."""


class NetworkGuard:
    """Refuses other hosts between `start` and `stop`. `refused` are those it refused, in order."""

    _active: ClassVar[list[NetworkGuard]] = []
    _hooked: ClassVar[bool] = False
    named: ClassVar[set[str]] = set()
    """Hosts that whoever started this process named for something else than models."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self._patterns = {urlsplit(url).hostname or "" for url in environment_proxies().values()}
        self._addresses: set[str] = set()
        self._own_lookup: Callable[..., Any] = socket.getaddrinfo

    def allow(self, patterns: Iterable[str]) -> None:
        """Let hosts pass; `*` in a pattern stands for one part of a name."""
        self._patterns.update(patterns)

    def start(self) -> None:
        """Start to refuse connections. Safe to call twice."""
        if self in NetworkGuard._active:
            return
        if not NetworkGuard._hooked:
            NetworkGuard._hooked = True
            sys.addaudithook(_audit)
        self._own_lookup = socket.getaddrinfo
        socket.getaddrinfo = self._remembering_lookup
        NetworkGuard._active.append(self)

    def stop(self) -> None:
        """Let everything pass again. Safe to call twice."""
        if self in NetworkGuard._active:
            NetworkGuard._active.remove(self)
            socket.getaddrinfo = self._own_lookup

    def check(self, host: str, *, lookup: bool) -> None:
        """Raise HostRefused for a host, or an address, that is not expected."""
        known = self._patterns | self.named
        if is_this_machine(host) or is_expected_host(host, known):
            return
        if not lookup and host in self._addresses:
            return
        self.refused.append(host)
        raise HostRefused(f"{host} is not a host of the models that this run calls")

    def _remembering_lookup(self, *args: Any, **named: Any) -> Any:
        """Look up a name, and remember that its addresses may be connected to."""
        found = self._own_lookup(*args, **named)
        self._addresses.update(str(address[0]) for *_, address in found)
        return found


def _audit(
    event: str, args: tuple[Any, ...], active: list[NetworkGuard] = NetworkGuard._active
) -> None:
    # When the interpreter ends, the names of this module are gone before the hook is.
    if not active or not event.startswith("socket."):
        return
    if event in _LOOKUPS:
        host: Any = args[0]
    elif event in _CONNECTIONS and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    for guard in active:
        guard.check(str(host or ""), lookup=event in _LOOKUPS)


def is_this_machine(host: str) -> bool:
    """Return whether the host is the machine itself, by its name or address."""
    if host in ("", "localhost") or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host == socket.gethostname()
    return address.is_loopback or address.is_unspecified
