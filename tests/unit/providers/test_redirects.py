"""What is said of a redirect, which is not followed."""

from __future__ import annotations

import pytest

from gatekeeper.providers.http.http_client import is_redirect, redirect_refused


@pytest.mark.parametrize(
    ("status", "is_one"), [(299, False), (300, True), (399, True), (400, False)]
)
def test_a_redirect_is_known_by_its_status(status: int, is_one: bool) -> None:
    assert is_redirect(status) is is_one


@pytest.mark.parametrize(
    ("location", "named"),
    [
        ("https://Evil.example:8443/v1", "Evil.example"),
        ("https://user:pass@evil.example/", "evil.example"),
        ("https://AbCdEf0123456789.evil.example/", "AbCdEf0123456789.evil.example"),
        ("/v2", "elsewhere"),
        ("", "elsewhere"),
        ("https://[bad/", "elsewhere"),
        ("https://a\x07b/", "elsewhere"),
    ],
)
def test_the_host_is_named_as_it_was_sent(location: str, named: str) -> None:
    assert f"a redirect to {named}, which gatekeeper does not follow" in redirect_refused(location)
