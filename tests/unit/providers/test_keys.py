"""Which variables open the models."""

from __future__ import annotations

import pytest

from gatekeeper.errors import UsageError
from gatekeeper.providers.models.keys import WAIVER_KEY, model_access, waiver_keys

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
        (KEY | {"GITHUB_API_KEY": "ghs_0123456789abcdef"}, KEY),
    ],
)
def test_keys_and_the_addresses_they_are_for(
    environ: dict[str, str], found: dict[str, str]
) -> None:
    """A job's own token is another in each job: what it signed could never be read."""
    assert dict(model_access(environ)) == found


def test_each_key_of_a_model_signs_waivers_and_no_address_does() -> None:
    one = waiver_keys(KEY)
    assert len(one) == 1
    assert waiver_keys(KEY | {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}) == one
    assert waiver_keys(KEY | {"OTHER_API_KEY": KEY["OPENAI_API_KEY"]}) == one
    both = waiver_keys(KEY | {"ANTHROPIC_API_KEY": "sk-ant-0123456789"})
    assert set(one) < set(both)
    assert waiver_keys({}) == waiver_keys({"OPENAI_API_KEY": "short"}) == ()


def test_a_secret_for_waivers_signs_alone() -> None:
    secret = {WAIVER_KEY: " a secret of the repository\n"}
    (key,) = waiver_keys(secret)
    assert waiver_keys(KEY | secret) == (key,)
    assert key not in waiver_keys(KEY)
    assert waiver_keys(KEY | {WAIVER_KEY: ""}) == waiver_keys(KEY)


def test_the_keys_of_waivers_and_of_the_cache_differ() -> None:
    from gatekeeper.runs.answers.cache import cache_key

    secret = "a secret of the repository"
    assert waiver_keys({WAIVER_KEY: secret}) != (cache_key([("waiver", secret)]),)


@pytest.mark.parametrize("secret", ["x", "0123456789abcde"])
def test_a_secret_for_waivers_that_can_be_guessed_is_refused(secret: str) -> None:
    with pytest.raises(UsageError, match=WAIVER_KEY):
        waiver_keys(KEY | {WAIVER_KEY: secret})
