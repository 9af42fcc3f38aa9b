"""The address and key for one model, and the hosts and secrets that are forbidden."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, urlsplit

from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.models.params import HOSTED_PARAMS
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.providers.models.catalogue import CATALOGUE, Provider
from gatekeeper.providers.models.model_faults import asks_a_proxy, known_providers, no_provider

_SECRET_NAME = re.compile(r"(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$")
_SHORTEST_SECRET = 16
"""Shorter values are placeholders for servers that need no key, and may occur in any text."""

_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One provider as this environment reaches it.

    `model` is the name that litellm gets. `missing` are the variables of which one must hold the
    key, empty if nothing is missing. `foreign` are the secrets of other providers by their
    variables. `signs_in` says that the identity of the job takes the place of a key; `lease` is
    what it then got, by the names of litellm's arguments.
    """

    model: str
    provider: Provider
    api_key: str | None = field(repr=False)
    api_base: str | None
    missing: tuple[str, ...] = ()
    foreign: Mapping[str, str] = field(default_factory=dict, repr=False)
    signs_in: bool = False
    lease: Mapping[str, str] = field(default_factory=dict, repr=False)
    _own_address: SplitResult | None = None

    def refusal(self, url: str, content: Iterable[bytes]) -> str | None:
        """Say why a request must not be sent; None if it may. `content` is all that it says."""
        target = urlsplit(url)
        if not self._expects(target):
            return f"a request to {target.hostname or 'nowhere'}, which is not the provider's host"
        said = [url.encode(), *content]
        for name, secret in self.foreign.items():
            forms = {secret.encode(), quote(secret, safe="").encode()}
            if any(form in part for form in forms for part in said):
                return f"a request that contains the value of {name}, a secret of another provider"
        return None

    @property
    def host_patterns(self) -> tuple[str, ...]:
        """Every host that may be looked up."""
        if self._own_address is None:
            return (*self.provider.hosts, *self.provider.plain_hosts)
        own = (self._own_address.hostname or "",)
        return (*own, *self._credential_hosts())

    def _credential_hosts(self) -> tuple[str, ...]:
        """Return the hosts that receive credentials. An address set by the user replaces the
        model's host, not the hosts that issue tokens."""
        ambient = self.provider.ambient
        return (*self.provider.hosts, *self.provider.plain_hosts) if ambient else ()

    def _expects(self, target: SplitResult) -> bool:
        own = self._own_address
        if own is not None and _origin(own) == _origin(target):
            return True
        hosts = self.provider.hosts if own is None else self._credential_hosts()
        https = target.scheme == "https" and _origin(target)[2] == _PORTS["https"]
        return https and is_expected_host(target.hostname or "", hosts)


def endpoint_of(model: str, environ: Mapping[str, str]) -> Endpoint:
    """Return where the model is called and with which key.

    Raises UsageError for an invalid name, a provider that is not in the catalogue, and a missing or
    invalid address.
    """
    try:
        name = read_model_name(model)
    except ValueError as error:
        raise UsageError(f"{model[:100]}: {error}") from None
    # litellm then asks the proxy for every model.
    provider = CATALOGUE.get("litellm_proxy" if asks_a_proxy(environ) else name.provider)
    if provider is None:
        raise UsageError(f"{model}: {no_provider(name.provider)}; {known_providers(model)}")
    written = _first(environ, provider.addresses)
    address = written or provider.address
    if address is None and not provider.hosts:
        raise UsageError(
            f"{model}: the address of the provider is not known, so no model was called; set the "
            f"environment variable {provider.addresses[0]} to this address"
        )
    key = _first(environ, provider.keys)
    if key and not (key.isascii() and key.isprintable()):
        raise UsageError(
            f"{model}: the API key contains a character that no HTTP header may "
            f"have; copy the key again into {' or '.join(provider.keys)}"
        )
    needed = not (key or provider.keyless or any(environ.get(n) for n in provider.private))
    signs_in = needed and names_identity(provider, environ) and has_identity(environ)
    return Endpoint(
        model=str(name),
        provider=provider,
        api_key=key,
        api_base=address,
        missing=(provider.keys or provider.private) if needed and not signs_in else (),
        foreign=_foreign(environ, provider),
        signs_in=signs_in,
        _own_address=_split(model, address) if address else None,
    )


