"""The proxies of the environment: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from gatekeeper.errors import UsageError

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
