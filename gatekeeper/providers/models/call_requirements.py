"""The requirements of every call to a hosted model: parameters, address, key."""

from __future__ import annotations

import os

from gatekeeper.contract.models.params import HOSTED_PARAMS
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.providers.models.endpoint import Endpoint, endpoint_of


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
        text = f"{model}: no API key; set {' or '.join(endpoint.missing)}"
        raise CallFailed(text, fatal=True, author=True)
    return endpoint


def missing_key(model: str, endpoint: Endpoint) -> UsageError:
    """Return the error that names the variables of which one must hold the key."""
    return UsageError(
        f"{model}: no API key, so no model was called; set {' or '.join(endpoint.missing)} in the "
        "environment"
    )