def is_expected_host(host: str, patterns: Iterable[str]) -> bool:
    """Return whether one of the patterns matches; `*` stands for letters, digits and hyphens."""
    host = host.lower().rstrip(".")
    return any(
        re.fullmatch("[a-z0-9-]+".join(map(re.escape, pattern.lower().split("*"))), host)
        for pattern in patterns
    )


# Without a key, a job signs in with its own identity (`keyless.py`).


ID_TOKEN = "GATEKEEPER_ID_TOKEN"  # noqa: S105
"""The job's identity token itself, on systems that give it in a variable."""
GITHUB_ID_ADDRESS = "ACTIONS_ID_TOKEN_REQUEST_URL"
GITHUB_ID_BEARER = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"


def has_identity(environ: Mapping[str, str]) -> bool:
    """Return whether the job has an identity token, or may ask GitHub for one."""
    on_github = environ.get(GITHUB_ID_ADDRESS) and environ.get(GITHUB_ID_BEARER)
    return bool(environ.get(ID_TOKEN) or on_github)


def names_identity(provider: Provider, environ: Mapping[str, str]) -> bool:
    """Return whether the environment says whom the job may sign in as at a provider."""
    return bool(provider.federated) and all(environ.get(name) for name in provider.federated)


def exchange_endpoint(model: str, party: Provider, environ: Mapping[str, str]) -> Endpoint:
    """Return where an identity token may go: the hosts of the party, which may get its own secrets
    alone."""
    return Endpoint(model, party, None, None, foreign=_foreign(environ, party))


def _foreign(environ: Mapping[str, str], provider: Provider) -> dict[str, str]:
    own = {environ[name] for name in (*provider.keys, *provider.private) if name in environ}
    return {
        name: value
        for name, value in environ.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET and value not in own
    }


def _first(environ: Mapping[str, str], names: Iterable[str]) -> str | None:
    # A secret that was pasted with a line end is meant without it.
    return next((environ[name].strip() for name in names if environ.get(name, "").strip()), None)


def _split(model: str, address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        _origin(parts)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in _PORTS or not parts.hostname:
        raise UsageError(
            f"{model}: the address in the environment is not a URL; write https://HOST/…"
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"{model}: the address in the environment holds a user name or a password; remove both "
            "from the address, and set the provider's key in a separate variable"
        )
    return parts


def _origin(parts: SplitResult) -> tuple[str, str, int | None]:
    host = (parts.hostname or "").rstrip(".")
    return parts.scheme, host, parts.port or _PORTS.get(parts.scheme)


# What every call to a hosted model requires: parameters, address, key.


def require_known_params(request: Request) -> None:
    """Raise CallFailed for a parameter that no contract may set."""
    unknown = sorted(set(request.params) - HOSTED_PARAMS)
    if unknown:
        raise CallFailed(
            f"{request.model}: a contract cannot set the parameter "
            f"{unknown[0]!r}; use only {', '.join(sorted(HOSTED_PARAMS))}",
            fatal=True,
            author=True,
        )


def require_endpoint(model: str) -> Endpoint:
    """Return the address and the key with which the model is called. Raises CallFailed if one
    of them is missing."""
    try:
        endpoint = endpoint_of(model, os.environ)
    except UsageError as error:
        raise CallFailed(str(error), fatal=True, author=True) from error
    if endpoint.missing and not endpoint.provider.ambient:
        raise CallFailed(str(missing_key(model, endpoint)), fatal=True, author=True)
    return endpoint


def missing_key(model: str, endpoint: Endpoint) -> UsageError:
    """Return the error that names the variables of which one must hold the key."""
    whom = " and ".join(endpoint.provider.federated)
    instead = f", or {whom} and, on GitHub, `permissions: {{id-token: write}}`" if whom else ""
    return UsageError(
        f"{model}: no API key, so no model was called; set {' or '.join(endpoint.missing)} in the "
        f"environment{instead}"
    )
