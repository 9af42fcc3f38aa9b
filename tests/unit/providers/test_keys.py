"""Which variables open the models."""

from __future__ import annotations

import pytest

from gatekeeper.providers.keys import model_access

KEY = {"OPENAI_API_KEY": "sk-0123456789abcdef"}
ADDRESS = {"OPENAI_BASE_URL": "https://models.example/v1", "AZURE_API_BASE": "https://a.example"}


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, {}),
        (KEY, KEY),
        (KEY | {"GITHUB_TOKEN": "ghs_0123456789abcdef", "PATH": "/usr/bin"}, KEY),
        (KEY | ADDRESS, KEY | ADDRESS),
        (ADDRESS, {}),
        ({"OPENAI_API_KEY": "fifteen-letters"}, {}),
        (KEY | {"OTHER_API_KEY": ""}, KEY),
    ],
)
def test_keys_and_the_addresses_they_are_for(
    environ: dict[str, str], found: dict[str, str]
) -> None:
    """A job's own token is another in each job: what it signed could never be read."""
    assert dict(model_access(environ)) == found
