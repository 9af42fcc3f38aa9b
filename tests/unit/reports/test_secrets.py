"""Which values of the environment are secrets."""

from __future__ import annotations

import pytest

from gatekeeper.reports.redact import secrets_in


@pytest.mark.parametrize(
    "name", ["HTTPS_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_BASE_URL", "AZURE_API_BASE"]
)
def test_the_password_of_an_address_is_a_secret(name: str) -> None:
    found = secrets_in({name: "http://svc:Tr0ub4dor%40pw@proxy.example:3128"})
    assert set(found) == {"Tr0ub4dor%40pw", "Tr0ub4dor@pw"}


def test_an_address_without_a_password_is_none() -> None:
    assert secrets_in({"HTTPS_PROXY": "http://proxy.example:3128", "HOME": "/x:longenough@y"}) == ()


def test_a_name_tells_a_secret() -> None:
    environ = {"OPENAI_API_KEY": "sk-0123456789", "KEYBOARD": "0123456789", "MY_TOKEN": "short"}
    assert secrets_in(environ, "ghs_0123456789") == ("ghs_0123456789", "sk-0123456789")
